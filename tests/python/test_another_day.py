"""A service that lives in another year, used from another process by what it prints; and what a new user got wrong."""

import datetime as dt
import re
import subprocess
import sys

import numpy as np
import pytest

import marketpoints as mp
from support.children import run

COMMAND = [sys.executable, "-m", "marketpoints"]
NOW = "2024-05-06T12:00:30"


@pytest.fixture
def serving(environment):
    """The environment that `marketpoints serve --now` prints for a client."""
    with subprocess.Popen(
        [*COMMAND, "serve", "--now", NOW], stdout=subprocess.PIPE, text=True, env=environment
    ) as child:
        printed = {}
        for line in child.stdout:
            printed |= dict(re.findall(r"(MARKETPOINTS_\w+)=(\S+)", line))
            if "Ctrl-C" in line:
                break
        yield environment | printed
        child.terminate()
        child.wait(timeout=30)


def fetch(environment, *arguments):
    command = [*COMMAND, "fetch", "candles", "BINANCE_FUTURES", "BTCUSDT", "1m", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_printed_settings_carry_the_services_time(serving):
    assert "MARKETPOINTS_CLOCK_OFFSET" in serving
    shown = fetch(serving, "--period", "300")
    assert "11:59" in shown.stdout  # the last closed minute
    assert "12:00" not in shown.stdout  # the forming one
    assert "12:00" in fetch(serving, "--period", "300", "--include-forming").stdout
    # Without an end the window ends now: at the service's now.
    assert shown.stdout.count("\n") == fetch(serving, "--start", "2024-05-06T11:55").stdout.count("\n")


def test_the_printed_settings_carry_the_services_speed(environment):
    command = [*COMMAND, "serve", "--now", NOW, "--speed", "600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        printed = {}
        for line in child.stdout:
            if line.startswith("serving"):
                assert line.rstrip().endswith("its clock at 600 times the speed")
            printed |= dict(re.findall(r"(MARKETPOINTS_\w+)=(\S+)", line))
            if "Ctrl-C" in line:
                break
        try:
            code = """
            import pickle, time, marketpoints as mp
            with mp.Client() as client:
                clocks, began = [], time.monotonic()
                # The service's clock, by the header of its answers, runs ten minutes in a second; so does the client's.
                while not clocks or clocks[-1][0] - clocks[0][0] <= 200:
                    assert time.monotonic() - began < 20, clocks
                    before = client._live.now()
                    reset = client.usage().reset
                    clocks.append((before, int(reset.astype("datetime64[s]").astype(int)), client._live.now()))
                for before, service, after in clocks:
                    assert before - 2 <= service <= after + 2, clocks
                print(len(client.candles("BYBIT", "BTCUSDT", "1m", period=600).only))
            """
            assert (
                run(code, environment | printed | {"MARKETPOINTS_API_KEY": printed["MARKETPOINTS_API_KEY"]}) == "10\n"
            )
        finally:
            child.terminate()
            child.wait(timeout=30)


def test_a_forming_bucket_comes_on_top():
    with mp.LocalService(now=NOW) as service, service.client() as client:
        closed = client.candles("BYBIT", "BTCUSDT", "1h", period=4 * 3600)
        forming = client.candles("BYBIT", "BTCUSDT", "1h", period=4 * 3600, include_forming=True)
    assert len(closed.timestamps) == 4
    assert forming.timestamps.tolist()[:-1] == closed.timestamps.tolist()


def test_walls_are_reported_at_once_and_cost_nothing():
    with mp.LocalService(now=NOW) as service, service.client("free") as client:
        for call in (client.candles, lambda *a, **k: client.plan("candles", *a, **k)):
            with pytest.raises(mp.TierError, match="history goes back 7 days, to 2024-04-29 12:00:30 UTC"):
                call("BYBIT", "BTCUSDT", "1h", start="2020-01-01")
        assert client.usage().used == 0


def test_plans_take_the_methods_names_and_guess_no_weight():
    with mp.LocalService(now=NOW) as service, service.client() as client:
        plan = client.plan("orderbook_heatmap", "BYBIT", "BTCUSDT", "1m", period=8 * 3600, block_size=10)
        assert plan.weight == 10
        for name in ("book", "OPEN_INTREST_AGG", "candels"):
            with pytest.raises(mp.InvalidRequest, match="is no data type"):
                client.plan(name, "BYBIT", "BTCUSDT", "1m", period=3600)


def test_a_refused_request_is_not_counted_as_used():
    with mp.LocalService(now=NOW) as service, service.client() as client:
        client.candles("BYBIT", "BTCUSDT", "1h", period=3600)
        with pytest.raises(mp.InvalidRequest):
            client.points("TRADE_AGG", "BYBIT", "BTCUSDT", "1h", period=3600, extra={"nonsense": 1})
        assert client.budget.used == client.usage().used == 1


@pytest.mark.parametrize("settings", [{"port": 99_999}, {"port": -1}, {"port": "80"}, {"seed": -1}])
def test_settings_of_a_service_are_checked(settings):
    with pytest.raises(mp.InvalidRequest, match=next(iter(settings))):
        mp.LocalService(**settings)


def test_unlimited_is_no_tier_but_a_key_without_one(monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_TIER", "unlimited")
    with mp.LocalService(now=NOW) as service:
        key = service.keys["unlimited"]
        with mp.Client(key, service.url, clock=service.now) as client:
            assert len(client.candles("BYBIT", "BTCUSDT", "1h", period=3600).timestamps) == 1
        service.stop()
        assert "stopped" in repr(service)


def test_options_are_named_as_options(environment):
    done = subprocess.run(
        [*COMMAND, "plan", "orderbook_heatmap", "BYBIT", "BTCUSDT", "1m", "--period", "60"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, "--block-size" in done.stderr, "block_size" in done.stderr) == (2, True, False)


def test_the_clock_does_not_run_over_its_end():
    with mp.LocalService(now=NOW) as service:
        before = service.now()
        with pytest.raises(mp.InvalidRequest, match="2261"):
            service.advance(9.1e9)
        assert before <= service.now() < before + 60


@pytest.mark.parametrize("hour", [3600, 3600.0, "1h", "60min", dt.timedelta(hours=1), np.timedelta64(1, "h")])
def test_the_clock_moves_by_any_duration(hour):
    with mp.LocalService(now=NOW, speed=0) as service:
        before = service.now()
        service.advance(hour)
        assert service.now() == before + 3600


@pytest.mark.parametrize("wrong", [None, "soon", "1x", -1, float("nan"), float("inf"), True, 10**400, [1]])
def test_the_clock_moves_by_nothing_else(wrong):
    with mp.LocalService(now=NOW, speed=0) as service:
        before = service.now()
        with pytest.raises(mp.InvalidRequest):
            service.advance(wrong)
        assert service.now() == before


def test_a_progress_callback_may_use_the_client():
    used = []
    with mp.LocalService(now=NOW) as service, service.client() as client:
        client.candles(
            "BYBIT", "BTCUSDT", "1h", period=3600, progress=lambda done, total: used.append(client.usage().used)
        )
    assert used == [1]


@pytest.mark.parametrize("damage", [lambda whole: whole[: len(whole) // 2], lambda whole: b"", None])
@pytest.mark.parametrize("dataset", ["trades", "candles_1m"])
def test_a_second_ingest_heals_a_damaged_store(tmp_path, dataset, damage):
    header = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
    rows = [f"okex,A-USDT,17092512{second:02}000000,17092512{second:02}000009,1,buy,2.5,4" for second in range(60)]
    day = tmp_path / "dumps" / "trades" / "OKEX" / "A-USDT" / "2024-03-01.csv"
    day.parent.mkdir(parents=True)
    day.write_text("\n".join([header, *rows]) + "\n")
    mp.ingest(tmp_path / "dumps", tmp_path / "store")
    (file,) = (tmp_path / "store" / dataset).rglob("*.parquet")
    whole = file.read_bytes()
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(whole))
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert (report.files, report.unchanged) == (1, 0)
    assert file.read_bytes() == whole
    assert mp.ingest(tmp_path / "dumps", tmp_path / "store").unchanged == 1
