"""A decoder in plain Python: slow, and from the specification alone (service.md 2.2 and 2.3, supplement 2 to 4).

It knows what a body means, with every quirk: keys in any order, omitted zeros, unknown optional values, null, whole
doubles with exponents, timestamps without nanoseconds, points out of order and repeated. It is no validator.
"""

import json
import math

NUMBER, OPTIONAL, TIME, TEXT, LIST = "number", "optional", "time", "text", "list"

CANDLE = dict.fromkeys(["open", "high", "low", "close", "volume"], NUMBER)
CANDLE |= dict.fromkeys(["timestamp", "firstTimestamp", "lastTimestamp"], TIME)
FUNDING = dict.fromkeys(["rateOpen", "rateHigh", "rateLow", "rateClose"], OPTIONAL)
FUNDING |= dict.fromkeys(["predictedOpen", "predictedHigh", "predictedLow", "predictedClose"], OPTIONAL)
SUPPLY = dict.fromkeys(["marketcap", "firstMarketcap"], NUMBER)
SUPPLY |= dict.fromkeys(["marketcapDominancePercent", "circulatingSupply", "totalSupply", "maxSupply"], OPTIONAL)
SUPPLY |= dict.fromkeys(["totalValueLocked", "fullyDilutedValuation", "srcMarketcapRank"], OPTIONAL)
SUPPLY |= dict.fromkeys(["totalVolume", "usdPrice"], OPTIONAL) | dict.fromkeys(["chain", "contractAddress"], TEXT)
LEVEL = {"price": NUMBER, "block_ids": LIST, "buy_volume": NUMBER, "sell_volume": NUMBER}
LEVEL |= dict.fromkeys(["tpo_count", "volume", "first_touch_block", "last_touch_block"], OPTIONAL)
TPO = dict.fromkeys(["period_start", "period_end"], TIME) | {"levels": LEVEL}
TPO |= dict.fromkeys(["block_size_minutes", "poc_price", "vah_price", "val_price", "profile_high"], OPTIONAL)
TPO |= dict.fromkeys(["profile_low", "opening_price", "closing_price", "ibr_high", "ibr_low"], OPTIONAL)
TPO |= dict.fromkeys(["total_tpo_count", "value_area_percentage", "total_volume"], OPTIONAL)
TPO |= dict.fromkeys(["poor_highs", "poor_lows", "single_prints"], LIST)

#: Fields of a point by type; every point also has a timestamp.
FIELDS = {
    "TRADE_SIDE_AGNOSTIC_AGG": CANDLE,
    "TRADE_AGG": CANDLE,
    "LIQUIDATION_AGG": {"liquidations": NUMBER},
    "FUNDING_RATE_AGG": FUNDING,
    "OPEN_INTEREST_AGG": dict.fromkeys(["open", "high", "low", "close"], OPTIONAL),
    "VOLUME_PROFILE_AGG": {"profile": LIST},
    "TPO_AGG": TPO,
    "BLOCK_BOOK_SNAPSHOT_AGG": {"bids": LIST, "asks": LIST},
    "VENUE_LIQUIDATION_AGG": {"levels": LIST},
    "SKEW_OPTION_SUMMARY_AGG": {"skew": NUMBER},
    "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG": {"impliedVolatility": NUMBER},
    "TOKEN_SUPPLY_AGG": SUPPLY,
}
HEATMAPS = ("BLOCK_BOOK_SNAPSHOT_AGG", "VENUE_LIQUIDATION_AGG")


def decode(body):
    """The series of a body: type, times in Unix nanoseconds, and rows of values by wire name."""
    # Every number by Python's own float, from its spelling.
    document = json.loads(body, parse_int=float, parse_float=float)
    return [series(one) for one in document.get("series") or []]


def series(one):
    name = (one.get("id") or {}).get("type")
    if one.get("flat_points"):
        rows = list(snapshots(one["flat_points"]))
    elif name in HEATMAPS:
        rows = [heatmap(point["Point"]) for point in one.get("points") or []]
    else:
        rows = [row(payload(point["Point"]), FIELDS[name]) for point in one.get("points") or []]
    rows.sort(key=lambda row: row["timestamp"])
    if name != "TOKEN_SUPPLY_AGG":  # one row per chain: several of a time are right
        rows = [row for at, row in enumerate(rows) if at == 0 or row["timestamp"] != rows[at - 1]["timestamp"]]
    return name, rows


def payload(point):
    return point["TpoAggregation"] if isinstance(point.get("TpoAggregation"), dict) else point


def row(point, fields):
    values = {field: value(point.get(field), kind) for field, kind in fields.items()}
    return values | ({"timestamp": moment(point["timestamp"])} if "timestamp" in point else {})


def value(found, kind):
    if isinstance(kind, dict):
        return [row(inner, kind) for inner in found or []]
    if kind == TIME:
        return None if found is None else moment(found)
    if kind == LIST:
        return found or []
    if found is None:
        return {NUMBER: 0.0, OPTIONAL: math.nan, TEXT: None}[kind]
    return found


def moment(stamp):
    return int(stamp["s"]) * 10**9 + int(stamp.get("ns", 0))


def pairs(values):
    return list(zip(values[::2], values[1::2], strict=True))


def heatmap(point):
    levels = pairs(point.get("bids") or [])[::-1] + pairs(point.get("asks") or []) + pairs(point.get("levels") or [])
    return {"timestamp": moment(point["timestamp"]), "levels": sorted(levels, key=lambda level: level[0])}


def snapshots(values):
    at = 0
    while at < len(values):
        count, micros = int(values[at]), int(values[at + 1])
        levels = pairs(values[at + 2 : at + 2 + 2 * count])
        yield {"timestamp": micros * 1000, "levels": sorted(levels, key=lambda level: level[0])}
        at += 2 + 2 * count
