"""Servers and ways to them whose connections end in the middle of what they send."""

import socket
import threading
from contextlib import contextmanager, suppress

import marketpoints as mp


@contextmanager
def resetting(answer, places):
    """A server that sends so much of an answer on each connection and then resets it; afterwards all of it."""
    left, asked = list(places), []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        head += connection.recv(65_536)
                    asked.append(head.split(b" ")[1])
                    if left:
                        connection.sendall(answer[: left.pop(0)])
                        # Closing takes back what the other side has not read, as a machine that restarts does.
                        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                    else:
                        connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


@contextmanager
def cutting(target, chance, cuts):
    """A way to a service that ends so many connections, each after some bytes of what it sends."""
    host, port = target.removeprefix("http://").split(":")
    left = [cuts]

    def hand_on(source, to, most):
        try:
            while most > 0 and (data := source.recv(min(65_536, most))):
                to.sendall(data)
                most -= len(data)
        except OSError:
            pass

    def serve(outer):
        inner = socket.create_connection((host, int(port)))
        left[0] -= 1
        # The handshake and both grants are less than the least.
        most = chance.randint(1_500, 20_000) if left[0] >= 0 else 1 << 60
        ways = [(outer, inner, 1 << 60), (inner, outer, most)]
        threads = [threading.Thread(target=hand_on, args=way, daemon=True) for way in ways]
        for thread in threads:
            thread.start()
        threads[1].join()
        for one in (outer, inner):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def accept(listener):
        while True:
            try:
                outer, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(outer,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)


class Connections:
    """A server that answers every request alike, and does to its connections what a test says.

    Attributes:
        url: Where it listens.
        asked: Requests that came.
        opened: Connections that came.
        ended: Set when a client ended a connection.
        closed: Released for each connection that is closed here.
    """

    def __init__(self, closes=False, silent=False, answers_after=None):
        self.asked = self.opened = 0
        self.ended, self.came = threading.Event(), threading.Event()
        self.closed = threading.Semaphore(0)
        self._closes, self._silent, self._connections = closes, silent, []
        self._answers_after = answers_after
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.opened += 1
            self._connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        body = b'{"series":[]}'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        with connection:
            waiting = b""
            while piece := connection.recv(65536):
                waiting += piece
                while b"\r\n\r\n" in waiting:
                    waiting = waiting.partition(b"\r\n\r\n")[2]
                    self.asked += 1
                    self.came.set()
                    if self._answers_after is not None:
                        self._answers_after.wait(60)
                    if not self._silent:
                        connection.sendall(head + body)
                    if self._closes:
                        break
                if self._closes:
                    break
            else:
                self.ended.set()
        self.closed.release()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Takes no more connections, and ends those that are open."""
        self._listener.close()
        for connection in self._connections:
            with suppress(OSError):  # it ended before
                connection.shutdown(socket.SHUT_RDWR)

    def client(self, **settings):
        """A client that sends nothing but what it is asked for, once."""
        return mp.Client("key", self.url, tier="advanced", retries=0, check_symbols=False, **settings)
