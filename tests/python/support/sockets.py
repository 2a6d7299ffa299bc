"""A WebSocket server that does what the test says, written on plain sockets (RFC 6455)."""

import base64
import hashlib
import json
import socket
import struct
import threading
from contextlib import contextmanager

TEXT, CLOSE, PING, PONG = 1, 8, 9, 10

# The server's clock stands at 2026-04-22 18:00:00 UTC.
DATE = b"Wed, 22 Apr 2026 18:00:00 GMT"
DATE_SECOND = 1_776_880_800


def framed(message, kind=TEXT):
    """A whole frame of a server."""
    payload = message.encode() if isinstance(message, str) else message
    if len(payload) < 126:
        length = bytes([len(payload)])
    elif len(payload) < 1 << 16:
        length = b"\x7e" + struct.pack(">H", len(payload))
    else:
        length = b"\x7f" + struct.pack(">Q", len(payload))
    return bytes([128 | kind]) + length + payload


class Peer:
    """One connection, after the handshake."""

    def __init__(self, connection):
        self.connection = connection
        self.head = b""
        while not self.head.endswith(b"\r\n\r\n"):
            self.head += self._exactly(1)
        key = next(line[19:] for line in self.head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key: "))
        accept = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
            b"Date: " + DATE + b"\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        )

    def _exactly(self, count):
        received = b""
        while len(received) < count:
            part = self.connection.recv(count - len(received))
            if not part:
                raise EOFError
            received += part
        return received

    def hear(self):
        """The next frame's kind and payload."""
        first, second = self._exactly(2)
        length = second & 127
        if length == 126:
            (length,) = struct.unpack(">H", self._exactly(2))
        mask, payload = self._exactly(4), self._exactly(length)
        return first & 15, bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))

    def say(self, message, kind=TEXT):
        """Sends a text, an object as JSON, or bytes as they are."""
        payload = message if isinstance(message, (bytes, str)) else json.dumps(message)
        self.connection.sendall(framed(payload, kind))

    def grant(self):
        """Waits for a request, grants it and returns it."""
        kind, payload = self.hear()
        assert kind == TEXT
        request = json.loads(payload)
        self.say({"jsonrpc": "2.0", "id": request["id"], "result": {}})
        return request

    def stay(self):
        """Until the client goes."""
        while self.hear()[0] != CLOSE:
            pass


def asks_a_list(connection):
    """Answers what a client looks up before it opens a stream: there are no lists here. False for everything else."""
    begin = b"GET /v1/"
    start = connection.recv(len(begin), socket.MSG_PEEK | socket.MSG_WAITALL)
    if start != begin:
        return False
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        part = connection.recv(1)
        if not part:
            return True
        head += part
    connection.sendall(b"HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    return True


@contextmanager
def playing(*scripts):
    """Plays a script for each connection, in order; more are closed. Yields the address and what the scripts saw."""
    seen, threads = [], []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def play(connection, script):
            with connection:
                try:
                    seen.append(script(Peer(connection)))
                except (EOFError, OSError):
                    seen.append(None)

        def accept():
            waiting = list(scripts)
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                if asks_a_list(connection):
                    connection.close()
                elif waiting:
                    threads.append(threading.Thread(target=play, args=(connection, waiting.pop(0)), daemon=True))
                    threads[-1].start()
                else:
                    connection.close()

        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", seen
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for thread in [acceptor, *threads]:
                thread.join(10)
