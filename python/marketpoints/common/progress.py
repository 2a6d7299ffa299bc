"""Progress of a call: a bar, a line, or the caller's own function."""

import math
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any, TypeAlias

from ..errors import InvalidRequest
from ..printable import printable
from .optional import load_if_there

__all__ = ["Progress", "ProgressCallback", "Report", "RunningTotals", "counting", "reporting"]

#: A caller's own function of (requests done, requests).
Report: TypeAlias = Callable[[int, int], object]
#: None and False show nothing, True a bar on standard error; a function is called with (requests done, requests).
Progress: TypeAlias = bool | Report | None
#: The engine's callback, with requests done and in total (0 while none is known to be needed), weight done and in
#: total, rows, seconds until the budget allows the next request, and seconds left. A run of many calls adds a text: the
#: calls in flight.
ProgressCallback: TypeAlias = Callable[..., object]


class RunningTotals:
    """A progress callback that remembers requests done, weight and rows, and passes every report on to another one.

    Attributes:
        progress: Requests done, their weight and their rows.
    """

    __slots__ = ("_on_progress", "progress")

    def __init__(self, on_progress: ProgressCallback | None) -> None:
        self._on_progress = on_progress
        self.progress = (0, 0, 0)

    def __call__(self, done: int, total: int, weight_done: int, weight: int, rows: int, *how_far: Any) -> None:
        """Takes one report from the engine."""
        self.progress = (done, weight_done, rows)
        if self._on_progress is not None:
            self._on_progress(done, total, weight_done, weight, rows, *how_far)

    @property
    def weight(self) -> int:
        """Weight of the answers so far."""
        return self.progress[1]


def reporting(progress: Progress) -> AbstractContextManager[ProgressCallback | None]:
    """The function that the engine calls while the context lasts.

    Raises:
        InvalidRequest: ``progress`` is neither a bool nor a function.
    """
    return nullcontext() if progress is None or progress is False else _reporting(progress)


@contextmanager
def _reporting(progress: bool | Report) -> Iterator[ProgressCallback]:
    if progress is True:
        tqdm = load_if_there("tqdm")
        yield from _bar(tqdm) if tqdm is not None else _line()
    elif callable(progress):
        yield _after_each_answer(progress)
    else:
        raise _unknown(progress)


@contextmanager
def counting(progress: Progress, total: int, unit: str, what: str) -> Iterator[Callable[[], None]]:
    """Counts steps of work on this machine, shown as asked; the function is to be called after each.

    Raises:
        InvalidRequest: ``progress`` is neither a bool nor a function.
    """
    done = 0
    bar: Any = None
    if progress is True and (tqdm := load_if_there("tqdm")) is not None:
        bar = _bar_of(tqdm, total=total, unit=unit, desc=what)
    elif progress not in (None, False, True) and not callable(progress):
        raise _unknown(progress)

    def count() -> None:
        nonlocal done
        done += 1
        if bar is not None:
            bar.n = done
            _draw(bar)
        elif callable(progress):
            progress(done, total)

    try:
        yield count
    finally:
        if bar is not None:
            bar.close()


def _unknown(progress: object) -> InvalidRequest:
    return InvalidRequest(f"progress: {progress!r} is neither True nor a function of (done, total)")


def describe(
    done: int,
    total: int,
    weight_done: int,
    weight: int,
    rows: int,
    waiting: float,
    left: float,
    under_way: str = "",
) -> str:
    """Describes the progress of a call."""
    parts = [f"weight {weight_done:,}/{weight:,}", f"{done:,}/{total:,} requests", f"{rows:,} rows"]
    if waiting > 0:
        parts.append(f"waiting {math.ceil(waiting):,} s for budget")
    if left > 0:
        parts.append(f"{math.ceil(left):,} s left")
    if under_way:
        parts.append(printable(under_way))
    return ", ".join(parts)


def _after_each_answer(on_answer: Report) -> ProgressCallback:
    """The callback for a caller's own function: it passes a report on only when an answer has come."""
    last_done = 0

    def report(done: int, total: int, *_: float) -> None:
        nonlocal last_done
        if done > last_done:
            last_done = done
            on_answer(done, total)

    return report


class _Screen:
    """Standard error, which may be missing or break at any moment: nothing more is shown then, and no call fails."""

    def __init__(self) -> None:
        self._stream: Any = sys.stderr

    def write(self, text: str) -> None:
        """Shows a text, if anything can still be shown."""
        self._try("write", text)

    def flush(self) -> None:
        """Shows what was written at once."""
        self._try("flush")

    def _try(self, method: str, *args: str) -> None:
        if self._stream is None:
            return
        try:
            getattr(self._stream, method)(*args)
        except Exception:  # a full disk, a pipe without a reader, a closed stream, a program's own that fails
            self._stream = None

    def __getattr__(self, name: str) -> Any:
        # What tqdm asks of a terminal: its encoding and its width.
        return getattr(self._stream, name)


@cache
def _bars(tqdm: Any) -> Any:
    """Bars with a lock of their own: a signal within tqdm's, which is two locks in one, may leave one taken."""

    class Bar(tqdm.tqdm):  # type: ignore[misc]
        monitor_interval = 0

    Bar.set_lock(threading.RLock())
    return Bar


def _bar_of(tqdm: Any, **form: Any) -> Any:
    """A new bar, drawn for the first time."""
    # Without a delay it would draw itself, and keep its lock if a signal comes meanwhile.
    bar = _bars(tqdm)(file=_Screen(), dynamic_ncols=True, delay=1e-9, **form)
    try:
        _draw(bar)
    except BaseException:
        bar.disable = True  # else it draws once more when it is collected
        raise
    return bar


def _draw(bar: Any) -> None:
    with bar.get_lock():  # tqdm itself would keep it when a Ctrl-C comes meanwhile
        bar.refresh(nolock=True)


def _bar(tqdm: Any) -> Iterator[ProgressCallback]:
    # The total comes with the first report: until then there is nothing to draw a bar of.
    with _bar_of(tqdm, desc="waiting for the first answer", bar_format="{desc}") as bar:

        def report(done: int, total: int, weight_done: int, weight: int, *how_far: Any) -> None:
            if not total:
                return
            bar.total, bar.n = weight, weight_done
            words = describe(done, total, weight_done, weight, *how_far).replace("{", "{{").replace("}", "}}")
            bar.bar_format = "{percentage:3.0f}%|{bar}| " + words
            _draw(bar)

        try:
            yield report
        finally:
            # A call that needed no request leaves nothing on the screen.
            bar.leave = bar.total is not None


def _line() -> Iterator[ProgressCallback]:
    screen = _Screen()
    width = 0

    def report(done: int, total: int, *how_far: Any) -> None:
        nonlocal width
        if not total:
            return
        line = describe(done, total, *how_far)
        width = max(width, len(line))
        screen.write(f"\r{line:<{width}}")
        screen.flush()

    try:
        yield report
    finally:
        if width:
            screen.write("\n")
