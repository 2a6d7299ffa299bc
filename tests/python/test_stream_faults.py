"""What happens to a stream where it runs: broken connections, interrupts, forks, the interpreter's end."""

import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import marketpoints as mp
from support.children import run
from support.sockets import CLOSE, DATE_SECOND, PING, PONG, playing

MARKET = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT"}
CHANNEL = mp.Channel(type="TRADE", **MARKET)


def trade(name, price=1.5, nanoseconds=0):
    series = {"type": "TRADE", **MARKET, "side": "BUY"}
    time = {"seconds": DATE_SECOND, "nanoseconds": nanoseconds}
    return {"series": series, "trade": {"id": name, "price": price, "amount": 2, "timestamp": time}}


def served(*frames, stay=False):
    def script(peer):
        requests = [peer.grant(), peer.grant()]
        for frame in frames:
            peer.say(frame)
        if stay:
            peer.stay()
        return requests

    return script


def stream_of(url, channels=CHANNEL, **settings):
    return mp.Client(api_key="secret-key", base_url=url).stream(channels, backoff=(0.001, 0.002), **settings)


def test_the_conversation_is_that_of_the_supplement():
    requests = []

    def script(peer):
        requests.extend([peer.head.split(b" ")[1], peer.grant(), peer.grant()])
        peer.say({"points": [trade("1")]})
        peer.stay()

    book = mp.Channel(
        type="BLOCK_BOOK_SNAPSHOT", **MARKET, block_size=0.5, max_depth=100, group_by_type=1, extra={"more": 5}
    )
    with playing(script) as (url, _), stream_of(url, book) as stream:
        next(stream)
    path, key, channels = requests
    assert path == b"/ws?encoding=json"
    assert key == {"jsonrpc": "2.0", "id": 1, "method": "public/authenticate", "params": {"token": "secret-key"}}
    wanted = {
        "type": "BLOCK_BOOK_SNAPSHOT",
        **MARKET,
        "category": "*",
        "blockSize": "0.5",
        "maxDepth": "100",
        "groupByType": "1",
        "more": "5",
    }
    params = {"channels": [wanted], "compression": "none", "version": "v2"}
    assert channels == {"jsonrpc": "2.0", "id": 2, "method": "public/subscribe", "params": params}


def test_replays_after_a_break_are_dropped():
    scripts = (
        served({"points": [trade("1"), trade("2")]}),
        served({"points": [trade("2")]}, {"points": [trade("3")]}, stay=True),
    )
    with playing(*scripts) as (url, seen):
        with stream_of(url) as stream:
            events = [next(stream) for _ in range(4)]
            assert [getattr(event, "id", "gap") for event in events] == ["1", "2", "gap", "3"]
            assert stream.reconnects == 1
            assert "open" in repr(stream)
        assert "secret-key" not in repr(stream)
    # The key was sent and the channels were asked for on the first connection as on the second.
    assert [[request["method"] for request in requests] for requests in seen if requests] == [
        ["public/authenticate", "public/subscribe"]
    ] * 2


def test_a_break_is_an_event_a_record_and_a_state(caplog):
    caplog.set_level(logging.WARNING, "marketpoints")
    cut = served({"points": [trade("1", nanoseconds=900_000_000)]})
    # Two connections that end before anything is granted are no connections made again.
    refused = [lambda peer: None] * 2
    with playing(cut, *refused, served({"points": [trade("2")]}, stay=True)) as (url, _):
        stream = stream_of(url)
        assert stream.state == "not open yet"
        with stream:
            before, gap, after = (next(stream) for _ in range(3))
            assert (stream.reconnects, stream.state) == (1, "open")
            assert repr(stream) == "<Stream of 1 channel, open>"
        assert (stream.state, repr(stream)) == ("ended", "<Stream of 1 channel, ended>")
    assert (before.id, after.id) == ("1", "2")
    assert isinstance(gap, mp.StreamGap) and isinstance(gap, mp.StreamEvent)
    start, end = (time.astype(int) for time in (gap.start, gap.end))
    # From the last event to when the channels were open again: by the header Date, which knows whole seconds.
    assert start == DATE_SECOND * 10**9 + 900_000_000 and gap.time == gap.start
    assert DATE_SECOND + 1 <= end / 1e9 < DATE_SECOND + 60
    assert 0 < gap.seconds < 60 and gap.attempts == 3 and "connection" in gap.reason
    assert gap.channels == ({"type": "TRADE", **MARKET, "category": "*"},)
    messages = [record.getMessage() for record in caplog.records if record.name == "marketpoints"]
    assert len(messages) == 4, messages
    assert all("stream /nonbook/ws: " in message and "secret-key" not in message for message in messages)
    assert ["connecting again in" in message for message in messages] == [True, True, True, False]
    assert "connected again after" in messages[-1]


def test_channels_of_a_gap_can_be_asked_for_again():
    book = mp.Channel(type="BLOCK_BOOK_SNAPSHOT", **MARKET, block_size=0.5, max_depth=100)
    with playing(served({"points": [trade("1")]}), served(stay=True), served(stay=True)) as (url, _):
        with stream_of(url, book) as stream:
            next(stream)
            gap = next(stream)
        with stream_of(url, gap.channels) as again:
            assert again.state == "open"
    assert gap.channels == (
        {"type": "BLOCK_BOOK_SNAPSHOT", **MARKET, "category": "*", "blockSize": "0.5", "maxDepth": "100"},
    )


def test_a_stream_that_waits_to_connect_again_says_so():
    with playing(served({"points": [trade("1")]})) as (url, _):
        stream = mp.Client(api_key="key", base_url=url).stream(CHANNEL, backoff=(600.0, 600.0))
        assert next(stream).id == "1"
        while stream.state == "open":
            pass
        assert repr(stream) == "<Stream of 1 channel, connecting again>"
        assert stream.reconnects == 0 and stream.poll() == []
        stream.close()


def test_errors_of_single_frames_are_raised_at_their_place():
    bad = {"points": [{"series": {"type": "TRADE"}, "trade": {"id": "2", "price": "much"}}]}
    cut = {"points": [{"series": {"type": "BLOCK_BOOK_SNAPSHOT"}, "blockBookSnapshot": {"bids": [1, 2, 3]}}]}
    frames = ({"points": [trade("1")]}, "{nonsense", bad, cut, {"points": [trade("3")]})
    with playing(served(*frames, stay=True)) as (url, _), stream_of(url) as stream:
        assert next(stream).id == "1"
        with pytest.raises(mp.DecodeError, match="no JSON"):
            next(stream)
        with pytest.raises(mp.DecodeError, match="'much' is not a number"):
            next(stream)
        with pytest.raises(mp.DecodeError, match="groups of 2"):
            next(stream)
        assert next(stream).id == "3"


def test_an_error_behind_events_loses_none_of_them():
    """Whatever was taken together: what came before it is handed out first, and what came after it later."""
    many = [trade(str(number)) for number in range(200)]
    bad = trade("bad", price="much")
    with playing(served({"points": [*many, bad, trade("last")]}, stay=True)) as (url, _), stream_of(url) as stream:
        came = []
        while "last" not in came:
            try:
                came += [event.id for event in stream.poll(10)]
            except mp.DecodeError as error:
                came.append(error.path)
    assert came == [*(str(number) for number in range(200)), "price", "last"]


def test_a_null_says_no_more_than_a_field_that_is_not_there():
    """As in the answers of ``/v1/points``."""
    time = {"seconds": DATE_SECOND}
    rates = {"type": "FUNDING_RATE", **MARKET}
    none = trade(None, price=None)
    none["trade"]["amount"] = None
    rate = {"series": rates, "fundingRate": {"timestamp": time, "fundingRate": 0.5, "predictedFundingRate": None}}
    interest = {"series": rates | {"type": "OPEN_INTEREST"}, "openInterest": {"timestamp": time, "openInterest": None}}
    with playing(served({"points": [none, rate, interest]}, stay=True)) as (url, _), stream_of(url) as stream:
        trade_of_nulls, funding, open_interest = (next(stream) for _ in range(3))
    assert (trade_of_nulls.id, trade_of_nulls.price, trade_of_nulls.amount) == ("", 0, 0)
    assert funding.funding_rate == 0.5 and funding.predicted_funding_rate != funding.predicted_funding_rate
    assert open_interest.open_interest != open_interest.open_interest


@pytest.mark.parametrize("code", [403, 400])
def test_a_refusal_of_what_stood_before_may_pass(code):
    """The places of a silent connection are free again after a while; a bare 403 is an outage (supplement 6)."""

    def refused(peer):
        peer.grant()
        _, payload = peer.hear()
        peer.say({"id": json.loads(payload)["id"], "error": {"code": code, "message": "5 streams a key; 3 are open"}})
        peer.stay()

    scripts = served({"points": [trade("1")]}), refused, refused, served({"points": [trade("2")]}, stay=True)
    with playing(*scripts) as (url, _), stream_of(url) as stream:
        first, gap, second = (next(stream) for _ in range(3))
        assert (first.id, gap.attempts, second.id) == ("1", 3, "2")


def test_a_revoked_key_ends_the_stream():
    def revoked(peer):
        _, payload = peer.hear()
        peer.say({"id": json.loads(payload)["id"], "error": {"code": 401, "message": "revoked"}})
        peer.stay()

    with playing(served({"points": [trade("1")]}), revoked) as (url, _), stream_of(url) as stream:
        assert next(stream).id == "1"
        with pytest.raises(mp.AuthenticationError, match="revoked"):
            next(stream)


def test_events_ahead_of_the_grant_are_kept_while_nobody_takes_them():
    """A full queue is no silence of the service, and what waits in front of it is not lost."""
    early = [trade(str(number)) for number in range(1, 6)]

    def eager(peer):
        peer.grant()
        _, payload = peer.hear()
        for one in early:
            peer.say({"points": [one]})
        peer.say({"id": json.loads(payload)["id"], "result": {}})
        peer.say({"points": [trade("last")]})
        peer.stay()

    with (
        playing(served({"points": [trade("0")]}), eager) as (url, _),
        mp.Client("secret-key", url, timeout=0.2) as client,
        client.stream(CHANNEL, backoff=(0.001, 0.002), queue=1) as stream,
    ):
        assert next(stream).id == "0"
        time.sleep(0.7)  # longer than the grant may take
        came = [next(stream) for _ in range(7)]
        assert [getattr(event, "id", "gap") for event in came] == ["gap", "1", "2", "3", "4", "5", "last"]
        assert stream.reconnects == 1


def test_what_is_not_known_passes_generically():
    point = {
        "series": {"type": "OPTION_GREEKS", "exchange": "DERIBIT", "symbol": "X", "strike": 5},
        "greeks": {"delta": 0.5, "curve": [1, 2.5], "timestamp": {"seconds": 7, "nanoseconds": 1}},
        "seq": 9,
    }
    unknown = mp.Channel(type="OPTION_GREEKS", exchange="DERIBIT", symbol="X", extra={"depth": 3})
    script = served({"points": [point]}, {"notice": "hello"}, stay=True)
    with playing(script) as (url, _), stream_of(url, unknown) as stream:
        event, notice = next(stream), next(stream)
    assert type(event) is mp.StreamEvent
    assert (event.type, event.name) == ("OPTION_GREEKS", "greeks")
    # Nanoseconds and all, also in what is not known.
    for moment in (event.time, event.timestamp, event.values["timestamp"]):
        assert str(moment) == "1970-01-01T00:00:07.000000001"
    assert event.values["delta"] == 0.5 and event.values["curve"].tolist() == [1.0, 2.5]
    assert event.series["strike"] == 5 and event.extra == {"seq": 9}
    assert (notice.type, notice.name, dict(notice.values)) == ("", "", {"notice": "hello"})
    assert str(notice.time) == "NaT"
    assert str(notice.timestamp) == "NaT"


def test_pings_are_answered_and_a_close_is_said():
    def script(peer):
        peer.grant(), peer.grant()
        peer.say(b"hi", PING)
        answer = peer.hear()
        peer.say({"points": [trade("1")]})
        return answer, peer.hear()[0]

    with playing(script) as (url, seen), stream_of(url) as stream:
        assert next(stream).id == "1"
    assert seen == [((PONG, b"hi"), CLOSE)]


def test_too_many_events_are_dropped_where_that_is_asked():
    frame = {"points": [trade(str(number)) for number in range(100)]}
    script = served(frame, {"points": [trade("last")]}, stay=True)
    with playing(script) as (url, _), stream_of(url, queue=10, overflow="drop") as stream:
        while stream.dropped < 91:
            pass
        assert [event.id for event in stream.poll(30)] == [str(number) for number in range(91, 100)] + ["last"]


def test_a_stream_that_gives_up_says_why_and_ends():
    with playing(served({"points": [trade("1")]})) as (url, _):
        stream = stream_of(url, reconnects=2).open()
        assert next(stream).id == "1"
        with pytest.raises(mp.TransportError):
            next(stream)
        with pytest.raises(StopIteration):
            next(stream)
        assert "ended" in repr(stream)


def test_closing_ends_the_iteration(demo):
    stream = demo.client("unlimited").stream(CHANNEL)
    assert "not open" in repr(stream)
    stream.close()
    assert list(stream) == []
    with demo.client("unlimited").stream(CHANNEL) as opened:
        pass
    opened.close()
    assert all(isinstance(event, mp.TradeEvent) for event in opened)


@pytest.fixture
def quiet(environment):
    """Environment of a child process that talks to a service whose streams send nothing."""
    with playing(*[served(stay=True)] * 3) as (url, _):
        yield environment | {"MARKETPOINTS_BASE_URL": url}


def test_interrupts_reach_a_waiting_stream(quiet):
    code = """
        import marketpoints as mp
        with mp.Client().stream(mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")) as stream:
            print("waiting", flush=True)
            next(stream)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], env=quiet, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"waiting\n"
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    assert b"KeyboardInterrupt" in errors
    assert child.returncode == -signal.SIGINT


def test_the_interpreter_ends_with_streams_open(quiet):
    code = """
        import asyncio, threading
        import marketpoints as mp
        silent = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
        kept = mp.Client().stream(silent).open()
        threading.Thread(target=kept.poll, args=(1000,), daemon=True).start()
        async def main():
            stream = await mp.AsyncClient().stream(silent).open()
            try:
                await asyncio.wait_for(anext(stream), 0.05)
            except (asyncio.TimeoutError, TimeoutError):
                print("quiet")
        asyncio.run(main())
    """
    assert run(code, quiet) == "quiet\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_refused_and_can_open_its_own(quiet):
    code = """
        import os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        import marketpoints as mp
        client = mp.Client()
        silent = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
        stream = client.stream(silent).open()
        child = os.fork()
        if child == 0:
            try:
                stream.poll(0.01)
            except mp.Error as error:
                print(str(error).split(";")[0], flush=True)
            assert stream.state == "of another process"
            with client.stream(silent) as own:
                assert own.poll(0.01) == []
            stream.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert stream.poll(0.01) == []
        stream.close()
    """
    assert run(code, quiet) == "this stream was made before the process forked\n"
