"""Every series method: what it asks for, that it hands on each of its arguments, and that the service answers it."""

import asyncio
import inspect

import pytest

import marketpoints as mp
from marketpoints.arguments import METHODS

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
# A day from midnight to midnight, closed at the service's moment: market profiles come by the day.
WINDOW = {"start": 1_789_862_400, "end": 1_789_948_800}


class Recorded(mp.Client):
    """A client that keeps what :meth:`points` was asked instead of sending it."""

    def points(self, *place, **arguments):
        return place, arguments


@pytest.mark.parametrize("name", METHODS)
def test_a_method_hands_on_every_argument(name):
    method = getattr(Recorded("key", "http://127.0.0.1:9"), name)
    parameters = inspect.signature(method).parameters
    given = {one: object() for one in parameters}
    place, arguments = method(**given)
    assert place[0] == METHODS[name]
    assert list(place[1:]) == [given.pop(one) for one in ("exchange", "symbol", "interval")]
    assert arguments == given
    allowed = set(inspect.signature(mp.Client.points).parameters)
    assert set(parameters) <= allowed
    # What is left out is what the general method takes when it is left out.
    for one, parameter in parameters.items():
        assert parameter.default == inspect.signature(mp.Client.points).parameters[one].default, one


def test_every_type_of_the_table_has_a_method():
    assert sorted(METHODS.values()) == sorted(row["name"] for row in mp._engine.data_types())


@pytest.mark.parametrize(
    ("name", "place", "options", "column"),
    [
        ("candles", (*MARKET, "1h"), {}, "close"),
        ("liquidations", (*MARKET, "1h"), {}, "liquidations"),
        ("funding_rate", (*MARKET, "1h"), {}, "rate_close"),
        ("open_interest", (*MARKET, "1h"), {"usd": True}, "close"),
        ("volume_profile", (*MARKET, "1h"), {}, "prices"),
        ("tpo", (*MARKET, "1d"), {"session": "daily", "block_minutes": 60}, "poc_price"),
        ("tpo", (None, None, "1d"), {"coin": "BTC", "session": "TPO_SESSION_DAILY"}, "poc_price"),
        ("skew", ("DERIBIT", "BTC_25", "1h"), {"coin": "BTC", "tenor": "ONE_W"}, "skew"),
        ("implied_volatility", ("DERIBIT", "BTC_ATM", "1h"), {"coin": "BTC", "tenor": "ONE_M"}, "implied_volatility"),
        ("token_supply", (None, None, "1d"), {"coin": "BTC"}, "marketcap_dominance_percent"),
    ],
)
def test_both_clients_get_the_same_answers(demo, name, place, options, column):
    def columns(answer):
        return {str(one.id): one[column].tolist() for one in answer}

    async def awaited():
        async with demo.async_client("unlimited") as client:
            return columns(await getattr(client, name)(*place, **options, **WINDOW))

    with demo.client("unlimited") as client:
        answer = getattr(client, name)(*place, **options, **WINDOW)
    assert {one.id.type for one in answer} == {METHODS[name]}
    assert any(columns(answer).values())
    assert asyncio.run(awaited()) == columns(answer)


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("liquidation_heatmap", {"symbol": "BTCUSDT"}, "coin="),
        ("skew", {"exchange": "DERIBIT", "symbol": "BTC_25", "coin": "BTC"}, "tenor="),
        ("implied_volatility", {"coin": "BTC", "tenor": "ONE_W"}, "symbol"),
        ("token_supply", {"exchange": "BINANCE", "coin": "BTC"}, "no exchange"),
        ("funding_rate", {"coin": "BTC", "exchange": ["BYBIT"], "group_by": "sum"}, "OPEN_INTEREST_WEIGHTED"),
        ("open_interest", {"coin": "BTC"}, "at least one exchange"),
    ],
)
def test_what_a_type_cannot_take_is_refused_before_anything_is_sent(name, options, word):
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.InvalidRequest, match=word):
        getattr(client, name)(interval="1h", period=3600, **options)


def test_an_argument_that_a_type_has_no_use_for_is_no_argument():
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(TypeError, match="block_size"):
        client.candles(*MARKET, "1h", period=3600, block_size=5)
