"""Several symbols or coins in one call: what is asked, in which order it comes, what it costs, and what fails alone."""

import asyncio
import inspect
import os
import signal
import threading
import urllib.parse
from contextlib import contextmanager

import pytest

import marketpoints as mp
from marketpoints.common.arguments import METHODS
from support.archives import between
from support.scripted import scripted

DAY = 86_400
# A day from midnight to midnight, closed at the service's moment.
COINS = ["ETH", "BTC"]
START, END = 1_789_862_400, 1_789_948_800
WINDOW = {"start": START, "end": END}
FUTURES = "BINANCE_FUTURES"
# A service whose answers are of its own making; the clock is past the window.
NOW = END + DAY


def asked(path):
    """The parameters of a request; a repeated one is a list."""
    parameters = urllib.parse.parse_qs(urllib.parse.urlsplit(path).query)
    return {name: values if len(values) > 1 else values[0] for name, values in parameters.items()}


def candles(path):
    """An answer of one candle, as a service makes it; the close is the length of the symbol's name."""
    given = asked(path)
    point = {"open": 1, "high": 9, "low": 1, "close": len(given["rawSymbol"]), "timestamp": {"s": int(given["from"])}}
    identity = {name: given[name] for name in ("type", "exchange", "rawSymbol", "interval")}
    return {"series": [{"id": identity, "points": [{"Point": point}]}]}


def refusing(word, answer):
    """A service that answers requests with ``word`` in them otherwise than with a candle."""
    return lambda path: answer if word in path else candles(path)


@contextmanager
def asking(answer, **settings):
    """A client of a service that answers so, without tries again, and what it was asked."""
    with scripted(answer) as (url, paths), mp.Client("key", url, retries=0, clock=lambda: NOW, **settings) as client:
        yield client, paths


def columns(answer):
    return [(one.id.exchange, one.id.raw_symbol, one["close"].tolist()) for one in answer]


def test_symbols_come_in_the_order_asked_as_each_would_alone(client):
    symbols = ["ETHUSDT", "BTCUSDT", "SOLUSDT"]
    alone = [client.candles(FUTURES, symbol, "1h", **WINDOW).only for symbol in symbols]
    answer = client.candles(FUTURES, symbols, "1h", **WINDOW)
    assert [one.id.raw_symbol for one in answer] == symbols
    assert list(answer) == alone
    assert all(len(one["close"]) == 24 for one in answer)
    assert answer.sel(raw_symbol="SOLUSDT").only == alone[2]
    # What is iterable names as well, what is named twice is asked once, and a list of one is that one.
    assert list(client.candles(FUTURES, iter(symbols + symbols), "1h", **WINDOW)) == alone
    assert client.candles(FUTURES, ["BTCUSDT"], "1h", **WINDOW).only == alone[1]


@pytest.mark.parametrize(
    ("name", "place", "options", "order"),
    [
        ("side_candles", (FUTURES, ["ETHUSDT", "BTCUSDT"], "1h"), {}, ["ETHUSDT", "ETHUSDT", "BTCUSDT", "BTCUSDT"]),
        ("liquidations", (FUTURES, ["ETHUSDT", "BTCUSDT"], "1h"), {}, ["ETHUSDT", "ETHUSDT", "BTCUSDT", "BTCUSDT"]),
        ("funding_rate", (FUTURES, ["ETHUSDT", "BTCUSDT"], "1h"), {}, ["ETHUSDT", "BTCUSDT"]),
        ("open_interest", (FUTURES, ["ETHUSDT", "BTCUSDT"], "1h"), {}, ["ETHUSDT", "BTCUSDT"]),
        ("volume_profile", (FUTURES, ["ETHUSDT", "BTCUSDT"], "1h"), {}, ["ETHUSDT", "BTCUSDT"]),
        (
            "orderbook_heatmap",
            (FUTURES, ["ETHUSDT", "BTCUSDT"], "4h"),
            {"block_size": [5, 100]},
            ["ETHUSDT", "BTCUSDT"],
        ),
        ("tpo", (FUTURES, ["ETHUSDT", "BTCUSDT"], "1d"), {"session": "daily"}, ["ETHUSDT", "BTCUSDT"]),
        ("skew", ("DERIBIT", ["ETH_25", "BTC_25"], "1h"), {"coin": ["ETH", "BTC"]}, ["ETH_25", "BTC_25"]),
        (
            "implied_volatility",
            ("DERIBIT", ["ETH_ATM", "BTC_ATM"], "1h"),
            {"coin": ["ETH", "BTC"]},
            ["ETH_ATM", "BTC_ATM"],
        ),
        ("liquidation_heatmap", (None, None, "4h"), {"coin": ["ETH", "BTC"], "usd": True}, ["ETH", "BTC"]),
        ("token_supply", (None, None, "1d"), {"coin": ["ETH", "BTC"]}, ["ETH", "BTC"]),
    ],
)
def test_every_series_method_takes_lists_awaited_or_not(demo, name, place, options, order):
    if "_ATM" in str(place) or "_25" in str(place):
        options = {**options, "tenor": "ONE_W"}

    async def awaited():
        async with demo.async_client("unlimited") as client:
            return await getattr(client, name)(*place, **options, **WINDOW)

    with demo.client("unlimited") as client:
        answer = getattr(client, name)(*place, **options, **WINDOW)
        subjects = zip(_list(place[1]), _list(options.get("coin")), _list(options.get("block_size")), strict=False)
        alone = []
        for symbol, coin, size in subjects:
            own = {key: value for key, value in options.items() if key not in ("coin", "block_size")}
            own |= {} if coin is None else {"coin": coin}
            own |= {} if size is None else {"block_size": size}
            alone += getattr(client, name)(place[0], symbol, place[2], **own, **WINDOW)
    assert [one.id.raw_symbol or one.id.coin for one in answer] == order
    assert [(len(one), one.columns) for one in answer] == [(len(one), one.columns) for one in alone]
    assert all(len(one) for one in answer)
    assert list(asyncio.run(awaited())) == list(answer)


def _list(value):
    return value if isinstance(value, list) else [value] * 2


def test_every_method_that_names_a_symbol_takes_several():
    for name in METHODS:
        parameters = inspect.signature(getattr(mp.Client, name)).parameters
        for one in ("exchange", "symbol", "coin"):
            assert "Iterable[str]" in str(parameters[one].annotation), (name, one)


def test_exchanges_and_symbols_are_asked_exchange_by_exchange(client):
    answer = client.candles(["BYBIT", FUTURES], ["ETHUSDT", "BTCUSDT"], "1h", **WINDOW)
    pairs = [(exchange, symbol) for exchange in ("BYBIT", FUTURES) for symbol in ("ETHUSDT", "BTCUSDT")]
    assert [(one.id.exchange, one.id.raw_symbol) for one in answer] == pairs
    assert list(answer) == [client.candles(*pair, "1h", **WINDOW).only for pair in pairs]
    # One symbol of several exchanges is the same; each request names one exchange (section 4.1).
    plan = client.plan("candles", ["BYBIT", FUTURES], "BTCUSDT", "1h", **WINDOW)
    assert [asked(one.url)["exchange"] for one in plan.requests] == ["BYBIT", FUTURES]
    assert plan.weight == 2


def test_coins_are_asked_of_all_exchanges_at_once_which_weighs_less(client):
    window = {"start": START - 4 * DAY, "end": START}  # 5,760 minutes: 6 by section 8.2, ceil(6 × 1.4) for two
    exchanges = [FUTURES, "BYBIT"]
    plan = client.plan("candles", exchanges, None, "1m", coin=["BTC", "ETH"], **window)
    assert [(asked(one.url)["coin"], asked(one.url)["exchange"]) for one in plan.requests] == [
        ("BTC", exchanges),
        ("ETH", exchanges),
    ]
    assert [one.weight for one in plan.requests] == [9, 9] and plan.weight == 18 and plan.points == 2 * 5_760
    answer = client.candles(exchanges, interval="1h", coin=["BTC", "ETH"], **WINDOW)
    assert [one.id.coin for one in answer] == sorted(one.id.coin for one in answer)
    assert {one.id.exchange for one in answer} == set(exchanges)


def test_aggregates_of_several_coins_are_told_apart(client):
    exchanges, together = [FUTURES, "OKEX_SWAP"], {"group_by": "sum", "usd": True, **WINDOW}
    answer = client.open_interest(exchanges, interval="1h", coin=["BTC", "ETH"], **together)
    assert [one.id.coin for one in answer] == ["BTC", "ETH"]
    alone = client.open_interest(exchanges, interval="1h", coin="ETH", **together)
    assert answer.sel(coin="ETH")["close"].tolist() == alone["close"].tolist()
    frame = answer.to_pandas()
    assert frame["coin"].unique().tolist() == ["BTC", "ETH"] and len(frame) == 48
    assert answer.to_polars()["coin"].unique(maintain_order=True).to_list() == ["BTC", "ETH"]
    assert set(answer.to_arrow()["coin"].to_pylist()) == {"BTC", "ETH"}


def test_what_does_not_say_what_it_is_of_is_identified_by_what_was_asked():
    # An aggregate keeps only its type and interval (supplement, section 2).
    def answer(path):
        point = {"open": 1, "close": len(asked(path)["coin"]), "timestamp": {"s": START}}
        return {"series": [{"id": {"type": "OPEN_INTEREST_AGG", "interval": "HOUR"}, "points": [{"Point": point}]}]}

    with asking(answer) as (client, _):
        coins = {"coin": ["BTC", "DOGE"], "group_by": "sum"}
        answer = client.open_interest([FUTURES, "BYBIT"], interval="1h", **coins, **WINDOW)
    assert [(one.id.coin, one.id.exchange, one["close"].tolist()) for one in answer] == [
        ("BTC", None, [3]),
        ("DOGE", None, [4]),
    ]


@pytest.mark.parametrize("empty", [[], (), iter([])])
def test_an_empty_list_is_refused(client, empty):
    calls = {
        "symbol": lambda: client.candles(FUTURES, empty, "1h", **WINDOW),
        "coin": lambda: client.token_supply(interval="1d", coin=empty, **WINDOW),
        "exchange": lambda: client.liquidation_heatmap(empty, interval="1h", coin="BTC", **WINDOW),
        "block_size": lambda: client.tpo(FUTURES, "BTCUSDT", "1d", block_size=[], **WINDOW),
        "coin ": lambda: client.markets(coin=[]),
    }
    for name, call in calls.items():
        with pytest.raises(mp.InvalidRequest, match=f"{name.strip()}: the list is empty"):
            call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda c: c.candles(FUTURES, ["BTCUSDT", 7], "1h", **WINDOW), "symbol: 7"),
        (lambda c: c.candles(FUTURES, ["BTCUSDT", ""], "1h", **WINDOW), "name it or leave it out"),
        (lambda c: c.candles(FUTURES, ["BTCUSDT"], "1h", coin=["BTC", "ETH"], **WINDOW), "not both"),
        (lambda c: c.skew("DERIBIT", ["BTC_25"], "1h", coin=["BTC", "ETH"], tenor="ONE_W", **WINDOW), "1 and 2"),
        (lambda c: c.token_supply(interval="1d", coin=["BTC", "ETH"], token_name="Bitcoin", **WINDOW), "token_name="),
        (
            lambda c: c.orderbook_heatmap(FUTURES, ["A", "B"], "1h", block_size=[1, 2, 3], **WINDOW),
            "block_size= is one for all",
        ),
        (lambda c: c.candles([FUTURES, "BYBIT"], ["A", "B"], "1h", group_by="sum", **WINDOW), "several go with coin="),
    ],
)
def test_lists_that_cannot_be_right_are_refused_before_anything_is_sent(call, words):
    with mp.Client("key", "http://127.0.0.1:9", retries=0) as client, pytest.raises(mp.InvalidRequest, match=words):
        call(client)


def test_a_name_that_is_not_listed_is_refused_before_anything_is_paid(service, tmp_path):
    with service.client("advanced") as client:
        calls = [
            lambda: client.candles(FUTURES, ["ETHUSDT", "BTCUSD"], "1h", **WINDOW),
            lambda: client.candles([FUTURES, "OKEX_SWAP"], ["BTCUSDT"], "1h", **WINDOW),
            lambda: client.token_supply(interval="1d", coin=["BTC", "BTV"], **WINDOW),
            lambda: mp.Archive(tmp_path).sync(client, "candles", FUTURES, ["ETHUSDT", "BTCUSD"], "1h", **WINDOW),
        ]
        for call, name in zip(calls, ("BTCUSD", "BTCUSDT", "BTV", "BTCUSD"), strict=True):
            with pytest.raises(mp.InvalidRequest, match=f"has no {name};"):
                call()
        assert client.usage().used == 0


def test_a_plan_sums_up_and_one_bound_holds_for_all(service):
    symbols = ["BTCUSDT", "ETHUSDT", "SOLUSDT"]
    window = {"start": END - 2 * DAY, "end": END}  # 2,880 minutes: 3 each
    with service.client("advanced") as client:
        plan = client.plan("candles", FUTURES, symbols, "1m", **window)
        assert [asked(one.url)["rawSymbol"] for one in plan.requests] == symbols
        assert (plan.weight, plan.points, plan.eta) == (9, 3 * 2_880, 0)
        with pytest.raises(mp.InvalidRequest, match="weighs 9 in 3 requests, more than max_weight=8"):
            client.candles(FUTURES, symbols, "1m", max_weight=8, **window)
        assert client.usage().used == 0
        client.candles(FUTURES, symbols, "1m", max_weight=9, **window)
        assert client.usage().used == 9 == client.budget.used


def test_a_plan_tells_what_each_tier_would_take():
    with mp.Client("key", "http://127.0.0.1:9", clock=lambda: NOW) as client:
        week = {"start": END - 6 * DAY, "end": END}  # 8,640 minutes: 9 for each symbol (section 8.2)
        plan = client.plan("candles", FUTURES, [f"S{n}USDT" for n in range(20)], "1m", **week)
        # 180 in all. Free: a bucket of 20 and 10 a minute; Basic 100 and 50; Standard 200 (section 8.1).
        assert plan.weight == 180 and plan.refused_by_tier == {}
        assert plan.eta_by_tier == {"free": 960, "basic": 96, "standard": 0, "advanced": 0}
        assert "free 960 s; basic 96 s" in repr(plan)

        month = client.plan("candles", FUTURES, "BTCUSDT", "1m", start=END - 30 * DAY, end=END)
        assert month.eta_by_tier == {"free": None, "basic": None, "standard": 0, "advanced": 0}
        assert "history goes back 7 days" in month.refused_by_tier["free"]
        assert "this client" not in month.refused_by_tier["free"]

        several = client.plan("candles", [FUTURES, "BYBIT"], interval="1m", coin="BTC", **week)
        assert "2 exchanges at once need the tier advanced" in several.refused_by_tier["standard"]
        assert several.eta_by_tier["advanced"] == 0

        # Ten a thousand snapshots, 1.4 of that for the depth (section 8.4): 28 for two exchanges' requests of 20.
        deep = client.plan("orderbook_heatmap", FUTURES, "BTCUSDT", "1m", block_size=1, max_depth=21_000, period=600)
        assert deep.weight == 20 and deep.eta_by_tier["free"] == 0
        deeper = client.plan("orderbook_heatmap", FUTURES, "BTCUSDT", "1m", block_size=1, max_depth=24_000, period=600)
        assert deeper.eta_by_tier["free"] is None and "weighs 22" in deeper.refused_by_tier["free"]

        many = client.plan("candles", FUTURES, [f"S{n}USDT" for n in range(120)], "1m", **week)
        assert many.eta_by_tier["free"] is None and "1000 a day" in many.refused_by_tier["free"]

        board = client.plan("leaderboard", limit=150)
        assert board.eta_by_tier == {"free": None, "basic": None, "standard": None, "advanced": 0}
        assert "need the tier advanced" in board.refused_by_tier["standard"]


def test_a_tiers_seconds_are_those_of_its_own_requests(service):
    window = {"start": END - 6 * DAY, "end": END}
    names = [one.raw_symbol for one in service.client("unlimited").markets(exchange=FUTURES)][:4]
    with service.client("advanced") as some, service.client("free") as free:
        assert free.plan("candles", FUTURES, names, "1m", **window).eta == pytest.approx(
            some.plan("candles", FUTURES, names, "1m", **window).eta_by_tier["free"], abs=1
        )


def test_one_progress_counts_all(client, capsys):
    reported = []
    symbols = ["BTCUSDT", "ETHUSDT", "SOLUSDT"]
    client.candles(FUTURES, symbols, "1h", progress=lambda *how_far: reported.append(how_far), **WINDOW)
    assert reported == [(1, 3), (2, 3), (3, 3)]
    client.candles(FUTURES, symbols, "1h", progress=True, **WINDOW)
    shown = capsys.readouterr().err
    assert "weight 3/3, 3/3 requests, 72 rows" in shown


def test_what_fails_of_one_symbol_does_not_lose_the_others():
    refused = (400, {}, {"error": "INVALID_SYMBOL", "message": "no such symbol"})
    symbols = ["BTCUSDT", "NOPE", "ETHUSDT", "SOL"]
    window = {"start": END - 86_400 * 3, "end": END}
    message = r"1 of 4 symbols failed.*BINANCE_FUTURES NOPE.*no such symbol"
    with asking(refusing("NOPE", refused)) as (client, paths), pytest.raises(mp.PartialError, match=message) as caught:
        client.candles(FUTURES, symbols, "1h", **window)
    assert columns(caught.value.results) == [(FUTURES, name, [len(name)]) for name in ("BTCUSDT", "ETHUSDT", "SOL")]
    (failure,) = caught.value.failures
    assert isinstance(failure, mp.InvalidRequest) and str(failure).startswith("BINANCE_FUTURES NOPE: ")
    assert (failure.status, failure.code) == (400, "INVALID_SYMBOL") and "rawSymbol=NOPE" in failure.request
    assert "key" not in str(caught.value)
    assert len([path for path in paths if "/points" in path]) == 4


def test_many_unknown_symbols_do_not_end_the_call():
    refused = (400, {}, {"error": "INVALID_SYMBOL", "message": "no such symbol"})
    symbols = [f"NOPE{n}" for n in range(12)] + ["BTCUSDT", "ETHUSDT"]
    with (
        asking(refusing("NOPE", refused)) as (client, _),
        pytest.raises(mp.PartialError, match="12 of 14") as caught,
    ):
        client.candles(FUTURES, symbols, "1h", **WINDOW)
    assert [one.id.raw_symbol for one in caught.value.results] == symbols[12:]
    assert [str(one).split(":")[0].split()[1] for one in caught.value.failures] == symbols[:12]


@pytest.mark.parametrize(("status", "error"), [(401, mp.AuthenticationError), (503, mp.ServerError)])
def test_a_service_that_refuses_every_symbol_is_asked_no_more(status, error):
    def answer(path):
        return (status, {}, {"error": "NO", "message": "no"})

    symbols = [f"S{n}" for n in range(50)]
    with asking(answer, tier="advanced") as (client, paths), pytest.raises(error) as caught:
        client.candles(FUTURES, symbols, "1h", **WINDOW)
    assert len(caught.value.failures) == 50 and not caught.value.results
    assert "not sent" in str(caught.value.failures[-1])
    assert len(paths) <= 16  # eight under way at first; three failures end it


def test_a_symbol_that_half_arrived_is_there_half():
    second = f"from={END - 1_440_000}"

    def answer(path):
        return (500, {}, {}) if "ETH" in path and second in path else candles(path)

    # 100,000 minutes are the most of one request (section 8.3): the first ends at a multiple of it.
    window = {"start": END - 1_440_000 - 6_000_000, "end": END}
    with asking(answer) as (client, _), pytest.raises(mp.PartialError) as caught:
        client.candles(FUTURES, ["BTCUSDT", "ETHUSDT"], "1m", **window)
    assert [(one.id.raw_symbol, len(one)) for one in caught.value.results] == [("BTCUSDT", 2), ("ETHUSDT", 1)]
    assert [str(one).split(":")[0] for one in caught.value.failures] == ["BINANCE_FUTURES ETHUSDT"]


def test_awaited_calls_fail_alike():
    async def main(url):
        async with mp.AsyncClient("key", url, clock=lambda: NOW) as client:
            with pytest.raises(mp.PartialError, match="NOPE") as caught:
                await client.candles(FUTURES, ["NOPE", "BTCUSDT"], "1h", **WINDOW)
            return columns(caught.value.results)

    refused = (400, {}, {"error": "INVALID_SYMBOL", "message": "no such symbol"})
    with scripted(refusing("NOPE", refused)) as (url, _):
        assert asyncio.run(main(url)) == [(FUTURES, "BTCUSDT", [7])]


def test_no_more_than_eight_requests_run_at_once():
    under_way, most, lock, full = 0, 0, threading.Lock(), threading.Event()

    def answer(path):
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
            if under_way == 8:
                full.set()
        assert full.wait(30)
        with lock:
            under_way -= 1
        return candles(path)

    symbols = [f"S{n}" for n in range(40)]
    with asking(answer, tier="advanced") as (client, _):
        assert len(client.candles(FUTURES, symbols, "1h", **WINDOW)) == 40
    assert most == 8


def test_ctrl_c_ends_a_call_for_several():
    symbols = [f"S{n}" for n in range(40)]
    first, ended = threading.Lock(), threading.Event()

    def answer(path):
        if first.acquire(blocking=False):
            os.kill(os.getpid(), signal.SIGINT)
        ended.wait(30)
        return candles(path)

    with asking(answer, tier="advanced") as (client, paths):
        try:
            with pytest.raises(KeyboardInterrupt):
                client.candles(FUTURES, symbols, "1h", **WINDOW)
        finally:
            ended.set()
    assert len(paths) <= 8


def test_an_archive_keeps_each_symbol_by_itself(service, tmp_path):
    symbols = ["BTCUSDT", "ETHUSDT"]
    archive = mp.Archive(tmp_path)
    with service.client("advanced") as client:
        reported = []
        done = archive.sync(
            client, "candles", FUTURES, symbols, "1h", progress=lambda *how_far: reported.append(how_far), **WINDOW
        )
        assert reported == [(1, 2), (2, 2)]
        assert (done.requests, done.weight, done.rows) == (2, 2, 48)
        assert done.windows == (between(START, END),)
        assert list(done.each) == [f"{FUTURES} {name}" for name in symbols]
        assert all((one.requests, one.weight, one.rows) == (1, 1, 24) for one in done.each.values())
        assert f"{FUTURES} ETHUSDT: requests 1" in repr(done)
        # One that is there already costs nothing, alone or among others.
        again = archive.sync(client, "candles", FUTURES, ["ETHUSDT", "SOLUSDT"], "1h", **WINDOW)
        assert [one.requests for one in again.each.values()] == [0, 1]
        alone = archive.sync(client, "candles", FUTURES, "SOLUSDT", "1h", **WINDOW)
        assert (alone.requests, alone.each) == (0, {})
        with pytest.raises(mp.InvalidRequest, match="weighs 2 in 2 requests, more than max_weight=1"):
            archive.sync(client, "candles", FUTURES, ["DOGEUSDT", "XRPUSDT"], "1h", max_weight=1, **WINDOW)
        assert not archive.refresh(client, "candles", FUTURES, symbols, "1h", **WINDOW).revisions
        assert list(archive.verify(client, "candles", FUTURES, symbols, "1h", **WINDOW).each) == list(done.each)
        expected = client.candles(FUTURES, [*symbols, "SOLUSDT"], "1h", **WINDOW)
    read = archive.read("candles", FUTURES, [*symbols, "SOLUSDT"], "1h", **WINDOW)
    assert list(read) == list(expected)
    with pytest.raises(mp.NotArchivedError, match="never asked") as caught:
        archive.read("candles", FUTURES, ["DOGEUSDT", *symbols, "XRPUSDT"], "1h", **WINDOW)
    assert [one.id.raw_symbol for one in caught.value.results] == symbols
    assert caught.value.missing == [between(START, END)] and len(caught.value.failures) == 2


def test_a_client_reads_several_through_its_archive(service, tmp_path):
    with service.client("advanced", archive=tmp_path) as client:
        client.candles(FUTURES, "BTCUSDT", "1h", **WINDOW)
        plan = client.plan("candles", FUTURES, ["BTCUSDT", "ETHUSDT"], "1h", **WINDOW)
        assert [asked(one.url)["rawSymbol"] for one in plan.requests] == ["ETHUSDT"]
        answer = client.candles(FUTURES, ["BTCUSDT", "ETHUSDT"], "1h", max_weight=1, **WINDOW)
        assert [len(one) for one in answer] == [24, 24]
        assert client.usage().used == 2
        # All of it is there: no service is needed any more.
        service.stop()
        assert list(client.candles(FUTURES, ["BTCUSDT", "ETHUSDT"], "1h", **WINDOW)) == list(answer)


def test_a_sync_tells_what_failed_and_what_it_kept(tmp_path):
    refused = (400, {}, {"error": "INVALID_SYMBOL", "message": "no such symbol"})
    archive = mp.Archive(tmp_path)
    with (
        asking(refusing("NOPE", refused)) as (client, _),
        pytest.raises(mp.PartialError, match=r"1 of 2 symbols failed.*NOPE") as caught,
    ):
        archive.sync(client, "candles", FUTURES, ["NOPE", "BTCUSDT"], "1h", **WINDOW)
    assert caught.value.results.rows == 1 and isinstance(caught.value.results, mp.Synced)
    assert [type(one) for one in caught.value.failures] == [mp.InvalidRequest]
    assert len(archive.read("candles", FUTURES, "BTCUSDT", "1h")) == 1


def test_the_wait_for_budget_is_named(capsys):
    # Ten a second; the first answer tells that nothing is left, so that a request of weight 10 waits a second.
    spent = {"X-RateLimit-Limit": "600", "X-RateLimit-Remaining": "0", "X-RateLimit-Used": "1200"}
    usage = {"limit": 600, "remaining": 0, "used": 1_200, "reset": NOW, "window_seconds": 60}

    def answer(path):
        return (200, spent, usage) if "usage" in path else (200, {}, {})

    with asking(answer, budget="process") as (client, _):
        client.usage()
        client.orderbook_heatmap(FUTURES, "BTCUSDT", "1m", period=600, block_size=10, progress=True)
    shown = capsys.readouterr().err
    assert "weight 0/10, 0/1 requests, 0 rows, waiting 1 s for budget" in shown and "s left" in shown
    assert "weight 10/10, 1/1 requests" in shown


def test_a_budget_says_its_burst_wherever_it_is_shown(service):
    with service.client("advanced") as client:
        client.candles(FUTURES, "BTCUSDT", "1h", **WINDOW)
        # Section 8.1: twice the weight per minute.
        assert (client.budget.limit, client.budget.burst) == (750, 1_500)
        assert "limit 750 a minute, burst 1,500, remaining 1,49" in repr(client.budget)
        assert client.usage().burst == 1_500 and "limit 750 in 60 s, burst 1,500" in repr(client.usage())
