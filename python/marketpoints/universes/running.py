"""The run of a universe: turns under way at once, one bar, one report."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .. import _engine
from ..client.clients import AsyncClient, Client
from ..common.progress import Progress, Tell, reporting
from ..errors import (
    ArchiveError,
    AuthenticationError,
    DamagedFileError,
    Error,
    ForeignFileError,
    InvalidRequest,
    NewerFormatError,
    RateLimitError,
    TierError,
)
from ..records.tables import Records
from ..records.universe import SeriesReport, UniverseReport
from .planning import PARALLEL, Entry, Planned, query_of
from .schedule import Schedule, Turn

__all__ = ["check_weight", "run_blocking", "run_later"]

#: A service that failed so many turns beyond the client's retries, and answered none in between, is down.
MOST_FAILURES = 3
#: Of one series; other series of the archive can be written.
OWN_FILES = (DamagedFileError, ForeignFileError, NewerFormatError)


class EndedError(BaseException):
    """Raised in the engine's calls to end them: an ``Exception`` of who is told how far they are does not."""


@dataclass
class Tally:
    """What became of a series so far."""

    requests: int = 0
    weight: int = 0
    rows: int = 0
    status: str = ""
    reason: str = ""


class Run:
    """One run: what is handed out, what came of it, and how far it is. Used from several threads at once."""

    def __init__(self, client: Client | AsyncClient, planned: Planned, tell: Tell | None) -> None:
        self.client, self.entries = client, planned.entries
        self.schedule = Schedule(planned.entries)
        self.tallies = [Tally() for _ in planned.entries]
        self.raised: BaseException | None = None
        self._tell, self._lock = tell, threading.Lock()
        self._failures = 0
        self._began = time.monotonic()
        self._all = [planned.told.requests, planned.told.weight]
        self._done = [0, 0, 0]  # requests, weight, rows
        self._under_way: dict[int, tuple[int, int, int, float]] = {}

    def query(self, turn: Turn) -> _engine.Query | None:
        """What a turn asks; None where nothing of it can be asked any more.

        "The last so many days" begin where the tier's history does by now: a run may take hours, and what has left the
        history meanwhile would be refused.
        """
        entry, (start, end) = self.entries[turn.place], turn.window
        if entry.query is not None and entry.wanted.arguments.get("start") is None:
            start = max(start, entry.query.window(self.client._live.now(), self.client.tier)[0])
        return query_of(entry.wanted, (start, end)) if start < end else None

    def teller(self, turn: Turn) -> Tell:
        """What the engine calls while a turn is under way; it raises where the run has ended."""

        def tell(done: int, _: int, weight_done: int, __: int, rows: int, waiting: float, ___: float) -> None:
            if self.raised is not None:
                raise EndedError("the run was ended")
            with self._lock:
                self._under_way[turn.place] = (done, weight_done, rows, waiting)
                self._report()

        return tell

    def _report(self) -> None:
        if self._tell is None or not self._all[0]:
            return
        parts = list(self._under_way.values())
        done = self._done[0] + sum(part[0] for part in parts)
        weight = self._done[1] + sum(part[1] for part in parts)
        rows = self._done[2] + sum(part[2] for part in parts)
        requests, whole = max(self._all[0], done), max(self._all[1], weight)
        waits = [part[3] for part in parts if part[3] > 0]
        names = [str_of(self.entries[place]) for place in list(self._under_way)[:1]]
        more = f" and {len(parts) - 1} more" if len(parts) > 1 else ""
        try:
            self._tell(
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
            raise  # the engine tells it and goes on: no answer that was paid is lost for it
        except BaseException as error:
            self.end(error)
            raise

    def _left(self, done: int, whole: int) -> float:
        """Seconds that are left: by the budget, and by how fast it went so far."""
        budget = self.client.budget
        by_budget = (
            0.0 if budget is None or not budget.limit else max(0, whole - done - budget.remaining) / budget.limit * 60
        )
        gone = time.monotonic() - self._began
        # What the burst paid went faster than the rest will.
        return by_budget or (gone / done * (whole - done) if done else 0.0)

    def end(self, error: BaseException) -> None:
        """Ends the run: calls under way stop, nothing more is sent, the error is the run's."""
        self.raised = self.raised or error
        self.schedule.end("not sent, because the run was ended")

    def kept(self, turn: Turn, reports: Sequence[tuple[str, Mapping[str, Any]]] | None) -> None:
        """A turn brought an answer, or had nothing to ask."""
        told = [about for _, about in reports or ()]
        with self._lock:
            self._failures = 0
            self._settle(turn, *(sum(about[name] for about in told) for name in ("requests", "weight", "rows")))
        self.schedule.done(turn)

    def failed(self, turn: Turn, error: Error) -> None:
        """A turn failed beyond the client's retries."""
        tally, parts = self.tallies[turn.place], [error, *(error.failures or ())]
        with self._lock:
            progress = self._under_way.get(turn.place, (0, 0, 0, 0.0))
            self._settle(turn, *progress[:3])
        refused = isinstance(error, (InvalidRequest, TierError)) or any(
            isinstance(part, (InvalidRequest, TierError)) for part in parts
        )
        tally.status, tally.reason = "refused" if refused else "failed", str(error)
        self.schedule.drop(turn)
        wrong_key = [part for part in parts if isinstance(part, AuthenticationError)]
        if wrong_key and not self._done[0]:
            self.end(wrong_key[0])  # nothing was ever answered: there is nothing to report
        everywhere = [part for part in parts if isinstance(part, (AuthenticationError, RateLimitError))]
        unkept = isinstance(error, ArchiveError) and not isinstance(error, OWN_FILES) and error.results is not None
        if everywhere or unkept:
            self.schedule.end(f"not sent: {everywhere[0] if everywhere else error}")
        elif not refused:
            self._failures += 1
            if self._failures >= MOST_FAILURES:
                self.schedule.end(f"not sent: {self._failures} calls in a row failed, the last with: {error}")

    def _settle(self, turn: Turn, requests: int, weight: int, rows: int) -> None:
        """Counts what a turn brought; what it need not send, because somebody else did, is no part of the whole."""
        self._under_way.pop(turn.place, None)
        tally = self.tallies[turn.place]
        for at, count in enumerate((requests, weight, rows)):
            self._done[at] += count
        tally.requests, tally.weight, tally.rows = tally.requests + requests, tally.weight + weight, tally.rows + rows
        self._all[0] += requests - len(turn.slices)
        self._all[1] += weight - turn.weight

    def report(self, archive: _engine.Archive) -> UniverseReport:
        """What became of every series."""
        rows = _rows(archive, self.entries)
        series = []
        for place, (entry, tally) in enumerate(zip(self.entries, self.tallies, strict=True)):
            status, reason = tally.status, tally.reason
            if entry.refusal:
                status, reason = "refused", entry.refusal
            elif not status and self.schedule.lacks(place):
                status, reason = "failed", self.schedule.ended
            elif not status:
                status = "complete" if rows[place] or tally.rows else "empty"
            series.append(
                SeriesReport(
                    **entry.facts(),
                    status=status,
                    requests=tally.requests,
                    weight=tally.weight,
                    rows=tally.rows,
                    reason=reason,
                )
            )
        requests, weight, brought = self._done
        return UniverseReport(Records(series, SeriesReport), requests, weight, brought, time.monotonic() - self._began)


def str_of(entry: Entry) -> str:
    """A series in few words."""
    wanted = entry.wanted
    parts = ("+".join(wanted.exchanges), wanted.symbol, wanted.coin, wanted.interval, wanted.type)
    return " ".join(part for part in parts if part)


def _rows(archive: _engine.Archive, entries: list[Entry]) -> list[int]:
    """How many rows the archive has of each series."""
    asked = [(place, entry.query) for place, entry in enumerate(entries) if entry.query is not None]
    counts = [0] * len(entries)
    try:
        rows = {one["key"]: one["rows"] for one in archive.contents()[0]}
        keys = archive.keys([query for _, query in asked])
    except ArchiveError:
        # A ledger that cannot be read is told by verify(); what it has is not known.
        return [1] * len(entries)
    for (place, _), key in zip(asked, keys, strict=True):
        counts[place] = rows.get(key or "", 0)
    return counts


def check_weight(planned: Planned, most: int | None) -> None:
    """Refuses a run that would weigh more than its caller allows.

    Raises:
        InvalidRequest: It would.
    """
    told = planned.told
    if most is not None and told.weight > most:
        raise InvalidRequest(
            f"the universe weighs {told.weight:,} in {told.requests:,} requests, more than max_weight={most}; ask for "
            "less, or allow more"
        )


def run_blocking(client: Client, planned: Planned, archive: _engine.Archive, progress: Progress) -> UniverseReport:
    """Runs a plan with a client that waits: each worker is a thread that waits for the engine."""
    with reporting(progress) as tell:
        run = Run(client, planned, tell)

        def work() -> None:
            while (turn := run.schedule.take()) is not None:
                with _outcome(run, turn):
                    query = run.query(turn)
                    run.kept(turn, query and client._live.sync(query, archive, run.teller(turn)))

        with ThreadPoolExecutor(PARALLEL, "marketpoints-universe") as pool:
            workers = [pool.submit(work) for _ in range(PARALLEL)]
            try:
                wait(workers)
            except BaseException as error:  # Ctrl-C comes to the main thread alone
                run.end(error)
                raise
        _raise(run, [one.exception() for one in workers])
        return run.report(archive)


async def run_later(
    client: AsyncClient, planned: Planned, archive: _engine.Archive, progress: Progress
) -> UniverseReport:
    """Runs a plan with a client that is awaited: each worker is a task."""
    import asyncio  # not loaded with the package: whoever awaits has it

    with reporting(progress) as tell:
        run = Run(client, planned, tell)

        async def work() -> None:
            while (turn := run.schedule.take()) is not None:
                with _outcome(run, turn):
                    query = run.query(turn)
                    run.kept(turn, query and await client._live.sync_async(query, archive, run.teller(turn)))

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
        return await asyncio.to_thread(run.report, archive)


@contextmanager
def _outcome(run: Run, turn: Turn) -> Iterator[None]:
    """Takes the package's own errors for the outcome of a turn; any other ends the run."""
    try:
        yield
    except Error as error:
        if run.raised is None:
            run.failed(turn, error)
        else:
            run.schedule.drop(turn)
    except BaseException as error:
        run.end(error)
        raise


def _raise(run: Run, ends: Any) -> None:
    if run.raised is not None:
        raise run.raised
    for error in ends:
        if isinstance(error, BaseException):
            raise error
