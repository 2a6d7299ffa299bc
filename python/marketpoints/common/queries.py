"""The arguments of a query for points, written once: series methods, archive, plans and commands take these."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, TypeAlias, TypedDict

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
    number,
    numbers,
    pairs,
    series_type,
    text,
    weight_bound,
)
from .signatures import unknown
from .times import LARGEST_NANOSECONDS, SECOND_NS, Duration, Interval, Time, to_duration, to_unix

__all__ = [
    "PAIRED",
    "PARAMETERS",
    "TYPED_ARGUMENTS",
    "CandleArguments",
    "FundingArguments",
    "LiquidationMapArguments",
    "MarketProfileArguments",
    "OptionArguments",
    "OrderBookArguments",
    "PointsCall",
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
    """Keyword arguments of ``funding_rate``."""

    group_by: str | None


class SummedArguments(FundingArguments, total=False):
    """Keyword arguments of types that add up over exchanges and have a value in USD."""

    usd: bool


class CandleArguments(SummedArguments, total=False):
    """Keyword arguments of ``candles`` and ``side_candles``."""

    gapfill: bool


class OrderBookArguments(SummedArguments, total=False):
    """Keyword arguments of ``orderbook_heatmap``."""

    block_size: Sizes
    max_depth: int | None


class LiquidationMapArguments(SummedArguments, total=False):
    """Keyword arguments of ``liquidation_heatmap``."""

    max_depth: int | None


class MarketProfileArguments(SummedArguments, total=False):
    """Keyword arguments of ``tpo``."""

    session: str | None
    block_minutes: int | None
    block_size: Sizes


class OptionArguments(CommonArguments, total=False):
    """Keyword arguments of ``skew`` and ``implied_volatility``."""

    tenor: str | None


class TokenArguments(CommonArguments, total=False):
    """Keyword arguments of ``token_supply``."""

    token_name: Names


class QueryArguments(CandleArguments, total=False):
    """Keyword arguments of ``points``: those of every type."""

    block_size: Sizes
    max_depth: int | None
    session: str | None
    block_minutes: int | None
    tenor: str | None
    token_name: Names


#: The protocol's table: what an argument takes (``text``, ``texts``, ``flag``, ``whole``, …), and what it means.
#: A call for points: data type, exchange, symbol, interval, and the arguments by name.
PointsCall: TypeAlias = "tuple[str, Names, Names, Interval | None, Mapping[str, object]]"
PARAMETERS = {argument: (kind, about) for argument, kind, about in _engine.points_parameters()}

#: Arguments that may be one for each symbol or coin, by position.
PAIRED = tuple(
    name
    for name, (kind, _) in PARAMETERS.items()
    if kind in ("texts", "numbers") and name not in ("exchange", "symbol", "coin")
)

#: Arguments that the engine takes in kinds of their own.
TYPED_ARGUMENTS: dict[str, Callable[[Any], Any]] = {
    "start": lambda value: to_unix(value, "start"),
    "end": lambda value: to_unix(value, "end"),
    "period": to_duration,
    "include_forming": lambda value: flag(value, "include_forming"),
    "extra": pairs,
    "max_weight": weight_bound,
}


def _one_text(value: object, name: str) -> str | None:
    if isinstance(value, (list, tuple)):
        raise InvalidRequest(f"{name}: a call takes one; join the answers of several calls by +, such as one + other")
    return text(value, name)


# The others go to it as texts, by what the table says that they take.
_SPELLINGS: dict[str, Callable[[Any, str], Iterable[str]]] = {
    "text": lambda value, name: [] if _one_text(value, name) is None else [value],
    "texts": names,
    "flag": lambda value, name: ["true"] if flag(value, name) else [],
    "whole": lambda value, name: [] if value is None else [str(count(value, name))],
    "number": lambda value, name: [] if value is None else [repr(number(value, name))],
    "numbers": lambda value, name: map(repr, numbers(value, name)),
}
_PLACES = ("interval", "exchange", "symbol")
_SPELLED_ARGUMENTS = {
    name: _SPELLINGS[PARAMETERS[name][0]]
    for name in (*QueryArguments.__annotations__, *_PLACES)
    if name not in TYPED_ARGUMENTS
}


def build_query(
    call: str,
    type: str,  # noqa: A002 - the wire's own name
    exchange: Names,
    symbol: Names,
    interval: Interval | None,
    arguments: Mapping[str, object],
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
    if not open_window:  # most calls are plain, and need no further look
        plain = _engine.Query.of_plain(type, exchange, symbol, interval, arguments)
        if plain is not None:
            return plain
    typed: dict[str, Any] = {}
    spelled: list[tuple[str, str]] = []
    places = zip(_PLACES, (interval_name(interval), exchange, symbol), strict=True)
    for name, value in chain(arguments.items(), places):
        if name in TYPED_ARGUMENTS:
            typed[name] = TYPED_ARGUMENTS[name](value)
        elif name in _SPELLED_ARGUMENTS:
            for one in _SPELLED_ARGUMENTS[name](value, name):
                spelled.append((name, one))
        else:
            raise unknown(call, name, [*_PLACES, *QueryArguments.__annotations__])
    if open_window:
        _check_edges(typed)
    return _engine.Query(series_type(type), spelled, open_window=open_window, **typed)


def _check_edges(typed: dict[str, Any]) -> None:
    """Windows of an archive are limited by nanoseconds; a client's end may be any time, because now limits it."""
    for name in ("start", "end"):
        seconds = typed.get(name)
        if seconds is not None and abs(seconds) > LARGEST_NANOSECONDS // SECOND_NS:
            raise InvalidRequest(
                f"{name}: the window lies beyond the years 1677 to 2262; leave {_engine.spelled_argument(name)} out"
            )
