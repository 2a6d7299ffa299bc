"""Small ``/v1/points`` bodies, written by hand after sections 2.2 and 2.3 of the specification."""

import json

START = 1_776_880_800  # 2026-04-22 18:00:00 UTC


def stamp(second, ns=0):
    return {"s": second, "ns": ns} if ns else {"s": second}


def body(*series):
    return json.dumps({"series": list(series)}).encode()


def candles(rows, **identity):
    """A candle series; rows are (open, high, low, close, volume)."""
    names = ("open", "high", "low", "close", "volume")
    known = {
        "type": "TRADE_SIDE_AGNOSTIC_AGG",
        "exchange": "BINANCE_FUTURES",
        "rawSymbol": "BTCUSDT",
        "interval": "HOUR",
    }
    points = []
    for index, row in enumerate(rows):
        start = START + 3600 * index
        point = {name: value for name, value in zip(names, row, strict=True) if value != 0}
        times = {"timestamp": stamp(start), "firstTimestamp": stamp(start, 126_000_000)}
        points.append({"Point": point | times | {"lastTimestamp": stamp(start + 3599)}})
    return {"id": known | identity, "points": points}


def heatmap(snapshots, **identity):
    """A nested heatmap; snapshots are (bids best first, asks best first), each a list of (price, volume)."""
    known = {"type": "BLOCK_BOOK_SNAPSHOT_AGG", "exchange": "BYBIT", "rawSymbol": "XRPUSDT", "interval": "MINUTE"}
    points = []
    for index, (bids, asks) in enumerate(snapshots):
        point = {"timestamp": stamp(START + 60 * index)}
        for name, side in (("bids", bids), ("asks", asks)):
            if side:
                point[name] = [number for level in side for number in level]
        points.append({"Point": point})
    return {"id": known | identity, "points": points}


CANDLES = [(100.0, 110.0, 90.0, 105.0, 7.5), (105.0, 106.0, 101.0, 102.0, 0), (102.0, 103.0, 100.0, 101.5, 1.25)]
BOOK = [
    ([(99.0, 1.0), (98.0, 2.0)], [(100.0, 3.0), (102.0, 4.0)]),
    ([], [(100.0, 5.0)]),
    ([(97.0, 6.0)], [(99.0, 7.0), (101.0, 8.0)]),
]
