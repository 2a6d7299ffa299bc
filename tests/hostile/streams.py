"""What run.py repeats of streams and archives: hostile services of a client, writers that die in an object store."""

import faulthandler
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import marketpoints as mp

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))

from support.object_store import running
from support.sockets import CLOSE, PING, PONG, framed, playing

NOW = 1_790_000_000
CHANNEL = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")


def points(rng, count, symbol="BTCUSDT"):
    series = {"type": "TRADE", "exchange": "BINANCE_FUTURES", "symbol": symbol, "side": "BUY"}
    moment = {"seconds": 1_776_880_800 + rng.randrange(86_400)}
    trades = [{"id": str(rng.getrandbits(40)), "price": 1, "amount": 1, "timestamp": moment} for _ in range(count)]
    return json.dumps({"points": [{"series": series, "trade": trade} for trade in trades]}).encode()


def frame(rng):
    """A frame of a service: of trades, damaged, of small values, of another kind, or one that breaks the rules."""
    kind = rng.randrange(10)
    if kind < 4:
        return framed(points(rng, rng.randrange(1, 50)))
    if kind == 4:
        body = bytearray(points(rng, 2))
        for _ in range(rng.randint(1, 4)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        return framed(bytes(body), 2)
    if kind == 5:
        small = rng.choice([b"{}", b"7", b'{"a":1}', b'{"trade":{}}', b"null", b"[[]]"])
        return framed(b'{"points":[' + b",".join([small] * (1 << rng.randrange(20))) + b"]}")
    if kind == 6:
        return framed(rng.randbytes(rng.randrange(120)), rng.choice([PING, PONG])) * rng.randint(1, 2_000)
    if kind == 7:
        return framed(points(rng, 3, rng.choice(["../../up", "ETHUSDT", "\u202e", "a\nb", "x" * 5_000])))
    if kind == 8:
        return bytes([rng.choice([0x01, 0x00]), 0x05]) + b"[1,2,"
    return rng.choice(
        [rng.randbytes(rng.randrange(1, 40)), b"\x81\x7f\x3f" + b"\xff" * 7, framed(b"\x03\xe8bye", CLOSE)]
    )


def streams(clock, rng, folder):
    """A service that says whatever it likes, several times, and then one that serves: the stream gets there."""
    figures = {"connections": 0, "frames": 0, "events": 0, "errors": 0, "gaps": 0, "rows recorded": 0}
    last = framed(points(rng, 1).replace(b'"points"', b'"last":1,"points"').replace(b'"price": 1', b'"price": 77'))

    def hostile(peer):
        peer.grant()
        peer.grant()
        for _ in range(rng.randrange(40)):
            data = frame(rng)
            figures["frames"] += 1
            peer.connection.sendall(data if rng.random() < 0.9 else data[: rng.randrange(len(data) + 1)])

    def kind(peer):
        peer.grant()
        peer.grant()
        peer.connection.sendall(last)
        peer.stay()

    while clock.runs():
        faulthandler.dump_traceback_later(120, exit=True)  # a hang
        record = folder / f"recorded-{rng.getrandbits(48)}"
        scripts = [hostile] * rng.randint(1, 10)
        figures["connections"] += len(scripts) + 1
        with (
            playing(*scripts, kind) as (url, _),
            mp.Client("key-of-tests", url, check_symbols=False) as client,
            client.stream([CHANNEL], backoff=(0.001, 0.002), record=record, queue=1_000) as stream,
        ):
            over = False
            while not over:
                try:
                    for event in stream.poll(10, 500):
                        figures["gaps" if isinstance(event, mp.StreamGap) else "events"] += 1
                        over = over or getattr(event, "price", 0) == 77
                except mp.Error:
                    figures["errors"] += 1
            figures["rows recorded"] += stream.recorded
        wrote = {path.relative_to(record).parts[:-1] for path in record.rglob("*.csv")}
        assert wrote <= {("trades", "BINANCE_FUTURES", "BTCUSDT")}, wrote
    return figures


RIVAL = """
import sys
import marketpoints as mp
place, url, key, start, end, now = sys.argv[1:]
client = mp.Client(key, url, archive_source="twin", clock=lambda: float(now))
print("ready", flush=True)
for hour in range(int(start), int(end), 21_600):
    window = {"start": hour, "end": hour + 21_600}
    mp.Archive(place, lease=0.6).sync(client, "candles", "BINANCE_FUTURES", "BTCUSDT", "1m", **window)
    print(hour, flush=True)
"""


def store_kill(clock, rng, _):
    """Two writers of the same files in an object store, one is killed: the other goes on, what was kept stays."""
    market, first, end = (
        ("candles", "BINANCE_FUTURES", "BTCUSDT", "1m"),
        NOW // 86_400 * 86_400 - 172_800,
        NOW // 86_400 * 86_400,
    )
    figures = {"kills": 0, "runs that ended first": 0, "steps kept": 0}
    with running() as store, mp.LocalService(now=NOW, speed=0) as service:
        os.environ.update(store.environment)
        with service.client("unlimited", archive_source="twin") as client:
            closes = client.candles(*market[1:], start=first, end=end).only["close"].tolist()
            while clock.runs():
                bucket = store.bucket(f"b{rng.getrandbits(48)}")

                def rival(start, bucket=bucket):
                    arguments = [bucket.url, service.url, service.keys["unlimited"], str(start), str(end), str(NOW)]
                    command = [sys.executable, "-c", RIVAL, *arguments]
                    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

                killed, other = rival(first), rival(first + rng.choice([0, 43_200, 86_400]))
                assert killed.stdout.readline() == "ready\n"
                time.sleep(rng.random() * 0.8)  # not waiting for anything: a random moment of the writing
                figures["kills" if killed.poll() is None else "runs that ended first"] += 1
                killed.kill()
                kept = killed.communicate()[0].split()
                out, errors = other.communicate(timeout=120)
                assert (other.returncode, errors) == (0, ""), errors
                archive = mp.Archive(bucket.url, lease=0.6)
                for hour in {int(hour) for hour in [*kept, *out.split()[1:]]}:
                    assert len(archive.read(*market, start=hour, end=hour + 21_600).timestamps) == 360
                    figures["steps kept"] += 1
                assert archive.verify()
                service.advance(61)
                assert archive.sync(client, *market, start=first, end=end).mended == ()
                assert archive.read(*market).only["close"].tolist() == closes
    return figures
