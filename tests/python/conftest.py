"""What the tests share: where the project's data lies, a running service, a client of it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

import marketpoints as mp
from support import NOW
from support.command_line import COMMAND


@pytest.fixture(scope="session")
def shared():
    """Folder of the project's shared data; None where it is not at hand."""
    named = os.environ.get("MARKETPOINTS_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared"
    if named and not folder.is_dir():
        pytest.fail(f"MARKETPOINTS_SHARED names {named}, which is no folder")
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session", autouse=True)
def interruptible():
    """A shell starts its background jobs with Ctrl-C ignored, and so would be the children that tests interrupt."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def budgets(tmp_path_factory):
    """The budgets that processes share are kept in a folder of the test run, not in the user's."""
    os.environ["MARKETPOINTS_CACHE_DIR"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def demo():
    """A demo service for tests that change nothing in it; its budget is shared, so use the unlimited key.

    Symbols that it lacks are answered with nothing: requests of them cost weight and no time.
    """
    with mp.LocalService(now=NOW, strict_symbols=False) as service:
        yield service


@pytest.fixture
def service():
    """A demo service of the test's own, as :func:`demo`."""
    with mp.LocalService(now=NOW, strict_symbols=False) as running:
        yield running


@pytest.fixture
def client(demo):
    """A blocking client without a budget."""
    with demo.client("unlimited") as made:
        yield made


@pytest.fixture
def environment(demo):
    """Environment of a child process that talks to the demo service."""
    settings = {"MARKETPOINTS_API_KEY": demo.keys["unlimited"], "MARKETPOINTS_BASE_URL": demo.url}
    own = {f"MARKETPOINTS_{name}" for name in ("API_KEY", "BASE_URL", "TIER", "DIALECT", "CLOCK_OFFSET")}
    kept = {name: value for name, value in os.environ.items() if name not in own}
    return kept | settings | {"PYTHONWARNINGS": "error"}


@pytest.fixture
def cli(environment, tmp_path):
    """Runs the command line in a folder of its own; returns the finished process."""

    def run(*arguments, **changes):
        settings = {name: value for name, value in (environment | changes).items() if value is not None}
        command = [*COMMAND, *map(str, arguments)]
        return subprocess.run(
            command, env=settings, cwd=tmp_path, capture_output=True, text=True, timeout=90, check=False
        )

    return run
