"""What a service was asked, as a record to assert on: `LocalService.requests`, `spent`, `assert_spent`."""

import json
import pickle
import threading
import urllib.parse
import urllib.request

import numpy as np
import pandas as pd
import pytest

import marketpoints as mp
from support import NOW

DAY = {"start": NOW - 86_400, "end": NOW - 3_600}


def raw(service, target, tier="advanced"):
    """A request of the standard library's client: status and body."""
    asked = urllib.request.Request(service.url + target, headers={"X-Service-Key": service.keys[tier]})
    try:
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def test_each_request_is_recorded_with_what_it_cost(service):
    assert len(service.requests) == 0
    assert service.spent == 0
    query = {"type": "TRADE_AGG", "exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT", "interval": "MINUTE"}
    window = {"from": str(NOW - 90_000), "period": str(1_001 * 60)}
    status, body = raw(service, "/v1/points?" + urllib.parse.urlencode(query | window), "basic")
    assert (status, raw(service, "/v1/nothing")[0], raw(service, "/v1/usage", "unlimited")[0]) == (200, 404, 200)

    points, unknown, usage = service.requests
    assert (points.method, points.path, points.status, points.tier, points.key) == (
        "GET", "/v1/points", 200, "basic", "basic",
    )  # fmt: skip
    # 1,001 points of a type that weighs 1 for each 1,000 (section 8.2).
    assert (points.weight, points.bytes) == (2, len(body))
    assert points.query == query | window
    assert points.time.dtype == "datetime64[ns]"
    assert 0 <= (points.time - np.datetime64(NOW, "s")) / np.timedelta64(1, "s") < 60
    assert 0 < points.seconds < 20
    assert (unknown.path, unknown.status, unknown.weight, unknown.query) == ("/v1/nothing", 404, 0, {})
    assert (usage.tier, usage.weight) == ("unlimited", 0)
    assert service.spent == 2


def test_what_a_client_sends_is_recorded_and_its_weight_is_the_plans(service):
    with service.client("advanced") as client:
        planned = client.plan("candles", "BINANCE_FUTURES", "BTCUSDT", "1m", **DAY)
        client.candles("BINANCE_FUTURES", "BTCUSDT", "1m", **DAY)
    asked = [one for one in service.requests if one.path == "/v1/points"]
    assert [service.url + f"{one.path}?{one.query}" for one in asked] == [one.url for one in planned.requests]
    assert [one.weight for one in asked] == [one.weight for one in planned.requests]
    service.assert_spent(planned.weight)


def test_a_parameter_that_comes_several_times():
    query = mp.RequestQuery("exchange=BYBIT&type=TRADE_AGG&exchange=OKEX%5FSWAP&rawSymbol=&q=a+b%2B")
    assert (query["exchange"], query.all("exchange"), query.all("nothing")) == ("BYBIT", ("BYBIT", "OKEX_SWAP"), ())
    assert (query["rawSymbol"], query["q"], query.get("nothing"), len(query)) == ("", "a b+", None, 4)
    assert query == {"type": "TRADE_AGG", "exchange": ["BYBIT", "OKEX_SWAP"], "rawSymbol": "", "q": "a b+"}
    # One value of two is not the query.
    assert query != {"type": "TRADE_AGG", "exchange": "BYBIT", "rawSymbol": "", "q": "a b+"}
    assert query != {"type": "TRADE_AGG", "exchange": ["OKEX_SWAP", "BYBIT"], "rawSymbol": "", "q": "a b+"}
    assert query == mp.RequestQuery("type=TRADE_AGG&exchange=BYBIT&exchange=OKEX_SWAP&q=a%20b%2B&rawSymbol=")
    assert query != "exchange=BYBIT"
    assert len({query, mp.RequestQuery(str(query))}) == 1


def test_frames_and_pickles(service):
    raw(service, "/v1/points?type=NO&exchange=A&exchange=B")
    raw(service, "/v1/usage", "free")
    requests = service.requests
    frame = requests.to_pandas()
    assert list(frame["status"]) == [400, 200]
    assert list(frame["tier"]) == ["advanced", "free"]
    assert frame["query"][0] == {"type": "NO", "exchange": ["A", "B"]}
    assert json.loads(requests.to_polars()["query"][0]) == {"type": "NO", "exchange": ["A", "B"]}
    assert isinstance(frame, pd.DataFrame) and frame["time"].dtype == "datetime64[ns, UTC]"
    copied = pickle.loads(pickle.dumps(requests))
    assert copied == requests
    assert str(copied[0]) == "weight 0  400  GET /v1/points?type=NO&exchange=A&exchange=B  advanced"
    assert len(service.requests[:0].to_pandas().columns) == len(frame.columns)


def test_a_failed_assertion_tells_what_was_charged(service):
    service.assert_spent(0)
    with service.client("unlimited", check_symbols=False) as client:
        for hours in range(1, 24):
            client.candles("BYBIT", "BTCUSDT", "1h", start=NOW - 90_000, end=NOW - 90_000 + hours * 3_600)
    service.assert_spent(23)
    with pytest.raises(AssertionError) as caught:
        service.assert_spent(22)
    lines = str(caught.value).splitlines()
    assert lines[0] == "spent 23, not 22; of all requests these were charged:"
    assert lines[1] == "  and 3 before these"
    assert len(lines) == 22
    assert lines[-1].startswith("  weight 1  200  GET /v1/points?type=TRADE_SIDE_AGNOSTIC_AGG&")
    assert service.keys["unlimited"] not in str(caught.value)


def test_cleared_and_bounded():
    with mp.LocalService(now=NOW, keep_requests=2) as service:
        for _ in range(3):
            raw(service, "/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&period=7200")
        assert (len(service.requests), service.requests_left_out, service.spent) == (2, 1, 3)
        earlier = service.requests
        service.clear_requests()
        assert (len(service.requests), service.requests_left_out, service.spent) == (0, 0, 0)
        assert len(earlier) == 2, "what was taken stays"
        with service.client("advanced") as client:
            assert client.usage().used == 3, "budgets are another matter"
        assert service.as_of(NOW)._keep_requests == 2
    assert [one.path for one in service.requests] == ["/v1/usage"], "it outlives the service"
    with mp.LocalService(now=NOW, keep_requests=0) as service:
        raw(service, "/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&period=7200")
        assert (len(service.requests), service.spent) == (0, 1)
    with pytest.raises(mp.InvalidRequest, match="keep_requests"):
        mp.LocalService(keep_requests=-1)


def test_no_key_is_recorded(service):
    key = service.keys["free"]
    raw(service, f"/v1/usage?api_key=a-mistake&x={key}", "free")
    text = f"{service.requests!r} {service.requests[0]!r} {service.requests[0]} {service.requests.to_pandas().to_csv()}"
    assert key not in text and "a-mistake" not in text
    assert service.requests[0].query == {"api_key": "[key]", "x": "[key]"}


def test_many_threads_ask_and_look(service):
    def ask():
        for _ in range(20):
            raw(
                service,
                "/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=HOUR&period=7200",
                "unlimited",
            )
            # Its own request at least is there, and no request without its weight.
            seen = service.requests
            assert sum(one.weight for one in seen) <= service.spent

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert (len(service.requests), service.spent) == (80, 80)


def test_the_opening_of_a_stream_is_recorded(service):
    with service.client("basic", check_symbols=False) as client:
        channel = mp.Channel(type="TRADE", exchange="BINANCE_FUTURES", symbol="BTCUSDT")
        with client.stream([channel]):
            pass
    opened = service.requests[-1]
    assert (opened.status, opened.weight, opened.key) == (101, 0, "")
    assert opened.query == {"encoding": "json"}
