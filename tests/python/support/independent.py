"""Slow, plain computations of what the service must answer, straight from the dumps. No code of the package."""

import csv
import gzip
import math
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


def snapshots(path: Path, depth: int, until_us=None):
    """As :func:`books`, of a dump whose rows are whole books of ``depth`` levels a side."""
    read = [row for row in rows(path) if until_us is None or int(row["timestamp"]) <= until_us]
    out = {}
    for row in sorted(read, key=lambda row: int(row["timestamp"])):  # stable: equal times keep their file order
        levels = {
            side: {
                Decimal(row[f"{name}[{level}].price"]): float(row[f"{name}[{level}].amount"])
                for level in range(depth)
                if row[f"{name}[{level}].price"]
            }
            for side, name in (("bid", "bids"), ("ask", "asks"))
        }
        out[int(row["timestamp"]) // 60_000_000 * 60] = levels
    return dict(sorted(out.items()))


TENOR_DAYS = {"ONE_W": 7, "ONE_M": 30, "TWO_M": 60, "THREE_M": 90}


def between(points, x):
    """The value at x on the line between the nearest points on either side; None beyond the outermost."""
    exact = [value for place, value in points if place == x]
    left = [point for point in points if point[0] < x]
    right = [point for point in points if point[0] > x]
    if exact or not left or not right:
        return exact[0] if exact else None
    (x0, y0), (x1, y1) = max(left), min(right)
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def option_summary(quotes, root, at, tenor):
    """(volatility at the money, 25-delta put less call) of a tenor at a Unix second, percentage points; else None.

    ``quotes`` are the rows of an options_chain dump in file order; docs/dumps.md describes the method.
    """
    last = {}
    for row in quotes:
        time = int(row["timestamp"])
        if not row["symbol"].startswith(f"{root}-") or not (at - 3600) * 10**6 <= time <= at * 10**6:
            continue
        key = (int(row["expiration"]), float(row["strike_price"]), row["type"])
        if float(row["mark_iv"] or 0) > 0 and (key not in last or time >= int(last[key]["timestamp"])):
            last[key] = row
    money, puts, calls = [], [], []
    for expiry in sorted({key[0] for key in last if key[0] > at * 10**6}):
        of = {key[1:]: row for key, row in last.items() if key[0] == expiry}
        years = (expiry / 10**6 - at) / 86_400 / 365
        priced = [row for row in of.values() if float(row["underlying_price"] or 0) > 0]
        if priced:
            forward = float(max(priced, key=lambda row: int(row["timestamp"]))["underlying_price"])
            smile = []
            for strike in {strike for strike, _ in of}:
                first, second = ("put", "call") if strike < forward else ("call", "put")
                row = of.get((strike, first)) or of[strike, second]
                smile.append((math.log(strike), float(row["mark_iv"])))
            volatility = between(smile, math.log(forward))
            if volatility is not None:
                money.append((years, volatility**2 * years))
        wings = {}
        for kind, sign in (("put", -1), ("call", 1)):
            deltas = [
                (sign * float(row["delta"]), float(row["mark_iv"]))
                for (_, side), row in of.items()
                if side == kind and row["delta"] and 0 < sign * float(row["delta"]) < 1
            ]
            wings[kind] = between(deltas, 0.25)
        if None not in wings.values():
            puts.append((years, wings["put"] ** 2 * years))
            calls.append((years, wings["call"] ** 2 * years))
    time = TENOR_DAYS[tenor] / 365
    volatility, put, call = ((between(points, time)) for points in (money, puts, calls))
    return (
        None if volatility is None else math.sqrt(volatility / time),
        None if put is None or call is None else math.sqrt(put / time) - math.sqrt(call / time),
    )


def supply(table_rows, coin, starts, seconds, now):
    """The rows of the latest snapshot before the end of each bucket and not after ``now``, by bucket start."""
    times = sorted({int(row["timestamp"]) // 10**6 for row in table_rows if row["coin"] == coin})
    out = {}
    for start in starts:
        known = [time for time in times if time < start + seconds and time <= now]
        if known:
            of_coin = (row for row in table_rows if row["coin"] == coin)
            out[start] = [row for row in of_coin if int(row["timestamp"]) // 10**6 == known[-1]]
    return out


def profile(position_rows, wallet):
    """The trader profile of a wallet from the rows of a positions table."""
    mine = [row for row in position_rows if row["wallet_address"] == wallet]
    number = {name: [float(row[name] or 0) for row in mine] for name in ("unrealized_size", "realized_size")}
    pnl = [float(row["realized_pnl"] or 0) for row in mine]
    is_open = [size > 0 for size in number["unrealized_size"]]
    closed = [row for row, still in zip(mine, is_open, strict=True) if not still]
    wins = sum(float(row["realized_pnl"] or 0) > 0 for row in closed)
    cost = math.fsum(float(row["avg_price"] or 0) * float(row["realized_size"] or 0) for row in mine)
    held = [int(row["prev_hold_duration"] or 0) for row in closed]
    return {
        "total_position_count": len(mine),
        "open_position_count": sum(is_open),
        "closed_position_count": len(closed),
        "total_size": math.fsum(number["unrealized_size"] + number["realized_size"]),
        "total_realized_pnl": math.fsum(pnl),
        "total_roi": math.fsum(pnl) / cost * 100 if cost else 0,
        "win_rate_by_positions": wins / len(closed) * 100 if closed else 0,
        "largest_win": max([0, *pnl]),
        "largest_loss": min([0, *pnl]),
        "avg_holding_duration": sum(held) // len(held) if held else 0,
        "total_open_pos_value": math.fsum(number["unrealized_size"]),
        "total_closed_pos_value": math.fsum(float(row["realized_size"] or 0) for row in closed),
    }
