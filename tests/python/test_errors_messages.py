"""What messages say: what was wrong, where, and how to mend it, in the words of whoever asked."""

import datetime as dt
import pickle
import re

import pytest

import marketpoints as mp
from support import NOW

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
HOUR = NOW // 3_600 * 3_600


def problem(kind, call):
    """The message of the error that a call ends in."""
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


def test_a_key_in_the_place_of_the_address_is_refused_and_never_shown(monkeypatch):
    swapped = problem(mp.InvalidRequest, lambda: mp.Client("http://127.0.0.1:9", "mp-secret-key-123"))
    assert "swap" in swapped and "Client(api_key, base_url)" in swapped
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", "mp-secret-key-123")
    alone = problem(mp.InvalidRequest, lambda: mp.Client("some-key"))
    assert "secret" not in swapped + alone and "base_url is no address" in alone


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"points": 2.5}, "points: 2.5 is not a whole number"),
        ({"points": "5"}, "points: '5' is not a whole number"),
        ({"points": -3}, "points: -3 is not a whole number of 0 or more"),
        ({"points": 10**30}, "points"),
        ({"points": 100_001}, "100000 points at most"),
        ({"interval": "1m", "period": "100d"}, "100000 points at most"),
        ({"points": 5, "interval": "1h"}, "points= stands in the place of"),
        ({"points": 5, "max_depth": "3"}, "max_depth: '3'"),
        ({"points": 5, "max_depth": -4}, "max_depth: -4 is not a whole number of 1 or more"),
        ({"points": 5, "max_depth": 2**40}, "max_depth"),
        ({"points": 5, "exchanges": 2.5}, "exchanges: 2.5"),
        ({"points": 5, "exchanges": 0}, "exchanges: 0 is not a whole number of 1 or more"),
        ({"points": 5, "exchanges": -1}, "exchanges: -1"),
        ({"points": 5, "exchanges": True}, "exchanges: True"),
        ({"points": 5, "exchanges": []}, "exchanges: the list is empty"),
        ({"points": 5, "exchanges": 10**14}, "exchanges: 100000000000000"),
        ({"interval_seconds": 1.5, "period": 10}, "interval_seconds: 1.5"),
        ({"interval_seconds": 10**30, "period": 10}, "interval_seconds"),
    ],
)
def test_weight_refuses_numbers_that_cannot_be(given, words):
    assert words in problem(mp.InvalidRequest, lambda: mp.weight("candles", **given))


def test_weight_lists_the_types_and_counts_an_exchange_once():
    message = problem(mp.InvalidRequest, lambda: mp.weight("foo", points=1))
    assert "TRADE_SIDE_AGNOSTIC_AGG" in message and "leaderboard" in message
    assert mp.weight("candles", points=1000, exchanges=["BINANCE", "BINANCE"]) == 1
    # Section 8.2: two exchanges are 1.4 times, rounded up.
    assert mp.weight("candles", points=1000, exchanges=["BINANCE", "BYBIT", "BINANCE"]) == 2
    assert mp.weight("candles", points=100_000) == 100


WINDOWS = {
    "equal ends": (
        {"start": "2026-04-20", "end": "2026-04-20"},
        "the window is empty: it starts and ends at 2026-04-20",
    ),
    "no length": ({"period": 0}, "the window is empty"),
    "between two": (
        {"start": "2026-04-20T10:10", "end": "2026-04-20T10:50"},
        "from 2026-04-20 10:10:00 UTC to 2026-04-20 10:50:00 UTC: one does at 2026-04-20 10:00:00 UTC, "
        "the next at 2026-04-20 11:00:00 UTC",
    ),
    "short": ({"period": 600}, "no bucket starts from"),
    "in the future": ({"start": "2027-01-01", "end": "2027-02-01"}, "starts at 2027-01-01 00:00:00 UTC, in the future"),
    "forming": ({"start": HOUR}, "include_forming=True takes those that form"),
}


@pytest.mark.parametrize("forming", [False, True])
@pytest.mark.parametrize("window", WINDOWS)
def test_an_empty_window_says_why(client, window, forming):
    arguments, words = WINDOWS[window]
    if forming and window in ("forming", "short", "no length"):  # then it holds the forming one
        assert client.candles(*MARKET, "1h", include_forming=True, **arguments).why_empty is None
        return
    why = client.candles(*MARKET, "1h", include_forming=forming, **arguments).why_empty
    assert words in why
    assert ("include_forming" in why) == (window == "forming")


def test_a_service_of_another_time_is_reported(service):
    """A client that was not given the clock of `serve --now` asks for a time that the service does not have."""
    late = dt.datetime(2027, 4, 1, tzinfo=dt.timezone.utc).timestamp()
    with mp.Client(service.keys["unlimited"], service.url, clock=lambda: late) as client:
        why = client.candles(*MARKET, "1h", period="5h").why_empty
    assert "the service's clock says 2026-09-21" in why and "this client's 2027-04-01 00:00 UTC" in why
    assert "MARKETPOINTS_CLOCK_OFFSET" in why
    with service.client("unlimited", check_symbols=False) as client:
        assert "clock" not in client.candles("BINANCE_FUTURES", "NOSUCH", "1h", period="5h").why_empty


CALLS = {
    "no connection": (lambda _: mp.Client("k-e-y", "http://127.0.0.1:9", retries=0).usage(), mp.TransportError),
    "short key": (lambda _: mp.Client("k", "http://nowhere.invalid:9", retries=0).usage(), mp.TransportError),
    "positions": (lambda client: client.positions(), mp.InvalidRequest),
    "order": (lambda client: client.leaderboard(sort_by="pnl"), mp.InvalidRequest),
    "no rows": (lambda client: client.leaderboard(limit=0), mp.InvalidRequest),
    "no markets": (lambda client: client.markets(limit=0), mp.InvalidRequest),
    "channel": (
        lambda client: client.stream(mp.Channel(type="BLOCK_BOOK_SNAPSHOT", exchange="BYBIT", symbol="BTCUSDT")),
        mp.InvalidRequest,
    ),
    "category": (lambda client: client.markets(category="spot"), mp.InvalidRequest),
    "half a category": (lambda client: client.markets(category="PERP"), mp.InvalidRequest),
    "category of symbols": (
        lambda client: client.symbols(type="candles", category=["SPOT", "perpetuals"]),
        mp.InvalidRequest,
    ),
    "block minutes": (
        lambda client: client.plan("tpo", *MARKET, "1h", period="1d", block_minutes=15),
        mp.InvalidRequest,
    ),
    "session": (lambda client: client.plan("tpo", *MARKET, "1h", period="1d", session="day"), mp.InvalidRequest),
    "tenor": (
        lambda client: client.plan("skew", "DERIBIT", "BTC_25", "1h", coin="BTC", tenor="ONE_WEEK", period="1d"),
        mp.InvalidRequest,
    ),
    "years": (lambda client: client.plan("candles", *MARKET, "1h", period="100y"), mp.InvalidRequest),
    "month": (lambda client: client.plan("candles", *MARKET, "1h", period="1month"), mp.InvalidRequest),
    "other unit": (lambda client: client.plan("candles", *MARKET, "1h", period="3 fortnights"), mp.InvalidRequest),
    "negative": (lambda client: client.plan("candles", *MARKET, "1h", period="-5d"), mp.InvalidRequest),
    "far end": (lambda client: client.plan("candles", *MARKET, "1h", start=0, end="9999-12-31"), mp.InvalidRequest),
    "number of a date": (lambda client: client.plan("candles", *MARKET, "1h", start=20260421), mp.InvalidRequest),
    "weight": (lambda client: client.plan("candles", *MARKET, "1h", period="1d", max_weight=0), mp.InvalidRequest),
    "two symbols": (
        lambda client: client.skew("DERIBIT", "BTC_99", "1h", coin="BTC", tenor="ONE_W", period="1d"),
        mp.InvalidRequest,
    ),
    "text for a body": (lambda _: mp.decode_points('{"series":[]}'), mp.InvalidRequest),
    "error body": (lambda _: mp.decode_points(b'{"error":"RATE_LIMITED","message":"slow down"}'), mp.DecodeError),
    "error body, message first": (
        lambda _: mp.decode_points(b'{"message":"slow down","error":"RATE_LIMITED"}'),
        mp.DecodeError,
    ),
}
SAID = {
    "no connection": ("no connection to the service at http://127.0.0.1:9", "`marketpoints serve`", "base_url"),
    "short key": ("lookup",),
    "positions": ("user_wallet", "asset_id", "condition_id"),
    "order": ('sort_by: "pnl"', "REALIZED_PNL"),
    "no rows": ("limit: 0 is not a number of rows", "1 or more"),
    "no markets": ("limit: 0 is not a number of rows",),
    "channel": ("block_size: missing", "a number above 0, such as 10"),
    "category": ("did you mean SPOT?",),
    "half a category": ("did you mean PERPETUAL?",),
    "category of symbols": ("did you mean PERPETUAL?",),
    "block minutes": ("block_minutes=15 is not one of 5, 30, 60, 240",),
    "session": ("did you mean daily?",),
    "tenor": ("did you mean ONE_W?",),
    "years": ("months and years differ in length", "w"),
    "month": ("months and years differ in length",),
    "other unit": ("there is no unit 'fortnights'", "s, min or m, h, d and w"),
    "negative": ("'-5d' is negative",),
    "far end": ("later than the year 5138", "leave end= out"),
    "number of a date": ("looks like a date", "'2026-04-21'"),
    "weight": ("weighs 1 in 1 request,",),
    "two symbols": ("BTC_25, ETH_25",),
    "text for a body": ("a str is no body", "text.encode()"),
    "error body": ('error: "RATE_LIMITED"', "slow down"),
    "error body, message first": ('error: "RATE_LIMITED"', "slow down"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_message_says_what_would_be_right(client, call):
    act, kind = CALLS[call]
    message = problem(kind, lambda: act(client))
    for words in SAID[call]:
        assert words in message, message
    for wire in ("userWallet", "assetId", "conditionId", "sortBy", "blockSize", "as a text", "<API key>up"):
        assert wire not in message


HALF = "BTC\ud800"  # half of a surrogate pair: Python has such texts, UTF-8 has none


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("symbol", lambda client: client.candles("BYBIT", HALF, "1h", period="1d")),
        ("exchange", lambda client: client.candles([HALF], "BTCUSDT", "1h", period="1d")),
        ("interval", lambda client: client.candles(*MARKET, HALF, period="1d")),
        ("start", lambda client: client.candles(*MARKET, "1h", start=HALF)),
        ("period", lambda client: client.plan("candles", *MARKET, "1h", period=HALF)),
        ("extra", lambda client: client.points("NEW_AGG", period="1d", interval="1h", extra={"a": HALF})),
        ("type", lambda client: client.points(HALF)),
        ("type", lambda _: mp.weight(HALF, points=1)),
        ("symbol_filter", lambda client: client.markets(symbol_filter=HALF)),
        ("user_wallet", lambda client: client.trader_profile(HALF)),
        ("symbol", lambda client: client.stream(mp.Channel(type="TRADE", exchange="BYBIT", symbol=HALF))),
        ("quote", lambda client: client.stream(mp.Channel(type="TRADE", exchange="B", symbol="S", quote=HALF))),
    ],
)
def test_a_text_that_cannot_be_sent_is_refused_by_its_arguments_name(client, name, call):
    message = problem(mp.InvalidRequest, lambda: call(client))
    assert re.fullmatch(rf"{name}: .* is no Unicode: half of a surrogate pair is in it", message), message


def test_open_names_still_pass(client):
    client.plan("skew", "DERIBIT", "BTC_25", "1h", coin="BTC", tenor="SIX_M", period="1d")
    client.plan("tpo", *MARKET, "1h", period="1d", session="TPO_SESSION_LUNAR")
    assert len(client.markets(category=["WARRANT", "OPTION_COMBO"])) == 0


def test_a_refused_key_says_which_argument_it_is(demo):
    message = problem(mp.AuthenticationError, mp.Client("no-such-key", demo.url).usage)
    assert "api_key= or MARKETPOINTS_API_KEY" in message


def test_a_window_beyond_the_history_says_what_to_do(demo):
    with demo.client("free") as client, demo.client("advanced") as highest:
        short = problem(mp.TierError, lambda: client.plan("candles", *MARKET, "1d", start="2014-01-01"))
        # Section 8.1: 7 days of history are free's, 30 are basic's.
        enough = problem(mp.TierError, lambda: client.plan("candles", *MARKET, "1d", period="20d"))
        longest = problem(mp.TierError, lambda: highest.plan("candles", *MARKET, "1d", start="2014-01-01"))
        reasons = highest.plan("candles", *MARKET, "1d", period="20d").refused_by_tier
    assert "starts at 2014-01-01 00:00:00 UTC" in short
    assert short.endswith("start later; what no tier has is only in an archive that was synced while it was there")
    assert enough.endswith("start later, or use the tier basic, which has 30 days")
    assert "start later; what no tier has is only in an archive" in longest
    assert re.fullmatch(r"the window starts at .* UTC, history goes back 7 days, to \S+ \S+ UTC", reasons["free"])


def test_the_archive_says_who_comes_first_and_what_is_no_folder(client, tmp_path):
    archive = mp.Archive(tmp_path / "archive")
    for name in ("sync", "refresh", "verify"):
        message = problem(mp.InvalidRequest, lambda name=name: getattr(archive, name)("candles", *MARKET, "1h"))
        assert f"archive.{name}(client, …)" in message
    file = tmp_path / "file"
    file.write_text("no folder")
    nothing = mp.Archive(file)
    window = {"start": HOUR - 7_200, "end": HOUR}
    for call in (
        lambda: nothing.sync(client, "candles", *MARKET, "1h", **window),
        lambda: nothing.read("candles", *MARKET, "1h"),
        nothing.contents,
        nothing.verify,
    ):
        assert problem(mp.ArchiveError, call) == f"{file}: a file; an archive is a folder: name another"
    below = mp.Archive(file / "below")
    impossible = problem(mp.ArchiveError, lambda: below.sync(client, "candles", *MARKET, "1h", **window))
    assert impossible.startswith(f"{file / 'below'}: ") and "a folder that can be made here" in impossible


def test_what_is_kept_can_be_verified_without_a_window(client, tmp_path):
    archive = mp.Archive(tmp_path)
    query = ("candles", *MARKET, "1h")
    assert "nothing is kept" in problem(mp.NotArchivedError, lambda: archive.verify(client, *query))
    archive.sync(client, *query, start=HOUR - 5 * 3_600, end=HOUR - 3_600)
    checked = archive.verify(client, *query)
    assert checked and checked.requests == 1


def test_a_selection_takes_what_a_call_takes(client):
    exchanges = ["BINANCE_FUTURES", "BYBIT"]
    candles = client.candles(exchanges, "BTCUSDT", "1h", period="2h")
    picked = candles.sel(type="candles", symbol="BTCUSDT", interval="1h", exchange="BYBIT")
    assert picked.only.id == candles.sel(type="TRADE_SIDE_AGNOSTIC_AGG", interval="HOUR", exchange="BYBIT").only.id
    both = candles + client.candles("BYBIT", "ETHUSDT", "1h", period="2h")
    assert [one.id.raw_symbol for one in both.sel(symbol=["ETHUSDT", "BTCUSDT"])] == ["BTCUSDT", "BTCUSDT", "ETHUSDT"]
    lacking = problem(mp.SelectionError, lambda: both.sel(symbol=["BTCUSDT", "ETHUSD"], exchange="BYBIT"))
    assert lacking.startswith("no series has raw_symbol='ETHUSD'; did you mean raw_symbol='ETHUSDT'?; the answer holds")
    assert "neither a name nor a list" in problem(mp.InvalidRequest, lambda: both.sel(symbol=7))
    assert "the list is empty" in problem(mp.InvalidRequest, lambda: both.sel(symbol=[]))
    twice = problem(mp.InvalidRequest, lambda: both.sel(symbol="BTCUSDT", raw_symbol="ETHUSDT"))
    assert twice == "sel: symbol, raw_symbol name one field twice; give it once"
    several = problem(mp.SelectionError, lambda: both.sel(symbol=["BTCUSDT", "ETHUSD", "ZZ"]))
    assert several.startswith("no series has raw_symbol='ETHUSD', raw_symbol='ZZ'; did you mean raw_symbol='ETHUSDT'?")
    assert "no series has side=None" in problem(mp.SelectionError, lambda: both.sel(side=None))
    assert list(mp.adapters.closes(both.sel(exchange="BYBIT"), by="symbol")) == ["BTCUSDT", "ETHUSDT"]


def test_keywords_of_another_call_or_in_short_are_pointed_out(client):
    assert problem(TypeError, lambda: client.funding_rate(*MARKET, "1h", usd=True)) == (
        "funding_rate() got an unexpected keyword argument 'usd'; other calls take it, not this one"
    )
    assert "other calls take it" in problem(TypeError, lambda: client.candles(*MARKET, "1h", limit=3))
    assert "did you mean primary_category?" in problem(TypeError, lambda: client.leaderboard(category="Crypto"))
    assert "did you mean exchange?" in problem(TypeError, lambda: mp.Channel(type="TRADE", exchnge="BYBIT", symbol="X"))
    tenors = problem(mp.InvalidRequest, lambda: client.skew("DERIBIT", "BTC_25", "1h", coin="BTC", tenor=["ONE_W"]))
    assert tenors == "tenor: a call takes one; join the answers of several calls by +, such as one + other"


def test_slips_of_a_selection_are_refused(client):
    candles = client.candles(["BINANCE_FUTURES", "BYBIT"], "BTCUSDT", "1h", period="2h")
    assert "did you mean raw_symbol?" in problem(mp.InvalidRequest, lambda: candles.sel(rawsymbol="BTCUSDT"))
    assert "did you mean exchange?" in problem(mp.InvalidRequest, lambda: candles.sel(exchnge="BYBIT"))
    assert "did you mean exchange?" in problem(mp.InvalidRequest, lambda: mp.adapters.closes(candles, by="exchang"))
    lacking = problem(mp.SelectionError, lambda: mp.adapters.closes(candles, column="vol"))
    assert "open, high, low, close, volume" in lacking
    flows = client.liquidations(*MARKET, "1h", period="2d")
    assert "these are no candles" in problem(mp.SelectionError, lambda: mp.adapters.backtesting(flows))
    of_times = problem(KeyError, lambda: candles[0]["timestamps"])
    assert "no column 'timestamps'; the times of the rows are .timestamps; there are: open" in of_times
    assert problem(KeyError, lambda: candles[0]["closee"]) == repr(
        "no column 'closee'; did you mean 'close'? there are: " + ", ".join(candles[0].columns)
    )


def test_a_key_known_by_its_hash_and_a_bad_keys_file_are_refused(tmp_path):
    file = tmp_path / "keys"
    file.write_text("lab advanced mp-lab-5f0c2a\nstudent free sha256:" + "2b" * 32 + "\n")
    file.chmod(0o600)
    with mp.LocalService(now=NOW, keys=file) as service:
        for name in ("student", "free"):
            assert "only its hash is known" in problem(mp.InvalidRequest, lambda name=name: service.client(name))
        assert "not one of lab" in problem(mp.InvalidRequest, lambda: service.client("nobody"))
    file.write_text("lab advanced\n")
    message = problem(mp.InvalidRequest, lambda: mp.LocalService(now=NOW, keys=file))
    assert f"keys file {file}, line 1: 2 words" in message


def test_more_streams_at_once_than_there_are(service):
    channels = [mp.Channel(type="TRADE", exchange=MARKET[0], symbol=f"{coin}USDT") for coin in ("BTC", "ETH", "XRP")]
    channels += [
        mp.Channel(type=kind, exchange=MARKET[0], symbol="BTCUSDT") for kind in ("LIQUIDATION", "OPEN_INTEREST")
    ]
    channels.append(mp.Channel(type="FUNDING_RATE", exchange=MARKET[0], symbol="BTCUSDT"))
    # Section 6: five streams.
    with service.client("basic") as client:
        message = problem(mp.TierError, client.stream(channels).open)
    assert "6 were asked for at once: ask for 5 at most" in message and "unsubscribe" not in message


@pytest.mark.parametrize("status", [428, 430, 450, 499, 600])
def test_a_fault_has_a_status_that_there_is(service, status):
    assert "neither 429 nor one of 500 to 599" in problem(mp.InvalidRequest, lambda: service.faults.set(status=status))


#: A channel of a stream that is never opened.
TRADES = mp.Channel(type="TRADE", exchange=MARKET[0], symbol=MARKET[1])


def test_what_is_not_what_is_wanted_is_named(service, client):
    heatmap = client.orderbook_heatmap(*MARKET, "1m", block_size=10, period="5m")
    for call, words in [
        (lambda: service.faults.set(path=5, drop=True), "path: 5 of type int is not a text"),
        (lambda: service.faults.set(headers={"a": 1}), "headers: 1 of type int is not a text"),
        (lambda: service.faults.set(headers={1: "a"}), "headers: 1 of type int is not a text"),
        (lambda: service.faults.set(headers={None: "a"}), "headers: None is among the names"),
        (lambda: service.faults.set(headers=["a"]), "headers: a list is no mapping of names to texts"),
        (lambda: heatmap.raster(width=10, height=10, reduce=HALF), "is no Unicode: half of a surrogate pair"),
        (lambda: mp.align(client.candles(*MARKET, "1m", period="5m"), as_frame=[]), "as_frame: [] is none of"),
        (lambda: client.markets(coin=b"btc"), "is neither a name nor a list of names"),
        (lambda: client.candles(MARKET[0], ["BTCUSDT", None], "1h", period="1d"), "symbol: None is among the names"),
        (lambda: mp.weight("candles", interval="1m", period="7d", exchanges="3"), "exchanges: '3' is a text"),
        (lambda: mp.ingest(None, "store"), "dumps: None is not a folder"),
        (lambda: mp.ingest("dumps", 2), "store: 2 is not a folder"),
        (lambda: mp.ingest("dumps" + HALF, "store"), "is no Unicode: half of a surrogate pair"),
        (lambda: client.stream([], record=HALF), "is no Unicode: half of a surrogate pair"),
        (lambda: mp.Client("key", service.url, clock=1), "clock: 1 of type int is no function"),
        (lambda: client.stream([TRADES]).poll("x"), "timeout: 'x' is not a number"),
        (lambda: client.stream([TRADES]).poll(0.1, 0), "most: 0 is not a whole number of 1 or more"),
        (lambda: mp.testing.assert_no_lookahead(None, service, ["2026-01-01"]), "not NoneType and LocalService"),
        (lambda: mp.testing.assert_no_lookahead(len, None, ["2026-01-01"]), "NoneType"),
        *((lambda weight=weight: mp.SeriesSet([], weight=weight), "weight: that") for weight in (-5, 2**70, "5")),
    ]:
        assert words in problem(mp.InvalidRequest, call)
    assert mp.SeriesSet([], weight=2**63).weight == 2**63


def test_a_store_is_never_made_among_the_dumps(tmp_path):
    dumps = tmp_path / "dumps"
    (dumps / "trades").mkdir(parents=True)
    inside = tmp_path / "link"
    inside.symlink_to(dumps, target_is_directory=True)
    for store, words in [
        (dumps, "one folder"),
        (inside, "one folder"),
        (dumps / "store", "lies in the folder of dumps"),
        (inside / "deep" / "store", "lies in the folder of dumps"),
        (dumps / ".." / "dumps", "one folder"),
        (tmp_path, "the dumps lie in the folder of the store"),
    ]:
        assert words in problem(mp.Error, lambda store=store: mp.ingest(dumps, store))
    assert [path.name for path in dumps.rglob("*")] == ["trades"]
    assert mp.ingest(dumps, tmp_path / "dumps-store").files == 0


def test_a_client_of_a_local_service_can_be_pickled(service, monkeypatch):
    service.advance(86_400)
    with service.client("unlimited") as client:
        with pytest.raises(TypeError, match="MARKETPOINTS_API_KEY"):
            pickle.dumps(client)
        monkeypatch.setenv("MARKETPOINTS_API_KEY", service.keys["unlimited"])
        packed = pickle.dumps(client)
        assert service.keys["unlimited"].encode() not in packed
        window = {"period": "5h"}
        with pickle.loads(packed) as again, pickle.loads(pickle.dumps(again)) as third:
            assert again.candles(*MARKET, "1h", **window) == client.candles(*MARKET, "1h", **window)
            assert third.candles(*MARKET, "1h", **window) == client.candles(*MARKET, "1h", **window)


def test_what_a_record_was_not_sent_is_unknown(client):
    leader = client.leaderboard(limit=1)[0]
    # Supplement, section 8: absent in all recorded rows. What the service sends stands.
    assert leader.total_unrealized_pnl != leader.total_unrealized_pnl
    market = mp.Market.from_wire({"exchange": "BYBIT", "rawSymbol": "X", "lastPrice": 1})
    for name in ("marketcap", "oi_change_24h", "liquidity", "volume_24h_usd"):
        assert getattr(market, name) != getattr(market, name), name
    assert market == mp.Market.from_wire({"exchange": "BYBIT", "rawSymbol": "X", "lastPrice": 1})
    assert mp.Market.from_wire({"marketcap": 5}).marketcap == 5


@pytest.mark.parametrize(
    ("offset", "speed", "problem"),
    [
        ("soon", None, "MARKETPOINTS_CLOCK_OFFSET: 'soon' is not a number of seconds"),
        ("1e308", None, "MARKETPOINTS_CLOCK_OFFSET: '1e308' is not a number of seconds"),
        ("nan", None, "MARKETPOINTS_CLOCK_OFFSET: 'nan' is not a number of seconds"),
        *(("5", speed, "MARKETPOINTS_CLOCK_SPEED: .* more than 0") for speed in ("0", "-1", "fast", "inf")),
        ("", "10", "MARKETPOINTS_CLOCK_SPEED is set, and MARKETPOINTS_CLOCK_OFFSET is not; set both"),
    ],
)
def test_a_clock_of_the_environment_that_no_clock_shows_is_refused(monkeypatch, offset, speed, problem):
    monkeypatch.setenv("MARKETPOINTS_CLOCK_OFFSET", offset)
    if speed is not None:
        monkeypatch.setenv("MARKETPOINTS_CLOCK_SPEED", speed)
    with pytest.raises(mp.InvalidRequest, match=problem):
        mp.Client("key", "http://127.0.0.1:9")
