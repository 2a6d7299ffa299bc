"""Waiting for threads without being deaf to Ctrl-C."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import TypeVar

__all__ = ["completed"]

#: Seconds between looks for Ctrl-C: one that comes just before a wait begins does not wake it, and shows at its end.
SIGNAL_CHECK = 0.1

Value = TypeVar("Value")


def completed(pool: ThreadPoolExecutor, calls: Iterable[Callable[[], Value]]) -> list[Future[Value]]:
    """Makes the calls in the pool and waits for all of them.

    Ctrl-C, which comes to the main thread alone, cancels those that have not begun. It may come anywhere here, so the
    wait takes none of the futures' locks: one that is left locked would hold its thread for ever.
    """
    ends: SimpleQueue[None] = SimpleQueue()

    def made(call: Callable[[], Value]) -> Value:
        try:
            return call()
        finally:
            ends.put(None)

    futures: list[Future[Value]] = []
    try:
        futures.extend(pool.submit(made, call) for call in calls)
        for _ in futures:
            _wait_for_one(ends)
    except BaseException:
        for one in futures:
            one.cancel()
        raise
    return futures


def _wait_for_one(ends: "SimpleQueue[None]") -> None:
    while True:
        try:
            return ends.get(timeout=SIGNAL_CHECK)
        except Empty:
            pass
