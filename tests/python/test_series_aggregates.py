"""What an aggregated series says of itself, and what the client keeps beside it (supplement, section 2)."""

import pickle

import pytest

import marketpoints as mp

VENUES = ["BINANCE_FUTURES", "BYBIT"]
NOW = 1_790_000_000
WINDOW = {"start": NOW // 3600 * 3600 - 7200, "period": 7200}
SUMS = {
    "candles": "sum",
    "side_candles": "sum",
    "liquidations": "sum",
    "open_interest": "sum",
    "funding_rate": "oi_weighted",
    "volume_profile": "sum",
    "tpo": "sum",
}


@pytest.mark.parametrize(("method", "group_by"), SUMS.items())
def test_a_sum_tells_type_interval_and_side_and_the_client_adds_what_was_asked(client, method, group_by):
    answer = getattr(client, method)(VENUES, None, "1h", coin="BTC", group_by=group_by, **WINDOW)
    sides = {"BUY", "SELL"} if method in ("side_candles", "liquidations") else {None}
    assert {one.id.side for one in answer} == sides
    assert len(answer) == len(sides)
    for one in answer:
        assert set(one.id.known()) - {"side"} == {"type", "interval", "coin"}
        assert one in answer.sel(coin="BTC")
        assert one.asked_for == mp.Selection(("BINANCE_FUTURES", "BYBIT"), None, "BTC")
        assert "BTC on BINANCE_FUTURES + BYBIT" in repr(one)
        again = pickle.loads(pickle.dumps(one))
        assert (again, again.asked_for) == (one, one.asked_for)


def test_one_coin_is_found_as_one_of_several_is(client, tmp_path):
    query = {"exchange": VENUES, "interval": "1h", "group_by": "sum", **WINDOW}
    archive = mp.Archive(tmp_path)
    several = client.candles(**query, coin=["BTC", "ETH"])
    for coin in ("BTC", ["BTC"]):
        one = client.candles(**query, coin=coin)
        assert one.sel(coin="BTC").only == several.sel(coin="BTC").only
        archive.sync(client, "candles", **query, coin=coin)
        assert archive.read("candles", **query, coin=coin).sel(coin="BTC").only == one.only


def test_a_picture_of_a_sum_names_what_was_asked(client):
    pytest.importorskip("matplotlib").use("Agg")
    candles = client.candles(VENUES, None, "1h", coin="BTC", group_by="sum", **WINDOW).only
    assert candles.plot().get_title(loc="left").startswith("BTC on BINANCE_FUTURES + BYBIT")
    interest = client.open_interest(VENUES, None, "1h", coin="BTC", group_by="sum", **WINDOW).only
    assert "BTC on BINANCE_FUTURES + BYBIT" in interest.plot().get_title(loc="left")


def test_an_empty_sum_has_the_identity_of_a_full_one(demo):
    with demo.client("unlimited", check_symbols=False) as client:
        full, empty = (
            client.liquidations(venues, None, "1h", coin="BTC", group_by="sum", **WINDOW)
            for venues in (VENUES, ["BINANCE", "COINBASE"])  # spot: nothing is liquidated there
        )
    assert sum(len(one.timestamps) for one in empty) == 0 < len(full[0].timestamps)
    assert {one.id for one in empty} == {one.id for one in full}


def test_a_market_and_a_body_alone_tell_what_they_know(client):
    one = client.candles("BYBIT", "BTCUSDT", "1h", **WINDOW).only
    assert (one.asked_for, one.id.coin) == (mp.Selection(("BYBIT",), "BTCUSDT", None), "BTC")
    assert " of " not in repr(one)
    assert mp.decode_points(b'{"series":[{"points":[]}]}').only.asked_for is None


def test_an_archive_keeps_the_sums_of_two_coins_apart(demo, client, tmp_path):
    archive = mp.Archive(tmp_path / "archive")
    asked = {
        (coin, tuple(venues)): {"exchange": venues, "interval": "1h", "coin": coin, "group_by": "sum", **WINDOW}
        for coin in ("BTC", "ETH")
        for venues in (VENUES, VENUES[:1])
    }
    for query in asked.values():
        archive.sync(client, "open_interest", **query)
    values = set()
    for (coin, venues), query in asked.items():
        kept = archive.read("open_interest", **query).only
        assert kept == client.open_interest(**query).only
        assert kept.asked_for == mp.Selection(venues, None, coin)
        values.add(float(kept["close"][0]))
    assert len(values) == 4
