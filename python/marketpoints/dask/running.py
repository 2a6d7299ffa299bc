"""The run of a universe on a cluster: the driver distributes pieces and collects the results."""

import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from ..common.arguments import flag, folder, weight_bound
from ..common.optional import load
from ..common.progress import Progress, reporting
from ..common.protocols import ArchiveLike
from ..common.secrets import Hidden, hidden_text, hide_locals
from ..common.signatures import unknown
from ..errors import InvalidRequest
from ..records.pieces import Piece, PieceReport, PlannedSeries
from ..records.universe import UniversePlan, UniverseReport
from ..universes.running import Run, check_weight
from ..universes.universe import Universe, universe_of
from . import worker
from .worker import RunConfig

if TYPE_CHECKING:
    from ..records.plan import Budget

    UniverseLike = UniversePlan | Universe | Mapping[str, Any] | Sequence[Mapping[str, Any]] | str | os.PathLike[str]

__all__ = ["sync"]

#: Seconds after which an archive's lock counts as left behind, where the archive does not say.
LEASE = 10.0
#: A worker's budget scope by default.
ALONE = {"process": "each worker process", "machine": "each machine"}


@overload
def sync(
    plan: "UniverseLike",
    archive: ArchiveLike | str | os.PathLike[str] | None = None,
    *,
    budget: str | None = None,
    client: Any = None,
    dry_run: Literal[False] = False,
    max_weight: int | None = None,
    progress: Progress = False,
    **settings: Any,
) -> UniverseReport: ...
@overload
def sync(
    plan: "UniverseLike",
    archive: ArchiveLike | str | os.PathLike[str] | None = None,
    *,
    budget: str | None = None,
    client: Any = None,
    dry_run: Literal[True],
    max_weight: int | None = None,
    progress: Progress = False,
    **settings: Any,
) -> UniversePlan: ...
@hide_locals
def sync(
    plan: "UniverseLike",
    archive: ArchiveLike | str | os.PathLike[str] | None = None,
    *,
    budget: str | None = None,
    client: Any = None,
    dry_run: bool = False,
    max_weight: int | None = None,
    progress: Progress = False,
    **settings: Any,
) -> UniverseReport | UniversePlan:
    """Runs :meth:`Archive.sync_all` on the workers of a Dask cluster.

    A worker does a piece of one series at a time, and writes it. Each takes the key from its own environment
    (``MARKETPOINTS_API_KEY``), and so the service's address, the tier and the archive's credentials where they are not
    given here; nothing secret is sent to it. The plan of a universe is made by a worker too: the program that calls
    needs neither key nor credentials. A piece whose worker dies is done again by another one, which pays for what
    the first had not kept.

    Args:
        plan: A plan of :meth:`Archive.plan_all`, or what that takes: a :class:`~marketpoints.Universe`, its mappings,
            or the path of its TOML file.
        archive: An address, a folder that all workers have, or an :class:`~marketpoints.Archive`; None takes that of
            the universe.
        budget: Who shares the key's budget, as of :class:`~marketpoints.Client`: with workers on several machines the
            address of a Redis. None takes the workers' ``MARKETPOINTS_BUDGET``.
        client: A ``distributed.Client`` that waits; None takes the current one.
        dry_run: Makes the plan alone.
        max_weight: Most weight that the plan may have; more raises before anything is paid.
        progress: As of :meth:`Archive.sync_all`.
        settings: Of the workers' clients, as :class:`~marketpoints.Client` takes them: ``base_url``, ``tier``,
            ``retries`` ….

    Returns:
        The outcome of each series. Requests, weight and rows count finished pieces: data that a worker archived before
        it died stay archived, but are not in the report.

    Raises:
        InvalidRequest: As :meth:`Archive.sync_all`; or there is no cluster, the workers would not share one budget, or
            a secret was given that would travel.
        AuthenticationError: The service does not know the workers' key, found before anything is paid.
        MissingDependencyError: ``distributed`` is not installed.
    """
    config = _run_config(plan, archive, Hidden(settings), Hidden(budget))
    most, only_plan = weight_bound(max_weight), flag(dry_run, "dry_run")
    wanted = plan if isinstance(plan, UniversePlan) else universe_of(plan)
    distributed = load("distributed")
    cluster = _cluster(distributed, client)
    _check_budget(cluster, config)
    planned = wanted if isinstance(wanted, UniversePlan) else _asked(cluster, "plan", worker.plan, config, wanted)
    if only_plan:
        return planned
    check_weight(planned, most)
    with reporting(progress) as on_progress:
        run = Run(planned, on_progress, lambda: driver.budget)
        driver = _Driver(distributed, cluster, config, run)
        driver.follow()
    # Only the names of series: a worker counts their rows in the archive.
    parts = [PlannedSeries(part.wanted, part.window) for part in planned._parts]
    return run.report(_asked(cluster, "rows", worker.rows, config, parts))


class _Driver:
    """Submits as many pieces as the workers have threads, and collects the results."""

    def __init__(self, distributed: Any, cluster: Any, config: RunConfig, run: Run) -> None:
        self._distributed, self._cluster, self._config, self._run = distributed, cluster, config, run
        self._pieces: dict[Any, Piece] = {}
        #: The budget in a worker's latest report.
        self.budget: Budget | None = None

    def follow(self) -> None:
        """Completes the run, or raises the error that ended it."""
        try:
            futures = self._distributed.as_completed(list(self._more()))
            for future in futures:
                piece = self._pieces.pop(future)
                report = self._outcome(piece, future)
                self.budget = report.budget or self.budget
                self._run.finished(piece, report)
                if self._run.raised is not None:
                    raise self._run.raised
                self._run.report_progress()
                for one in self._more():
                    futures.add(one)
        except BaseException as error:
            self._run.end(error)
            # Running pieces end by themselves, since it cannot be interrupted; what waits is not started.
            self._cluster.cancel(list(self._pieces), force=True)
            raise

    def _more(self) -> Iterator[Any]:
        """Submits further pieces while there are threads for them; workers may join and leave."""
        slots = max(1, sum(self._cluster.nthreads().values()))
        while len(self._pieces) < slots and (piece := self._run.schedule.take()) is not None:
            self._run.started(piece)
            name = f"marketpoints-sync-{self._config.run}-{piece.series}-{piece.start}"
            future = self._cluster.submit(worker.download_piece, self._config, piece, key=name, pure=False)
            self._pieces[future] = piece
            yield future

    def _outcome(self, piece: Piece, future: Any) -> PieceReport:
        try:
            report: PieceReport = future.result()
        except self._distributed.KilledWorker as error:
            deaths = error.allowed_failures + 1
            reason = f"workers died during it, {deaths} in a row; see their logs for the reason"
            return PieceReport(piece.series, piece.requests, "failed", reason=reason)
        return report


def _asked(cluster: Any, what: str, work: Any, config: RunConfig, *arguments: Any) -> Any:
    """The result of a function on a worker."""
    name = f"marketpoints-{what}-{config.run}"
    return cluster.submit(work, config, *arguments, key=name, pure=False).result()


def _cluster(distributed: Any, given: Any) -> Any:
    """The current ``distributed.Client``, or the one that was given."""
    if given is None:
        try:
            given = distributed.get_client()
        except ValueError:
            raise InvalidRequest("client: there is no cluster yet; make a distributed.Client first") from None
    if not isinstance(given, distributed.Client):
        raise InvalidRequest(f"client: a {type(given).__name__} is no distributed.Client")
    if given.asynchronous:
        raise InvalidRequest("client: it is awaited; give one that waits, or call this by asyncio.to_thread")
    return given


def _run_config(
    plan: Any,
    archive: ArchiveLike | str | os.PathLike[str] | None,
    settings: Hidden[Mapping[str, Any]],
    budget: Hidden[str | None],
) -> RunConfig:
    """The configuration that is sent with every piece.

    Raises:
        InvalidRequest: Something secret would.
    """
    own = worker.client_settings()
    for name in settings.reveal():
        if name == "api_key":
            raise InvalidRequest(f"api_key: it would travel with every piece; set {worker.KEY} where the workers run")
        if name not in own:
            raise unknown("sync", name, ["budget", "client", "dry_run", "max_weight", "progress", *own])
    given: Hidden[dict[str, Any]] = Hidden({**settings.reveal(), "budget": hidden_text(budget, "budget").reveal()})
    for name, variable in worker.ADDRESSES.items():
        value = given.reveal().get(name)
        if isinstance(value, str) and "@" in value:
            raise InvalidRequest(
                f"{name}: a password in it would travel with every piece; set {variable} where they run"
            )
    if archive is None:
        archive = None if isinstance(plan, UniversePlan) else universe_of(plan).archive
    if archive is None:
        raise InvalidRequest("archive: it is missing; name an address, or a folder that all workers have")
    if isinstance(archive, ArchiveLike):
        path, lease, options = archive._engine.path, archive._lease, archive._engine.options
    else:
        path, lease, options = folder(archive), LEASE, []
    if options is None:
        raise InvalidRequest("archive: its credentials would travel with every piece; set them where the workers run")
    # Workers have working folders of their own.
    path = path if "://" in path else os.path.abspath(path)  # noqa: PTH100 - a text, as the engine takes it
    return RunConfig(uuid.uuid4().hex, path, tuple(options), lease, given.reveal())


def _check_budget(cluster: Any, config: RunConfig) -> None:
    """Refuses a run in which each worker, or each machine, would spend the full budget by itself."""
    workers = list(cluster.nthreads())
    machines = {address.rpartition(":")[0] for address in workers}
    if len(workers) < 2:
        return
    own = config.settings["budget"]
    shared = [worker.budget_scope(own)] if own is not None else list(cluster.run(worker.budget_scope).values())
    alone = "process" if "process" in shared else "machine" if "machine" in shared and len(machines) > 1 else None
    if alone is not None:
        raise InvalidRequest(
            f"budget: {ALONE[alone]} would spend all of it ({len(workers)} workers on {len(machines)} machines); "
            f"name a Redis, such as redis://host:6379/0, or set {worker.BUDGET} where the workers run"
        )
