"""The local service as it is on the wire: plain HTTP, no client of this package in between."""

import http.client
import json
import socket
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

KEY = "X-Service-Key"


class Answer(NamedTuple):
    """One answer."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        return self.json["error"]

    @property
    def message(self):
        return self.json["message"]

    @property
    def used(self):
        return int(self.headers["X-RateLimit-Used"])


def get(service, path, key=None, **parameters):
    """Asks once, on a connection of its own; parameters that are None are left out, lists are repeated.

    A dot in a name is written as two underscores, ``from`` as ``from_``.
    """
    named = {name.rstrip("_").replace("__", "."): value for name, value in parameters.items() if value is not None}
    target = f"{path}?{urlencode(named, doseq=True)}" if named else path
    connection = http.client.HTTPConnection(urlsplit(service.url).netloc, timeout=60)
    try:
        connection.request("GET", target, headers={} if key is None else {KEY: key})
        answer = connection.getresponse()
        return Answer(answer.status, answer.headers, answer.read())
    finally:
        connection.close()


def connect(service):
    """A bare connection to the service."""
    parts = urlsplit(service.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=60)
