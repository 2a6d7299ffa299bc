"""Slow, plain computations of what the service must answer, straight from the dumps. No code of the package."""

import csv
import gzip
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

SECONDS = {"MINUTE": 60, "FIVE_MINUTES": 300, "HOUR": 3600, "FOUR_HOURS": 14400, "DAY": 86400}


def rows(path: Path):
    """The rows of one dump file, as dictionaries of strings."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", newline="") as file:
        yield from csv.DictReader(file)


def trades(folder: Path, until_us=None):
    """All trades below a symbol's folder: (timestamp µs, price, amount, side), by timestamp, then file order."""
    read = []
    for path in sorted(folder.iterdir()):
        for row in rows(path):
            read.append((int(row["timestamp"]), float(row["price"]), float(row["amount"]), row["side"]))
    read.sort(key=lambda trade: trade[0])  # stable: equal times keep their file order
    return [trade for trade in read if until_us is None or trade[0] <= until_us]


def candles(trade_list, seconds):
    """Candles by bucket start (s): open, high, low, close, volume, buy and sell volume, quote volume, first, last."""
    buckets = defaultdict(list)
    for trade in trade_list:
        second = trade[0] // 1_000_000
        buckets[second - second % seconds].append(trade)
    out = {}
    for start, bucket in sorted(buckets.items()):
        prices = [trade[1] for trade in bucket]
        side = {s: float(sum(Fraction(t[2]) for t in bucket if t[3] == s)) for s in ("buy", "sell")}
        out[start] = {
            "open": prices[0],
            "high": max(prices),
            "low": min(prices),
            "close": prices[-1],
            "volume": float(sum(Fraction(trade[2]) for trade in bucket)),
            "BUY": side["buy"],
            "SELL": side["sell"],
            "quote_volume": float(sum(Fraction(t[1]) * Fraction(t[2]) for t in bucket)),
            "first_us": bucket[0][0],
            "last_us": bucket[-1][0],
        }
    return out


def books(path: Path, until_us=None):
    """The last book of each minute by its start (s): {"bid": {price: amount}, "ask": …}, prices as Decimal."""
    book = {"bid": {}, "ask": {}}
    in_snapshot = False
    out = {}
    for row in rows(path):
        time = int(row["timestamp"])
        if until_us is not None and time > until_us:
            break
        snapshot = row["is_snapshot"] == "true"
        if snapshot and not in_snapshot:
            book = {"bid": {}, "ask": {}}
        in_snapshot = snapshot
        price, amount = Decimal(row["price"]), float(row["amount"])
        if amount == 0:
            book[row["side"]].pop(price, None)
        else:
            book[row["side"]][price] = amount
        minute = time // 60_000_000 * 60
        out[minute] = {side: dict(levels) for side, levels in book.items()}
    return out


def bucketed(book, block: str, depth: int):
    """A book floored to multiples of ``block``: bids, asks as ascending [(price, volume)], ``depth`` blocks a side."""
    step = Decimal(block)
    sides = {}
    for side, levels in book.items():
        sums = defaultdict(Fraction)
        for price, amount in levels.items():
            sums[price // step] += Fraction(amount)
        if side == "bid":
            kept = [index for index in sums if index > max(sums) - depth]
        else:
            kept = [index for index in sums if index < min(sums) + depth]
        sides[side] = [(float(index * step), float(sums[index])) for index in sorted(kept)]
    return sides


def weight(cost, included_depth, points: Fraction, exchanges: int, depth):
    """Section 8.2, literally, in exact fractions."""
    base = -(-points // 1000) * cost
    exchange = 1 + Fraction(2, 10) * exchanges if exchanges > 1 else Fraction(1)
    band = 0 if included_depth is None or depth is None or depth <= included_depth else (depth - 1) // included_depth
    total = base * exchange * (1 + Fraction(2, 10) * band)
    return max(1, -(-total.numerator // total.denominator))


def tick(price_texts):
    """The decimal step on which all of the prices lie: 0.01 when the longest has two decimals."""
    return Decimal(1).scaleb(min(0, *(Decimal(text).normalize().as_tuple().exponent for text in price_texts)))


def server_step(price: Decimal, ticks=()):
    """The member of 1, 2, 5, 10, … nearest in proportion to price / 2000 among the multiples of every tick."""
    target = price / 2000
    steps = [Decimal(digit).scaleb(power) for power in range(-15, 15) for digit in (1, 2, 5)]
    fitting = [step for step in steps if all(step % one == 0 for one in ticks)]
    return min(fitting, key=lambda step: (max(step / target, target / step), -step))


def liquidation_heatmap(folders, seconds, *, usd=False, depth=1500, ticks=(), until_us=None):
    """The executed liquidations of some markets together by bucket start (s): ascending [(price, volume)]."""
    read = []
    for folder in folders:
        for path in sorted(folder.iterdir()):
            for row in rows(path):
                read.append((int(row["timestamp"]), Decimal(row["price"]), Fraction(row["amount"])))
    read.sort(key=lambda event: event[0])
    buckets = defaultdict(list)
    for time, price, amount in read:
        if until_us is None or time <= until_us:
            buckets[time // 1_000_000 // seconds * seconds].append((price, amount))
    out = {}
    for start, bucket in sorted(buckets.items()):
        step = server_step(bucket[0][0], ticks)
        sums = defaultdict(Fraction)
        for price, amount in bucket:
            sums[price // step] += amount * Fraction(price) if usd else amount
        last = bucket[-1][0] // step
        kept = sorted(sums, key=lambda level: (abs(level - last), level))[:depth]
        out[start] = [(float(level * step), float(sums[level])) for level in sorted(kept)]
    return out
