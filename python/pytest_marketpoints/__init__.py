"""Fixtures for pytest: a local service and a client of it, for each test that asks for them.

pytest loads this by itself where marketpoints is installed, in every run, so it stands outside of the package and loads
nothing of it before a test uses a fixture. A test that fails reports what its service was asked.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    import marketpoints

__all__ = ["marketpoints_client", "marketpoints_service", "marketpoints_settings"]

MARK = "marketpoints"
MEANING = (
    f"{MARK}(tier='advanced', **settings): whose key marketpoints_client has, and the settings of marketpoints_service "
    "(arguments of marketpoints.LocalService, such as now, data, seed)"
)


def pytest_configure(config: pytest.Config) -> None:
    """Registers the mark."""
    config.addinivalue_line("markers", MEANING)


@pytest.fixture(scope="session")
def marketpoints_settings() -> Mapping[str, Any]:
    """Settings of every service, and the client's ``tier``; none. Override it in a ``conftest.py`` or a module."""
    return {}


def _settings(request: pytest.FixtureRequest, common: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the fixture, then of the marks from the outermost to that of the test."""
    settings = dict(common)
    for mark in reversed(list(request.node.iter_markers(MARK))):
        if mark.args:
            raise pytest.UsageError(
                f"@pytest.mark.{MARK} takes settings by name, such as now='2026-06-01', not {mark.args[0]!r}"
            )
        settings |= mark.kwargs
    return settings


@pytest.fixture
def marketpoints_service(
    request: pytest.FixtureRequest, marketpoints_settings: Mapping[str, Any]
) -> "Iterator[marketpoints.LocalService]":
    """A :class:`marketpoints.LocalService` of the test's own, by default of the demo market at the present time.

    ``@pytest.mark.marketpoints(now=…, data=…)`` sets it up for a test, a class or a module (``pytestmark``), the
    fixture ``marketpoints_settings`` for more than that.
    """
    import marketpoints

    settings = _settings(request, marketpoints_settings)
    settings.pop("tier", None)
    with marketpoints.LocalService(**settings) as service:
        yield service


@pytest.fixture
def marketpoints_client(
    request: pytest.FixtureRequest,
    marketpoints_settings: Mapping[str, Any],
    marketpoints_service: "marketpoints.LocalService",
) -> "Iterator[marketpoints.Client]":
    """A :class:`marketpoints.Client` of ``marketpoints_service``.

    ``@pytest.mark.marketpoints(tier="free")`` says whose key it has. Its budget is its own and kept in no file.
    """
    tier = _settings(request, marketpoints_settings).get("tier", "advanced")
    with marketpoints_service.client(tier, budget="process") as client:
        yield client


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> "Generator[None, Any, None]":
    """Reports the service's requests of a failed test."""
    outcome = yield
    report = outcome.get_result()
    service = getattr(item, "funcargs", {}).get("marketpoints_service")
    if service is None or report.when != "call" or not report.failed:
        return
    from marketpoints.records.requests import last  # loaded already, with the service

    before, requests = last(service.requests)
    more = [f"{before} before these"] if before else []
    report.sections.append((f"marketpoints requests, weight {service.spent} in all", "\n".join([*more, *requests])))
