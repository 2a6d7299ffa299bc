"""The pytest plugin, as pytest loads it: by the entry point of the installed package, in runs of their own."""

import re
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import marketpoints as mp

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
NOW = "2026-06-01T12:00"


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs pytest in a child process on the test's files, with the package's entry points and no other plugin's."""
    info = pytester.mkdir("installed") / "marketpoints-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: marketpoints\nVersion: 0\n")
    points = PROJECT["project"]["entry-points"]["pytest11"]
    (info / "entry_points.txt").write_text("[pytest11]\n" + "".join(f"{name}={to}\n" for name, to in points.items()))
    monkeypatch.syspath_prepend(info.parent)
    monkeypatch.setenv("PYTHONPATH", str(info.parent), prepend=":")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.delenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", raising=False)
    # Other plugins take seconds to load.
    others = [f"-pno:{one.name}" for one in entry_points(group="pytest11") if one.name not in points]
    return lambda *options: pytester.runpytest_subprocess("--strict-markers", "-Werror", *others, *options, timeout=100)


def test_a_run_that_uses_nothing_of_it_loads_nothing_of_it(run, pytester):
    pytester.makepyfile(
        """
        import sys

        def test_nothing(request):
            assert request.config.pluginmanager.hasplugin("marketpoints")
            assert not [name for name in sys.modules if name.partition(".")[0] in ("marketpoints", "numpy")]
        """
    )
    run().assert_outcomes(passed=1)


def test_a_service_and_a_client_for_each_test(run, pytester, monkeypatch):
    cache = pytester.mkdir("cache")
    monkeypatch.setenv("MARKETPOINTS_CACHE_DIR", str(cache))
    # What the user's environment says of the real service is not for tests.
    monkeypatch.setenv("MARKETPOINTS_TIER", "free")
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", "http://127.0.0.1:9")
    pytester.makepyfile(
        f"""
        import marketpoints as mp
        import pytest

        seen = []

        @pytest.mark.marketpoints(now="{NOW}")
        @pytest.mark.parametrize("_", [1, 2])
        def test_one_strategy(marketpoints_client, marketpoints_service, _):
            candles = marketpoints_client.candles("BYBIT", "BTCUSDT", "1m", period="2d")
            assert len(candles) == 1 and len(candles.only) == 2 * 1_440
            asked = [one for one in marketpoints_service.requests if one.path == "/v1/points"]
            assert [one.tier for one in asked] == ["advanced"] * len(asked)
            marketpoints_service.assert_spent(3)
            seen.append(marketpoints_service)

        def test_services_are_not_shared_and_stopped():
            assert len(set(map(id, seen))) == 2
            assert all("stopped" in repr(one) for one in seen)

        def test_without_settings(marketpoints_service):
            assert isinstance(marketpoints_service, mp.LocalService)

        @pytest.mark.marketpoints(tier="free", now="{NOW}")
        class TestTiers:
            def test_of_the_class(self, marketpoints_client):
                with pytest.raises(mp.TierError):
                    marketpoints_client.leaderboard(limit=1)

            @pytest.mark.marketpoints(tier="unlimited")
            def test_own_before_the_class(self, marketpoints_client, marketpoints_service):
                marketpoints_client.leaderboard(limit=1)
                assert marketpoints_service.requests[-1].tier == "unlimited"
                assert mp.LocalService.now(marketpoints_service) < 1_780_400_000
        """
    )
    run().assert_outcomes(passed=6)
    assert list(cache.rglob("*")) == [], "budgets of tests are kept in no file"


def test_settings_of_a_whole_suite(run, pytester):
    pytester.makeconftest(
        f"""
        import pytest

        @pytest.fixture(scope="session")
        def marketpoints_settings():
            return {{"now": "{NOW}", "seed": 7, "tier": "basic"}}
        """
    )
    pytester.makepyfile(
        """
        import marketpoints as mp
        import pytest

        def last(client):
            return client.candles("BYBIT", "BTCUSDT", "1h", period="2h")["close"][-1]

        def test_the_suites(marketpoints_client, marketpoints_service):
            assert marketpoints_service.now() < 1_780_400_000
            assert marketpoints_client.candles("BYBIT", "BTCUSDT", "1h", period="2h")
            assert marketpoints_service.requests[-1].tier == "basic"
            with mp.LocalService(now=marketpoints_service.now(), seed=7) as other, other.client() as client:
                assert last(client) == last(marketpoints_client)

        @pytest.mark.marketpoints(seed=8)
        def test_a_mark_goes_before_them(marketpoints_client, marketpoints_service):
            with mp.LocalService(now=marketpoints_service.now(), seed=7) as other, other.client() as client:
                assert last(client) != last(marketpoints_client)
        """
    )
    run().assert_outcomes(passed=2)


def test_a_failed_test_reports_what_the_service_was_asked(run, pytester):
    pytester.makepyfile(
        f"""
        import pytest

        pytestmark = pytest.mark.marketpoints(now="{NOW}")

        def test_fails(marketpoints_client):
            for hours in range(1, 25):
                marketpoints_client.candles("BYBIT", "BTCUSDT", "1h", period=f"{{hours}}h")
            assert marketpoints_client is None

        def test_passes(marketpoints_client):
            marketpoints_client.usage()

        def test_fails_without_it():
            raise ValueError("another reason")
        """
    )
    result = run()
    result.assert_outcomes(passed=1, failed=2)
    text = result.stdout.str()
    assert text.count("- marketpoints requests, weight 24 in all -") == 1
    result.stdout.re_match_lines(
        [r"\d+ before these", r"weight 1  200  GET /v1/points\?type=.*&period=86400.*  advanced"]
    )
    assert "/v1/usage" not in text and "mp-local-" not in text


def test_settings_that_cannot_be_are_refused(run, pytester):
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.marketpoints("2026-06-01")
        def test_by_place(marketpoints_service): ...

        @pytest.mark.marketpoints(tier="gold")
        def test_no_such_tier(marketpoints_client): ...
        """
    )
    result = run()
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*takes settings by name, such as now='2026-06-01', not '2026-06-01'*"])
    result.stdout.fnmatch_lines(["*tier: 'gold' is not one of *"])


def test_the_mark_is_explained(run):
    run("--markers").stdout.fnmatch_lines(["@pytest.mark.marketpoints(tier='advanced', [*][*]settings): *"])


def test_the_files_of_the_manual_run(run, pytester):
    page = (ROOT / "docs" / "howto.md").read_text("utf-8")
    files = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", page, flags=re.DOTALL))
    assert set(files) == {"test_strategy.py", "conftest.py"}
    (pytester.path / "test_strategy.py").write_text(files["test_strategy.py"])
    run().assert_outcomes(passed=1)

    (pytester.path / "conftest.py").write_text(files["conftest.py"])
    day = pytester.path / "dumps" / "trades" / "BYBIT" / "BTCUSDT" / "2024-12-01.csv"
    day.parent.mkdir(parents=True)
    day.write_text("timestamp,side,price,amount\n1733011200000000,buy,96000.5,2\n")
    mp.ingest(pytester.path / "dumps", pytester.path / "tests" / "store")
    pytester.makepyfile(
        test_store="""
        def test_the_store(marketpoints_client):
            day = marketpoints_client.candles("BYBIT", "BTCUSDT", "1d", start="2024-12-01", end="2024-12-02")
            assert list(day["close"]) == [96000.5]
        """
    )
    run("test_store.py").assert_outcomes(passed=1)


def test_the_plugin_is_a_package_of_the_wheel():
    (plugin,) = PROJECT["project"]["entry-points"]["pytest11"].values()
    assert plugin in PROJECT["tool"]["maturin"]["python-packages"]
