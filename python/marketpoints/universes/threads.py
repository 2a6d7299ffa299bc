"""Waiting for threads without being deaf to Ctrl-C."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

__all__ = ["completed"]

#: Seconds between looks for Ctrl-C: one that comes just before a wait begins does not wake it, shows at its end.
SIGNAL_CHECK = 0.1

Value = TypeVar("Value")


def completed(pool: ThreadPoolExecutor, calls: Iterable[Callable[[], Value]]) -> list[Future[Value]]:
    """Makes the calls in the pool and waits for all of them.

    Ctrl-C, which comes to the main thread alone, cancels those that have not begun.
    """
    futures: list[Future[Value]] = []
    try:
        futures.extend(pool.submit(call) for call in calls)
        while wait(futures, SIGNAL_CHECK).not_done:
            pass
    except BaseException:
        for one in futures:
            one.cancel()
        raise
    return futures
