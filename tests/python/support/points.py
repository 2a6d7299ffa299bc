"""A point of each data type, and series and results of such points."""

import json

import marketpoints as mp

HOUR = 3600
WINDOW = {"start": "2026-01-01", "end": "2026-01-03"}
MARKET = ("BINANCE_FUTURES", "BTCUSDT", "1h")

#: A point of each data type of section 2.3, with the levels that it has.
POINTS = {
    "TRADE_SIDE_AGNOSTIC_AGG": {"open": 1.0, "high": 2.0, "low": 0.5, "close": 1.5, "volume": 3.0},
    "TRADE_AGG": {"open": 1.0, "high": 2.0, "low": 0.5, "close": 1.5, "volume": 3.0},
    "LIQUIDATION_AGG": {"liquidations": 4.0},
    "FUNDING_RATE_AGG": {"rateOpen": 1e-4, "rateHigh": 3e-4, "rateLow": -1e-4, "rateClose": 2e-4},
    "OPEN_INTEREST_AGG": {"open": 5e5, "high": 7e5, "low": 4e5, "close": 6e5},
    "VOLUME_PROFILE_AGG": {"profile": [100.0, 1.0, 2.0, 101.0, 3.0, 0.0]},
    "TPO_AGG": {
        "TpoAggregation": {"levels": [{"price": 100.0, "block_ids": [0, 1]}, {"price": 101.0, "block_ids": [1]}]}
    },
    "BLOCK_BOOK_SNAPSHOT_AGG": {"bids": [99.0, 1.0], "asks": [100.0, 2.0]},
    "VENUE_LIQUIDATION_AGG": {"levels": [99.0, 1.0, 100.0, 2.0]},
    "SKEW_OPTION_SUMMARY_AGG": {"skew": -1.5},
    "IMPLIED_VOLATILITY_OPTION_SUMMARY_AGG": {"impliedVolatility": 55.0},
    "TOKEN_SUPPLY_AGG": {
        "marketcap": 1e12,
        "marketcapDominancePercent": 55.0,
        "circulatingSupply": 2e7,
        "usdPrice": 5e4,
    },
    "SOMETHING_NEW": {"depth": 3.0, "count": 7},
}


def points(kind, seconds, values=None, **identity):
    """A series of one type whose points have the same values."""
    value = POINTS[kind] if values is None else values
    text = json.dumps(value)[:-1]
    tail = "}" if "TpoAggregation" in value else ""
    inner = text[:-1] if tail else text
    comma = "," if value else ""
    every = ",".join(f'{{"Point":{inner}{comma}"timestamp":{{"s":{second}}}}}{tail}}}' for second in seconds)
    known = {"type": kind, "exchange": "BYBIT", "rawSymbol": "BTCUSDT", "interval": "HOUR", **identity}
    return f'{{"id":{json.dumps(known)},"points":[{every}]}}'


def decoded(*series):
    return mp.decode_points(('{"series":[' + ",".join(series) + "]}").encode())
