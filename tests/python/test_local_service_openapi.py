"""The local service against its own description: whatever a property-based API tester thinks of asking.

`make test` runs a bounded, repeatable part; `make test-api` sets MARKETPOINTS_API_EXAMPLES and asks more.
"""

import json
import os

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings, strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

import marketpoints as mp
from marketpoints import _engine

NOW = 1_790_000_000
ASKED = os.environ.get("MARKETPOINTS_API_EXAMPLES")
EXAMPLES = int(ASKED or 12)
BOUNDED = settings(
    max_examples=EXAMPLES,
    derandomize=ASKED is None,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
# As on the live service (section 7): a missing type is a server error, and the document says so.
NEEDS_TYPE = ("/v1/symbols", "/v1/normalized-symbols")
# Names are open strings in the document, as they are on the live service: what keeps the schema may still name nothing.
# And what the tester takes for a breach (a number where a list of strings is due) reads the same in a URL as what is
# due; that numbers must be numbers and names known is tested on the service's side.
UNCHECKED = [positive_data_acceptance, negative_data_rejection]


def strict(schema):
    """The schema with every object closed: a field that the document does not have is wrong."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: strict(one) for name, one in schema.items()}
    if closed.get("type") == "object" and "properties" in closed:
        closed["additionalProperties"] = False
    return closed


@pytest.fixture(scope="module")
def twin():
    with mp.LocalService(now=NOW) as service:
        yield service


def described():
    """The description, closed."""
    document = json.loads(_engine.openapi())
    schemas = document["components"]["schemas"]
    schemas.update({name: strict(schema) for name, schema in schemas.items()})
    return schemathesis.openapi.from_dict(document)


API = described()
POINTS = API["/v1/points"]["GET"]


def ask(case, service):
    # Longer than the tester's ten seconds: years of a demo market, where the machine has other work.
    return case.call(base_url=service.url, headers={"x-service-key": service.keys["unlimited"]}, timeout=120)


def check(case, service):
    """Asks, and holds the answer against the document: status, content type, headers, schema, authentication."""
    excluded = list(UNCHECKED)
    response = ask(case, service)
    if case.operation.path in NEEDS_TYPE and response.status_code == 500:
        assert "parameter type: missing" in response.text, "the only server error that is specified"
        excluded.append(not_a_server_error)
    case.validate_response(response, excluded_checks=excluded)


# faults.md row 53
@API.parametrize()
@BOUNDED
@pytest.mark.timeout(600 if ASKED else 300)
def test_whatever_is_asked_is_answered_as_described(case, twin):
    check(case, twin)


VENUES = ["BINANCE_FUTURES", "BYBIT", "OKEX_SWAP", "COINBASE", "BINANCE", "DERIBIT", "NOWHERE"]
SYMBOLS = ["BTCUSDT", "ETHUSDT", "BTC-USDT-SWAP", "BTC-USD", "BTC_25", "BTC_ATM", "NOTHING"]


@st.composite
def sensible(draw):
    """A query of /v1/points that may well be right."""
    kind = draw(
        st.sampled_from(["candles", "book", "tpo", "profile", "gauge", "option", "supply", "heat"]), label="kind"
    )
    sides = ["TRADE_AGG", "TRADE_SIDE_AGNOSTIC_AGG", "LIQUIDATION_AGG"]
    types = {
        "candles": sides,
        "gauge": ["FUNDING_RATE_AGG", "OPEN_INTEREST_AGG"],
        "book": ["BLOCK_BOOK_SNAPSHOT_AGG"],
        "tpo": ["TPO_AGG"],
        "profile": ["VOLUME_PROFILE_AGG"],
        "option": ["SKEW_OPTION_SUMMARY_AGG", "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG"],
        "supply": ["TOKEN_SUPPLY_AGG"],
        "heat": ["VENUE_LIQUIDATION_AGG"],
    }
    intervals = {"MINUTE": 60, "FIVE_MINUTES": 300, "HOUR": 3600, "FOUR_HOURS": 14_400, "DAY": 86_400, "WEEK": 604_800}
    interval = draw(st.sampled_from(sorted(intervals)))
    query = {
        "type": draw(st.sampled_from(types[kind])),
        "interval": interval,
        "period": intervals[interval] * draw(st.integers(0, 40)),
    }
    if draw(st.booleans()):
        query["from"] = NOW - query["period"] - draw(st.integers(-100_000, 10_000_000))
    if kind not in ("supply", "heat"):
        query["exchange"] = draw(st.lists(st.sampled_from(VENUES), min_size=1, max_size=3))
    if kind in ("supply", "heat", "option") or draw(st.booleans()):
        query["coin"] = draw(st.sampled_from(["BTC", "ETH", "NONE"]))
    if kind not in ("supply", "heat") and ("coin" not in query or kind == "option"):
        query["rawSymbol"] = draw(st.sampled_from(SYMBOLS))
    extra = {
        "sortDirection": st.sampled_from(["SORT_DIRECTION_ASC", "SORT_DIRECTION_DESC", "1", "2"]),
        "transform.normalize.quote": st.just("USD"),
        "transform.groupBy.type": st.sampled_from(["GROUP_BY_TYPE_SUM", "GROUP_BY_TYPE_OPEN_INTEREST_WEIGHTED_AVG"]),
        "transform.normalize.fundingInterval": st.sampled_from([3_600_000, 28_800_000, 0]),
        "gapfill": st.sampled_from(["true", "false"]),
        "flatten": st.sampled_from(["true", "false"]),
        "blockSize": st.sampled_from([0.5, 10, 250, 1e9]),
        "maxDepth": st.sampled_from([1, 50, 3501, 2**32 - 1]),
        "tpoBlockSizeMinutes": st.sampled_from([5, 30, 60, 240, 7]),
        "tpoSession": st.sampled_from(["TPO_SESSION_DAILY", "TPO_SESSION_WEEKLY", "TPO_SESSION_MONTHLY", "NO"]),
        "tenor": st.sampled_from(["ONE_W", "ONE_M", "TWO_M", "THREE_M", "NO"]),
        "tokenName": st.sampled_from(["Bitcoin", "Nothing"]),
    }
    wanted = {"book": ["blockSize"], "option": ["tenor"]}.get(kind, [])
    more = draw(st.lists(st.sampled_from(sorted(extra)), max_size=3, unique=True))
    for name in {*wanted, *more}:
        query[name] = draw(extra[name])
    return query


@settings(BOUNDED, max_examples=10 * EXAMPLES)
@given(query=sensible())
def test_sensible_queries_are_answered_as_described(twin, query):
    check(POINTS.Case(query=query), twin)


def test_sensible_queries_mostly_have_answers(twin):
    """The test above is worth as much as the answers it gets: some of each shape."""
    found = set()

    @settings(max_examples=300, derandomize=True, database=None, deadline=None)
    @given(query=sensible())
    def collect(query):
        response = ask(POINTS.Case(query=query), twin)
        if response.status_code == 200 and response.json().get("series"):
            found.add(query["type"])

    collect()
    assert len(found) >= 6, found


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 502},
        {"status": 500},
        {"headers": {"Content-Type": "text/html"}},
        {"headers": {"X-RateLimit-Limit": None}},
        {"headers": {"X-RateLimit-Used": "many"}},
    ],
    ids=str,
)
def test_the_tester_finds_what_is_wrong(service, fault):
    usage = API["/v1/usage"]["GET"]
    check(usage.Case(), service)
    # Each check asks again in its own way, so the fault stays.
    with service.faults.set(**fault), pytest.raises(FailureGroup):
        check(usage.Case(), service)
