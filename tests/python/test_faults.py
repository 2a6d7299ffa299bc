"""Faults on purpose, each against the real client over sockets."""

import time

import pytest

import marketpoints as mp
from support.wire import get

MARKET = ("BINANCE_FUTURES", "BTCUSDT", "1h")
POINTS = "/v1/points"


@pytest.fixture
def impatient(service):
    """A client that tries once."""
    with service.client("unlimited", retries=0) as client:
        yield client


def hours(client):
    return client.candles(*MARKET, period=36_000)["close"].tolist()


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_server_error(service, impatient, status):
    rule = service.faults.set(status=status, path=POINTS, count=1)
    with pytest.raises(mp.ServerError) as caught:
        hours(impatient)
    assert caught.value.status == status
    assert (rule.seen, rule.active, service.faults.seen) == (1, False, 1)
    assert len(hours(impatient)) == 10


def test_retries_hide_what_ends(service):
    expected = hours(service.client("unlimited"))
    refused = service.faults.set(status=503, path=POINTS, count=2)
    with service.client("unlimited") as client:
        assert hours(client) == expected
    assert refused.seen == 2


def test_a_rate_limit(service):
    service.faults.set(status=429, retry_after=7, path=POINTS, count=1)
    with service.client("unlimited", retries=0, max_wait=0) as client, pytest.raises(mp.RateLimitError) as caught:
        hours(client)
    assert (caught.value.status, caught.value.code, caught.value.retry_after) == (429, "RATE_LIMITED", 7)
    answer_to = service.faults.set(status=429, count=1)
    answer = get(service, "/v1/usage", service.keys["free"])
    assert (answer.status, answer.headers["Retry-After"], answer_to.seen) == (429, "1", 1)


def test_a_body_that_breaks_off(service, impatient):
    for after in (0, 10, 10**9):
        service.faults.set(cut_body=after, path=POINTS, count=1)
        with pytest.raises(mp.TransportError):
            hours(impatient)
    # It was served, and so charged.
    assert get(service, "/v1/usage", service.keys["unlimited"]).used == 3


def test_a_dropped_connection(service, impatient):
    service.faults.set(drop=True, path=POINTS, count=1)
    with pytest.raises(mp.TransportError):
        hours(impatient)
    assert get(service, "/v1/usage", service.keys["unlimited"]).used == 0


def test_latency(service, impatient):
    rule = service.faults.set(latency=0.2, path="/v1/usage", count=1)
    begun = time.monotonic()
    impatient.usage()
    assert time.monotonic() - begun >= 0.2
    assert rule.seen == 1
    service.faults.set(latency=30, path=POINTS)
    with service.client("unlimited", retries=0, timeout=0.1) as client, pytest.raises(mp.TimeoutError):
        hours(client)


def test_a_late_error_is_both(service, impatient):
    service.faults.set(latency=0.1, status=500, path=POINTS, count=1)
    begun = time.monotonic()
    with pytest.raises(mp.ServerError):
        hours(impatient)
    assert time.monotonic() - begun >= 0.1


def test_wrong_headers(service, impatient):
    wrong = {"X-RateLimit-Remaining": "lots", "X-RateLimit-Limit": None, "Content-Type": "text/html"}
    with service.faults.set(headers=wrong):
        answer = get(service, "/v1/usage", service.keys["free"])
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html")
        assert (answer.headers["X-RateLimit-Remaining"], answer.headers["X-RateLimit-Limit"]) == ("lots", None)
        assert len(hours(impatient)) == 10
    assert get(service, "/v1/usage", service.keys["free"]).headers["Content-Type"] == "application/json"


# faults.md row 55
def test_a_seed_makes_the_same_faults_again(service):
    rule = service.faults.set(status=500, path="/v1/usage", probability=0.3)

    def statuses(seed):
        service.faults.seed(seed)
        return [get(service, "/v1/usage", service.keys["free"]).status for _ in range(40)]

    first, other = statuses(7), statuses(8)
    assert first == statuses(7)
    assert first != other
    assert set(first) == {200, 500}
    assert rule.seen == 2 * first.count(500) + other.count(500)
    service.faults.clear()
    assert not rule.active
    again = service.faults.set(status=500, path="/v1/usage", probability=0.3, seed=7)
    assert [get(service, "/v1/usage", service.keys["free"]).status for _ in range(40)] == first
    assert again.seen == first.count(500)


def test_a_path_a_count_and_a_removal(service):
    def status(path):
        return get(service, path, service.keys["free"]).status

    rule = service.faults.set(status=503, path="/v1/coins", count=2, probability=1.0)
    assert [status("/v1/usage"), status("/v1/coins"), status("/v1/coins"), status("/v1/coins")] == [200, 503, 503, 200]
    assert repr(rule) == "<FaultRule path='/v1/coins', status=503, count=2, 2 seen, gone>"
    with service.faults.set(status=500) as rule:
        assert [status("/v1/usage"), rule.active] == [500, True]
    assert [status("/v1/usage"), rule.active, rule.seen] == [200, False, 1]
    rule.remove()
    assert repr(service.faults) == "<Faults, 3 seen>"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({}, "name what goes wrong"),
        ({"status": 404}, "404"),
        ({"status": 600}, "status"),
        ({"status": 500, "drop": True}, "exclude each other"),
        ({"status": 500, "retry_after": 3}, "retry_after goes with status=429"),
        ({"drop": 1}, "drop"),
        ({"latency": -1}, "latency"),
        ({"latency": float("nan")}, "latency"),
        ({"status": 500, "probability": 1.5}, "probability"),
        ({"status": 500, "count": 0}, "count"),
        ({"cut_body": -1}, "cut_body"),
        ({"status": 500, "path": "v1"}, "begin with a slash"),
        ({"status": 500, "path": "/v1/pointz"}, "did you mean /v1/points?"),
        ({"status": 500, "path": "/v1/points?type="}, "no path of the service"),
        ({"headers": {"a b": "c"}}, "is no name of a header"),
        ({"headers": {"a": "b\r\nc: d"}}, "control characters"),
        ({"status": 500, "seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_is_named(service, wrong, words):
    with pytest.raises(mp.InvalidRequest, match=words):
        service.faults.set(**wrong)


def test_two_services_have_faults_of_their_own(service):
    with mp.LocalService() as other:
        other.faults.set(status=500)
        assert get(service, "/v1/usage", service.keys["free"]).status == 200
        assert get(other, "/v1/usage", other.keys["free"]).status == 500
