"""Universes of many markets: types × markets × intervals × window, as a file or in Python."""

import inspect
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from .. import _engine
from ..client.discovery import DiscoveryMethods
from ..common.arguments import folder, interval_name, names, path_text, series_type, text
from ..common.display import safe_repr
from ..common.files import other_than_file
from ..common.intervals import BY_LENGTH, BY_NAME
from ..common.queries import PAIRED, QueryArguments
from ..common.secrets import redacted
from ..common.suggest import did_you_mean
from ..common.times import to_duration, to_unix
from ..errors import InvalidRequest
from ..records.pieces import SyncArguments

__all__ = ["Block", "Universe", "universe_of"]

#: Arguments of a query that do not change what is archived, or belong to the run.
NOT_HERE = {"coin", "sort", "include_forming", "max_weight"}
#: Arguments that every series of a block has unchanged.
SHARED = tuple(name for name in QueryArguments.__annotations__ if name not in NOT_HERE)
#: Lists that are combined with one another.
CROSSED = ("type", "exchange", "symbol", "coin", "interval")
KEYS = (*CROSSED, "markets", *SHARED)
#: Keys at the top of a universe.
TOP = ("archive", "archive_source", "series")
#: The filters of :meth:`Client.markets`.
FILTERS = tuple(
    one.name
    for one in inspect.signature(DiscoveryMethods.markets).parameters.values()
    if one.kind is inspect.Parameter.KEYWORD_ONLY
)


#: Exchanges, symbol, coin and other arguments of a series.
Subject: TypeAlias = tuple[tuple[str, ...], str | None, str | None, Mapping[str, Any]]


@dataclass(frozen=True)
class Block:
    """Lists that are combined with one another, and what all their series share.

    Attributes:
        where: The key's path, for errors: ``series[0]``, or empty for a universe of one block.
        types: Data types by wire name.
        intervals: Names of intervals.
        markets: Filters that pick the markets; None where they are named.
        exchanges: Exchanges.
        symbols: Symbols, or none.
        coins: Coins, or none.
        arguments: The other arguments of each series.
    """

    where: str
    types: tuple[str, ...]
    intervals: tuple[str, ...]
    markets: Mapping[str, Any] | None
    exchanges: tuple[str, ...]
    symbols: tuple[str, ...]
    coins: tuple[str, ...]
    arguments: Mapping[str, Any]

    def wanted(self, listed: Sequence[tuple[str, str]]) -> Iterator[SyncArguments]:
        """Every series; ``listed`` are exchange and symbol of the markets that the filters picked."""
        picked = (((exchange,), symbol, None, self.arguments) for exchange, symbol in listed)
        subjects: list[Subject] = list(self._named() if self.markets is None else picked)
        for kind in self.types:
            for interval in self.intervals:
                for exchanges, symbol, coin, arguments in subjects:
                    yield SyncArguments(kind, exchanges, symbol, coin, interval, arguments)

    def _named(self) -> Iterator[Subject]:
        """Exchanges, symbol, coin and arguments of each market that is named.

        As in one call: a symbol is one exchange's, a coin is asked of all of them at once (section 4.1), and lists of
        both pair by position.
        """
        count = max(len(self.symbols), len(self.coins), 1)
        apart = self.symbols and len(self.exchanges) > 1 and self.arguments.get("group_by") is None
        for exchanges in [(one,) for one in self.exchanges] if apart else [self.exchanges]:
            for place in range(count):
                own = {name: value[place] for name in PAIRED if len(value := _several(self.arguments.get(name))) > 1}
                yield exchanges, _at(self.symbols, place), _at(self.coins, place), {**self.arguments, **own}


class Universe:
    """Many series as one: blocks of types × markets × intervals × window.

    A block takes the arguments of :meth:`Archive.sync`, where ``type``, ``exchange``, ``symbol``, ``coin`` and
    ``interval`` may be lists, which are crossed with one another. In the place of ``exchange``, ``symbol`` and ``coin``
    may stand ``markets``: a mapping of the filters of :meth:`Client.markets`, which pick them when a plan is made.
    """

    __slots__ = ("_archive", "_archive_source", "_blocks", "_name")

    def __init__(
        self,
        series: "Mapping[str, Any] | Sequence[Mapping[str, Any]] | None" = None,
        *,
        archive: str | os.PathLike[str] | None = None,
        archive_source: str | None = None,
        **common: Any,
    ) -> None:
        """A universe from mappings, from arguments, or from both.

        Args:
            series: Blocks, or one mapping as a file has it: what all blocks share, and the blocks as ``series``. None
                is one block, of the other arguments.
            archive: Where ``marketpoints sync`` archives it, unless ``--archive`` says otherwise.
            archive_source: Name under which the archive of ``marketpoints sync`` knows the service, unless
                ``--archive-source`` says otherwise; in Python it is the client's setting.
            common: What every block has that does not say otherwise: the keys of a block.

        Raises:
            InvalidRequest: A key is unknown or missing, or a value is not valid; the message begins with the key's
                path, such as ``series[1].interval``.
        """
        if series is None or not isinstance(series, Mapping):
            whole: dict[str, Any] = dict(common) if series is None else {**common, "series": series}
        else:
            whole = {**common, **series}
        if archive is not None:
            whole["archive"] = archive
        if archive_source is not None:
            whole["archive_source"] = archive_source
        self._set(whole, "")

    def _set(self, whole: Mapping[str, Any], name: str) -> None:
        self._name = name
        _known(whole, (*TOP, *KEYS), "")
        place = whole.get("archive")
        self._archive = None if place is None else folder(place)
        self._archive_source = text(whole.get("archive_source"), "archive_source")
        shared = {key: value for key, value in whole.items() if key not in TOP}
        blocks = whole.get("series")
        if blocks is None:
            self._blocks: tuple[Block, ...] = (_block(shared, _KeyPaths("", shared, shared)),)
            return
        if isinstance(blocks, (str, bytes, Mapping)) or not isinstance(blocks, Sequence):
            raise InvalidRequest(f"series: {redacted(blocks)} is no list of blocks; in a file write [[series]]")
        if not blocks:
            raise InvalidRequest("series: the list is empty; give at least one block, or leave it out")
        made = []
        for number, block in enumerate(blocks):
            where = f"series[{number}]"
            if not isinstance(block, Mapping):
                raise InvalidRequest(f"{where}: {redacted(block)} is no mapping of arguments")
            _known(block, KEYS, where)
            made.append(_block({**shared, **block}, _KeyPaths(where, block, shared)))
        self._blocks = tuple(made)

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> "Universe":
        """Reads a universe from a TOML file: keys at the top hold for every ``[[series]]`` that does not say otherwise.

        A relative ``archive`` lies beside the file.

        Raises:
            InvalidRequest: The file cannot be read or is no TOML, or as the class; the message begins with the file.
        """
        file = path_text(path, "universe")
        made = cls.__new__(cls)
        try:
            whole = _read(file)
            place = whole.get("archive")
            if isinstance(place, str) and "://" not in place:
                whole["archive"] = str(Path(file).parent / place)
            made._set(whole, file)
        except InvalidRequest as problem:
            raise InvalidRequest(f"{file}: {problem}") from None
        return made

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks, checked."""
        return self._blocks

    @property
    def archive(self) -> str | None:
        """Where ``marketpoints sync`` keeps it; None where it does not say."""
        return self._archive

    @property
    def archive_source(self) -> str | None:
        """Name under which its archive knows the service; None where it does not say."""
        return self._archive_source

    def named(self, where: str, problem: object) -> InvalidRequest:
        """An error about a block, with the file and the key's path."""
        return InvalidRequest(": ".join(str(part) for part in (self._name, where, problem) if part))

    @safe_repr
    def __repr__(self) -> str:
        kinds = {kind for block in self._blocks for kind in block.types}
        return f"<Universe {len(self._blocks)} blocks, {len(kinds)} types>"


def universe_of(given: Any) -> Universe:
    """A universe as calls take it: itself, its mappings, or the path of its file.

    Raises:
        InvalidRequest: It is none of them, or as :class:`Universe`.
    """
    if isinstance(given, Universe):
        return given
    if isinstance(given, (str, os.PathLike)):
        return Universe.from_toml(given)
    if isinstance(given, (Mapping, Sequence)):
        return Universe(given)
    raise InvalidRequest(f"universe: {redacted(given)} is neither a Universe nor mappings nor the path of a TOML file")


def _read(file: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        if kind := other_than_file(Path(file).stat()):  # some never end
            raise InvalidRequest(f"is {kind}, not a file")
        with Path(file).open("rb") as opened:
            return tomllib.load(opened)
    except OSError as problem:
        raise InvalidRequest(f"cannot be read: {problem.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise InvalidRequest(f"is no TOML: {problem}") from None
    except RecursionError:
        raise InvalidRequest("is no universe: its lists or tables are nested too deeply") from None


def _known(given: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in given:
        if key not in known:
            if key in ("max_weight", "progress", "dry_run"):
                raise InvalidRequest(f"{_path(where, key)}: a universe has none; give it to archive.sync_all")
            near = _engine.closest(str(key), list(known))
            hint = did_you_mean(near) or f"; those are {', '.join(known)}"
            raise InvalidRequest(f"{_path(where, key)}: there is no such key{hint}")


class _KeyPaths:
    """Where a block's keys stand: in the block itself, or at the top for all of them."""

    def __init__(self, where: str, own: Mapping[str, Any], shared: Mapping[str, Any]) -> None:
        self.where, self._own, self._shared = where, own, shared

    def of(self, key: str) -> str:
        """The path of a key; one that is missing should be in the block."""
        return _path("" if key in self._shared and key not in self._own else self.where, key)


def _path(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)


def _block(given: Mapping[str, Any], paths: _KeyPaths) -> Block:
    """A block from its keys."""

    def each(key: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names(given.get(key), paths.of(key))))

    for key in ("type", "interval"):
        if given.get(key) is None:
            raise InvalidRequest(f"{paths.of(key)}: it is missing; name one or several")
        if isinstance(given[key], (list, tuple)) and not given[key]:
            raise InvalidRequest(f"{paths.of(key)}: the list is empty; name one or several")
    filters = given.get("markets")
    if filters is not None:
        filters = _filters(filters, given, paths)
    elif not any(given.get(key) is not None for key in ("symbol", "coin", "extra")):
        what = f"{paths.where}: it names no market" if paths.where else "the universe names no market"
        raise InvalidRequest(f"{what}; give exchange= with symbol=, or coin=, or markets= with filters")
    shared = {key: given[key] for key in SHARED if given.get(key) is not None}
    _check_window(shared, paths)
    symbols, coins = each("symbol"), each("coin")
    _check_pairs(symbols, coins, shared, paths)
    return Block(
        paths.where,
        tuple(dict.fromkeys(_type(one, paths.of("type")) for one in each("type"))),
        tuple(dict.fromkeys(_interval(one, paths.of("interval")) for one in _several(given["interval"]))),
        filters,
        each("exchange"),
        symbols,
        coins,
        shared,
    )


def _type(name: str, where: str) -> str:
    try:
        return series_type(name)
    except InvalidRequest as problem:
        raise InvalidRequest(f"{where}: {problem}") from None


def _interval(given: Any, where: str) -> str:
    """The short name of an interval."""
    name = interval_name(given, where)
    if name in BY_NAME:
        return BY_NAME[name].short
    every = ", ".join(row.short for row in BY_LENGTH.values())
    near = _engine.closest(str(name), list(BY_NAME))
    raise InvalidRequest(f"{where}: {name!r} is no interval; those are {every}{did_you_mean(near)}")


def _filters(filters: Any, given: Mapping[str, Any], paths: _KeyPaths) -> Mapping[str, Any]:
    path = paths.of("markets")
    if not isinstance(filters, Mapping):
        raise InvalidRequest(f"{path}: {redacted(filters)} is no mapping of filters, such as exchange and category")
    for key in ("exchange", "symbol", "coin"):
        if given.get(key) is not None:
            raise InvalidRequest(f"{paths.of(key)}: {path} picks the markets; put {key} into it, or leave one out")
    _known(filters, FILTERS, path)
    return filters


def _check_window(shared: Mapping[str, Any], paths: _KeyPaths) -> None:
    ends = {key: to_unix(shared.get(key), paths.of(key)) for key in ("start", "end")}
    period = to_duration(shared.get("period"), paths.of("period"))
    if ends["start"] is None and period is None:
        raise InvalidRequest(f"{paths.of('start')}: it is missing; say where the window starts, or give period=")
    if None not in (ends["start"], ends["end"], period):
        raise InvalidRequest(f"{paths.of('period')}: start and end say it already; leave one of the three out")
    if ends["start"] is not None and ends["end"] is not None and ends["start"] >= ends["end"]:
        raise InvalidRequest(f"{paths.of('end')}: the window ends where it starts, or before")


def _check_pairs(symbols: tuple[str, ...], coins: tuple[str, ...], shared: Mapping[str, Any], paths: _KeyPaths) -> None:
    count = max(len(symbols), len(coins), 1)
    if symbols and len(coins) > 1 and len(symbols) not in (1, len(coins)):
        raise InvalidRequest(
            f"{paths.of('coin')}: {len(coins)} for {len(symbols)} symbols; one for each, or one for all"
        )
    for key in PAIRED:
        several = len(_several(shared.get(key)))
        if several > 1 and several != count:
            raise InvalidRequest(f"{paths.of(key)}: {several} for {count} markets; give one for each, or one for all")


def _several(value: Any) -> Sequence[Any]:
    """A value as a list: itself where it is one."""
    if value is None:
        return ()
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _at(listed: tuple[str, ...], place: int) -> str | None:
    if not listed:
        return None
    return listed[0] if len(listed) == 1 else listed[place]
