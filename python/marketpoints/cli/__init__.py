"""The command line: ``marketpoints demo | serve | ingest | fetch | plan | sync | weight | usage``."""

import argparse
import io
import os
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from .. import __version__, _engine
from ..common.arguments import ANALYTICS, METHODS
from ..common.queries import PARAMETERS, TYPED_ARGUMENTS, QueryArguments
from ..common.suggest import did_you_mean
from ..common.warnings import ExposedKeysWarning, ExposedServiceWarning, OutdatedDataWarning, UnknownSymbolWarning
from ..errors import Error
from ..printable import printable
from . import commands
from .demo import demo
from .universe import sync

__all__ = ["main"]

ENVIRONMENT = """\
environment:
  MARKETPOINTS_API_KEY    the service's key
  MARKETPOINTS_BASE_URL   its address
  MARKETPOINTS_DIALECT    TOML file of the names that it publishes instead of the specification's
  MARKETPOINTS_TIER       free, basic, standard or advanced: the budget to keep to (by default read from answers)
  MARKETPOINTS_CLOCK_OFFSET, MARKETPOINTS_CLOCK_SPEED  the service's clock is this machine's times the speed (1) plus
                          the offset in seconds, for `serve --now` and `serve --speed`

`marketpoints serve` starts a service on this machine and prints these settings for it.
"""
SERVE_HELP = """\
keys file: a line for each key, `name tier key`; # starts a comment. The tier is free, basic, standard, advanced or
unlimited; instead of the key, sha256: and the 64 hexadecimal digits of its SHA-256.
  lab      advanced  mp-lab-5f0c2a
  student  free      sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b
The keys of a file are not printed.

The access log has time, peer, name of the key, method, target, status, weight, bytes and microseconds; never a key.

Ctrl-C or SIGTERM stops it: no new connections, running requests get --grace seconds to finish, then the status is 0.
A second one ends it at once.
"""
INGEST_HELP = """\
Bad rows, and folders or CSV files where no dump belongs, are reported and skipped: the status is 1 when there are
any, or when no dump is found at all. Other files (a README) are reported, and no failure.
A second ingest of the same files changes nothing.
"""
SYNC_HELP = """\
the file, in TOML: keys at the top are defaults for every [[series]].
  archive = "history"                  # a folder beside the file, or s3://bucket/prefix
  archive_source = "…"                 # only for a service whose address changes: a name for it
  interval = ["1m", "1h"]
  start = "2026-01-01"                 # or period = "90d"; end = … is now where it is left out
  [[series]]
  type = ["candles", "open_interest"]  # combined with every market and interval
  exchange = "BINANCE_FUTURES"
  symbol = ["BTCUSDT", "ETHUSDT"]
  [[series]]
  type = "candles"
  markets = { exchange = "BYBIT", category = "PERPETUAL", sort_by = "VOLUME_24H", sort_direction = "desc", limit = 50 }

A second start continues where the first one ended, and pays only for what is not archived.
The status is 0 when every series is complete or empty, 1 when one failed (start again), 3 when one was refused and
none failed (starting again does not help), 2 when the file or an option is not valid.
"""
TYPE_HELP = f"{', '.join(METHODS)}, or any data type by its wire name"
SERIES_ONLY = f"""\
Series only. The analytics ({", ".join(ANALYTICS)}) are available in Python:
client.leaderboard(…); `marketpoints weight leaderboard` prints the weight of one request."""
EXAMPLE = """\
examples:
  marketpoints fetch candles BINANCE_FUTURES BTCUSDT 1h --start 2026-01-01 -o btc.csv
  marketpoints fetch candles BINANCE_FUTURES BTCUSDT,ETHUSDT 1h --period 10d -o both.parquet

Several symbols or coins are one fetch within one budget; in a file the columns exchange, symbol, coin and side
distinguish them.
A symbol takes a request per exchange; a coin one for all its exchanges, which weighs less."""
INTERVAL_HELP = "1m 5m 15m 30m 1h 4h 1d 1w, or a wire name"
LENGTH_HELP = "seconds, or a number with a unit such as 90d, 12h or 30m"
TIME_HELP = "ISO 8601 text (UTC without an offset) or Unix seconds"

# How an argument of a query becomes an option, by its kind in the protocol's table.
OPTION_KINDS: dict[str, dict[str, Any]] = {
    "flag": {"action": "store_true"},
    "text": {"metavar": "NAME"},
    "texts": {"type": commands.several, "metavar": "NAME"},
    "whole": {"type": int, "metavar": "N"},
    "number": {"type": float, "metavar": "NUMBER"},
    "numbers": {"type": commands.numbers, "metavar": "NUMBER"},
}
# Warnings that are shown each time.
SHOWN = (ExposedKeysWarning, ExposedServiceWarning, OutdatedDataWarning, UnknownSymbolWarning)
# Options whose values may begin with a minus, which argparse takes for another option.
SIGNED = ("--period", "--start", "--end", "--now")
# Status codes: 2 for wrong usage, as with argparse; 1 for every other failure.
FAILED, MISUSED, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; ``arguments`` are ``sys.argv[1:]`` by default. Returns the exit status."""
    with _any_characters():
        return _run(_parsed(joined(sys.argv[1:] if arguments is None else arguments)))


@contextmanager
def _any_characters() -> Iterator[None]:
    """Standard output takes every character, escaped where its encoding lacks it; and there is one."""
    if sys.stdout is None:  # closed before the program began
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - as long as the program
    out = sys.stdout
    if not isinstance(out, io.TextIOWrapper) or out.closed:
        yield
        return
    errors = out.errors
    out.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        with suppress(OSError, ValueError):  # its reader has gone, or it was closed
            out.reconfigure(errors=errors)


def _run(given: argparse.Namespace) -> int:
    _engine.speak_of_options(True)
    try:
        with warnings.catch_warnings():
            for category in SHOWN:
                warnings.simplefilter("always", category)
            warnings.showwarning = lambda message, *_: print(
                f"marketpoints: {printable(str(message))}", file=sys.stderr
            )
            status = given.run(given)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has gone, such as `head`. The interpreter's own flush at exit must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except (Error, OSError) as error:
        print(f"marketpoints: {one_line(error)}", file=sys.stderr)
        return MISUSED if isinstance(error, ValueError) else FAILED
    finally:
        _engine.speak_of_options(False)
    return int(status)


def one_line(error: BaseException) -> str:
    """The error's text on one line."""
    return printable(" ".join(str(error).split())) or type(error).__name__


def joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with negative values joined to their options: ``--period -5d`` is ``--period=-5d``."""
    left: list[str] = []
    for one in arguments:
        if left and left[-1] in SIGNED and re.match(r"-\d", one):
            left[-1] += f"={one}"
        else:
            left.append(one)
    return left


def _parsed(arguments: list[str]) -> argparse.Namespace:
    given, unknown = parser().parse_known_args(arguments)
    if unknown:  # argparse would show the usage of all commands
        of_command: Parser = given.parser
        near = did_you_mean(_engine.closest(unknown[0].partition("=")[0], of_command.options))
        of_command.error(f"unrecognized arguments: {' '.join(unknown)}{near}")
    return given


class Parser(argparse.ArgumentParser):
    """A parser that repeats nothing to a terminal as it was typed, and knows its options."""

    @property
    def options(self) -> list[str]:
        """The options by their long names."""
        return re.findall(r"--[a-z-]+", self.format_help())

    def error(self, message: str) -> NoReturn:
        """Ends with status 2 and the error's message, with the nearest of the choices where it is about one."""
        if choice := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message):
            message += did_you_mean(_engine.closest(choice[1], re.findall(r"[\w.-]+", choice[2])))
        super().error(printable(message))


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    top = Parser(
        prog="marketpoints",
        description="Market data from the command line: fetch it, know its cost first, or serve it from this machine.",
        epilog=ENVIRONMENT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"marketpoints {__version__}")
    every = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: commands.Command, help_text: str, more: str = "") -> argparse.ArgumentParser:
        made = every.add_parser(
            name,
            help=help_text,
            description=f"{help_text[0].upper()}{help_text[1:]}.",
            epilog=more,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(run=run, parser=made)
        return made

    one = command("demo", demo, "fetch candles and an order-book heatmap from a service of its own; needs no account")
    one.add_argument(
        "--output", metavar="DIR", default="demo-output", help="folder for the files (default: %(default)s)"
    )

    one = command("serve", commands.serve, "run the local service until Ctrl-C or SIGTERM", SERVE_HELP)
    one.add_argument(
        "--data", metavar="FOLDER", help="store made by `marketpoints ingest`, or an archive (default: the demo market)"
    )
    one.add_argument("--now", metavar="TIME", help=f"what time it is for the service: {TIME_HELP} (default: now)")
    one.add_argument(
        "--speed",
        type=float,
        default=1.0,
        metavar="N",
        help="run the service's clock, and so its stream, N times as fast; 0 lets it stand (default: 1)",
    )
    one.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this machine only)"
    )
    one.add_argument("--port", type=int, default=0, help="port to listen on (default: a free one)")
    one.add_argument("--seed", type=int, default=0, help="seed of the demo market (default: %(default)s)")
    one.add_argument("--keys", metavar="FILE", help="the keys to take, see below (default: a new one for each tier)")
    one.add_argument("--access-log", metavar="FILE", help="append a line of JSON for each request; - is standard error")
    one.add_argument(
        "--grace", type=float, default=10.0, metavar="S", help="seconds to finish when it is stopped (default: 10)"
    )
    one.add_argument(
        "--strict-symbols",
        action=argparse.BooleanOptionalAction,
        help="refuse symbols that an exchange never had, or answer them with nothing (default: refuse in the demo)",
    )
    one.add_argument(
        "--any-block-size", action="store_true", help="serve block sizes that are no multiple of the recommended one"
    )

    one = command(
        "ingest",
        commands.ingest,
        "turn raw dumps into a store for `marketpoints serve --data STORE`",
        INGEST_HELP,
    )
    one.add_argument("dumps", metavar="DUMPS", help="folder of KIND/EXCHANGE/SYMBOL/DAY.csv or .csv.gz")
    one.add_argument("store", metavar="STORE", help="folder of the store; made where it is not there")
    one.add_argument(
        "--allow-fewer-rows",
        action="store_true",
        help="let a changed file take the place of one with more good rows (default: report it, keep the store's)",
    )

    one = command(
        "fetch",
        commands.fetch,
        "fetch points into a file, onto the screen or into a pipe",
        f"{SERIES_ONLY}\n\n{EXAMPLE}",
    )
    query_arguments(one)
    one.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="a .parquet, .csv or .json file; - is standard output (default: a table on the screen)",
    )
    one.add_argument(
        "--format", choices=commands.FORMATS, help="format of the file, or of standard output (csv where that is -)"
    )
    one.add_argument("--progress", action="store_true", help="show how far it is")

    one = command(
        "plan", commands.plan, "show what a fetch would send and cost; sends nothing, needs no key", SERIES_ONLY
    )
    query_arguments(one)

    one = command(
        "sync", sync, "keep many series in an archive, by a file; every start asks only for what is missing", SYNC_HELP
    )
    one.add_argument("file", metavar="FILE", help="what to keep: a TOML file, see below")
    one.add_argument(
        "--archive", metavar="PLACE", help="folder or object store to keep it in (default: the file's archive)"
    )
    one.add_argument(
        "--archive-source",
        metavar="NAME",
        help="name under which the archive knows the service, where its address changes "
        "(default: the file's archive_source, else the address)",
    )
    one.add_argument(
        "--dry-run", action="store_true", help="show weight, requests, bytes and time for every tier; pays nothing"
    )
    one.add_argument(
        "--max-weight", type=int, metavar="N", help="most weight that it may cost; more ends before paying"
    )
    one.add_argument("--json", action="store_true", help="print the plan or the report as JSON")
    one.add_argument(
        "--progress", action=argparse.BooleanOptionalAction, help="show how far it is (default: on a terminal)"
    )
    check_options(one)

    one = command("weight", commands.weight, "compute the weight of one request, exactly")
    one.add_argument("type", metavar="TYPE", help=f"{TYPE_HELP}; or {', '.join(ANALYTICS)}, which take no option")
    one.add_argument("--interval", help=INTERVAL_HELP)
    one.add_argument("--interval-seconds", type=int, metavar="S", help="length of an interval that has no name here")
    one.add_argument("--period", metavar="LENGTH", help=f"length of the window: {LENGTH_HELP}")
    one.add_argument("--points", type=int, metavar="N", help="number of buckets, instead of interval and period")
    one.add_argument(
        "--exchanges", type=int, default=1, metavar="N", help="exchanges aggregated (default: %(default)s)"
    )
    one.add_argument("--max-depth", type=int, metavar="N", help="levels of a heatmap")

    command("usage", commands.usage, "show the key's budget as the service sees it")
    return top


def query_arguments(one: argparse.ArgumentParser) -> None:
    """The arguments that name points."""
    one.add_argument("type", metavar="TYPE", help=TYPE_HELP)
    one.add_argument("exchange", metavar="EXCHANGE", help="exchange; several separated by commas; - for none")
    one.add_argument(
        "symbol", metavar="SYMBOL", help="exchange-native symbol; several separated by commas; - with --coin"
    )
    one.add_argument("interval", metavar="INTERVAL", help=INTERVAL_HELP)
    one.add_argument("--start", metavar="TIME", help=f"first bucket: {TIME_HELP}")
    one.add_argument("--end", metavar="TIME", help="end of the window, exclusive (default: now)")
    one.add_argument("--period", metavar="LENGTH", help=f"length of the window: {LENGTH_HELP}")
    one.add_argument("--include-forming", action="store_true", help="keep the bucket that has not ended yet")
    for name in QueryArguments.__annotations__:
        if name in PARAMETERS and name not in TYPED_ARGUMENTS:
            kind, about = PARAMETERS[name]
            several = "; several separated by commas" if kind in ("texts", "numbers") else ""
            one.add_argument(f"--{name.replace('_', '-')}", help=f"{about}{several}", **OPTION_KINDS[kind])
    check_options(one)


def check_options(one: argparse.ArgumentParser) -> None:
    """Adds the options of lookups before a request."""
    one.add_argument(
        "--any-block-size", action="store_true", help="ask block sizes that are no multiple of the recommended one, too"
    )
    one.add_argument(
        "--check-symbols",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="look symbols and coins up in the service's lists before they are paid for (default: yes)",
    )
