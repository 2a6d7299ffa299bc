"""Books added up over exchanges, against the exchanges' own answers (specification, section 4.1)."""

import json
import urllib.parse
import urllib.request
from collections import defaultdict

import pytest

import marketpoints as mp

NOW = 1_776_881_400
VENUES = ("BINANCE_FUTURES", "BYBIT")


@pytest.fixture(scope="module")
def service():
    with mp.LocalService(now=NOW) as service:
        yield service


def ask(service, exchanges, block, **more):
    query = {
        "type": "BLOCK_BOOK_SNAPSHOT_AGG",
        "coin": "BTC",
        "exchange": exchanges,
        "interval": "MINUTE",
        "from": NOW - 600,
        "period": 300,
        "blockSize": block,
        "transform.groupBy.type": "GROUP_BY_TYPE_SUM",
        **more,
    }
    url = f"{service.url}/v1/points?{urllib.parse.urlencode(query, doseq=True)}"
    with urllib.request.urlopen(
        urllib.request.Request(url, headers={"X-Service-Key": service.keys["unlimited"]})
    ) as got:
        return json.load(got)["series"][0]


def by_price(values):
    return dict(zip(values[::2], values[1::2], strict=True))


# At 10 the sides of two venues seldom meet, at 1000 a block holds bids and asks of one venue.
@pytest.mark.parametrize("block", [10, 100, 1000])
def test_the_sides_of_added_books_stay_apart(service, block):
    own = [ask(service, [venue], block) for venue in VENUES]
    added = ask(service, VENUES, block)
    assert len(added["points"]) == 5
    for index, wrapped in enumerate(added["points"]):
        point = wrapped["Point"]
        assert set(point) == {"bids", "asks", "timestamp"}
        for side, down in (("bids", True), ("asks", False)):
            expected = defaultdict(float)
            for series in own:
                for price, volume in by_price(series["points"][index]["Point"][side]).items():
                    expected[price] += volume
            prices = point[side][::2]
            assert prices == sorted(expected, reverse=down)
            assert by_price(point[side]) == pytest.approx(expected)


def test_the_flat_form_holds_bids_and_then_asks(service):
    nested, flat = (ask(service, VENUES, 1000, **more) for more in ({}, {"flatten": "true"}))
    values = flat["flat_points"]
    for wrapped in nested["points"]:
        point = wrapped["Point"]
        bids, asks = (list(zip(point[side][::2], point[side][1::2], strict=True)) for side in ("bids", "asks"))
        pairs = sorted(bids) + asks
        count, micros, *rest = values[: 2 + 2 * len(pairs)]
        assert (count, micros) == (len(pairs), point["timestamp"]["s"] * 1_000_000)
        assert list(zip(rest[::2], rest[1::2], strict=True)) == pairs
        values = values[2 + 2 * len(pairs) :]
    assert values == []
