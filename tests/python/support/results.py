"""A result of each class, and what its arrays hold, bit by bit."""

import marketpoints as mp
from support.bodies import BOOK, CANDLES, START, body, candles, heatmap, stamp


def profile():
    points = [{"Point": {"timestamp": stamp(START), "profile": [99.0, 1.0, 2.0, 100.0, 0.0, 4.0]}}]
    return {"id": {"type": "VOLUME_PROFILE_AGG", "exchange": "BYBIT", "interval": "HOUR"}, "points": points}


def tpo():
    levels = [{"price": 99.0, "block_ids": [0, 2], "buy_volume": 1.5}, {"price": 100.0, "sell_volume": 0.5}]
    first = {"timestamp": stamp(START), "period_start": stamp(START), "poc_price": 99.0, "levels": levels}
    second = {"timestamp": stamp(START + 86_400), "poor_highs": [3.5]}
    points = [{"Point": {"TpoAggregation": session}} for session in (first, second)]
    return {"id": {"type": "TPO_AGG", "coin": "BTC", "interval": "DAY"}, "points": points}


def supply():
    points = [
        {"Point": {"timestamp": stamp(START), "marketcap": 5.0, "chain": "π"}},
        {"Point": {"timestamp": stamp(2)}},
    ]
    return {"id": {"type": "TOKEN_SUPPLY_AGG", "coin": "BTC", "rank": {"a": 1}}, "points": points}


SERIES = {
    mp.Series: lambda: candles(CANDLES),
    mp.Heatmap: lambda: heatmap(BOOK),
    mp.Profile: profile,
    mp.Tpo: tpo,
}


def made(kind):
    return mp.decode_points(body(SERIES[kind]()), now=START + 3_700)


def bits(value):
    """Every array of a series as bytes, without the code under test: dtype, shape and memory."""
    if isinstance(value, mp.SeriesSet):
        return [bits(one) for one in value]
    if isinstance(value, mp.Series):
        return type(value).__name__, str(value.id), bits(value.timestamps), [(n, bits(value[n])) for n in value.columns]
    if isinstance(value, mp.Ragged):
        return bits(value.offsets), bits(value.values)
    if isinstance(value, mp.Nested):
        return bits(value.offsets), [(name, bits(part)) for name, part in value.fields.items()]
    if value.dtype.kind == "O":
        return value.tolist()
    return str(value.dtype), value.shape, value.tobytes()
