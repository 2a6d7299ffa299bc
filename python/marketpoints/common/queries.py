"""The arguments of a query for points, written once: series methods, archive, plans and commands take these."""

from collections.abc import Callable
from typing import Any, TypedDict

from .. import _engine
from ..errors import InvalidRequest
from .arguments import (
    Extra,
    Names,
    Sizes,
    count,
    flag,
    interval_name,
    names,
    numbers,
    pairs,
    series_type,
    text,
    weight_bound,
)
from .signatures import unknown
from .times import LARGEST_NANOSECONDS, SECOND, Duration, Interval, Time, to_duration, to_unix

__all__ = [
    "PARAMETERS",
    "TYPED_ARGUMENTS",
    "CandleArguments",
    "FundingArguments",
    "LiquidationMapArguments",
    "MarketProfileArguments",
    "OptionArguments",
    "OrderBookArguments",
    "QueryArguments",
    "SummedArguments",
    "TokenArguments",
    "build_query",
]


class CommonArguments(TypedDict, total=False):
    """Keyword arguments of every series method; :meth:`marketpoints.Client.points` says what each is."""

    start: Time | None
    end: Time | None
    period: Duration | None
    coin: Names
    sort: str | None
    include_forming: bool
    extra: Extra
    max_weight: int | None


class FundingArguments(CommonArguments, total=False):
    """Of funding rates."""

    group_by: str | None


class SummedArguments(FundingArguments, total=False):
    """For types that add up over exchanges and have a value in USD."""

    usd: bool


class CandleArguments(SummedArguments, total=False):
    """Of candles."""

    gapfill: bool


class OrderBookArguments(SummedArguments, total=False):
    """Of order-book heatmaps."""

    block_size: Sizes
    max_depth: int | None


class LiquidationMapArguments(CommonArguments, total=False):
    """Of liquidation heatmaps."""

    usd: bool
    max_depth: int | None


class MarketProfileArguments(SummedArguments, total=False):
    """Of market profiles."""

    session: str | None
    block_minutes: int | None
    block_size: Sizes


class OptionArguments(CommonArguments, total=False):
    """Of option summaries."""

    tenor: str | None


class TokenArguments(CommonArguments, total=False):
    """Of token supplies."""

    token_name: Names


class QueryArguments(CandleArguments, total=False):
    """Of points of any type."""

    block_size: Sizes
    max_depth: int | None
    session: str | None
    block_minutes: int | None
    tenor: str | None
    token_name: Names


#: The protocol's table: what the values of an argument are (``text``, ``flag``, ``whole``, …), and what it means.
PARAMETERS = {argument: (kind, about) for argument, kind, about in _engine.points_parameters()}

#: Arguments that are not passed to the engine as text, by the engine's name.
TYPED_ARGUMENTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "start": ("start", lambda value: to_unix(value, "start")),
    "end": ("end", lambda value: to_unix(value, "end")),
    "period": ("period", to_duration),
    "coin": ("coins", lambda value: names(value, "coin")),
    "token_name": ("token_names", lambda value: names(value, "token_name")),
    "block_size": ("block_sizes", lambda value: numbers(value, "block_size")),
    "include_forming": ("include_forming", lambda value: flag(value, "include_forming")),
    "extra": ("extra", pairs),
    "max_weight": ("max_weight", weight_bound),
}
# The others are passed as text, by their kind in the table.
_SPELLED: dict[str, Callable[[Any, str], str | None]] = {
    "text": text,
    "flag": lambda value, name: "true" if flag(value, name) else None,
    "whole": lambda value, name: None if value is None else str(count(value, name)),
}


def build_query(
    call: str,
    type: str,  # noqa: A002 - the wire's own name
    exchange: Names,
    symbol: Names,
    interval: Interval | None,
    arguments: QueryArguments,
    *,
    open_window: bool = False,
) -> _engine.Query:
    """A checked query, for one symbol or coin or for several.

    Args:
        call: The method that was called, which errors name.
        type: Data type, by its wire name or by its method's.
        exchange: Exchange, or several.
        symbol: Symbol, or several.
        interval: Its name, or a duration.
        arguments: The others, as they were given.
        open_window: Whether they may leave the window open: an archive knows its own.

    Raises:
        InvalidRequest: An argument or a combination of them is not valid; the message names it.
        TypeError: There is no argument of that name.
    """
    typed: dict[str, Any] = {}
    spelled = [("interval", interval_name(interval))]
    for name, value in arguments.items():
        if name in TYPED_ARGUMENTS:
            engine_name, checked = TYPED_ARGUMENTS[name]
            typed[engine_name] = checked(value)
        elif name in QueryArguments.__annotations__:
            spelled.append((name, _SPELLED[PARAMETERS[name][0]](value, name)))
        else:
            raise unknown(call, name, ["exchange", "symbol", "interval", *QueryArguments.__annotations__])
    if open_window:
        _check_edges(typed)
    return _engine.Query(
        series_type(type),
        names(exchange, "exchange"),
        names(symbol, "symbol"),
        [(name, value) for name, value in spelled if value is not None],
        open_window=open_window,
        **typed,
    )


def _check_edges(typed: dict[str, Any]) -> None:
    """Windows of an archive are limited by nanoseconds; a client's end may be any time, because now limits it."""
    for name in ("start", "end"):
        seconds = typed.get(name)
        if seconds is not None and abs(seconds) > LARGEST_NANOSECONDS // SECOND:
            raise InvalidRequest(
                f"{name}: the window lies beyond the years 1677 to 2262; leave {_engine.spelled_argument(name)} out"
            )
