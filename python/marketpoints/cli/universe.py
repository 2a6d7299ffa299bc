"""``marketpoints sync``: archives a universe from a file."""

import argparse
import os
import sys
from typing import Any

from ..archive import Archive
from ..client.base import KEY, URL
from ..client.clients import Client
from ..common.dialect import address, dialect_of_environment
from ..errors import InvalidRequest
from ..printable import printable
from ..records.tables import Records
from ..records.universe import SeriesPlan, SeriesReport, UniversePlan, UniverseReport, duration_words, size_words
from ..universes.planning import planned_blocking
from ..universes.universe import Universe
from .tables import lay_out

__all__ = ["FAILED", "REFUSED", "sync"]

#: Exit statuses: something failed, and starting again may help; something was refused, and it would not.
FAILED, REFUSED = 1, 3
# Required by a client, but not used: a plan sends nothing.
NO_KEY, NO_URL = "not-needed-for-a-plan", "http://service.invalid"


def sync(given: argparse.Namespace) -> int:
    """Downloads a universe into an archive, or shows what that costs."""
    universe = Universe.from_toml(given.file)
    place = given.archive or universe.archive
    if place is None:
        raise InvalidRequest(
            f'{given.file}: archive: it is missing; write archive = "FOLDER" into it, or give --archive'
        )
    archive = Archive(place)
    settings: dict[str, Any] = {
        "check_symbols": given.check_symbols,
        "any_block_size": given.any_block_size,
        "archive_source": given.archive_source or universe.archive_source,
    }
    if given.dry_run:
        return plan(given, universe, archive, settings)
    with Client(**settings) as client:
        shows = sys.stderr.isatty() if given.progress is None else given.progress
        report = archive.sync_all(client, universe, max_weight=given.max_weight, progress=shows)
    if given.json:
        print(report.to_json())
    else:
        show_report(report)
    return FAILED if report.failed else REFUSED if report.refused else 0


def plan(given: argparse.Namespace, universe: Universe, archive: Archive, settings: dict[str, Any]) -> int:
    """Shows what a universe costs; without a key as far as no service is needed."""
    known = os.environ.get(KEY)
    if known is None and any(block.markets is not None for block in universe.blocks):
        raise InvalidRequest(f"{given.file}: markets: the service picks them, so that a plan needs a key; set {KEY}")
    url = os.environ.get(URL) or address(dialect_of_environment()) or NO_URL
    if known is None:
        # Nothing is spent: without a key there is no shared budget, no service, and perhaps no address.
        nobody = archive.source if url == NO_URL else None
        settings = {**settings, "budget": "process", "archive_source": settings["archive_source"] or nobody}
    with Client(known or NO_KEY, url, **settings) as client:
        planned = planned_blocking(client, universe, archive._engine, asks=known is not None)
    if given.json:
        print(planned.to_json())
    else:
        show_plan(planned)
    return REFUSED if planned.refused else 0


def show_plan(planned: UniversePlan) -> None:
    """Prints a plan: a row for each type and interval, the time of each tier, and the refused series."""
    rows: dict[tuple[str, str, str], list[int]] = {}
    for one in planned.series:
        sums = rows.setdefault((one.type, one.interval, one.status), [0, 0, 0, 0, 0])
        for at, count in enumerate((1, one.requests, one.weight, one.points, one.bytes)):
            sums[at] += count
    header = ["type", "interval", "status", "series", "requests", "weight", "points", "about"]
    cells = [[*key, *(f"{count:,}" for count in sums[:4]), size_words(sums[4])] for key, sums in rows.items()]
    lay_out(header, cells, sys.stdout, left={0, 1, 2})
    show_problems(planned.refused)
    print("from a full budget:")
    header = ["tier", "takes", "requests", "weight", "about", "refuses"]
    tiers = [
        [
            tier,
            duration_words(eta),
            f"{planned.requests_by_tier[tier]:,}",
            f"{planned.weight_by_tier[tier]:,}",
            size_words(planned.bytes_by_tier[tier]),
            f"{planned.refused_by_tier.get(tier, 0):,} series",
        ]
        for tier, eta in planned.eta_by_tier.items()
    ]
    lay_out(header, tiers, sys.stdout, left={0})
    counts = [f"{len(planned.series):,} series", f"{planned.requests:,} requests", f"weight {planned.weight:,}"]
    counts += [f"{planned.points:,} points", f"about {size_words(planned.bytes)}"]
    if planned.eta:
        counts.append(f"waits {duration_words(planned.eta)} for budget")
    print(", ".join(counts))


def show_report(report: UniverseReport) -> None:
    """Prints the report of a universe."""
    show_problems(report.refused)
    show_problems(report.failed)
    print(printable(", ".join(f"{name} {value}" for name, value in report._facts().items())))


def show_problems(problems: Records[SeriesPlan] | Records[SeriesReport]) -> None:
    """Prints each series with the reason why it was refused or failed."""
    for one in problems:
        print(printable(f"{one.status}: {one}: {one.reason}"))
