"""A thread that runs only the latest job, and ends when there is none."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["LatestTask"]

Job = TypeVar("Job")


class LatestTask(Generic[Job]):
    """Runs only the latest job: one that is still waiting when another arrives is dropped.

    No daemon: the interpreter waits for the job at hand, a picture, so that none is cut off within the engine.
    """

    def __init__(self, work: Callable[[Job], None]) -> None:
        self._work = work
        self._lock = threading.Condition()
        self._waiting: list[Job] = []
        self._thread: threading.Thread | None = None
        self._closed = False

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
                self._thread = threading.Thread(target=self._run, name="marketpoints explorer", daemon=False)
                self._thread.start()

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
