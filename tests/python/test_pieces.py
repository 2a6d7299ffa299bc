"""Plans in pieces: what travels to other processes, and what comes of it there."""

import datetime as dt
import multiprocessing
import pickle
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import marketpoints as mp
from support.archives import DAY, END, HOUR, hashes

#: Two series of three requests each, a hundred thousand minutes being the most that one brings; two of one request.
UNIVERSE = {
    "exchange": "BINANCE_FUTURES",
    "interval": "1m",
    "symbol": ["BTCUSDT", "ETHUSDT"],
    "end": END,
    "series": [
        {"type": "open_interest", "start": END - 3_700 * HOUR},
        {"type": "candles", "start": END - 100 * HOUR},
        {"type": "liquidation_heatmap", "start": END - HOUR},  # by symbol, which the table of types refuses
    ],
}
REQUESTS, WEIGHT = 2 * 3 + 2, 2 * 222 + 2 * 6
KEY = "mp-a-key-that-nobody-else-may-hold"


@pytest.fixture
def service():
    with mp.LocalService(now=END + 900, keys={"ours": ("unlimited", KEY)}) as running:
        yield running


@pytest.fixture
def client(service, monkeypatch):
    monkeypatch.setenv("MARKETPOINTS_API_KEY", KEY)
    with service.client("ours") as made:
        yield made


def done_elsewhere(work):
    """In another process."""
    client, folder, pieces = work
    return [piece.sync(client, mp.Archive(folder)) for piece in pieces]


def test_pieces_are_small_and_hold_no_secret(service, client, tmp_path):
    plan = mp.Archive(tmp_path).plan_all(client, UNIVERSE)
    for pieces, count in ((plan.pieces(1), REQUESTS), (plan.pieces(2), 2 * 2 + 2), (plan.pieces(), 4)):
        assert len(pieces) == count
        assert (sum(one.requests for one in pieces), sum(one.weight for one in pieces)) == (REQUESTS, WEIGHT)
        for piece in pieces:
            packed = pickle.dumps(piece)
            assert pickle.loads(packed) == piece and len(packed) < 500
            assert KEY.encode() not in packed and service.url.encode() not in packed
    assert KEY.encode() not in pickle.dumps(plan) and pickle.loads(pickle.dumps(plan)).pieces() == plan.pieces()
    assert "weight 222" in repr(plan.pieces()[0]) and "BTCUSDT" in repr(plan.pieces()[0])
    with pytest.raises(mp.InvalidRequest, match="requests"):
        plan.pieces(0)


def test_a_piece_of_times_of_any_kind_needs_no_other_package(client, tmp_path):
    for start in (pd.Timestamp(END - DAY, unit="s"), np.datetime64(END - DAY, "s"), dt.datetime(2026, 9, 20)):
        universe = {"type": "candles", "exchange": "BYBIT", "symbol": "BTCUSDT", "interval": "1h", "start": start}
        (piece,) = mp.Archive(tmp_path).plan_all(client, universe).pieces()
        packed = pickle.dumps(piece)
        assert not [name for name in (b"pandas", b"numpy", b"datetime") if name in packed]


def test_processes_do_the_pieces_and_the_report_is_that_of_one_run(service, client, tmp_path):
    report = mp.Archive(tmp_path / "whole").sync_all(client, UNIVERSE)
    service.clear_requests()
    plan = mp.Archive(tmp_path / "pieces").plan_all(client, UNIVERSE)
    pieces = plan.pieces(1)
    shares = [(client, str(tmp_path / "pieces"), pieces[at::3]) for at in range(3)]
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        reports = [one for share in pool.map(done_elsewhere, shares) for one in share]
    assert all(reports)
    done = plan.report(reports, mp.Archive(tmp_path / "pieces"), seconds=report.seconds)
    assert done == report and done.to_json() == report.to_json() and not done
    assert [one.status for one in done.series] == ["complete"] * 4 + ["refused"] * 2
    service.assert_spent(WEIGHT)
    assert hashes(tmp_path / "pieces") == hashes(tmp_path / "whole")


def test_the_document_s_program_runs(environment, demo, tmp_path):
    docs = Path(__file__).resolve().parents[2] / "docs"
    (program,) = (one for one in blocks(docs / "cluster.md") if "ProcessPoolExecutor" in one)
    (universe,) = re.findall(r"```toml\n(.*?)```", (docs / "universe.md").read_text("utf-8"), flags=re.DOTALL)
    (tmp_path / "universe.toml").write_text(universe)
    (tmp_path / "program.py").write_text(program)
    own = {**environment, "MARKETPOINTS_CLOCK_OFFSET": str(demo.now() - time.time())}
    command = [sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "series 11, complete 11" in done.stdout


def blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)


def test_a_piece_that_is_done_twice_is_paid_once(service, client, tmp_path):
    plan = mp.Archive(tmp_path).plan_all(client, UNIVERSE)
    piece = plan.pieces()[-1]
    first, second = (piece.sync(client, mp.Archive(tmp_path)) for _ in range(2))
    assert (first.weight, first.rows, second.weight) == (6, 6_000, 0) and second
    service.assert_spent(6)


def test_what_fails_or_was_not_done_says_so(service, client, tmp_path):
    plan = mp.Archive(tmp_path).plan_all(client, UNIVERSE)
    pieces = plan.pieces()
    with service.client("ours", retries=0) as hasty, service.faults.set(status=503, path="/v1/points"):
        failed = pieces[3].sync(hasty, mp.Archive(tmp_path))
    assert not failed and failed.status == "failed" and "503" in failed.reason
    wrong = mp.Client("mp-wrong", service.url, clock=service.now, archive_source=client._settings["archive_source"])
    with wrong:
        ends = pieces[2].sync(wrong, mp.Archive(tmp_path))
    assert ends.ends and isinstance(ends.error, mp.AuthenticationError)
    assert pickle.loads(pickle.dumps(ends)).reason == ends.reason
    report = plan.report([plan.pieces(1)[0].sync(client, mp.Archive(tmp_path)), failed, ends], mp.Archive(tmp_path))
    assert [one.status for one in report.series] == ["failed"] * 4 + ["refused"] * 2
    assert [one.reason for one in report.series[:2]] == ["not sent"] * 2  # one of three, and none
    assert "503" in report.series[3].reason


def test_windows_that_were_joined_stay_whole_when_time_goes_on(service, client, tmp_path):
    # The last ten days and the last five: as one they are ten days, also for whoever does them an hour later.
    market = {"type": "candles", "exchange": "BYBIT", "symbol": "BTCUSDT", "interval": "1h", "end": END}
    blocks = [{**market, "start": END - 10 * DAY}, {"period": "5d", **market}]
    plan = mp.Archive(tmp_path).plan_all(client, blocks)
    (piece,) = plan.pieces()
    service.advance(HOUR)
    report = piece.sync(client, mp.Archive(tmp_path))
    assert (report.rows, report.weight) == (10 * 24, 1)


@pytest.mark.parametrize("later", [60, HOUR, 23 * HOUR])
def test_the_last_day_stays_what_it_was_when_it_was_planned(tmp_path, later):
    """Whoever does a piece late fetches the buckets that were planned: no later run asks for them again."""
    with mp.LocalService(now=END + 900) as service, service.client("advanced") as client:
        block = {"type": "candles", "exchange": "BYBIT", "symbol": "BTCUSDT", "interval": "1m", "period": "1d"}
        plan = mp.Archive(tmp_path).plan_all(client, block)
        (piece,) = plan.pieces()
        service.advance(later)
        report = piece.sync(client, mp.Archive(tmp_path))
        assert (report.status, report.rows) == ("kept", 24 * 60)
