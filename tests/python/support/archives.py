"""What the tests of the archive share."""

import hashlib
from pathlib import Path

import numpy as np

import marketpoints as mp

HOUR = 3_600
DAY = 24 * HOUR
#: A full hour, a little before the services' clock.
END = 1_789_999_200
MARKET = ("BINANCE_FUTURES", "BTCUSDT", "1h")
#: A query of each shape of answer.
QUERIES = {
    "candles": {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "interval": "1h"},
    "gapfilled": {
        "type": "candles",
        "exchange": "BINANCE_FUTURES",
        "symbol": "BTCUSDT",
        "interval": "1m",
        "gapfill": True,
        "usd": True,
    },
    "side_candles": {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "interval": "1h"},
    "liquidations": {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "interval": "15m"},
    "funding_rate": {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "interval": "1h"},
    "open_interest": {"exchange": ["BINANCE_FUTURES", "BYBIT"], "coin": "BTC", "interval": "1h", "group_by": "sum"},
    "several markets": {"type": "candles", "exchange": ["BYBIT", "BINANCE_FUTURES"], "coin": "BTC", "interval": "1h"},
    "volume_profile": {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "interval": "4h"},
    "orderbook_heatmap": {
        "exchange": "BINANCE_FUTURES",
        "symbol": "BTCUSDT",
        "interval": "1h",
        "block_size": 100.0,
        "max_depth": 40,
    },
    "tpo": {
        "exchange": "BINANCE_FUTURES",
        "symbol": "BTCUSDT",
        "interval": "1h",
        "session": "daily",
        "block_minutes": 60,
    },
    "skew": {"exchange": "DERIBIT", "symbol": "BTC_25", "coin": "BTC", "tenor": "ONE_W", "interval": "4h"},
    "token_supply": {"coin": "BTC", "interval": "1d"},
}


def between(start, end):
    """A window of Unix seconds as the archive writes it."""
    return mp.Window(np.datetime64(start, "s"), np.datetime64(end, "s"))


def values(column):
    """A column's memory, so that NaN equals NaN and -0.0 differs from 0.0."""
    if isinstance(column, mp.Ragged):
        return column.offsets.tobytes(), column.values.tobytes()
    if isinstance(column, mp.Nested):
        return column.offsets.tobytes(), {name: values(part) for name, part in column.fields.items()}
    return list(column) if column.dtype.kind == "O" else (column.dtype.str, np.ascontiguousarray(column).tobytes())


def content(series_set):
    """Everything that a set of series holds, by identity."""
    return {
        (str(one.id), tuple(one.id.known().items()), tuple(one.id.extra.items())): (
            type(one).__name__,
            one.timestamps.tobytes(),
            {name: values(one[name]) for name in one.columns},
        )
        for one in series_set
    }


def spent(service, client, work):
    """What ``work()`` cost, as the service counted it, and what it returned."""
    service.advance(61)  # the service counts the last minute
    before = client.usage().used
    assert before == 0
    done = work()
    return client.usage().used, done


def part_files(folder):
    return sorted(folder.rglob("part.parquet"))


def hashes(folder):
    """Every data file's hash by its place: where megabytes differ, pytest would look for minutes where."""
    files = part_files(Path(folder))
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
