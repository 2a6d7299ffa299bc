"""The bodies that the decoder is timed on, in the service's style (supplement, section 2)."""

import functools
import random
from collections.abc import Callable, Iterator

import numpy as np

PRICES = ("open", "high", "low", "close", "volume")
TIMES = ("timestamp", "firstTimestamp", "lastTimestamp")
IDENTITY = (
    '{{"series":[{{"id":{{"type":"{}","rawSymbol":"BTCUSDT","exchange":"BINANCE_FUTURES",'
    '"normalizedSymbol":"BTC-USDT","category":"PERPETUAL","interval":"MINUTE","coin":"BTC"}},'
)


def spell(value: float) -> str:
    """A double as the service writes it."""
    if value == 0 or 1e-4 <= abs(value) < 1e6:
        return repr(value).removesuffix(".0")
    return np.format_float_scientific(value, trim="-", exp_digits=2)


def raw(rng: random.Random) -> float:
    """A sum of amounts as it comes out of a machine: 17 digits."""
    return sum(rng.randrange(1, 2_000_000) / 1000 for _ in range(7)) * (1 + 2**-52 * rng.randrange(1, 9))


def rounded(rng: random.Random) -> float:
    """A volume of one to eight decimals."""
    return max(round(rng.random() * 100, rng.randrange(1, 9)), 0.1)


def levels(kind: str, rng: random.Random, count: int) -> Iterator[tuple[float, float]]:
    """Ascending prices and their volumes."""
    price = float(6000 + rng.randrange(500)) * 10
    for _ in range(count):
        price += 10
        volume = rounded(rng) if kind == "flat" else raw(rng)
        if kind == "flatusd":
            volume *= price
        yield (price + rng.random() if kind == "flat17all" else price), volume


def flat(kind: str, snapshots: int = 1000) -> str:
    """Snapshots of a thousand levels in one array."""
    rng = random.Random(1)
    values: list[str] = []
    for snapshot in range(snapshots):
        values += ["1000", spell(float(1_774_800_000 + 60 * snapshot) * 1e6)]
        for price, volume in levels(kind, rng, 1000):
            values += [spell(price), spell(volume)]
    return IDENTITY.format("BLOCK_BOOK_SNAPSHOT_AGG") + f'"flat_points":[{",".join(values)}]}}]}}'


def nested(snapshots: int = 1000) -> str:
    """The same with bids and asks in each point."""
    rng = random.Random(1)
    points = []
    for snapshot in range(snapshots):
        book = [f"{spell(price)},{spell(volume)}" for price, volume in levels("flat", rng, 1000)]
        sides = f'"bids":[{",".join(book[499::-1])}],"asks":[{",".join(book[500:])}]'
        points.append(f'{{"Point":{{{sides},"timestamp":{{"s":{1_774_800_000 + 60 * snapshot}}}}}}}')
    return IDENTITY.format("BLOCK_BOOK_SNAPSHOT_AGG") + f'"points":[{",".join(points)}]}}]}}'


def candles(count: int, shuffled: bool = False) -> str:
    """Minute candles; with another key order in every point, if wanted."""
    rng = random.Random(1)
    points = []
    price = 60_000.0
    for index in range(count):
        before, price = price, round(price + rng.random() * 40 - 20, 1)
        high, low = round(max(before, price) + rng.random() * 10, 1), round(min(before, price) - rng.random() * 10, 1)
        start = 1_700_000_000 + 60 * index
        first, last = (rng.randrange(1, 1000) * 1_000_000 for _ in range(2))
        numbers = zip(PRICES, (before, high, low, price, raw(rng)), strict=True)
        fields = [f'"{name}":{spell(value)}' for name, value in numbers]
        fields.append(f'"timestamp":{{"s":{start}}}')
        fields.append(f'"firstTimestamp":{{"s":{start},"ns":{first}}}')
        fields.append(f'"lastTimestamp":{{"s":{start + 59},"ns":{last}}}')
        if shuffled:
            rng.shuffle(fields)
        points.append(f'{{"Point":{{{",".join(fields)}}}}}')
    return IDENTITY.format("TRADE_SIDE_AGNOSTIC_AGG") + f'"points":[{",".join(points)}]}}]}}'


def tpo(days: int = 50, depth: int = 800) -> str:
    """Profiles of so many levels."""
    rng = random.Random(1)
    points = []
    for day in range(days):
        rows = []
        for level in range(depth):
            first = rng.randrange(20)
            blocks = ",".join(str(first + block) for block in range(rng.randrange(1, 26)))
            volumes = f'"buy_volume":{spell(raw(rng) / 100)},"sell_volume":{spell(rounded(rng))}'
            rows.append(f'{{"price":{60_000 + 10 * level},"block_ids":[{blocks}],{volumes}}}')
        start = 1_774_800_000 + 86_400 * day
        times = f'"timestamp":{{"s":{start}}},"period_start":{{"s":{start}}},"period_end":{{"s":{start + 86_400}}}'
        profile = f'{times},"levels":[{",".join(rows)}],"block_size_minutes":30,"poc_price":63000'
        points.append(f'{{"Point":{{"TpoAggregation":{{{profile}}}}}}}')
    return IDENTITY.format("TPO_AGG") + f'"points":[{",".join(points)}]}}]}}'


BODIES: dict[str, Callable[[], str]] = {
    "flat": functools.partial(flat, "flat"),
    "flat17": functools.partial(flat, "flat17"),
    "flat17all": functools.partial(flat, "flat17all"),
    "flatusd": functools.partial(flat, "flatusd"),
    "nested": nested,
    "candles": functools.partial(candles, 100_000),
    "shuffled": functools.partial(candles, 100_000, True),
    "tpo": tpo,
    "candles-1000": functools.partial(candles, 1000),
    "candles-24": functools.partial(candles, 24),
}
