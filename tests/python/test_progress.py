"""Progress on standard error, which may be missing, full or closed: no call fails of it, or waits for it."""

import errno
import io
import threading

import pytest
import tqdm

import marketpoints as mp
from marketpoints.common import progress

MARKET = ("BINANCE_FUTURES", "BTCUSDT", "1m")
#: Three requests.
WINDOW = {"start": "2025-01-01", "end": "2025-06-01"}

ERRORS = [
    OSError(errno.ENOSPC, "full"),
    BrokenPipeError(),
    ValueError("I/O operation on closed file"),
    RuntimeError("the window is gone"),
]


class Breaking(io.StringIO):
    """A terminal that goes away."""

    def __init__(self, error, left):
        super().__init__()
        self.error, self.left, self.tried = error, left, 0

    def write(self, text):
        self.tried += 1
        if self.tried > self.left:
            raise self.error
        return super().write(text)


@pytest.fixture(params=["tqdm", "without tqdm"])
def shown(request, monkeypatch):
    if request.param != "tqdm":
        monkeypatch.setattr(progress, "load_if_there", lambda name: None)


def is_free(lock):
    """Whether another thread than this one can take a lock."""
    taken = threading.Event()

    def take():
        with lock:
            taken.set()

    threading.Thread(target=take, daemon=True).start()
    return taken.wait(10)


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("left", [0, 1, 2, 5])
def test_a_terminal_that_goes_away_costs_no_answer(client, monkeypatch, error, left):
    screen = Breaking(error, left)
    with monkeypatch.context() as patched:
        patched.setattr("sys.stderr", screen)
        assert len(client.candles(*MARKET, progress=True, **WINDOW).only) == 151 * 1_440
    assert screen.tried == left + 1, "after the first failure nothing is tried"
    assert is_free(tqdm.tqdm.get_lock()) and is_free(progress._bars(tqdm).get_lock())


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("left", [0, 1, 2])
def test_work_on_this_machine_goes_on_too(monkeypatch, error, left):
    with monkeypatch.context() as patched:
        patched.setattr("sys.stderr", Breaking(error, left))
        with progress.counting(True, 5, "day", "overviews") as done:
            for _ in range(5):
                done()
    assert is_free(progress._bars(tqdm).get_lock())


@pytest.mark.usefixtures("shown")
def test_without_a_standard_error_nothing_is_shown(client, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("sys.stderr", None)
        assert len(client.candles(*MARKET, progress=True, **WINDOW).only) == 151 * 1_440


@pytest.mark.usefixtures("shown")
def test_the_line_is_shown_and_ended(client, monkeypatch):
    screen = io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr("sys.stderr", screen)
        client.candles(*MARKET, progress=True, **WINDOW)
    assert f"3/3 requests, {151 * 1_440:,} rows" in screen.getvalue() and screen.getvalue().endswith("\n")


# faults.md row 38
@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_a_signal_while_the_line_is_drawn_leaves_no_lock(client, monkeypatch, left):
    with monkeypatch.context() as patched:
        patched.setattr("sys.stderr", Breaking(KeyboardInterrupt(), left))
        with pytest.raises(KeyboardInterrupt) as caught:
            client.candles(*MARKET, progress=True, **WINDOW)
    assert isinstance(caught.value.__cause__, mp.Error | None)
    assert is_free(tqdm.tqdm.get_lock()) and is_free(progress._bars(tqdm).get_lock())
