"""Ingest of 10 million trades against polars, which makes the same minute bars of the same gzip CSV and keeps nothing.

Run by ``make bench-ingest``. Needs polars; takes about a minute, most of it to write the file.
"""

import gzip
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from timing import clock, machine, paired_seconds

import marketpoints as mp

DAY = 1_733_011_200  # 2024-12-01


def write_trades(path: Path, rows: int) -> None:
    """A day of trades as the published dumps have them, in order of time."""
    rng = np.random.default_rng(7)
    times = np.sort(rng.integers(0, 86_400_000_000, rows)) + DAY * 1_000_000
    frame = pl.DataFrame(
        {
            "exchange": pl.Series(["binance-futures"]).new_from_index(0, rows),
            "symbol": pl.Series(["BTCUSDT"]).new_from_index(0, rows),
            "timestamp": times,
            "local_timestamp": times + 1_500,
            "id": np.arange(rows) + 1_000_000_000,
            "side": np.where(rng.random(rows) < 0.5, "buy", "sell"),
            "price": np.round(96_000 + np.cumsum(rng.normal(0, 0.5, rows)), 1),
            "amount": np.round(rng.exponential(0.05, rows) + 0.001, 3),
        }
    )
    path.parent.mkdir(parents=True)
    with gzip.open(path, "wb", compresslevel=6) as out:
        frame.write_csv(out)


def bars_by_polars(path: Path) -> pl.DataFrame:
    """Minute bars by the shortest road that polars has."""
    buy, quote = pl.col("side") == "buy", pl.col("price") * pl.col("amount")
    frame = pl.read_csv(path, columns=["timestamp", "side", "price", "amount"]).lazy()
    return (
        frame.group_by(pl.col("timestamp") // 60_000_000, maintain_order=True)
        .agg(
            open=pl.col("price").first(),
            high=pl.col("price").max(),
            low=pl.col("price").min(),
            close=pl.col("price").last(),
            buy_volume=pl.col("amount").filter(buy).sum(),
            sell_volume=pl.col("amount").filter(~buy).sum(),
            buy_quote_volume=quote.filter(buy).sum(),
            sell_quote_volume=quote.filter(~buy).sum(),
            first_timestamp=pl.col("timestamp").alias("first").min(),
            last_timestamp=pl.col("timestamp").alias("last").max(),
        )
        .collect()
    )


def main(rows: int) -> None:
    """Times both and checks that they say the same."""
    with tempfile.TemporaryDirectory() as folder:
        dumps = Path(folder) / "dumps"
        path = dumps / "trades" / "BINANCE_FUTURES" / "BTCUSDT" / "2024-12-01.csv.gz"
        write_trades(path, rows)
        stores = iter(Path(folder) / f"store-{run}" for run in range(100))
        last = Path()

        def ingest() -> float:
            nonlocal last
            last = next(stores)
            return clock(lambda: mp.ingest(dumps, last))

        seconds = paired_seconds(
            {"marketpoints": ingest, "polars": lambda: clock(lambda: bars_by_polars(path))}, runs=5
        )
        ours = pl.read_parquet(last / "candles_1m")
        theirs = bars_by_polars(path)
        for column in ("open", "high", "low", "close", "buy_volume", "sell_volume"):
            if not np.allclose(ours[column].to_numpy(), theirs[column].to_numpy(), rtol=1e-9):
                sys.exit(f"{column} differs")
    print(machine())
    print(
        f"{rows:,} trades, gzip CSV; polars {pl.__version__} makes the minute bars, marketpoints {mp.__version__} also"
    )
    print("stores every trade as Parquet with checksums; best of 5, taking turns:")
    for name, best in seconds.items():
        print(f"  {name:<12} {best:6.2f} s  {rows / best / 1e6:6.2f} million rows/s")
    print(f"  marketpoints takes {seconds['marketpoints'] / seconds['polars']:.2f} × the time of polars")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
