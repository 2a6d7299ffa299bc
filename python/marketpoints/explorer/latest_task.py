"""A thread that runs only the latest job, and ends when there is none."""

import atexit
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

__all__ = ["LatestTask"]

Job = TypeVar("Job")

#: What the interpreter's exit waits for.
TASKS: "weakref.WeakSet[LatestTask[Any]]" = weakref.WeakSet()


class LatestTask(Generic[Job]):
    """Runs only the latest job: one that is still waiting when another arrives is dropped.

    Args:
        work: Does a job.
        exit_grace: Most seconds that the interpreter's exit waits for the job at hand: long for a picture, so that none
            is cut off within the engine; short for a download, whose wait the engine gives up.
    """

    def __init__(self, work: Callable[[Job], None], exit_grace: float) -> None:
        self._work = work
        self.exit_grace = exit_grace
        self._lock = threading.Condition()
        self._waiting: list[Job] = []
        self._thread: threading.Thread | None = None
        self._closed = False
        TASKS.add(self)

    @property
    def has_newer(self) -> bool:
        """Whether the current job is outdated, or no longer waited for."""
        return self._closed or bool(self._waiting)

    def has_time(self, seconds: float) -> bool:
        """Waits for a newer job for so long; returns whether none came."""
        with self._lock:
            return not self._lock.wait_for(lambda: self.has_newer, seconds)

    def ask(self, job: Job) -> None:
        """Runs a job after the current one, unless another arrives before."""
        with self._lock:
            if self._closed:
                return
            self._waiting = [job]
            self._lock.notify_all()
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="marketpoints explorer", daemon=True)
                thread.start()  # fails where there are too many; the next job tries again
                self._thread = thread

    def close(self) -> None:
        """Drops the waiting job, and accepts no more; does not wait for the current one."""
        with self._lock:
            self._closed, self._waiting = True, []
            self._lock.notify_all()

    def join(self, seconds: float | None = None) -> None:
        """Waits until there is no job."""
        with self._lock:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                job = self._waiting.pop()
            try:
                self._work(job)
            except BaseException:
                with self._lock:  # the next job starts a new thread
                    self._thread = None
                raise


@atexit.register
def _finish() -> None:
    tasks, began = list(TASKS), time.monotonic()
    for task in tasks:
        task.close()
    for task in tasks:  # all at once
        task.join(max(0.0, began + task.exit_grace - time.monotonic()))
