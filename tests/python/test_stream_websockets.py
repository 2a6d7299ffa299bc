"""The local service's stream with another library's client: how its connections end (RFC 6455, section 7)."""

import json
from contextlib import contextmanager

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import marketpoints as mp

TRADES = {"type": "TRADE", "exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT"}


@pytest.fixture
def twin():
    with mp.LocalService(now="2026-04-22T18:00:00") as service:
        yield service


def opened(twin):
    address = twin.url.replace("http://", "ws://") + "/nonbook/ws?encoding=json"
    # Without a bound on what waits to be read: the library stops reading at its bound, close frames too.
    return connect(address, proxy=None, compression=None, max_queue=None, open_timeout=60, close_timeout=60)


def ask(connection, method, **params):
    connection.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    while "id" not in (answer := json.loads(connection.recv(timeout=60))):
        pass
    return answer["result"]


@contextmanager
def subscribed(twin):
    with opened(twin) as connection:
        ask(connection, "public/authenticate", token=twin.keys["basic"])
        ask(connection, "public/subscribe", channels=[TRADES])
        yield connection


def all_of(connection):
    """What comes until the connection is closed."""
    received = []
    try:
        while True:
            received.append(json.loads(connection.recv(timeout=60)))
    except ConnectionClosed:
        return received


def ended(connection):
    """The codes of both close frames, the service's and this side's, and who was first."""
    protocol = connection.protocol
    codes = [frame and frame.code for frame in (protocol.close_rcvd, protocol.close_sent)]
    return (*codes, "service" if protocol.close_rcvd_then_sent else "client")


@pytest.mark.parametrize("code", [1000, 1001, 3000, 4321])
def test_a_close_is_answered(twin, code):
    with opened(twin) as connection:
        connection.close(code, "enough")
    assert ended(connection) == (code, code, "client")
    assert connection.protocol.close_rcvd.reason == "enough"


def test_a_close_amid_events_is_answered(twin):
    with subscribed(twin) as connection:
        twin.advance(3600)
        assert json.loads(connection.recv(timeout=60))["points"]
    assert ended(connection) == (1000, 1000, "client")


def test_the_service_says_why_it_ends_a_connection(twin):
    with opened(twin) as connection:
        connection.send("x" * 1_000_000)
        assert all_of(connection) == []
    assert ended(connection) == (1009, 1009, "service")
    with opened(twin) as connection:
        connection.send(json.dumps({"id": 1, "method": "public/authenticate", "params": {"token": "nobody's"}}))
        assert [answer["error"]["code"] for answer in all_of(connection)] == [401]
    assert ended(connection) == (1008, 1008, "service")


def test_a_stop_of_the_service_is_said(twin):
    with subscribed(twin) as connection:
        twin.stop()
        all_of(connection)
    assert ended(connection) == (1001, 1001, "service")
    assert connection.protocol.close_rcvd.reason == "the service stops"


def test_pings_are_answered(twin):
    with opened(twin) as connection:
        assert connection.ping("hello").wait(60)
