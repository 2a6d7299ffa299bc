"""The pieces of a universe in partitions of a real Spark, and an archive's files read by it."""

import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F  # noqa: N812 - its usual name

import marketpoints as mp
from support.archives import DAY, END, hashes

#: A window by its ends: the last thirty days would be others a minute later.
UNIVERSE = f"""
type = ["candles", "open_interest"]
exchange = "BINANCE_FUTURES"
symbol = ["BTCUSDT", "ETHUSDT"]
interval = "1m"
start = {END - 30 * DAY}
end = {END}
"""
TABLE = "history/type=TRADE_SIDE_AGNOSTIC_AGG"
LOCAL = """SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", 2).getOrCreate()"""


@pytest.fixture
def service(tmp_path, monkeypatch):
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        advice = "Spark needs Java: install Debian's package default-jre-headless"
        if os.environ.get("CI"):
            pytest.fail(advice)
        pytest.skip(advice)
    with mp.LocalService(now=END + 900) as running:
        environment = {
            "MARKETPOINTS_API_KEY": running.keys["advanced"],
            "MARKETPOINTS_BASE_URL": running.url,
            "MARKETPOINTS_CLOCK_OFFSET": str(running.now() - time.time()),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(tmp_path)
        yield running


def columns(frame, *names):
    rows = frame.orderBy("time").select(*names).collect()
    return [list(column) for column in zip(*rows, strict=True)]


# One test: the environment and the folder are those that Java was started with, once in a process.
def test_the_recipes_give_the_report_the_bytes_and_the_rows_of_one_run(service, recipes, tmp_path):
    Path("universe.toml").write_text(UNIVERSE)
    weight = 4 * 44  # 43,200 minutes
    settings = {
        "SparkSession.builder.getOrCreate()": f"({LOCAL})",
        "s3://bucket/history": str(tmp_path / "history"),
    }
    names = recipes("Spark", settings)
    try:
        report = names["report"]
        assert report and (len(report.complete), report.weight) == (4, weight)
        service.assert_spent(weight)
        with service.client("unlimited", archive_source=service.url) as client:
            whole = mp.Archive("whole").sync_all(client, "universe.toml")
        assert whole.to_json().partition('"seconds"')[0] == report.to_json().partition('"seconds"')[0]
        assert hashes("history") == hashes("whole")
        same_rows(names["spark"], names["frame"], names["days"])
    finally:
        names["spark"].stop()


def same_rows(spark, frame, days):
    archive = mp.Archive("history")
    for symbol in ("BTCUSDT", "ETHUSDT"):
        series = archive.read("candles", "BINANCE_FUTURES", symbol, "1m").only
        assert len(series) == 30 * DAY // 60
        prices = ("open", "high", "low", "close", "volume")
        wanted = frame.filter(F.col("symbol") == symbol)
        micros, first, *values = columns(wanted, F.unix_micros("time"), "first_timestamp", *prices)
        assert micros == series.timestamps.astype("datetime64[us]").astype(int).tolist()
        # A column that the recipe leaves alone is nanoseconds.
        assert first == series["first_timestamp"].astype("datetime64[ns]").astype(int).tolist()
        assert values == [series[name].tolist() for name in prices]
        # Its last close of each day, beside NumPy's.
        day = series.timestamps.astype("datetime64[D]")
        last = np.append(day[1:] != day[:-1], True)
        rows = days.filter(F.col("symbol") == symbol).orderBy("day").select("day", "close").collect()
        assert [row.day for row in rows] == day[last].tolist()
        assert [row.close for row in rows] == series["close"][last].tolist()
    spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "false")
    with pytest.raises(PySparkException, match="PARQUET_TYPE_ILLEGAL"):
        spark.read.parquet(TABLE).count()
