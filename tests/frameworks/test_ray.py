"""The pieces of a universe as tasks of a real Ray."""

import time
from pathlib import Path

import pytest
import ray

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


@pytest.fixture
def service(tmp_path, monkeypatch):
    with mp.LocalService(now=END + 900) as running:
        environment = {
            "MARKETPOINTS_API_KEY": running.keys["advanced"],
            "MARKETPOINTS_BASE_URL": running.url,
            "MARKETPOINTS_CLOCK_OFFSET": str(running.now() - time.time()),
            "RAY_AUTH_MODE": "disabled",  # a token in the user's folder is not for a test to make
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield running
        ray.shutdown()


def test_the_recipe_gives_the_report_and_the_bytes_of_one_run(service, recipes, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("universe.toml").write_text(UNIVERSE)
    weight = 4 * 44  # 43,200 minutes
    settings = {
        "ray.init()": "ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)",
        "s3://bucket/history": str(tmp_path / "history"),
    }
    report = recipes("Ray", settings)["report"]
    assert report and (len(report.complete), report.weight) == (4, weight)
    service.assert_spent(weight)
    with service.client("unlimited", archive_source=service.url) as client:
        whole = mp.Archive("whole").sync_all(client, "universe.toml")
    assert whole.to_json().partition('"seconds"')[0] == report.to_json().partition('"seconds"')[0]
    assert hashes("history") == hashes("whole")
