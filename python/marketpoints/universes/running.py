"""The run of a universe: concurrent pieces, one progress bar, one report."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from .. import _engine
from ..client.clients import AsyncClient, Client
from ..common.progress import Progress, ProgressCallback, RunningTotals, reporting
from ..errors import Error, InvalidRequest
from ..records.pieces import Piece, PieceReport, failed, kept, rows_kept, sync_piece
from ..records.plan import Budget
from ..records.universe import UniversePlan, UniverseReport, report_of
from .planning import PARALLEL
from .schedule import Schedule
from .threads import completed

__all__ = ["Run", "check_weight", "run_async", "run_blocking"]

#: A service that failed so many pieces beyond the client's retries, and answered none in between, is down.
MOST_FAILURES = 3


class EndedError(BaseException):
    """Raised in the engine's calls to end them: an ``Exception`` of a ``progress`` function does not."""


class Run:
    """One run: its pieces, their results, and its progress. Used from several threads at once."""

    def __init__(
        self, plan: UniversePlan, on_progress: ProgressCallback | None, budget: Callable[[], Budget | None]
    ) -> None:
        self._parts, self._budget = plan._parts, budget
        self.schedule = Schedule(self._parts)
        self.raised: BaseException | None = None
        self._reports: list[PieceReport] = []
        self._on_progress, self._lock = on_progress, threading.Lock()
        self._failures = 0
        self._began = time.monotonic()
        self._all = [plan.requests, plan.weight]
        self._done = [0, 0, 0]  # requests, weight, rows
        self._under_way: dict[int, tuple[int, int, int, float]] = {}

    def progress_of(self, piece: Piece) -> ProgressCallback:
        """The engine's progress callback of a piece; raises if the run has ended."""

        def on_progress(done: int, _: int, weight_done: int, __: int, rows: int, waiting: float, ___: float) -> None:
            if self.raised is not None:
                raise EndedError("the run was ended")
            with self._lock:
                self._under_way[piece.series] = (done, weight_done, rows, waiting)
                self._report()

        return on_progress

    def started(self, piece: Piece) -> None:
        """A piece is running without progress reports."""
        with self._lock:
            self._under_way[piece.series] = (0, 0, 0, 0.0)

    def _report(self) -> None:
        if self._on_progress is None or not self._all[0]:
            return
        parts = list(self._under_way.values())
        done = self._done[0] + sum(part[0] for part in parts)
        weight = self._done[1] + sum(part[1] for part in parts)
        rows = self._done[2] + sum(part[2] for part in parts)
        requests, whole = max(self._all[0], done), max(self._all[1], weight)
        waits = [part[3] for part in parts if part[3] > 0]
        names = [str(self._parts[place].wanted) for place in list(self._under_way)[:1]]
        more = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
        try:
            self._on_progress(
                done,
                requests,
                weight,
                whole,
                rows,
                min(waits, default=0.0),
                self._left(weight, whole),
                "".join(names) + more,
            )
        except Exception:
            raise  # the engine reports it and continues, so that no paid answer is lost
        except BaseException as error:
            self.end(error)
            raise

    def _left(self, done: int, whole: int) -> float:
        """Estimated seconds left: by the budget, and by the speed so far."""
        budget = self._budget()
        by_budget = 0.0 if budget is None else budget._wait(whole - done)
        gone = time.monotonic() - self._began
        # The part paid from the burst went faster than the rest will.
        return by_budget or (gone / done * (whole - done) if done else 0.0)

    def end(self, error: BaseException) -> None:
        """Ends the run: running calls stop, nothing more is sent, and the run raises the error."""
        self.raised = self.raised or error
        self.schedule.end("not sent, because the run was ended")

    def finished(self, piece: Piece, report: PieceReport) -> None:
        """A piece was done, or failed beyond the client's retries."""
        if self.raised is not None:
            self.schedule.drop(piece)
            return
        with self._lock:
            self._settle(piece, report)
        if report:
            self._failures = 0
            self.schedule.done(piece)
            return
        self.schedule.drop(piece)
        if report.error is not None and not self._done[0]:
            self.end(report.error)  # nothing was ever answered: there is nothing to report
        if report.ends:
            self.schedule.end(f"not sent: {report.ends}")
        elif report.status != "refused":
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                self.schedule.end(f"not sent: {self._failures} calls in a row failed, the last with: {report.reason}")

    def _settle(self, piece: Piece, report: PieceReport) -> None:
        """Counts a piece's result; what it need not send, because another process did, is subtracted from the total."""
        self._under_way.pop(piece.series, None)
        self._reports.append(report)
        for at, count in enumerate((report.requests, report.weight, report.rows)):
            self._done[at] += count
        self._all[0] += report.requests - piece.requests
        self._all[1] += report.weight - piece.weight

    def report_progress(self) -> None:
        """Reports progress where pieces do not report it while they run."""
        with self._lock:
            self._report()

    def report(self, rows: Sequence[int]) -> UniverseReport:
        """The report on every series, with its number of rows in the archive."""
        return report_of(self._parts, self._reports, rows, time.monotonic() - self._began, self.schedule.ended)


def check_weight(plan: UniversePlan, most: int | None) -> None:
    """Refuses a run that would weigh more than its caller allows.

    Raises:
        InvalidRequest: It would; or its weight is not known.
    """
    if most is None:
        return
    if unknown := [part for part in plan._parts if part.is_unknown]:
        allowed = _engine.spelled_argument("max_weight", str(most))
        raise InvalidRequest(
            f"what {unknown[0].wanted} lacks is not known, and so neither is what the universe weighs: its ledger "
            f"cannot be read; sync it by itself first, which mends it, or leave {allowed} out"
        )
    if plan.weight > most:
        allowed = _engine.spelled_argument("max_weight", str(most))
        raise InvalidRequest(
            f"the universe weighs {plan.weight:,} in {plan.requests:,} requests, more than {allowed}; ask for less, or "
            "allow more"
        )


def run_blocking(client: Client, plan: UniversePlan, archive: _engine.Archive, progress: Progress) -> UniverseReport:
    """Runs a plan with a client that waits: each worker is a thread that waits for the engine."""
    archive = archive.pinned()
    with reporting(progress) as on_progress:
        run = Run(plan, on_progress, lambda: client.budget)

        def work() -> None:
            while (piece := run.schedule.take()) is not None:
                with _ending(run):
                    run.finished(piece, sync_piece(piece, client, archive, run.progress_of(piece)))

        with ThreadPoolExecutor(PARALLEL, "marketpoints-universe") as pool:
            try:
                workers = completed(pool, [work] * PARALLEL)
            except BaseException as error:
                run.end(error)
                raise
        _raise(run, [one.exception() for one in workers])
        return run.report(rows_kept(archive, plan._parts))


async def run_async(
    client: AsyncClient, plan: UniversePlan, archive: _engine.Archive, progress: Progress
) -> UniverseReport:
    """Runs a plan with a client that is awaited: each worker is a task."""
    import asyncio  # not loaded with the package: a caller that awaits has it

    archive = archive.pinned()
    with reporting(progress) as on_progress:
        run = Run(plan, on_progress, lambda: client.budget)

        async def ask(piece: Piece) -> PieceReport:
            totals = RunningTotals(run.progress_of(piece))
            try:
                query = piece.query(client._live.now(), client.tier)
                return kept(piece, query and await client._live.sync_async(query, archive, totals))
            except Error as error:
                return failed(piece, error, totals.progress)

        async def work() -> None:
            while (piece := run.schedule.take()) is not None:
                with _ending(run):
                    run.finished(piece, await ask(piece))

        workers = [asyncio.ensure_future(work()) for _ in range(PARALLEL)]
        try:
            ends = await asyncio.gather(*workers, return_exceptions=True)
        except BaseException as error:
            run.end(error)
            for one in workers:
                one.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            raise
        _raise(run, ends)
        return await asyncio.to_thread(lambda: run.report(rows_kept(archive, plan._parts)))


@contextmanager
def _ending(run: Run) -> Iterator[None]:
    """Ends the run on an error that is not a piece's result."""
    try:
        yield
    except BaseException as error:
        run.end(error)
        raise


def _raise(run: Run, ends: Any) -> None:
    if run.raised is not None:
        raise run.raised
    for error in ends:
        if isinstance(error, BaseException):
            raise error
