"""What the client logs by Python's logging: URL, weight, status, time, tries; never the key."""

import asyncio
import errno
import io
import logging
import re

import pytest

import marketpoints as mp
from support.children import run
from support.scripted import scripted

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
KEY = "secret-key-of-the-log"


@pytest.fixture
def log(caplog):
    caplog.set_level(logging.DEBUG, "marketpoints")
    return caplog


def seen(log):
    return [record for record in log.records if record.name == "marketpoints"]


def test_a_record_for_each_answer(service, log):
    with service.client("advanced") as client:
        plan = client.plan("TRADE_AGG", *MARKET, "1m", period=600)
        client.side_candles(*MARKET, "1m", period=600)
    listing, record = seen(log)
    assert listing.url == f"{service.url}/v1/symbols?type=TRADE_AGG&exchange=BINANCE_FUTURES"
    assert (listing.weight, listing.status, listing.attempt, listing.levelno) == (0, 200, 1, logging.DEBUG)
    assert (record.url, record.weight, record.status, record.attempt) == (plan.requests[0].url, plan.weight, 200, 1)
    assert (record.error, record.again_in, record.levelno) == (None, None, logging.DEBUG)
    assert 0 < record.seconds < 60
    for part in (record.url, "weight 1", "200", "attempt 1"):
        assert part in record.getMessage()
    assert service.keys["advanced"] not in str(vars(record))


def test_a_record_for_each_attempt(log):
    said = iter([(503, {}, {"error": "BUSY", "message": f"the key {KEY} is busy"}), (200, {}, {"coins": ["BTC"]})])
    with scripted(lambda path: next(said)) as (url, _), mp.Client(KEY, url) as client:
        assert client.coins() == ["BTC"]
    first, second = seen(log)
    assert (first.levelno, first.status, first.attempt) == (logging.WARNING, 503, 1)
    assert "busy" in first.error
    assert 0 <= first.again_in <= 0.5
    assert "again in" in first.getMessage()
    assert (second.levelno, second.status, second.attempt, second.weight) == (logging.DEBUG, 200, 2, 0)
    assert KEY not in "".join(f"{record.getMessage()} {vars(record)}" for record in seen(log))


def test_what_got_no_answer_has_no_status(log):
    with mp.Client(KEY, "http://127.0.0.1:9", retries=1) as client, pytest.raises(mp.TransportError):
        client.usage()
    first, second = seen(log)
    assert (first.status, second.status, second.attempt, second.again_in) == (None, None, 2, None)
    assert "no answer" in second.getMessage()


def test_lists_that_cannot_be_had_are_logged_with_what_went_wrong(log):
    said = {"/v1/symbols": (503, {}, {"error": "BUSY", "message": f"the key {KEY} is busy"}), "/v1/usage": b"oops"}
    answer = lambda path: said.get(path.partition("?")[0], {})  # noqa: E731
    with scripted(answer, listings=True) as (url, _), mp.Client(KEY, url) as client:
        client.candles(*MARKET, "1m", start=0, period=60)
    listing, usage, points, _why_it_is_empty = seen(log)
    assert [record.url.removeprefix(url).partition("?")[0] for record in (listing, usage, points)] == [
        "/v1/symbols",
        "/v1/usage",
        "/v1/points",
    ]
    assert (listing.weight, listing.status, listing.again_in, listing.levelno) == (0, 503, None, logging.DEBUG)
    assert "BUSY: the key <API key> is busy" in listing.error
    assert (usage.weight, usage.status, usage.error) == (0, 200, None)
    assert KEY not in "".join(f"{record.getMessage()} {vars(record)}" for record in seen(log))


def test_a_request_that_waits_says_for_what_and_how_long(service, log):
    """A free key has 20 and gets one more in six seconds: one is worth a look, eleven a warning."""
    waits = []

    class Interrupts(logging.Handler):
        def emit(self, record):
            if "waiting" in record.getMessage():
                waits.append(record)
                raise KeyboardInterrupt

    with service.client("free") as client:
        for _ in range(20):
            client.candles(*MARKET, "1m", period=60)
        logging.getLogger("marketpoints").addHandler(handler := Interrupts())
        try:
            for period in (60, 7 * 86_400):
                with pytest.raises(KeyboardInterrupt):
                    client.candles(*MARKET, "1m", period=period)
        finally:
            logging.getLogger("marketpoints").removeHandler(handler)
    short, long = waits
    assert short.levelno == logging.DEBUG and re.fullmatch(
        r"waiting [56]\.\d s until the budget allows weight 1; max_wait= bounds it", short.getMessage()
    )
    assert long.levelno == logging.WARNING and re.match(r"waiting 6\d\.\d s .* weight 11;", long.getMessage())


def test_awaited_calls_are_logged_too(service, log):
    async def main():
        async with service.async_client("advanced") as client:
            await asyncio.gather(client.candles(*MARKET, "1m", period=60), client.usage())

    asyncio.run(main())
    assert sorted(record.weight for record in seen(log)) == [0, 0, 1], "the listing, the usage and the candles"


def test_what_nobody_wants_is_not_made(service, caplog):
    caplog.set_level(logging.WARNING, "marketpoints")
    with service.client("advanced") as client:
        client.candles(*MARKET, "1m", period=60)
    assert seen(caplog) == []


def test_a_handler_may_use_the_client(service, log):
    class Ask(logging.Handler):
        def emit(self, record):
            if not asked:
                asked.append(None)
                asked.append(client.usage().limit)

    asked = []
    logger = logging.getLogger("marketpoints")
    handler = Ask()
    logger.addHandler(handler)
    try:
        with service.client("advanced") as client:
            client.candles(*MARKET, "1m", period=60)
    finally:
        logger.removeHandler(handler)
    assert asked == [None, 750]


@pytest.mark.parametrize("stderr", ["good", "broken", "none"])
def test_a_handler_that_fails_costs_no_answer(service, log, monkeypatch, stderr):
    class Failing(logging.Handler):
        def emit(self, record):
            raise RuntimeError("no room for logs")

    class Broken(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "full")

    logger, handler = logging.getLogger("marketpoints"), Failing(logging.INFO)
    with service.client("advanced", check_symbols=False) as client, monkeypatch.context() as patched:
        logger.addHandler(handler)
        patched.setattr("sys.stderr", {"good": io.StringIO(), "broken": Broken(), "none": None}[stderr])
        try:
            answer = client.candles("BINANCE_FUTURES", "NOSUCHUSDT", "1h", period="2h")
        finally:
            logger.removeHandler(handler)
    assert answer.why_empty and answer.weight == 1


def test_nothing_is_printed_by_default():
    code = """
        import marketpoints as mp
        with mp.Client("key", "http://127.0.0.1:9", retries=1) as client:
            try:
                client.usage()
            except mp.TransportError:
                print("refused")
    """
    assert run(code) == "refused\n"  # `run` checks standard error


# faults.md row 42
def test_the_interpreter_may_end_while_records_are_made():
    code = """
        import logging, threading
        import marketpoints as mp

        logging.getLogger("marketpoints").setLevel("DEBUG")
        client = mp.Client("key", "http://127.0.0.1:9", retries=1000)
        begun = threading.Event()

        class Tell(logging.Handler):
            def emit(self, record):
                begun.set()

        logging.getLogger("marketpoints").addHandler(Tell())
        for _ in range(8):
            threading.Thread(target=client.usage, daemon=True).start()
        assert begun.wait(30)
        print("end")
    """
    assert run(code) == "end\n"
