"""How far a call is: a bar, a line, or the caller's own function."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from .errors import InvalidRequest
from .optional import load_if_there

__all__ = ["Progress", "Report", "reporting"]

Report: TypeAlias = Callable[[int, int], object]
#: False is silence, True a bar on standard error, a function is called with (requests done, requests).
Progress: TypeAlias = bool | Report | None


@contextmanager
def reporting(progress: Progress) -> Iterator[Report | None]:
    """The function to call with (requests done, requests) while the context lasts.

    Raises:
        InvalidRequest: ``progress`` is neither a bool nor a function.
    """
    if progress is None or progress is False:
        yield None
    elif progress is True:
        tqdm = load_if_there("tqdm")
        yield from _bar(tqdm) if tqdm is not None else _line()
    elif callable(progress):
        yield progress
    else:
        raise InvalidRequest(f"progress: {progress!r} is neither True nor a function of (done, total)")


def _bar(tqdm: Any) -> Iterator[Report]:
    # How many requests there are is told with the first answer: until then there is nothing to draw a bar of.
    with tqdm.tqdm(unit=" requests", desc="waiting for the first answer", bar_format="{desc}") as bar:

        def report(done: int, total: int) -> None:
            if bar.total is None:
                bar.total, bar.bar_format = total, None
                bar.set_description_str("", refresh=False)
            bar.update(done - bar.n)
            bar.refresh()

        try:
            yield report
        finally:
            # Without any request nothing of it stays on the screen.
            bar.leave = bar.total is not None


def _line() -> Iterator[Report]:
    started = False

    def report(done: int, total: int) -> None:
        nonlocal started
        started = True
        sys.stderr.write(f"\r{done}/{total} requests")
        sys.stderr.flush()

    try:
        yield report
    finally:
        if started:
            sys.stderr.write("\n")
