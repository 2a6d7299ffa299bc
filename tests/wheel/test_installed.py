"""Quick tests of the package as it was installed, in an environment that holds nothing else.

`environments.py` copies this file away from the checkout and runs it there; MARKETPOINTS_CHECKOUT is what must not be
imported from. MARKETPOINTS_RUNNER runs programs of the interpreter's own processor, where the machine has another one.
"""

import json
import os
import shlex
import struct
import subprocess
import sys
import sysconfig
import threading
from importlib import metadata, resources
from pathlib import Path

import numpy as np
import pytest

import marketpoints as mp

NOW = "2026-06-01T12:00"
MARKET = ("BINANCE_FUTURES", "BTCUSDT")
RUNNER = shlex.split(os.environ.get("MARKETPOINTS_RUNNER", ""))


def command(*arguments, cwd):
    """What the command line prints."""
    script = Path(sysconfig.get_path("scripts")) / "marketpoints"
    # Under a runner the script's first line would start the wrong interpreter.
    program = [*RUNNER, sys.executable, "-m", "marketpoints"] if RUNNER else [str(script)]
    done = subprocess.run([*program, *arguments], cwd=cwd, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def service():
    with mp.LocalService(now=NOW) as running:
        yield running


def test_it_is_the_installed_package():
    checkout = os.environ["MARKETPOINTS_CHECKOUT"]
    package = Path(mp.__file__).resolve().parent
    assert package.parent.name in ("site-packages", "site")
    environment = Path(sys.prefix).resolve()
    inside = [Path(entry).resolve() for entry in sys.path if entry]
    assert not any(entry.is_relative_to(checkout) and not entry.is_relative_to(environment) for entry in inside)
    assert Path(mp._engine.__file__).resolve().parent == package
    assert mp.__version__ == metadata.version("marketpoints")


#: Daemon threads are in the midst of small and of large calls when the interpreter ends.
AT_EXIT = f"""
import threading
import marketpoints as mp

service = mp.LocalService(now={NOW!r}).__enter__()
client = service.client("unlimited", check_symbols=False, budget="process")
calls = [lambda: client.candles(*{MARKET!r}, "1m", period=3600), client.usage] * 2
busy = threading.Barrier(len(calls) + 1)

def ask(call):
    call()
    busy.wait(60)
    while True:
        call()

for call in calls:
    threading.Thread(target=ask, args=(call,), daemon=True).start()
busy.wait(60)
"""


def test_the_interpreter_ends_while_daemon_threads_use_a_client():
    # With an unwinder of the engine's own one of three crashed. An emulated processor takes ten times as long.
    for _ in range(2 if RUNNER else 8):
        done = subprocess.run(
            [*RUNNER, sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=240, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_everything_public_is_there():
    assert [name for name in mp.__all__ if not hasattr(mp, name)] == []
    assert resources.files("marketpoints").joinpath("py.typed").is_file()
    assert resources.files("marketpoints").joinpath("_engine.pyi").is_file()


def test_bytes_become_arrays():
    prices = [0.1, 1e-310, 12345.678901234567, 1.7976931348623157e308, 5.0]
    points = [
        {"Point": {"timestamp": {"s": 60 * at}, "open": p, "high": p, "low": p, "close": p, "volume": 2.5 * at}}
        for at, p in enumerate(prices)
    ]
    body = json.dumps({"series": [{"id": {"type": "TRADE_AGG"}, "points": points}]}).encode()
    (series,) = mp.decode_points(body)
    assert series["close"].tobytes() == struct.pack("=5d", *prices)
    assert series["volume"].tolist() == [0.0, 2.5, 5.0, 7.5, 10.0]
    assert series.timestamps.astype("int64").tolist() == [60 * 10**9 * at for at in range(5)]
    with pytest.raises(mp.DecodeError):
        mp.decode_points(body[:-1])


def test_threads_decode_side_by_side():
    closes = [at / 7 for at in range(20_000)]
    points = ",".join(f'{{"Point":{{"timestamp":{{"s":{60 * at}}},"close":{p!r}}}}}' for at, p in enumerate(closes))
    body = f'{{"series":[{{"id":{{"type":"TRADE_AGG"}},"points":[{points}]}}]}}'.encode()
    found = []

    def decode():
        found.append(mp.decode_points(body)[0]["close"])

    threads = [threading.Thread(target=decode) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.tolist() == closes for one in found] == [True] * 4


def test_hours_are_made_of_minutes(service):
    with service.client("advanced") as client:
        hours = client.candles(*MARKET, "1h", period="6h").only
        minutes = client.candles(*MARKET, "1m", period="6h").only
        assert (len(hours), len(minutes)) == (6, 360)
        by_hour = {name: minutes[name].reshape(6, 60) for name in ("open", "high", "low", "close", "volume")}
        assert hours["open"].tolist() == by_hour["open"][:, 0].tolist()
        assert hours["high"].tolist() == by_hour["high"].max(axis=1).tolist()
        assert hours["low"].tolist() == by_hour["low"].min(axis=1).tolist()
        assert hours["close"].tolist() == by_hour["close"][:, -1].tolist()
        np.testing.assert_allclose(hours["volume"], by_hour["volume"].sum(axis=1), rtol=1e-12)
        with pytest.raises(mp.InvalidRequest, match="BTCUSDT"):
            client.candles("BINANCE_FUTURES", "BTCUSDX", "1h", period="6h")


def test_series_become_frames(service):
    for name in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(name)
    with service.client("advanced") as client:
        candles = client.candles(*MARKET, "1h", period="1d").only
    closes = candles["close"].tolist()
    assert candles.to_pandas()["close"].tolist() == closes
    assert candles.to_polars()["close"].to_list() == closes
    assert candles.to_arrow()["close"].to_pylist() == closes


def test_the_fixtures_for_pytest_come_with_it(marketpoints_service, marketpoints_client):
    assert len(marketpoints_client.candles(*MARKET, "1h", period="1d").only) == 24
    marketpoints_service.assert_spent(1)


def test_the_command_line_helps(tmp_path):
    text = command("--help", cwd=tmp_path)
    assert [name for name in ("demo", "serve", "ingest", "fetch", "plan", "weight") if name not in text] == []
    assert mp.__version__ in command("--version", cwd=tmp_path)


def test_the_demo_makes_its_files(tmp_path):
    pytest.importorskip("matplotlib")
    parquet = pytest.importorskip("pyarrow.parquet")
    assert "weight 10 in 1 request(s)" in command("demo", "--output", "out", cwd=tmp_path)
    assert parquet.read_table(tmp_path / "out" / "candles.parquet").num_rows == 30 * 24
    assert (tmp_path / "out" / "demo.png").read_bytes().startswith(b"\x89PNG")
