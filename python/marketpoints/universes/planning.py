"""The plan of a universe: the missing windows of every series, cut by the engine's planner."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log
from typing import Any, TypeAlias

from .. import _engine
from ..client.clients import AsyncClient, Client
from ..common.arguments import METHODS
from ..common.data_types import TABLE
from ..common.intervals import BY_NAME, DAY, HOUR, MINUTE
from ..common.limits import TIERS, Tier
from ..common.times import LARGEST_NANOSECONDS, SECOND_NS
from ..errors import ArchiveError, Error, InvalidRequest, RateLimitError, TierError
from ..records.pieces import PlannedSeries, Slice, SyncArguments, query_of
from ..records.plan import Budget
from ..records.tables import Records
from ..records.universe import SeriesPlan, UniversePlan
from .universe import Universe

__all__ = ["PARALLEL", "planned_async", "planned_blocking"]

#: Most calls of a run in flight at once; the engine allows one call as many requests.
PARALLEL = 8
#: Bytes on disk of a bucket of a minute, an hour and a day, by wire type; used until the archive holds some to measure.
BUCKET_BYTES: dict[str, Sequence[float]] = {name: row["file_bytes"] for name, row in TABLE.items()}
#: Wire type whose bytes are used for types that are not in the table.
FALLBACK_TYPE = METHODS["candles"]

#: Fields that a plan sums over its series.
SUMS = ("requests", "weight", "points", "bytes")

#: A question to the service, of weight 0: a method of the client (or ``look_up``), and its arguments.
Question: TypeAlias = tuple[str, Any]
Planning: TypeAlias = Generator[Question, Any, UniversePlan]


@dataclass
class Entry:
    """A series of a universe while it is planned."""

    wanted: SyncArguments
    query: _engine.Query | None = None
    window: tuple[int, int] | None = None
    plan: _engine.Plan | None = None
    # By tier: name, seconds to run or why it cannot; requests, weight and points, None where it may not ask.
    tiers: Sequence[tuple[str, float | None, str | None, tuple[int, int, int] | None]] = ()
    requests: int = 0
    weight: int = 0
    points: int = 0
    # Bytes of one bucket on disk, measured or from the table.
    bucket_bytes: float = 0.0
    refusal: str = ""
    # The ledger cannot be read: the missing windows are unknown until the next sync repairs it.
    unknown: bool = False

    @property
    def bytes(self) -> int:
        """Size of its points on disk."""
        return round(self.points * self.bucket_bytes)

    def part(self) -> PlannedSeries:
        """The series with the windows left to ask, oldest first; where these are unknown, all of it with weight 0."""
        if self.plan is not None:
            slices = [
                Slice(one.start, one.end, one.weight)
                for one in self.plan.requests
                if one.start is not None and one.end is not None
            ]
            slices.sort(key=lambda one: one.start)
        else:
            slices = [Slice(*self.window, 0)] if self.unknown and self.window is not None else []
        return PlannedSeries(
            self.wanted if self.query is None else self.wanted.plain(), self.window, tuple(slices), self.refusal
        )


def planned_blocking(
    client: Client, universe: Universe, archive: _engine.Archive, *, asks: bool = True
) -> UniversePlan:
    """Plans with a blocking client. Without ``asks`` only filters of markets are asked, and symbols count as known."""
    steps = _steps(client, universe, archive)
    answer: Any = None
    try:
        while True:
            name, asked = steps.send(answer)
            if not asks and name == "usage":
                answer = None
            elif not asks and name == "look_up":
                answer = [None] * len(asked[0])
            elif name == "look_up":
                queries, now = asked
                answer = client._live.look_up_each(queries, now, archive)
            else:
                answer = getattr(client, name)(**asked)
    except StopIteration as done:
        planned: UniversePlan = done.value
        return planned


async def planned_async(client: AsyncClient, universe: Universe, archive: _engine.Archive) -> UniversePlan:
    """Plans with an asynchronous client; files are read in a thread, not in the event loop."""
    import asyncio  # not loaded with the package: a caller that awaits has it

    steps, answer = _steps(client, universe, archive), None

    def step() -> Question | UniversePlan:
        try:
            return steps.send(answer)
        except StopIteration as done:  # no future can hold a StopIteration
            planned: UniversePlan = done.value
            return planned

    while not isinstance(question := await asyncio.to_thread(step), UniversePlan):
        name, asked = question
        if name == "look_up":
            queries, now = asked
            answer = await client._live.look_up_each_async(queries, now, archive)
        else:
            answer = await getattr(client, name)(**asked)
    return question


def _steps(client: Client | AsyncClient, universe: Universe, archive: _engine.Archive) -> Planning:
    """Makes a plan, for both kinds of client: yields each question and is sent its answer."""
    if client.tier is None and client.budget is None:
        yield "usage", {}  # how large a request may be
    now = client._live.now()
    entries: list[Entry] = []
    for block in universe.blocks:
        listed: list[tuple[str, str]] = []
        if block.markets is not None:
            markets = yield "markets", dict(block.markets)
            listed = list(dict.fromkeys((one.exchange, one.raw_symbol) for one in markets))
            if not listed:
                path = f"{block.where}.markets" if block.where else "markets"
                raise universe.named("", f"{path}: no market passes the filters")
        entries += [Entry(wanted) for wanted in block.wanted(listed)]
    for entry in entries:
        _prepare(entry, now, client.tier)
    entries = _merged(entries)
    planner = client._connect(lambda: now, archive=archive)
    # Checks no tier: shows which tiers allow what the key's own one refuses.
    any_tier = client._connect(lambda: now, archive=archive, tier=None)
    try:
        planner.check_archive()
        for entry in entries:
            _plan(entry, planner, any_tier)
        asked = [entry for entry in entries if entry.requests]
        answers = yield "look_up", ([entry.query for entry in asked], now)
    finally:
        planner.close()
        any_tier.close()
    for entry, warning in zip(asked, answers, strict=True):
        if isinstance(warning, InvalidRequest):
            entry.refusal, entry.plan, entry.tiers = str(warning), None, ()
            entry.requests = entry.weight = entry.points = 0
        else:
            client._warn(warning)
    _estimate_bytes(entries, _kept(archive))
    return _universe_plan(entries, client.budget)


def _prepare(entry: Entry, now: float, tier: str | None) -> None:
    """Gives an entry its query and window, or the reason why it is refused."""
    # What a file asks for stands there by the names of arguments, on the command line too.
    of_options = _engine.speak_of_options(False)
    try:
        entry.query = query_of(entry.wanted)
    except (InvalidRequest, TypeError) as problem:
        entry.refusal = str(problem)
        return
    finally:
        _engine.speak_of_options(of_options)
    start, end = entry.query.window(now, tier)
    if max(-start, end) > LARGEST_NANOSECONDS // SECOND_NS:
        entry.refusal = "the window lies beyond the years 1677 to 2262, which times in nanoseconds do not hold"
        return
    entry.window = start, end


def _merged(entries: Iterable[Entry]) -> list[Entry]:
    """Merges entries of one series whose windows overlap or touch, so that nothing counts twice."""
    merged: dict[Any, list[Entry]] = {}
    for entry in entries:
        wanted = entry.wanted
        others = sorted((name, repr(value)) for name, value in wanted.others.items())
        key = (wanted.type, tuple(sorted(wanted.exchanges)), wanted.symbol, wanted.coin, wanted.interval, tuple(others))
        same = merged.setdefault(key, [])
        if entry.window is None:
            same[:] = same or [entry]
            continue
        start, end = entry.window
        meeting = [one for one in same if one.window is not None and one.window[0] <= end and start <= one.window[1]]
        if meeting:
            hull = (min(start, *(one.window[0] for one in meeting)), max(end, *(one.window[1] for one in meeting)))  # type: ignore[index]
            same[:] = [one for one in same if one not in meeting]
            if hull[0] < hull[1]:
                # The merged window takes the place of each entry's own start, end and period.
                wanted = replace(wanted, arguments={**wanted.others, "start": hull[0], "end": hull[1]})
            entry = Entry(wanted, query_of(wanted) if hull[0] < hull[1] else entry.query, hull)
        same.append(entry)
    return [entry for same in merged.values() for entry in same]


def _plan(entry: Entry, planner: _engine.Client, any_tier: _engine.Client) -> None:
    """Cuts the missing windows of a series into requests, or says why it is refused."""
    if entry.query is None:
        return
    try:
        plan = planner.plan(entry.query)
    except (InvalidRequest, TierError, RateLimitError) as problem:
        entry.refusal = str(problem)
        if isinstance(problem, TierError):
            with suppress(Error):
                entry.tiers = any_tier.plan(entry.query).tiers
    except ArchiveError:
        entry.unknown = entry.window is not None and entry.window[0] < entry.window[1]
    else:
        entry.plan, entry.requests, entry.weight, entry.points = plan, len(plan.requests), plan.weight, plan.points
        entry.tiers = plan.tiers


def _kept(archive: _engine.Archive) -> list[dict[str, Any]]:
    """The archived windows of each query; empty if a ledger cannot be read."""
    try:
        return archive.contents()[0]
    except ArchiveError:
        return []


def _estimate_bytes(entries: Iterable[Entry], kept: Iterable[Mapping[str, Any]]) -> None:
    buckets: dict[tuple[str, int], list[int]] = {}
    for one in kept:
        step = one["interval_seconds"]
        seconds = sum(int((end - start).astype("timedelta64[s]").astype(int)) for start, end in one["windows"])
        total = buckets.setdefault((dict(one["query"])["type"], step), [0, 0])
        total[0] += one["bytes"]
        total[1] += seconds // step
    for entry in entries:
        wanted = entry.wanted
        size, count = buckets.get((wanted.type, BY_NAME[wanted.interval].seconds), (0, 0))
        entry.bucket_bytes = size / count if count else _table_bytes(wanted.type, BY_NAME[wanted.interval].seconds)


def _table_bytes(kind: str, seconds: int) -> float:
    """Bytes of a bucket by the table of types; between the table's lengths interpolated on log-log axes."""
    known = list(zip((MINUTE, HOUR, DAY), BUCKET_BYTES.get(kind, BUCKET_BYTES[FALLBACK_TYPE]), strict=True))
    for (low, small), (high, large) in pairwise(known):
        if low <= seconds <= high:
            return float(small * (large / small) ** (log(seconds / low) / log(high / low)))
    return known[0][1] if seconds < MINUTE else known[-1][1]


def _universe_plan(entries: Sequence[Entry], budget: Budget | None) -> UniversePlan:
    series, parts = [], [entry.part() for entry in entries]
    for entry, part in zip(entries, parts, strict=True):
        status = "refused" if entry.refusal else "planned" if entry.requests or entry.unknown else "kept"
        counts: dict[str, Any] = {name: 0 if entry.refusal else getattr(entry, name) for name in SUMS}
        series.append(SeriesPlan(**part.facts(), status=status, **counts, reason=entry.refusal or part.why_empty))
    sums = {name: sum(getattr(one, name) for one in series) for name in SUMS}
    requests, weights, sizes, refused = (dict.fromkeys(TIERS, 0) for _ in range(4))
    for entry in entries:
        for tier, _, _, cut in entry.tiers:
            if cut is None:
                refused[tier] += 1
                continue
            requests[tier] += cut[0]
            weights[tier] += cut[1]
            sizes[tier] += round(cut[2] * entry.bucket_bytes)
    eta = 0.0 if budget is None else budget._wait(sums["weight"])
    etas = {name: _eta(TIERS[name], weight) for name, weight in weights.items()}
    refusals = {name: count for name, count in refused.items() if count}
    return UniversePlan(
        Records(series, SeriesPlan),
        **sums,
        eta=eta,
        requests_by_tier=requests,
        weight_by_tier=weights,
        bytes_by_tier=sizes,
        eta_by_tier=etas,
        refused_by_tier=refusals,
        _parts=tuple(parts),
    )


def _eta(tier: Tier, weight: int) -> float:
    """Seconds until a tier's full token bucket lets a weight pass; what exceeds a day's cap waits for the next day."""
    days, rest = divmod(max(0, weight - 1), tier.weight_per_day) if tier.weight_per_day else (0, weight - 1)
    return days * DAY + max(0, rest + 1 - tier.burst) / tier.weight_per_minute * 60
