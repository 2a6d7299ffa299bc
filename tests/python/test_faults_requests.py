"""What users ask wrongly, by its number in docs/faults.md: refused before any weight is spent, or sent exactly."""

import datetime as dt
import os
import urllib.parse

import pytest
import xxhash

import marketpoints as mp
from support.children import run
from support.scripted import scripted

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
NOW = 1_790_000_000
WALLET = "0x" + "ab" * 20


@pytest.fixture
def nobody():
    """A client of an address where nobody listens: what is sent fails with another error."""
    with mp.Client("key", "http://127.0.0.1:9", tier="advanced", retries=0, clock=lambda: NOW) as client:
        yield client
        assert client.budget.used == 0


@pytest.mark.parametrize(
    ("window", "word"),
    [
        ({"start": 1_789_990_000_000}, "milliseconds"),
        ({"start": 1_789_990_000_000_000}, "microseconds"),
        ({"start": "2026-09-01", "end": "2026-08-01"}, "before it starts"),
        ({"start": "2026-02-30"}, "start"),
        ({"period": -60}, "period"),
        ({"period": float("nan")}, "period"),
        ({"end": "2026-09-01"}, "no start"),
        ({"start": "2008-12-31", "end": "2009-01-02"}, "history goes back 365 days"),
        ({"start": "2026-09-01", "end": "2026-09-02", "period": 60}, "one too many"),
    ],
)
def test_d3_32_windows_that_cannot_be_right_are_refused(nobody, window, word):
    with pytest.raises(mp.Error, match=word):
        nobody.candles(*MARKET, "1m", **window)


@pytest.mark.parametrize(
    "window",
    [{"period": 0}, {"start": NOW + 86_400, "end": NOW + 2 * 86_400}, {"start": NOW - 600, "end": NOW - 600}],
    ids=["no length", "the future", "nothing between"],
)
def test_d3_32_an_empty_window_costs_nothing_and_is_not_sent(nobody, window):
    assert nobody.plan("candles", *MARKET, "1m", **window).requests == ()
    assert len(nobody.candles(*MARKET, "1m", **window)["close"]) == 0


def test_d3_32_a_window_that_the_interval_does_not_divide_holds_the_buckets_that_start_in_it(nobody):
    start = dt.datetime(2026, 9, 1, 0, 30)  # naive: UTC
    (one,) = nobody.plan("candles", *MARKET, "1h", start=start, period=2 * 3600 + 1).requests
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(one.url).query)
    assert query["from"] == [str(int(dt.datetime(2026, 9, 1, 1, tzinfo=dt.timezone.utc).timestamp()))]
    assert (query["period"], one.points) == (["7200"], 2)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"interval": "1x"}, "1m, 5m"),
        ({"interval": "HOURS"}, "did you mean HOUR"),
        ({"exchange": "BINANCE_FUTURE"}, "did you mean BINANCE_FUTURES"),
        ({"exchange": "binance_futures"}, "did you mean BINANCE_FUTURES"),
        ({"type": "TRADE_AG"}, "did you mean TRADE_AGG"),
    ],
)
def test_d3_33_a_slip_is_refused_with_what_was_meant(nobody, change, word):
    given = {"type": "TRADE_AGG", "exchange": MARKET[0], "symbol": MARKET[1], "interval": "1m", "period": 60} | change
    with pytest.raises(mp.InvalidRequest, match=word):
        nobody.points(**given)


def test_d3_33_every_spelling_of_an_interval_is_one(nobody):
    urls = {nobody.plan("candles", *MARKET, name, period=86_400).requests[0].url for name in ("1m", "MINUTE")}
    assert len(urls) == 1


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda c: c.points("OPEN_INTEREST_AGG", *MARKET, "1h", period=3600, gapfill=True), "gapfill"),
        (lambda c: c.candles(MARKET[0], None, "1h", coin="BTC", period=3600, group_by="oi_weighted"), "by sum only"),
        (lambda c: c.candles(*MARKET, "1h", coin="BTC", period=3600), "not both"),
        (lambda c: c.orderbook_heatmap(*MARKET, "1h", period=3600), "block_size"),
        (lambda c: c.liquidation_heatmap(None, "BTCUSDT", "1h", coin="BTC", period=3600), "no symbol"),
        (lambda c: c.skew("DERIBIT", "BTC_25", "1h", coin="BTC", period=3600), "tenor"),
        (lambda c: c.positions(), "user_wallet"),
        (lambda c: c.positions(asset_id="1", condition_id="0x1"), "asset_id"),
        (lambda c: c.market_summary(), "condition_id"),
        (lambda c: c.market_summary(asset_id="1", condition_id="0x1"), "condition_id"),
        (lambda c: c.leaderboard(limit=201), "paging reaches"),
        (lambda c: c.symbols(), "type"),
    ],
)
def test_d3_34_combinations_that_cannot_be_are_value_errors(nobody, call, word):
    with pytest.raises(ValueError, match=word) as caught:
        call(nobody)
    assert isinstance(caught.value, mp.InvalidRequest)


@pytest.mark.parametrize("symbol", ["A/B", "A&B=C", "100%", "#1", "a b+c", "ß€😀", "?", ";", "x" * 10_000, "\x00\n"])
def test_d3_35_symbols_are_sent_exactly(symbol):
    with scripted(lambda path: {}) as (url, asked), mp.Client("key", url, tier="advanced") as client:
        client.candles("UPBIT", symbol, "1m", period=60)
    assert urllib.parse.parse_qs(urllib.parse.urlsplit(asked[0]).query)["rawSymbol"] == [symbol]


def test_d3_35_repeated_parameters_keep_their_order():
    several = ["Z", "A", "M"]
    with scripted(lambda path: {}) as (url, asked), mp.Client("key", url, tier="advanced") as client:
        client.candles(several, None, "1m", coin="BTC", period=60, extra={"tag": ["2", "1"]})
    query = urllib.parse.parse_qsl(urllib.parse.urlsplit(asked[0]).query)
    assert [value for name, value in query if name == "exchange"] == several
    assert [value for name, value in query if name == "tag"] == ["2", "1"]


@pytest.mark.parametrize("key", ["", " wort", "wort\n", "wo rt", "schlüssel"])
def test_d3_36_a_key_that_no_header_carries_is_refused_at_once(key, monkeypatch):
    monkeypatch.delenv("MARKETPOINTS_API_KEY", raising=False)
    with pytest.raises(mp.InvalidRequest, match="API key") as caught:
        mp.Client(key, "http://127.0.0.1:9")
    assert not key.strip() or key not in str(caught.value)


@pytest.mark.parametrize("nexts", [[100, 100], [100, 50], [0], [-5], [2**40], [100, 200, 300, 100]])
def test_d3_37_paging_comes_to_an_end(nexts):
    pages = iter(nexts)

    def answer(path):
        rows = [{"exchange": "X", "rawSymbol": f"S{row}"} for row in range(100)]
        return {"symbols": rows, "nextOffset": next(pages, 0)}

    with scripted(answer) as (url, asked), mp.Client("key", url) as client:
        assert len(client.markets()) == 100
        assert len(asked) <= len(nexts)


def test_d3_19_loopback_goes_past_the_proxy_of_the_environment(environment):
    code = """
        import marketpoints as mp
        with mp.Client(retries=0) as client:
            print(client.usage().limit > 0)
            try:
                mp.Client(base_url="http://service.invalid", retries=0).usage()
            except mp.TransportError as error:
                print("no connection" in str(error))
    """
    proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"), "http://127.0.0.1:9")
    assert run(code, environment | proxies) == "True\nTrue\n"


def test_d3_08_the_days_weight_is_refused_with_the_time_of_the_next(tmp_path):
    """A budget file of another process says that all of the day's weight is spent (section 8.1: 1,000 a day)."""
    with scripted(lambda path: {}) as (url, asked):
        settings = {"tier": "free", "clock": lambda: NOW, "budget": str(tmp_path)}
        with mp.Client("key", url, **settings) as client:
            client.candles("UPBIT", "X", "1m", period=60)
            (file,) = tmp_path.iterdir()
            record = file.read_text().split("\n")[0]
            assert '"spent_today":1,' in record
            record = record.replace('"spent_today":1,', '"spent_today":1000,')
            file.write_text(f"{record}\n{xxhash.xxh3_128_hexdigest(record.encode())}")
            with pytest.raises(mp.RateLimitError, match="00:00 UTC") as caught:
                client.candles("UPBIT", "X", "1m", period=60)
        now = dt.datetime.now(dt.timezone.utc)
        midnight = (now + dt.timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        assert caught.value.retry_after == pytest.approx((midnight - now).total_seconds(), abs=5)
        assert len(asked) == 1
    assert os.listdir(tmp_path) == [file.name]  # noqa: PTH208
