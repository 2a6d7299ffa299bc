"""Every series method: what it asks for, that it hands on each of its arguments, and that the service answers it."""

import asyncio
import inspect
from pathlib import Path

import pytest

import marketpoints as mp
from marketpoints import _engine
from marketpoints.common import signatures
from marketpoints.common.arguments import METHODS
from marketpoints.common.queries import CommonArguments
from support.scripted import scripted

DOCS = Path(__file__).resolve().parents[2] / "docs"

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
# A day from midnight to midnight, closed at the service's moment: market profiles come by the day.
WINDOW = {"start": 1_789_862_400, "end": 1_789_948_800}


class Recorded(mp.Client):
    """A client that hands back what it is asked instead of sending it."""

    def _points(self, asked, progress):
        return *asked, progress


@pytest.mark.parametrize("name", METHODS)
def test_a_method_hands_on_every_argument(name):
    method = getattr(Recorded("key", "http://127.0.0.1:9"), name)
    parameters = inspect.signature(method).parameters
    given = {one: object() for one in parameters}
    kind, *places, arguments, progress = method(**given)
    assert kind == METHODS[name]
    assert places == [given.pop(one) for one in ("exchange", "symbol", "interval")]
    assert progress == given.pop("progress") and arguments == given
    allowed = set(inspect.signature(mp.Client.points).parameters)
    assert set(parameters) <= allowed
    # What is left out is what the general method takes when it is left out.
    for one, parameter in parameters.items():
        assert parameter.default == inspect.signature(mp.Client.points).parameters[one].default, one


@pytest.mark.parametrize("row", _engine.data_types(), ids=lambda row: row["method"])
def test_a_method_takes_what_its_type_reads(row):
    optional = {"usd": row["usd"], "group_by": row["group_by"] is not None, "gapfill": row["gapfill"]}
    reads = {name for name, is_read in optional.items() if is_read} | set(row["arguments"])
    every = {"self", "exchange", "symbol", "interval", "progress", *CommonArguments.__annotations__}
    assert set(inspect.signature(getattr(mp.Client, row["method"])).parameters) == every | reads


def defaults(method):
    """Defaults of a method's arguments."""
    parameters = inspect.signature(method).parameters.values()
    return {one.name: one.default for one in parameters if one.default not in (inspect.Parameter.empty, None)}


@pytest.mark.parametrize("client", [mp.Client, mp.AsyncClient])
def test_defaults_are_the_engines(client):
    settings, of_stream = _engine.default_settings()
    assert defaults(client.__init__) == settings
    assert defaults(client.stream) == of_stream


def test_the_manual_names_the_defaults():
    settings, of_stream = _engine.default_settings()
    assert settings["max_body"] == 2**30
    spelled = {"timeout": "30 s", "read_timeout": "15 s", "retries": "5", "max_body": "1 GiB"}
    assert [settings[name] for name in spelled] == [30, 15, 5, 2**30]
    text = (DOCS / "client.md").read_text("utf-8")
    assert [name for name, value in spelled.items() if f"| `{name}` ({value}) |" not in text] == []
    text = (DOCS / "stream.md").read_text("utf-8")
    assert f"`backoff={of_stream['backoff']}`" in text and f"`queue` events ({of_stream['queue']:,})" in text


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
        ("token_supply", {"exchange": "BINANCE", "coin": "BTC"}, "leave exchange out"),
        ("funding_rate", {"coin": "BTC", "exchange": ["BYBIT"], "group_by": "sum"}, "by oi_weighted only"),
        ("open_interest", {"coin": "BTC"}, "at least one exchange"),
    ],
)
def test_what_a_type_cannot_take_is_refused_before_anything_is_sent(name, options, word):
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.InvalidRequest, match=word):
        getattr(client, name)(interval="1h", period=3600, **options)


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("candles", {"block_size": 5}, "block_size="),
        ("candles", {"max_depth": 5}, "max_depth="),
        ("volume_profile", {"block_size": 5}, "block_size="),
        ("side_candles", {"session": "daily"}, "session="),
        ("orderbook_heatmap", {"block_size": 5, "block_minutes": 30}, "block_minutes="),
        ("open_interest", {"tenor": "ONE_W"}, "tenor="),
        ("tpo", {"token_name": "Bitcoin"}, "token_name="),
    ],
)
def test_what_only_other_types_take_is_refused_whatever_the_call(name, options, word):
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client:
        for call in (client.points, client.plan):
            for kind in (name, METHODS[name]):
                with pytest.raises(mp.InvalidRequest, match=f"leave {word} out"):
                    call(kind, *MARKET, "1h", period=3600, **options)


def test_a_market_profile_has_levels_of_the_height_asked_for(client):
    place, options = (*MARKET, "1d"), {"session": "daily", "block_minutes": 60, **WINDOW}
    coarse = client.tpo(*place, block_size=100, **options)
    assert len(coarse.prices) > 1 and (coarse.prices % 100 == 0).all()
    assert coarse.only == client.points("TPO_AGG", *place, block_size=100, **options).only
    fine = client.tpo(*place, block_size=50, **options)
    assert len(fine.prices) > len(coarse.prices)
    assert fine.buys.sum() == pytest.approx(coarse.buys.sum())
    assert "blockSize=100" in client.plan("tpo", *place, block_size=100, **options).requests[0].url


def test_names_of_methods_are_names_of_types_everywhere(client, tmp_path):
    for name, wire in METHODS.items():
        assert mp.weight(name, points=1000) == mp.weight(wire, points=1000)
    candles, place = "TRADE_SIDE_AGNOSTIC_AGG", (*MARKET, "1h")
    asked = client.candles(*place, **WINDOW).only
    for name in ("candles", candles):
        assert client.points(name, *place, **WINDOW).only == asked
        assert client.plan(name, *place, **WINDOW).weight == 1
        archive = mp.Archive(tmp_path)
        archive.sync(client, name, *place, **WINDOW)
        assert archive.read(name, *place, **WINDOW).only == asked
    filters = {"exchange": "BINANCE_FUTURES"}
    assert client.symbols(type="candles", **filters) == client.symbols(type=[candles], **filters) != []
    assert client.symbols(type="liquidation_heatmap", exchange="COINBASE") == []
    assert [one.raw_symbol for one in client.markets(type="tpo", limit=3)] == [
        one.raw_symbol for one in client.markets(type="TPO_AGG", limit=3)
    ]


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("candels", "candles"),
        ("Candles", "candles"),
        ("open-interest", "open_interest"),
        ("leader_board", "leaderboard"),
    ],
)
def test_slips_of_a_method_s_name_are_refused_everywhere(client, tmp_path, slip, meant):
    calls = [
        lambda: client.points(slip, *MARKET, "1h", period=3600),
        lambda: client.plan(slip, *MARKET, "1h", period=3600),
        lambda: mp.weight(slip, points=1),
        lambda: mp.Archive(tmp_path).read(slip, *MARKET, "1h"),
        lambda: client.symbols(type=slip),
    ]
    for call in calls:
        with pytest.raises(mp.InvalidRequest, match=f"did you mean {meant}\\?"):
            call()


def test_the_analytics_have_no_points(client, tmp_path):
    for call in (
        lambda: client.points("leaderboard", interval="1h", period=3600),
        lambda: mp.Archive(tmp_path).sync(client, "leaderboard", interval="1h", period=3600),
    ):
        with pytest.raises(mp.InvalidRequest, match=r"ask it in Python by client.leaderboard\("):
            call()


def test_an_argument_that_a_type_has_no_use_for_is_no_argument():
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(TypeError, match="block_size"):
        client.candles(*MARKET, "1h", period=3600, block_size=5)


def test_a_misspelt_argument_is_refused_with_what_was_meant():
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client:
        for call, meant in ((client.candles, "gapfill"), (client.tpo, "block_minutes"), (client.points, "max_depth")):
            slip = meant[:-1]
            with pytest.raises(TypeError, match=rf"^{call.__name__}\(\) got .* '{slip}'; did you mean {meant}\?"):
                call(**{slip: 1})
        with pytest.raises(TypeError, match="'max_dept'; did you mean max_depth"):
            client.plan("candles", *MARKET, "1h", period=3600, max_dept=1)


def test_a_misspelt_argument_of_a_constructor_or_a_listing_is_refused_with_what_was_meant(demo, tmp_path):
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client:
        for call, name, slip, meant in (
            (mp.Client, "Client", "teir", "tier"),
            (mp.AsyncClient, "AsyncClient", "retry", "retries"),
            (mp.LocalService, "LocalService", "sead", "seed"),
            (lambda **wrong: mp.Archive(tmp_path, **wrong), "Archive", "leese", "lease"),
            (client.markets, "markets", "exchnge", "exchange"),
            (client.leaderboard, "leaderboard", "sort_bi", "sort_by"),
            (demo.faults.set, "set", "probabilty", "probability"),
            (lambda **wrong: mp.align([], **wrong), "align", "max_aeg", "max_age"),
            (lambda **wrong: mp.weight("candles", **wrong), "weight", "perod", "period"),
            (lambda **wrong: mp.ingest("dumps", "store", **wrong), "ingest", "allow_fewer", "allow_fewer_rows"),
        ):
            with pytest.raises(TypeError, match=rf"^{name}\(\) got .* '{slip}'; did you mean {meant}\?$"):
                call(**{slip: 1})
    with pytest.raises(TypeError, match=r"^LocalService\(\) got .* 'timeout'; give it to Client\("):
        mp.LocalService(timeout=3)


def test_a_misspelt_argument_is_refused_with_the_call_that_was_made(tmp_path):
    archive = mp.Archive(tmp_path)
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client:
        calls = {
            "plan": client.plan,
            "read": archive.read,
            "sync": lambda *query, **arguments: archive.sync(client, *query, **arguments),
            "refresh": lambda *query, **arguments: archive.refresh(client, *query, **arguments),
            "verify": lambda *query, **arguments: archive.verify(client, *query, **arguments),
        }
        for name, call in calls.items():
            for slip, meant in (("perod", "period"), ("exchnge", "exchange")):
                with pytest.raises(TypeError, match=rf"^{name}\(\) got .* '{slip}'; did you mean {meant}\?$"):
                    call("candles", start=0, **{slip: 3600})
            with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'open_window'"):
                call("candles", *MARKET, "1h", start=0, end=3600, open_window=True)
            with pytest.raises(TypeError, match=rf"^{name}\(\) got .* 'max_wait'; give it to Client\("):
                call("candles", *MARKET, "1h", start=0, end=3600, max_wait=3)
        with pytest.raises(TypeError, match=r"^plan\(\) takes from 1 to 4 positional arguments but 5 were given"):
            client.plan("candles", *MARKET, "1h", "surplus")
        with pytest.raises(TypeError, match=r"^symbols\(\) takes nothing by position, and by name type, exchange, "):
            client.symbols("BINANCE_FUTURES")
        with pytest.raises(TypeError, match=r"^candles\(\) takes exchange, symbol, interval by position, and by name "):
            client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", "2026-01-01")
        with pytest.raises(TypeError, match=r"^points\(\) missing 1 required positional argument: 'type'"):
            client.points()
        with pytest.raises(TypeError, match=r"^trader_profile\(\) missing 1 required positional argument"):
            client.trader_profile()


def test_settings_of_a_client_are_known_as_such():
    calls = [inspect.signature(getattr(mp.Client, name)).parameters for name in [*METHODS, "points"]]
    settings = set(inspect.signature(mp.Client).parameters).difference(*calls)
    assert settings == signatures.OF_CLIENTS


def test_the_documentation_of_points_tells_every_argument_of_the_protocols_table():
    taken = inspect.signature(mp.Client.points).parameters
    documented = inspect.getdoc(mp.Client.points)
    for argument, _, _ in _engine.points_parameters():
        assert argument in taken, argument
    for name in taken:
        assert name == "self" or f"\n    {name}: " in documented, name


@pytest.mark.parametrize("happened", ["BUY", "SELL"])
def test_a_side_on_which_nothing_happened_is_there_and_empty(happened, tmp_path):
    """The service leaves its series out: what a caller finds, and what columns are named, is not left to the market."""
    identity = {
        "type": "LIQUIDATION_AGG",
        "exchange": "BINANCE_FUTURES",
        "rawSymbol": "BTCUSDT",
        "normalizedSymbol": "BTC-USDT",
        "coin": "BTC",
        "interval": "MINUTE",
        "side": happened,
    }
    start = WINDOW["start"]
    points = [{"Point": {"Liquidation": {"liquidations": 5.0, "timestamp": {"s": start + 60}}}}]
    answer = lambda path: {"series": [{"id": identity, "points": points}]}  # noqa: E731
    asked = {"start": start, "end": start + 300}
    archive = mp.Archive(tmp_path)
    with scripted(answer) as (url, _), mp.Client("key", url, tier="advanced", clock=lambda: start + 86_400) as client:
        direct = client.liquidations(*MARKET, "1m", **asked)
        assert archive.sync(client, "liquidations", *MARKET, "1m", **asked)
        kept = archive.read("liquidations", *MARKET, "1m", **asked)
    for found in (direct, kept):
        assert sorted(one.id.side for one in found) == ["BUY", "SELL"]
        (empty,) = (one for one in found if one.id.side != happened)
        assert found.sel(side=happened)["liquidations"].tolist() == [5.0]
        assert found.sel(side=empty.id.side)["liquidations"].dtype == "float64" and len(empty) == 0
        assert (empty.id.coin, empty.id.raw_symbol, empty.id.interval) == ("BTC", "BTCUSDT", "MINUTE")
        moments = found.sel(side=happened).closes_at
        assert list(mp.align(moments, found).columns[-2:]) in (
            ["liquidations_BUY", "liquidations_SELL"],
            ["liquidations_SELL", "liquidations_BUY"],
        )
