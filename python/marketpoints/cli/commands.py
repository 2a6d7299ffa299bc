"""The commands."""

import argparse
import os
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

from ..client.base import KEY, TIER, URL
from ..client.clients import Client
from ..common import limits
from ..common.arguments import series_type
from ..common.clock import CLOCK, SPEED, offset
from ..common.dialect import address, dialect_of_environment
from ..common.queries import QueryArguments
from ..common.times import Duration, Time, spell
from ..errors import Error, InvalidRequest, PartialError
from ..local import ingest as store
from ..local.service import LocalService
from ..printable import printable
from ..records.plan import rate, when
from ..results.sets import SeriesSet
from . import tables
from .signals import stop_signals
from .tables import FORMATS

__all__ = ["DUMPS", "FORMATS", "Command", "fetch", "ingest", "numbers", "plan", "serve", "several", "usage", "weight"]

#: A command: what was typed, to the exit status.
Command: TypeAlias = Callable[[argparse.Namespace], int]

# Required by a client, but not used: a plan sends nothing.
NO_KEY, NO_URL = "not-needed-for-a-plan", "http://service.invalid"
# Where dumps are looked for; docs/dumps.md has every KIND.
DUMPS = (
    "KIND/EXCHANGE/SYMBOL/DAY.csv or .csv.gz, such as trades/BINANCE_FUTURES/BTCUSDT/2024-12-01.csv.gz, and tables as "
    "KIND/NAME.csv, such as token_supply/BTC.csv"
)
NUMBER = re.compile(r"-?\d+(\.\d+)?")


def serve(given: argparse.Namespace) -> int:
    """Runs the local service until Ctrl-C or a termination signal."""
    options = {
        "host": given.host,
        "seed": given.seed,
        "grace": given.grace,
        "strict_symbols": given.strict_symbols,
        "any_block_size": given.any_block_size,
        # No request could use them.
        "keep_requests": 0,
        "speed": given.speed,
    }
    with (
        LocalService(
            given.data, moment(given.now), given.port, keys=given.keys, access_log=given.access_log, **options
        ) as service,
        stop_signals() as wait_for_one,
    ):
        pace = "" if given.speed == 1 else f", its clock at {given.speed:g} times the speed"
        print(
            printable(f"serving {given.data or 'the demo market'} at {service.url}, as of {when(service.now())}{pace}")
        )
        print("keys:")
        for name, tier in service.tiers.items():
            # Keys from a file are not printed: output ends up in logs.
            print(f"  {printable(name):<10} {service.keys[name] if given.keys is None else tier}")
        print(f"for a client:\n  export {URL}={service.url}", end="")
        if given.keys is None:
            print(f" {KEY}={service.keys['advanced']} {TIER}=advanced")
        else:
            print(f"\n  and {KEY} and {TIER} of the file: a key and its tier")
        if given.now is not None or given.speed != 1:
            # A client needs this clock, or it takes the forming bucket for a closed one.
            faster = "" if given.speed == 1 else f" {SPEED}={given.speed!r}"
            print(f"  export {CLOCK}={offset(service.now(), given.speed):.3f}{faster}")
        if service.archive_source:
            # Its port is another one at the next start.
            named = shlex.quote(printable(service.archive_source))
            print(f"for an archive of it:\n  marketpoints sync FILE --archive-source {named}")
        print("Ctrl-C stops it.", flush=True)
        wait_for_one()
    print("stopped")
    return 0


def ingest(given: argparse.Namespace) -> int:
    """Turns raw dumps into a store."""

    def on_wait(words: str) -> None:
        print(printable(words), file=sys.stderr, flush=True)

    report = store.ingest_with_notice(given.dumps, given.store, given.allow_fewer_rows, on_wait)
    for problem in report.problems:
        print(problem, file=sys.stderr)
    lossy = any(loses_data(problem) for problem in report.problems)
    if not (report.files or report.unchanged or lossy):
        raise Error(f"{given.dumps}: there is no dump in it; looked for {DUMPS}")
    skipped = f", {report.unchanged:,} unchanged" if report.unchanged else ""
    problems = counted(len(report.problems), "problem")
    print(f"{counted(report.files, 'file')} read{skipped}, {counted(report.rows, 'row')}, {problems}")
    return 1 if lossy else 0


def loses_data(problem: store.Problem) -> bool:
    """Whether a dump, or a row of one, was left out; only files with CSV in their name are dumps."""
    path = Path(problem.file)
    return path.is_dir() or ".csv" in path.name.lower()  # `.csv.zst` was meant for a dump, too


def fetch(given: argparse.Namespace) -> int:
    """Fetches points into a file or onto the screen."""
    wanted = series_type(given.type)
    piped = given.output == "-" or (given.output is None and given.format is not None)
    form = given.format or "csv"
    if piped and form == "parquet":
        raise InvalidRequest("a Parquet file is not for a pipe: name it with --output FILE.parquet")
    output = None if piped or given.output is None else tables.target(given.output, given.format)
    with Client(**checks(given)) as client:
        wait = client.plan(wanted, *where(given), **window(given)).eta
        if wait > 1:
            print(f"waiting about {wait:.0f} s for budget", file=sys.stderr, flush=True)
        try:
            answer = client.points(wanted, *where(given), **window(given), progress=given.progress)
        except PartialError as error:
            try:
                keep(error.results, piped, output)
            except Error as problem:  # beside what failed in the first place
                print(f"marketpoints: {printable(str(problem))}", file=sys.stderr)
            raise
        if answer.why_empty is not None:
            print(printable(answer.why_empty), file=sys.stderr)
        if piped:
            tables.print_table(answer, form, sys.stdout)
            return 0
        if output is None:
            tables.show(answer, sys.stdout)
            return 0
        rows = tables.write_paid(answer, output)
        budget = client.budget
    left = "" if budget is None else f"; {budget.remaining:,} weight left ({rate(budget)})"
    print(printable(f"{output}: {rows:,} rows{left}"))
    return 0


def keep(arrived: SeriesSet, piped: bool, output: Path | None) -> None:
    """Leaves what arrived of a call that failed in part where nobody takes it for all."""
    if not any(len(one) for one in arrived):
        return
    if piped:
        print("what arrived is not printed, lest it is taken for all: --output FILE keeps it", file=sys.stderr)
    elif output is None:
        tables.show(arrived, sys.stdout)
    else:
        part = output.with_suffix(f".partial{output.suffix}")
        rows = tables.write_paid(arrived, part)
        print(printable(f"{part}: {rows:,} rows, what arrived"))


def plan(given: argparse.Namespace) -> int:
    """Shows what a fetch would send and cost."""
    wanted, known = series_type(given.type), os.environ.get(KEY)
    # Nothing is spent: without a key there is no budget that others share.
    scope = None if known else "process"
    url = os.environ.get(URL) or address(dialect_of_environment()) or NO_URL
    with Client(known or NO_KEY, url, budget=scope, **checks(given)) as client:
        planned = client.plan(wanted, *where(given), **window(given))
    tables.show_plan([replace(one, url=one.url.replace(NO_URL, "")) for one in planned.requests], sys.stdout)
    totals = [counted(len(planned.requests), "request"), counted(planned.points, "point"), f"weight {planned.weight:,}"]
    if planned.eta:
        totals.append(f"waits {planned.eta:.0f} s for budget")
    print(f"from a full budget: {'; '.join(planned.tiers())}")
    for tier, reason in planned.refused_by_tier.items():
        print(f"  {tier}: {printable(reason)}")
    print(", ".join(totals))
    return 0


def weight(given: argparse.Namespace) -> int:
    """Prints the weight of one request."""
    amount = limits.weight(
        given.type,
        interval=given.interval,
        interval_seconds=given.interval_seconds,
        period=duration(given.period),
        points=given.points,
        exchanges=given.exchanges,
        max_depth=given.max_depth,
    )
    print(amount)
    return 0


def usage(_: argparse.Namespace) -> int:
    """Shows the key's budget."""
    with Client() as client:
        record = client.usage()
    print(f"limit      {record.limit:,} weight in {record.window_seconds} s, burst {record.burst:,}")
    print(f"used       {record.used:,}")
    print(f"remaining  {record.remaining:,}")
    print(f"full again {spell(record.reset)}")
    return 0


def counted(number: int, what: str) -> str:
    """A number of things: ``1 row``, ``2 rows``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def where(given: argparse.Namespace) -> tuple[list[str] | None, list[str] | None, str]:
    """Exchanges, symbols and interval."""
    return several(given.exchange), several(given.symbol), given.interval


def several(typed: str | None) -> list[str] | None:
    """Names separated by commas; ``-`` and nothing are none."""
    named = [name.strip() for name in (typed or "").split(",")]
    return [name for name in named if name and name != "-"] or None


def numbers(typed: str) -> list[float]:
    """Numbers separated by commas."""
    return [float(one) for one in typed.split(",")]


def checks(given: argparse.Namespace) -> dict[str, Any]:
    """The client's settings for checks against the service's lists."""
    return {"check_symbols": given.check_symbols, "any_block_size": given.any_block_size}


def window(given: argparse.Namespace) -> dict[str, Any]:
    """The options that name points."""
    options = {name: getattr(given, name) for name in QueryArguments.__annotations__ if hasattr(given, name)}
    return options | {
        "start": moment(given.start),
        "end": moment(given.end),
        "period": duration(given.period),
    }


def moment(typed: str | None) -> Time | None:
    """A time as typed: on a command line, Unix seconds are text too."""
    return float(typed) if typed is not None and NUMBER.fullmatch(typed) else typed


def duration(typed: str | None) -> Duration | None:
    """A duration as typed: a number alone is seconds."""
    return float(typed) if typed is not None and NUMBER.fullmatch(typed) else typed


def folder(path: str) -> Path:
    """A folder for output, created if missing.

    Raises:
        InvalidRequest: It cannot be made.
    """
    made = Path(path)
    try:
        made.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InvalidRequest(f"{path}: cannot be made: {problem.strerror}") from None
    return made
