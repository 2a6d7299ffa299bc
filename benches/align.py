"""Times `mp.align` beside polars' `join_asof`: the same rows, the same age, the same values out. `make bench-align`."""

import sys

import numpy as np
import polars as pl
from timing import machine, paired

import marketpoints as mp

START, MINUTE, FIVE = 1_767_225_600, 60, 300
NANOSECONDS = 1_000_000_000


def series(starts, values, interval, name):
    """A series of one column through the decoder, as an answer would be."""
    points = ",".join(
        f'{{"Point":{{"{name}":{value!r},"timestamp":{{"s":{start}}}}}}}'
        for start, value in zip(starts.tolist(), values.tolist(), strict=True)
    )
    identity = f'{{"type":"SOME_{name.upper()}_AGG","exchange":"BYBIT","rawSymbol":"BTCUSDT","interval":"{interval}"}}'
    return mp.decode_points(f'{{"series":[{{"id":{identity},"points":[{points}]}}]}}'.encode())[0]


def main(rows):
    chance = np.random.default_rng(3)
    known = rows // 5
    fives = series(START + FIVE * np.arange(known), chance.random(known).round(6), "FIVE_MINUTES", "volume")
    # A moment of one's own a minute, some of them twice.
    moments = np.sort(chance.integers(0, rows, rows)) * MINUTE * NANOSECONDS + START * NANOSECONDS
    left = moments.astype("datetime64[ns]")
    rows_of = pl.DataFrame({"known_at": left}).set_sorted("known_at")
    there = pl.DataFrame({"known_at": fives.closes_at, "volume": fives["volume"]}).set_sorted("known_at")

    def ours():
        return mp.align(left, fives, as_frame="polars")

    def theirs():
        return rows_of.join_asof(there, on="known_at", tolerance="5m")

    one, other = ours(), theirs()
    np.testing.assert_array_equal(one["volume"].to_numpy(), other["volume"].fill_null(float("nan")).to_numpy())
    seconds = paired({"align": ours, "join_asof": theirs}, runs=5)
    print(f"{rows:,} rows, joined with {known:,}; polars {pl.__version__}; {machine()}")
    for name, took in seconds.items():
        print(f"{name:10} {took * 1e3:8.1f} ms   {rows / took / 1e6:6.1f} million rows a second")
    print(f"align takes {seconds['align'] / seconds['join_asof']:.2f} of the time of join_asof")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
