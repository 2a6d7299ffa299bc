"""Servers that answer what the test says and keep what they were asked."""

import json
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Quiet(BaseHTTPRequestHandler):
    """Answers in whole, and prints nothing."""

    def respond(self, status, headers, body):
        """Sends a JSON value, or bytes as they are; with the machine's date where the headers have none."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        dated = any(name.lower() == "date" for name in headers)
        (self.send_response_only if dated else self.send_response)(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(sent)))
        with suppress(ConnectionError):  # a client that a test interrupts does not wait for it
            self.end_headers()
            self.wfile.write(sent)

    def log_message(self, *_):
        pass


@contextmanager
def serving(handler):
    """A server of these answers on a free port; its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join(10)


#: Where a client looks a symbol, a coin or a block size up before it asks for points of it.
LISTINGS = ("/v1/symbols?", "/v1/normalized-symbols?", "/v1/coins?", "/v1/block-sizes?", "/v1/categories?")


@contextmanager
def scripted(answer, listings=False):
    """Serves ``answer(path with query)``: an object sent as JSON, bytes as they are, or a status, headers and either.

    Without ``listings`` it has none: what a client looks up is answered with 404 and is not one of the requests.

    Yields address and requests.
    """
    asked = []

    class Handler(Quiet):
        def do_GET(self):
            if not listings and self.path.startswith(LISTINGS):
                self.respond(404, {}, {"error": "NOT_FOUND", "message": "no listings here"})
                return
            asked.append(self.path)
            said = answer(self.path)
            self.respond(*(said if isinstance(said, tuple) else (200, {}, said)))

    with serving(Handler) as url:
        yield url, asked
