"""A deployment that publishes names of its own: a proxy in front of a service that knows no other names."""

import http.client
import json
from contextlib import contextmanager
from urllib.parse import parse_qsl, urlencode, urlsplit

from support.scripted import Quiet, serving

NEUTRAL_HEADER, NEUTRAL_PREFIX = "X-Service-Key", "/v1/prediction/analytics"


class Names:
    """The deployment's names, and how answers and requests are written in them."""

    def __init__(self, key_header, analytics_prefix, types, exchanges, fields):
        self.key_header, self.prefix = key_header, analytics_prefix
        self.types, self.exchanges, self.fields = types, exchanges, fields

    def parts(self):
        """The arguments of the dialect that a client needs."""
        named = {"types": self.types, "exchanges": self.exchanges, "fields": self.fields}
        return {"key_header": self.key_header, "analytics_prefix": self.prefix, **named}

    def hidden(self):
        """Neutral names that nobody may see on the wire."""
        mapped = [name for names in (self.types, self.exchanges) for name in names if name not in names.values()]
        return [NEUTRAL_HEADER.lower(), NEUTRAL_PREFIX, *mapped]

    def answer(self, value, under=""):
        """An answer of the service as the deployment sends it."""
        if isinstance(value, dict):
            return {self.fields.get(name, name): self.answer(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [self.answer(one, under) for one in value]
        if isinstance(value, str) and under in ("type", "types"):
            return self.types.get(value, value)
        if isinstance(value, str) and under in ("exchange", "exchanges"):
            return self.exchanges.get(value, value)
        return value

    def request(self, target):
        """A request to the deployment as the service takes it; None for a path that the deployment does not have."""
        parts = urlsplit(target)
        path = parts.path
        if path.startswith(NEUTRAL_PREFIX):
            return None
        if path.startswith(self.prefix):
            path = NEUTRAL_PREFIX + path.removeprefix(self.prefix)
        back = {
            "type": {published: name for name, published in self.types.items()},
            "exchange": {published: name for name, published in self.exchanges.items()},
        }
        given = parse_qsl(parts.query, keep_blank_values=True)
        query = urlencode([(name, back.get(name, {}).get(value, value)) for name, value in given])
        return f"{path}?{query}" if query else path


@contextmanager
def deployed(service, names):
    """The service under these names. Yields the address and the heads of all requests as they came, a text each."""
    heads = []
    host, port = urlsplit(service.url).hostname, urlsplit(service.url).port

    class Handler(Quiet):
        def do_GET(self):  # noqa: N802 - the library's own name
            heads.append(f"{self.requestline}\n{self.headers}")
            key, target = self.headers.get(names.key_header), names.request(self.path)
            if key is None or target is None:
                self.respond(401 if key is None else 404, {}, {"error": "NO", "message": "no such name here"})
                return
            connection = http.client.HTTPConnection(host, port, timeout=30)
            connection.request("GET", target, headers={NEUTRAL_HEADER: key})
            answer = connection.getresponse()
            wanted = ("date", "retry-after")
            headers = {name: text for name, text in answer.getheaders() if name.lower().startswith(("x-rate", *wanted))}
            body = json.loads(answer.read())
            connection.close()
            self.respond(answer.status, headers, names.answer(body) if answer.status == 200 else body)

    with serving(Handler) as url:
        yield url, heads
