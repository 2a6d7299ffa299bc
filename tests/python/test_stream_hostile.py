"""A stream against a service that means harm: bounded memory, timers that run, an end or an event for every frame."""

import json
import random
import subprocess
import sys
import zlib
from contextlib import suppress

import pytest

import marketpoints as mp
from support.sockets import PING, framed, playing

#: Takes nothing for some seconds, or what comes; prints how it went, and the largest memory beyond the beginning's.
CHILD = """
import json, sys, time
import marketpoints as mp

def memory(name):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name)) // 1024

url, seconds, takes = sys.argv[1], float(sys.argv[2]), sys.argv[3] == "takes"
client = mp.Client("key-of-tests", url, check_symbols=False, timeout=10)
channel = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
before, report = memory("VmRSS"), {}
with client.stream([channel], backoff=(0.01, 0.02), ping_after=30) as stream:
    until = time.monotonic() + seconds
    while time.monotonic() < until and not report.get("last"):
        if not takes:
            time.sleep(0.05)
            continue
        try:
            for event in stream.poll(0.2, 1_000):
                name = "last" if event.values.get("id") == "last" else type(event).__name__
                report[name] = report.get(name, 0) + 1
        except mp.Error as error:
            report[type(error).__name__] = report.get(type(error).__name__, 0) + 1
            report["message"] = str(error)
    report["state"] = stream.state
print(json.dumps([memory("VmHWM") - before, report]))
"""
MEBI = 1 << 20


def trade(number, symbol="BTCUSDT", **more):
    series = {"type": "TRADE", "exchange": "BINANCE_FUTURES", "symbol": symbol, "side": "BUY"}
    moment = {"seconds": 1_776_880_800}
    return {"series": series, "trade": {"id": str(number), "price": 1, "amount": 1, "timestamp": moment} | more}


LAST = framed(json.dumps({"points": [trade("last")]}))


def attacked(script, seconds, takes=True):
    """How a client fared, in a process of its own: the memory in MiB that it took, and what it received."""
    with playing(*[script] * 50) as (url, _seen):
        command = [sys.executable, "-c", CHILD, url, str(seconds), "takes" if takes else "waits"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.stderr, done.returncode) == ("", 0)
    return json.loads(done.stdout)


def sends(*frames):
    """Grants everything, then sends these."""

    def script(peer):
        peer.grant()
        peer.grant()
        for frame in frames:
            peer.connection.sendall(frame)
        peer.stay()

    return script


def floods(frames):
    """Grants everything, then sends without an end, and reads nothing."""

    def script(peer):
        peer.grant()
        peer.grant()
        with suppress(OSError):
            while True:
                peer.connection.sendall(next(frames))

    return script


def endless(frame):
    while True:
        yield frame


# faults.md row 17
@pytest.mark.parametrize("point", ["{}", "7", '{"a":1}', '{"series":{},"trade":{"id":"1"}}'])
def test_a_frame_of_very_many_small_values_is_refused_before_it_takes_memory(point):
    frame = framed('{"points":[' + ",".join([point] * (12 * MEBI // (len(point) + 1))) + "]}")
    memory, report = attacked(sends(frame, LAST), 60)
    assert (report["DecodeError"], report["last"]) == (1, 1), report
    assert "MiB of memory" in report["message"]
    assert memory < 300, memory


# faults.md row 17
def test_events_that_nobody_takes_are_bounded_in_bytes_too():
    large = framed(json.dumps({"points": [{"series": {"type": "TRADE"}, "trade": {"note": "x" * 8 * MEBI}}]}))
    memory, report = attacked(floods(endless(large)), 4, takes=False)
    assert report["state"] == "open"
    assert memory < 400, memory


def test_pings_that_are_not_read_back_take_no_memory():
    memory, _ = attacked(floods(endless(framed(b"x" * 125, PING) * 500)), 4, takes=False)
    assert memory < 100, memory


# faults.md row 15
def test_a_flood_starves_no_timer():
    """A service that only pings never says that it takes the key: the attempt ends in the time that it has."""

    def script(peer):
        with suppress(OSError):
            while True:
                peer.connection.sendall(framed(b"", PING) * 20_000)

    code = """
import sys, time
import marketpoints as mp
client = mp.Client("key-of-tests", sys.argv[1], check_symbols=False, timeout=2)
begun = time.monotonic()
try:
    client.stream([mp.Channel(type="TRADE", exchange="BYBIT", symbol="BTCUSDT")]).open()
except mp.TimeoutError:
    print(time.monotonic() - begun)
"""
    with playing(script) as (url, _seen):
        command = [sys.executable, "-c", code, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.stderr == ""
    assert 2 <= float(done.stdout) < 5


def packed():
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(b" " * (64 * MEBI)) + packer.flush(zlib.Z_SYNC_FLUSH)[:-4]


HARMFUL = {
    "a length that is a lie": b"\x81\x7f\x3f" + b"\xff" * 7,
    "a length that no frame has": b"\x81\x7f" + b"\xff" * 8,
    "a compressed frame that nobody agreed on": b"\xc1" + framed(packed())[1:],
    "invalid UTF-8": framed(b'{"points":["\xff\xfe"]}'),
    "a frame of the future": framed(b"x", 3),
    "a masked frame": b"\x81\x85abcdhello",
    "a fragmented ping": b"\x09\x00",
    "an end without a beginning": b"\x80\x00",
    "a long ping": b"\x89\x7e\x00\xff" + b"x" * 255,
    "a farewell with half a code": framed(b"\x03", 8),
    "a farewell that is no text": framed(b"\x03\xe8\xff", 8),
}


# faults.md row 14
@pytest.mark.parametrize("what", HARMFUL)
def test_a_frame_that_breaks_the_rules_breaks_the_connection_and_no_more(what):
    scripts = [sends(framed(json.dumps({"points": [trade(1)]})), HARMFUL[what]), sends(LAST)]
    with playing(*scripts) as (url, _seen), mp.Client("key-of-tests", url, check_symbols=False) as client:
        channel = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
        with client.stream([channel], backoff=(0.01, 0.02)) as stream:
            first, gap, last = next(stream), next(stream), next(stream)
            assert (first.id, type(gap), last.id) == ("1", mp.StreamGap, "last")
            assert gap.reason


# faults.md row 14
def test_a_conversation_that_is_cut_at_any_place_goes_on_with_the_next_connection(tmp_path):
    whole = (
        framed(json.dumps({"points": [trade(1)]})) + framed(b"now", PING) + framed(json.dumps({"points": [trade(2)]}))
    )

    def cut(place):
        def script(peer):
            peer.grant()
            peer.grant()
            peer.connection.sendall(whole[:place])

        return script

    places = sorted(random.Random(7).sample(range(1, len(whole)), 40))
    channel = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
    received = []
    with (
        playing(*map(cut, places), sends(whole, LAST)) as (url, _seen),
        mp.Client("key-of-tests", url, check_symbols=False) as client,
        client.stream([channel], backoff=(0.001, 0.002), record=tmp_path) as stream,
    ):
        for event in stream:
            received += [event.id] if isinstance(event, mp.TradeEvent) else []
            if received[-1:] == ["last"]:
                break
    assert received == ["1", "2", "last"]
    [day] = tmp_path.rglob("*.csv")
    assert [line.rsplit(",", 1)[1] for line in day.read_text().splitlines()[1:]] == received


def test_a_recording_holds_only_what_was_asked_and_lies_where_it_was_meant(tmp_path):
    """Other markets, and names that lead elsewhere, are handed on and not written."""
    others = ["ETHUSDT", "../../../outside", "/tmp/outside", ".hidden", "a\nb"]
    script = sends(framed(json.dumps({"points": [trade(1), *(trade(2, other) for other in others), trade("last")]})))
    with playing(script) as (url, _seen), mp.Client("key-of-tests", url, check_symbols=False) as client:
        channel = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
        with client.stream([channel], record=tmp_path / "recorded") as stream:
            received = [next(stream) for _ in range(7)]
            assert [event.symbol for event in received[1:6]] == others
            assert (stream.recorded, stream.unrecorded) == (2, 5)
    names = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {"recorded/recording.jsonl", "recorded/trades/BINANCE_FUTURES/BTCUSDT/2026-04-22.csv"}


# faults.md row 47
@pytest.mark.parametrize("place", ["trades", "trades/BINANCE_FUTURES", "trades/BINANCE_FUTURES/BTCUSDT"])
def test_a_recording_follows_no_link(tmp_path, place):
    recorded, outside = tmp_path / "recorded", tmp_path / "outside"
    outside.mkdir()
    (recorded / place).parent.mkdir(parents=True)
    (recorded / place).symlink_to(outside)
    script = sends(framed(json.dumps({"points": [trade(1)]})))
    with playing(script) as (url, _seen), mp.Client("key-of-tests", url, check_symbols=False) as client:
        channel = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
        with client.stream([channel], record=recorded) as stream, pytest.raises(mp.ArchiveError, match="a link"):
            next(stream)
    assert list(outside.iterdir()) == []
