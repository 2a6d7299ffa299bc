"""The local service's answers and the recorded ones of the live service differ in values only (supplement 2 and 3)."""

import json
import urllib.request

import pytest

PLAIN = "rawSymbol=BTCUSDT&exchange=BINANCE_FUTURES&interval=HOUR"

# The keys of the recorded answers, in their order: what the tests stand on where the recordings are not at hand.
IDENTITY = ["type", "rawSymbol", "exchange", "normalizedSymbol", "category", "interval", "side", "coin"]
CANDLE = ["open", "high", "low", "close", "volume", "timestamp", "firstTimestamp", "lastTimestamp"]
KINDS = {
    "candles_btc_1h.json": ("TRADE_SIDE_AGNOSTIC_AGG", 2, [key for key in IDENTITY if key != "side"], CANDLE),
    "liq_btc_24h.json": ("LIQUIDATION_AGG", 24, IDENTITY, ["liquidations", "timestamp"]),
}


class Number(str):
    """A number as it is spelt."""


def parse(body: bytes):
    """JSON with objects as lists of pairs and numbers as they are spelt."""
    return json.loads(body, object_pairs_hook=list, parse_float=Number, parse_int=Number)


def keys(pairs):
    return [key for key, _ in pairs]


def spelt(value: float) -> str:
    """A double by the rule of the supplement, from Python's shortest digits."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    digits, _, exponent = f"{value!r}".partition("e")
    if not exponent:  # Python spells plainly up to 1e16
        sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
        whole, _, decimals = digits.partition(".")
        decimals = "" if decimals == "0" else decimals
        exponent = len(whole) - 1
        digits = (whole + decimals).rstrip("0")
        digits = sign + digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    exponent = int(exponent)
    return f"{digits.removesuffix('.0')}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


def check(body: bytes, identity, point_keys) -> None:
    """One line; keys in their order, none for a zero; every number in its spelling."""
    assert b"\n" not in body
    (top,) = parse(body)
    assert top[0] == "series"
    assert top[1], "an answer to compare"
    for series in top[1]:
        assert keys(series) == ["id", "points"]
        assert keys(series[0][1]) == identity
        assert series[1][1]
        for wrapped in series[1][1]:
            ((wrapper, point),) = wrapped
            assert wrapper == "Point"
            assert keys(point) == [key for key in point_keys if key in keys(point)], "the order of the recorded keys"
            for key, value in point:
                if "imestamp" in key:
                    assert keys(value) in (["s"], ["s", "ns"])
                    assert all(number == str(int(number)) and number != "0" for _, number in value)
                else:
                    assert isinstance(value, Number)
                    assert value == spelt(float(value))
                    assert float(value) != 0, "a zero is left out"


@pytest.mark.parametrize("name", KINDS)
def test_the_recorded_answers_follow_the_rules(shared, name):
    if shared is None:
        pytest.skip("the recorded answers are not at hand")
    _, _, identity, point_keys = KINDS[name]
    check((shared / "recorded" / name).read_bytes(), identity, point_keys)


@pytest.mark.parametrize("name", KINDS)
def test_the_services_answers_are_like_the_recorded_ones(demo, name):
    data_type, hours, identity, point_keys = KINDS[name]
    url = f"{demo.url}/v1/points?type={data_type}&{PLAIN}&period={hours * 3600}"
    request = urllib.request.Request(url, headers={"X-Service-Key": demo.keys["unlimited"]})
    with urllib.request.urlopen(request) as answer:
        check(answer.read(), identity, point_keys)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (19340026.0, "1.9340026e+07"),
        (-8.81e-06, "-8.81e-06"),
        (100.0, "100"),
        (1e6, "1e+06"),
        (1.7748e15, "1.7748e+15"),
    ],
)
def test_the_rule_of_this_test_is_that_of_the_supplement(value, text):
    assert spelt(value) == text
