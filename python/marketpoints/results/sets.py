"""The set of series that answers a call (specification, section 2.2)."""

import operator
import time
from collections.abc import Sequence
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NoReturn, SupportsIndex, TypeAlias

from .. import _engine
from ..common.arguments import METHODS, flag, names
from ..common.dialect import Dialect, given_dialect
from ..common.display import SHOWN, card, listing, safe_repr
from ..common.intervals import BY_NAME
from ..common.sequence import ReadOnlySequence
from ..common.suggest import did_you_mean
from ..common.times import Time, to_unix
from ..errors import InvalidRequest, SelectionError
from ..identity import ProvenanceParts, SeriesId, distinguishing
from . import frames
from .cards import series_card, set_card
from .heatmap import Heatmap
from .levels import Profile, Tpo
from .series import Series

if TYPE_CHECKING:
    import os

__all__ = ["IDENTITY", "SeriesSet", "decode_points", "field_of", "wrap"]

#: The fields of an identity that have one value.
IDENTITY = tuple(one.name for one in fields(SeriesId) if one.name != "extra")
#: Fields by the names that they have as arguments.
ALIASES = {"symbol": "raw_symbol"}
#: Values on the wire by the names that calls take.
WIRE_NAMES = {"type": METHODS, "interval": {short: one.wire for short, one in BY_NAME.items()}}
#: The class of a series by the engine's name of its shape.
SHAPES: dict[str, type[Series]] = {"table": Series, "heatmap": Heatmap, "profile": Profile, "tpo": Tpo}


def as_set(given: object, name: str) -> "SeriesSet":
    """A set of series unchanged; a series as a set of one.

    Raises:
        InvalidRequest: It is neither; the message begins with the ``name`` of the argument.
    """
    if isinstance(given, SeriesSet):
        return given
    if isinstance(given, Series):
        return SeriesSet([given])
    raise InvalidRequest(f"{name}: a {type(given).__name__} is no series; give results of the client or an archive")


#: How several series are drawn.
Layout: TypeAlias = Literal["axis", "panels", "term", "smile"]


class SeriesSet(ReadOnlySequence[Series], frames.SeriesFrames, _engine.SeriesSetBase):
    """The series of one answer. A set of exactly one can be used as that one: ``answer["close"]``.

    Select series by identity, never by position: ``answer.sel(side="BUY")``. They are in the order in
    which the service sent them, so ``answer[0]`` of a per-side type is either side. ``one + other`` is a set of the
    series of both.
    """

    @property
    def why_empty(self) -> str | None:
        """Why there may be no rows, in words; None where there are some."""
        for one in self._items:
            if len(one):
                return None
        return self._why_empty or "the answer holds no data"

    @property
    def weight(self) -> int | None:
        """Weight of the call's requests, as :meth:`Client.plan` gives it; 0 if an archive held the answer.

        Failed attempts that were repeated are not counted. None for a body decoded alone and for a part of an answer,
        since no call has just that answer.
        """
        return self._weight

    @property
    def ids(self) -> tuple[SeriesId, ...]:
        """The identity of each series."""
        return tuple(one.id for one in self._items)

    @property
    def only(self) -> Series:
        """The one series.

        Raises:
            SelectionError: There are none or several; the message lists what there is.
        """
        if len(self._items) == 1:
            return self._items[0]
        if not self._items:
            raise SelectionError(f"there is no series: {self.why_empty}")
        ids = listing([str(one) for one in self.ids])
        raise SelectionError(f"there are {len(self._items)} series; pick one with {self._by()}: {ids}")

    def _by(self) -> str:
        """A call that selects one of several series, as far as their identities differ."""
        known = [one.known() for one in self.ids]
        first = known[0]
        names = [name for name in distinguishing(known, IDENTITY) if name in first and name != "side"]
        if len({one.side for one in self.ids}) > 1:
            names.append("side")  # always told: a side says what a series is of
        return f"sel({', '.join(f'{name}={first[name]!r}' for name in names)})" if names else "sel(…)"

    def sel(self, **wanted: str | Sequence[str]) -> "SeriesSet":
        """The series whose identity has the given values, such as ``sel(side="BUY", exchange="BYBIT")``.

        Per-side types have a series for each side, in no fixed order: this is the way to one, not ``answer[0]``.
        ``symbol`` is ``raw_symbol``, as calls name it; types and intervals may have the names that calls take. Of a
        list of values, ``sel(symbol=["BTCUSDT", "ETHUSDT"])``, any will do, and each must be there.

        Raises:
            InvalidRequest: An identity has no such field, or a value is neither a text nor texts.
            SelectionError: No series has these values; the message has the nearest existing ones.
        """
        asked: dict[str, Any] = {field_of(name, "sel"): value for name, value in wanted.items()}
        if len(asked) < len(wanted):
            raise InvalidRequest(f"sel: {', '.join(wanted)} name one field twice; give it once")
        values = {
            name: [WIRE_NAMES.get(name, {}).get(one, one) for one in names("" if value is None else value, name)]
            for name, value in asked.items()
        }
        known = [one.id.known() for one in self._items]
        matching = [place for place, one in enumerate(known) if all(one.get(name) in values[name] for name in values)]
        lacking = [
            (name, one)
            for name in values
            for one in values[name]
            if one not in {known[at].get(name) for at in matching}
        ]
        if not lacking:
            return SeriesSet([self._items[place] for place in matching])
        words = ", ".join(f"{name}={value!r}" for name, value in (lacking if matching else asked.items()))
        meant = ", ".join(f"{name}={near!r}" for name, value in lacking if (near := self._suggestion(name, value)))
        there = listing([str(one) for one in self.ids]) or "nothing"
        raise SelectionError(f"no series has {words}{did_you_mean(meant)}; the answer holds: {there}")

    def _suggestion(self, name: str, value: object) -> str | None:
        """The existing value of an identity's field that was likely meant."""
        there = {str(known[name]) for one in self._items if name in (known := one.id.known())}
        if value in there:
            return None
        return _engine.closest(str(value), sorted(there))

    def _item(self, index: SupportsIndex | slice | str) -> Any:
        """What is neither the position of a series nor a column of the only one, which the engine looks up."""
        if isinstance(index, str):
            return self.only[index]
        if isinstance(index, slice):
            bounds = [bound for bound in (index.start, index.stop) if bound is not None]
            if len(self._items) == 1 and any(abs(operator.index(bound)) > 1 for bound in bounds):
                text = ":".join("" if bound is None else str(bound) for bound in (index.start, index.stop))
                raise SelectionError(f"a set of one series has no rows of its own; those are answer.only[{text}]")
            if self._items and index.start is not None and operator.index(index.start) >= len(self._items):
                words = f"a set of {len(self._items)} series has none from {index.start} on"
                raise SelectionError(f"{words}; rows are those of one, such as answer[0][{index.start}:]")
            return SeriesSet(self._items[index])
        try:
            return self._items[index]
        except IndexError:
            there = "there is 1" if len(self._items) == 1 else f"there are {len(self._items)}"
            words = f"no series at {index}: {there}; rows are those of one, such as answer.only[10:20]"
            raise IndexError(words) from None

    def __add__(self, other: "SeriesSet | Series") -> "SeriesSet":
        """The series of both, in this order; rows are not joined."""
        if isinstance(other, (SeriesSet, Series)):
            more = (other,) if isinstance(other, Series) else other._items
            return SeriesSet(self._items + more, why_empty=self._why_empty)
        return NotImplemented

    def head(self, rows: int = 5) -> "SeriesSet":
        """The first rows of each series, as :meth:`Series.head`."""
        return SeriesSet([one.head(rows) for one in self._items], why_empty=self._why_empty)

    def tail(self, rows: int = 5) -> "SeriesSet":
        """The last rows of each series, as :meth:`Series.tail`."""
        return SeriesSet([one.tail(rows) for one in self._items], why_empty=self._why_empty)

    if TYPE_CHECKING:
        # Those are properties, defined below: with this method Python would take longer to find any attribute.
        def __getattr__(self, name: str) -> Any:
            """Any other attribute of the only series: ``timestamps``, ``levels``, ``asked_at`` and so on."""

    def __dir__(self) -> list[str]:
        names = set(super().__dir__()) - OF_THE_ONLY
        return sorted(names | set(dir(self._items[0])) if len(self._items) == 1 else names)

    @safe_repr
    def __repr__(self) -> str:
        if not self._items:
            why = f"; {self._why_empty}" if self._why_empty else ""
            return f"<SeriesSet: no series{why}>"
        return "\n".join(["<SeriesSet", *(f"  {one!r}" for one in self._items[:SHOWN]), *self._hints(), ">"])

    def _repr_html_(self) -> str:
        paid = {} if self._weight is None else {"weight paid": f"{self._weight:,}"}
        if not self._items:
            return card("SeriesSet", {"series": "none"} | ({"why": self._why_empty} if self._why_empty else {}) | paid)
        if len(self._items) > 1:
            return set_card(self._items, self._hints(), paid)
        return "".join(
            [series_card(self._items[0], paid), *(f"<div>{escape(hint.strip())}</div>" for hint in self._hints())]
        )

    def _hints(self) -> list[str]:
        more = len(self._items) - SHOWN
        hints = [f"  and {more:,} more"] if more > 0 else []
        if len({one.id.side for one in self._items} - {None}) > 1:
            hints.append("  the sides are in no fixed order: pick one with sel(side=…), not by its position")
        if self._why_empty and self.why_empty:
            hints.append(f"  no rows: {self._why_empty}")
        return hints

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SeriesSet) and self._items == other._items

    def __hash__(self) -> int:
        return hash(self._items)

    def _every(self) -> Sequence[Series]:
        return self._items

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        """Refuses a conversion to one array by NumPy or pandas.

        Raises:
            SelectionError: Always; the message says what to do instead.
        """
        frames.refuse_as_array(self)

    def plot(
        self,
        *,
        ax: Any = None,
        figsize: tuple[float, float] | None = None,
        layout: "Layout | None" = None,
        **options: Any,
    ) -> Any:
        """Draws the only series by its own ``plot``, or several series in one figure.

        Both sides of liquidations and of candles share one axis, BUY up and SELL down; values of one unit, such as
        funding rates, are lines on one axis with a legend, and so are the prices of several outcomes; everything else
        has panels below each other that share the time. A set without series gives empty axes that say why.

        Args:
            ax: The matplotlib axes to draw on; they are divided if there are several panels. None makes a figure.
            figsize: Width and height in inches of a new figure; None is as high as what it shows needs.
            layout: ``"panels"``: small multiples, a panel for each series. ``"axis"``: a line for each series on one
                axis, for candles their closes; for several markets or units the change since the start in percent.
                ``"term"``: skew or implied volatility against the tenor at five times. ``"smile"``: volatility against
                delta, from the volatility at the money and the skew of one tenor. None is as above.
            options: As in the series' own ``plot``, such as ``volume`` or ``step``.

        Returns:
            The axes of the first panel.

        Raises:
            MissingDependencyError: matplotlib is not installed.
            InvalidRequest: There is no such layout, or the axes cannot be divided.
            SelectionError: The series do not fit into one figure, or there is nothing to draw.
        """
        from .. import plots

        why, every = self.why_empty, self._items
        if len(every) == 1 and layout is None:
            drawn = every[0].plot(ax=ax, figsize=figsize, **options)
        else:
            drawn = plots.several(every, ax=ax, figsize=figsize, layout=layout, why_empty=why or "", options=options)
        return plots.explain(drawn, why) if why and every and self._why_empty else drawn


#: Attributes of a set of one series that are those of the series.
OF_THE_ONLY = {
    name for kind in SHAPES.values() for name in dir(kind) if not (name.startswith("_") or hasattr(SeriesSet, name))
}


def _of_the_only(name: str) -> property:
    return property(lambda one: getattr(one.only, name), doc=f"``{name}`` of the only series.")


for _name in OF_THE_ONLY:
    setattr(SeriesSet, _name, _of_the_only(_name))


def field_of(name: str, call: str) -> str:
    """The field of an identity by its name, or by that of the argument.

    Raises:
        InvalidRequest: There is none; the message begins with the ``call``.
    """
    field = ALIASES.get(name, name)
    if field not in IDENTITY:
        near = did_you_mean(_engine.closest(name, IDENTITY)) or ";"
        raise InvalidRequest(
            f"{call}: {name!r} is not a field of a series' identity{near} those are {', '.join(IDENTITY)}"
        )
    return field


def decode_points(
    body: bytes | bytearray | memoryview,
    *,
    now: Time | None = None,
    dialect: "Dialect | str | os.PathLike[str] | None" = None,
    strict: bool = False,
) -> SeriesSet:
    """Decodes a ``/v1/points`` body that you already have, nested or flat (section 2.2).

    Args:
        body: The body, decompressed.
        now: When it was fetched, for :attr:`Series.is_closed`; None is the wall clock.
        dialect: The names that the service publishes, or the path of their TOML file; None is the specification's.
        strict: Whether a price that is 0 in every row, beside fields that this version does not know, is an error: it
            was probably renamed. Otherwise it is a :class:`~marketpoints.RenamedFieldWarning`.

    Raises:
        DecodeError: The body is malformed; ``.offset`` and ``.path`` say where.
        InvalidRequest: ``body`` is not bytes, or ``now`` is no time.
    """
    whole = body if type(body) is bytes else _bytes_of(body)
    asked_at = time.time() if now is None else to_unix(now, "now")
    speaks = given_dialect(dialect)
    names = None if speaks is None else speaks._checked
    return wrap(_engine.decode_points(whole, names, flag(strict, "strict")), (asked_at, None, None, None, None))


def _bytes_of(body: object) -> bytes:
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body)
    what = f"a {type(body).__name__} is no body"
    raise InvalidRequest(f"body: {what}; give its bytes, such as response.content or text.encode()")


def wrap(columns: Sequence[_engine.Columns], asked: ProvenanceParts, weight: int | None = None) -> SeriesSet:
    """The engine's answer as a set, and the weight that the call cost."""
    series: list[Series] = []
    for one in columns:  # mostly one, for which a comprehension would take as long as making the series
        series.append(SHAPES[one.layout.shape](one, asked))
    return SeriesSet(series, None, weight)  # by position: names take longer
