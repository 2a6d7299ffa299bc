"""What run.py repeats: each takes a clock, a random sequence and a folder, and gives counts by their names."""

import base64
import faulthandler
import gzip
import http.client
import http.server
import json
import socket
import subprocess
import sys
import threading
import time
import zlib
from contextlib import suppress
from urllib.parse import urlsplit

import marketpoints as mp

NOW = 1_790_000_000
DAY = 1_733_011_200  # 2024-12-01
#: Where the decoder's bodies come from: a point of each form.
SEEDS = [
    b'{"series":[{"id":{"type":"TRADE_SIDE_AGNOSTIC_AGG","exchange":"X"},"points":['
    b'{"Point":{"timestamp":{"s":60,"ns":5},"open":1.5,"high":2e0,"low":0.25,"close":1,"volume":1.0E-7}},'
    b'{"Point":{"timestamp":{"s":120},"open":2,"close":17976931348623157e292}}]}]}',
    b'{"series":[{"id":{"type":"BLOCK_BOOK_SNAPSHOT_AGG"},"points":['
    b'{"Point":{"timestamp":{"s":60},"bids":[99,1,98,2.5],"asks":[100,3]}},{"Point":{"timestamp":{"s":120},"asks":[7,8]}}]}]}',
    b'{"series":[{"id":{"type":"TPO_AGG"},"points":[{"Point":{"TpoAggregation":{"timestamp":{"s":60},"levels":'
    b'[{"price":1,"block_ids":[0,2],"buy_volume":5}],"poc_price":1}}}]}]}',
    b'{"series":[{"id":{"type":"NEW","more":{"a":[1,null]}},"points":[{"Point":{"timestamp":{"s":1},"t":"\\u00e9\\n"}}]}]}',
]
PIECES = [
    b'{"Point":',
    b'"TpoAggregation":',
    b'"timestamp":',
    b"null",
    b"[]",
    b"{}",
    b"1e999",
    b'"\\ud800"',
    b"\xff",
    b",",
]
MARKET = ("orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1m")
WINDOW = {"start": NOW // 60 * 60 - 3_000 * 60, "end": NOW // 60 * 60, "block_size": 200.0}


class Clock:
    """The time that an attack has."""

    def __init__(self, seconds):
        self._seconds = seconds
        self._end = None

    def runs(self):
        """Whether there is time left; it begins at the first question, after what an attack prepares."""
        if self._end is None:
            self._end = time.monotonic() + self._seconds
        return time.monotonic() < self._end


def mutated(body, rng):
    """A body with some of its bytes changed, cut, doubled or moved, and pieces of JSON in between."""
    text = bytearray(body)
    for _ in range(rng.randint(0, 3)):
        at, until = sorted((rng.randrange(len(text) + 1), rng.randrange(len(text) + 1)))
        until = min(until, at + 40)
        match rng.randrange(6):
            case 0 if text:
                text[at % len(text)] = rng.randrange(256)
            case 1:
                del text[at:until]
            case 2:
                text[at:at] = text[at:until] * rng.randint(1, 30)
            case 3:
                text[at:at] = rng.choice(PIECES)
            case 4:
                del text[at:]
            case _:
                text[at:at] = rng.randbytes(rng.randrange(8))
    return bytes(text)


def decode(clock, rng, _):
    """Bodies that nobody should send: an answer or a DecodeError, the same again, and never anything else."""
    figures = {"bodies": 0, "answers": 0, "refused": 0}
    try:
        mp.decode_points(b"{}")
    except mp.DecodeError as error:
        assert "this processor lacks" in str(error), error
        return {"bodies, this processor lacks the kernel": 0}
    while clock.runs():
        faulthandler.dump_traceback_later(60, exit=True)  # a hang
        for _ in range(500):
            body = rng.choice(SEEDS) if rng.random() < 0.97 else rng.randbytes(rng.randrange(400))
            if rng.random() < 0.2:
                points = body[body.find(b"[{", 20) + 1 : body.rfind(b"]")] if b"[{" in body[20:] else b""
                body = body.replace(points, points + b"," + points) if points else body
            body = mutated(body, rng)
            figures["bodies"] += 1
            try:
                mp.decode_points(body)
                figures["answers"] += 1
            except mp.DecodeError as error:
                assert 0 <= error.offset <= len(body), (error, body)
                figures["refused"] += 1
    assert figures["answers"] and figures["refused"], figures  # both sides were tried
    return figures


SYNC = """
import sys
import marketpoints as mp
folder, url, key, now = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
client = mp.Client(key, url, archive_source="twin", clock=lambda: now)
print("ready", flush=True)
mp.Archive(folder).sync(client, *{market!r}, **{window!r})
"""


def undisturbed(command):
    """Seconds that a program takes after it says that it is ready: kills fall anywhere in that time."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout.readline() == b"ready\n"
        begun = time.monotonic()
        assert child.wait(300) == 0
    return time.monotonic() - begun


def killed(command, rng, longest):
    """Starts a program, kills it with SIGKILL at a random moment after it says so; whether it was still running."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout.readline() == b"ready\n"
        time.sleep(rng.random() * longest)
        running = child.poll() is None
        child.kill()
        child.wait(60)
    return running


def sync_kill(clock, rng, folder):
    """A sync that dies at any moment: what is kept is whole, and the next one pays for the rest and nothing else."""
    figures = {"kills": 0, "runs that ended first": 0, "buckets kept before": 0}
    with mp.LocalService(now=NOW) as service, service.client("unlimited", archive_source="twin") as client:
        wanted = client.orderbook_heatmap(*MARKET[1:], **WINDOW)[0]
        service.faults.set(path="/v1/points", latency=0.05)
        code = SYNC.format(market=MARKET, window=WINDOW)

        def sync(place):
            return [sys.executable, "-c", code, str(place), service.url, service.keys["unlimited"], str(NOW)]

        longest = undisturbed(sync(folder / "undisturbed"))
        while clock.runs():
            place = folder / f"archive-{rng.getrandbits(48)}"
            figures["kills" if killed(sync(place), rng, longest) else "runs that ended first"] += 1
            archive = mp.Archive(place)
            kept = 0
            if place.exists():  # else it was killed before it had anything to keep
                kept = sum(one.buckets for one in archive.contents())
                assert not archive.verify().problems
            figures["buckets kept before"] += kept
            done = archive.sync(client, *MARKET, **WINDOW)
            # A thousand books weigh 10; what was kept is not paid again.
            assert done.weight == (3_000 - kept) // 100, (done.weight, kept)
            assert archive.read(*MARKET, **WINDOW)[0] == wanted
            assert not archive.verify().problems
    return figures


INGEST = """
import sys
import marketpoints as mp
print("ready", flush=True)
mp.ingest(sys.argv[1], sys.argv[2])
"""
HEADER = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"


def trades(folder, symbol, rows, header=HEADER):
    path = folder / "trades" / "BYBIT" / symbol / "2024-12-01.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join([header, *rows, ""])
    path.write_bytes(gzip.compress(text.encode(errors="surrogateescape"), 1))


def row(number, rng, second):
    moment = (DAY + second) * 1_000_000
    return f"bybit,X,{moment},{moment},{number},buy,{100 + rng.random():.2f},{rng.random():.4f}"


def ingest_kill(clock, rng, folder):
    """An ingest that dies at any moment: the next one brings the store to what an undisturbed one gives."""
    dumps = folder / "dumps"
    for symbol in ("AUSDT", "BUSDT", "CUSDT", "DUSDT"):
        trades(dumps, symbol, [row(number, rng, number * 2) for number in range(40_000)])

    def closes(store):
        with mp.LocalService(data=store, now=DAY + 86_400) as service, service.client("unlimited") as client:
            window = {"start": DAY, "end": DAY + 86_400}
            symbols = ["AUSDT", "BUSDT", "CUSDT", "DUSDT"]
            return [
                (one["close"].tolist(), one["volume"].tolist())
                for one in client.candles("BYBIT", symbols, "1m", **window)
            ]

    longest = undisturbed([sys.executable, "-c", INGEST, str(dumps), str(folder / "whole")])
    wanted = closes(folder / "whole")
    figures = {"kills": 0, "runs that ended first": 0}
    while clock.runs():
        store = folder / f"store-{rng.getrandbits(48)}"
        for _ in range(rng.randint(1, 3)):
            command = [sys.executable, "-c", INGEST, str(dumps), str(store)]
            figures["kills" if killed(command, rng, longest) else "runs that ended first"] += 1
        report = mp.ingest(dumps, store)
        assert not report.problems and report.files + report.unchanged == 4, report
        assert closes(store) == wanted
    return figures


FIELDS = [
    "",
    "-1",
    "1e308",
    "nan",
    "inf",
    '"',
    '"x',
    "\x00",
    "\x1b[2J",
    "9" * 400,
    "é" * 50,
    "1,2",
    "2024-12-01",
    "sell",
]


def csv(clock, rng, folder):
    """Dumps with whatever in them: bad rows are reported one by one, good ones are taken, and nothing raises."""
    figures = {"files": 0, "rows": 0, "good rows": 0, "problems": 0, "refused ingests": 0}
    while clock.runs():
        faulthandler.dump_traceback_later(120, exit=True)
        root = folder / f"dumps-{rng.getrandbits(48)}"
        for symbol in range(20):
            rows = [row(number, rng, number) for number in range(rng.randrange(200))]
            for _ in range(rng.randrange(8)):
                if not rows:
                    break
                at = rng.randrange(len(rows))
                cells = rows[at].split(",")
                cells[rng.randrange(len(cells))] = rng.choice(FIELDS)
                rows[at] = rng.choice([",".join(cells), ",".join(cells) * 3, rows[at][: rng.randrange(20)], ""])
            figures["rows"] += len(rows)
            trades(
                root,
                f"S{symbol}",
                rows,
                HEADER if rng.random() < 0.9 else mutated(HEADER.encode(), rng).decode("latin-1"),
            )
            path = root / "trades" / "BYBIT" / f"S{symbol}" / "2024-12-01.csv.gz"
            if rng.random() < 0.15:
                path.write_bytes(mutated(path.read_bytes(), rng))
        for kind in ("token_supply", "markets", "positions"):
            table = root / kind / "x.csv"
            table.parent.mkdir(parents=True, exist_ok=True)
            table.write_bytes(mutated(b"coin,time,supply\nBTC,2024-12-01,19000000\n" * rng.randint(1, 50), rng))
            figures["files"] += 1
        figures["files"] += 20
        try:
            report = mp.ingest(root, folder / f"store-{rng.getrandbits(48)}")
            figures["good rows"] += report.rows
            figures["problems"] += len(report.problems)
        except mp.Error:
            figures["refused ingests"] += 1
    assert figures["good rows"] and figures["problems"], figures  # both sides were tried
    return figures


def answers(service):
    """Whether the service still answers who behaves."""
    connection = http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=30)
    connection.request("GET", "/v1/usage", headers={"X-Service-Key": service.keys["free"]})
    answer = connection.getresponse()
    assert answer.status == 200, answer.status
    answer.read()
    connection.close()


def connect(service):
    place = urlsplit(service.url)
    connection = socket.create_connection((place.hostname, place.port), timeout=10)
    # Gone at once at the end: thousands of ports must not wait for their time.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    return connection


def connections(clock, rng, _):
    """Requests that are none, connections that stay open, answers that nobody takes: others are still served."""
    good = b"GET /v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&period=600 HTTP/1.1\r\n"
    good += b"Host: 127.0.0.1\r\nX-Service-Key: nobody\r\nContent-Length: 0\r\n\r\n"
    figures = {"connections": 0, "answers to others": 0}
    with mp.LocalService(now=NOW) as service:
        held = []
        while clock.runs():
            for _ in range(50):
                figures["connections"] += 1
                with suppress(OSError):
                    peer = connect(service)
                    peer.sendall(
                        rng.choice([mutated(good, rng), good * rng.randint(1, 40), rng.randbytes(2_000), b"GET /"])
                    )
                    held.append(peer)
            while len(held) > 200:
                held.pop(rng.randrange(len(held))).close()
            answers(service)
            figures["answers to others"] += 1
        for peer in held:
            peer.close()
    return figures


def frame(rng):
    """A frame of a WebSocket client: of any kind and length, or one that breaks the rules."""
    payload = rng.choice([rng.randbytes(rng.randrange(126)), b'{"type":"subscribe","channels":[{}]}', b"[" * 125, b""])
    first = rng.choice([0x81, 0x82, 0x01, 0x80, 0x88, 0x89, 0x8A, 0xC1, rng.randrange(256)])
    if rng.random() < 0.05:
        return bytes([first, 0xFF]) + rng.randbytes(8)  # a length that is a lie
    masked = 0x80 if rng.random() < 0.95 else 0
    return bytes([first, masked | len(payload)]) + (bytes(4) if masked else b"") + payload


def websockets(clock, rng, _):
    """Floods of frames on both sockets of the stream: the connection ends or goes on, and others are served."""
    figures = {"sockets": 0, "opened": 0, "frames": 0, "answers to others": 0}
    with mp.LocalService(now=NOW) as service:
        while clock.runs():
            for _ in range(10):
                figures["sockets"] += 1
                with suppress(OSError):
                    peer = connect(service)
                    key = base64.b64encode(rng.randbytes(16)).decode()
                    path = rng.choice(["/ws?encoding=json", "/nonbook/ws?encoding=json"])
                    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    head += f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
                    head += f"X-Service-Key: {service.keys['advanced']}\r\n\r\n"
                    peer.sendall(head.encode())
                    figures["opened"] += b" 101 " in peer.recv(4_096)
                    for _ in range(rng.randrange(400)):
                        peer.sendall(frame(rng))
                        figures["frames"] += 1
                    peer.close()
            answers(service)
            figures["answers to others"] += 1
    assert figures["opened"], figures
    return figures


def packed(start, piece, count):
    """``start`` and so many pieces as gzip, without having them all in memory."""
    packer = zlib.compressobj(1, wbits=31)
    parts = [packer.compress(start), *(packer.compress(piece) for _ in range(count))]
    return b"".join([*parts, packer.flush()])


def gzip_bombs(clock, rng, _):
    """Small bodies that unpack to half a gigabyte: an error, before the memory is taken."""
    spaces, head = b" " * (1 << 20), SEEDS[0][: SEEDS[0].index(b'{"Point"')]
    rows = b'{"Point":{"timestamp":{"s":60},"close":1}},' * 24_000
    bombs = [
        packed(b"", spaces, 512),
        packed(head, rows, 512),
        packed(b'{"series":[', spaces, 512),
        packed(b"", b"[" * (1 << 20), 512),
        packed(b'{"series":[{"id":{},"points":[{"Point":{"x":"', b"y" * (1 << 20), 512),
    ]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            bomb = rng.choice(bombs) if self.path.startswith("/v1/points") else b""
            self.send_response(200 if bomb else 404)
            self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(bomb)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(bomb)

        def log_message(self, *_):
            pass

    figures = {"bombs of 512 MiB": 0}
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        settings = {"budget": "process", "retries": 0, "max_body": 64 << 20, "check_symbols": False}
        with mp.Client("key", url, tier=None, clock=lambda: NOW, **settings) as client:
            while clock.runs():
                try:
                    answer = client.candles("X", "Y", "1m", start=NOW // 60 * 60 - 6_000, end=NOW // 60 * 60)
                    raise AssertionError(f"a bomb was an answer: {json.dumps(repr(answer))}")
                except (mp.ServerError, mp.DecodeError, mp.TransportError):
                    figures["bombs of 512 MiB"] += 1
        server.shutdown()
    return figures
