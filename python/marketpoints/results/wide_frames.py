"""Several series side by side: a row for each time, and a column for each value of each series."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .. import _engine
from ..common.arguments import METHODS
from ..common.intervals import BY_NAME
from ..common.protocols import ColumnSource, Label
from ..errors import SelectionError
from ..identity import distinguishing, of_sum
from .arrow_tables import Flat, unit_of
from .ragged import Nested, Ragged

__all__ = ["names", "side_by_side", "taken", "values"]

# What distinguishes columns of the same name, in its order in the name.
PARTS = ("raw_symbol", "coin", "exchange", "side", "tenor", "type", "interval", "unit")


def side_by_side(every: Sequence[ColumnSource], label: Label) -> Flat:
    """A row for each time that any of the series has, and the columns; NaN (NaT, None) where one has none.

    Raises:
        SelectionError: A series has several values a row, as price levels are, or several rows a time.
    """
    import numpy as np

    stamps = [np.ascontiguousarray(one._stamps(label)).view("int64") for one in every]
    times = np.unique(np.concatenate([*stamps, np.array([], dtype=np.int64)]))
    plain = [values(one) for one in every]
    named = names(every, plain, apart=range(len(every)))
    columns: dict[str, Any] = {}
    for one, known, own, held in zip(every, stamps, named, plain, strict=True):
        if len(held) < len(one.columns) or (len(known) > 1 and not (np.diff(known) > 0).all()):
            raise SelectionError(f"{one.id}: it has several values a time, so no row of its own; leave pivot= out")
        places = np.full(len(times), -1, dtype=np.int64)
        places[np.searchsorted(times, known)] = np.arange(len(known))
        columns |= zip(own, (taken(column, places) for column in held.values()), strict=True)
    return times.view("datetime64[ns]"), columns


def values(one: ColumnSource) -> dict[str, Any]:
    """The columns that have one value a row; none if the rows are price levels alone."""
    columns = {name: one[name] for name in one.columns}
    plain = {
        name: column
        for name, column in columns.items()
        if not isinstance(column, (Ragged, Nested)) and column.shape == (len(one),)
    }
    return {} if set(columns) - set(plain) == {"levels"} and set(plain) <= {"split"} else plain


def names(
    every: Sequence[ColumnSource], plain: Sequence[Iterable[str]], *, apart: Collection[int] = ()
) -> list[list[str]]:
    """Column names of each series in a frame; names that several series share get a suffix of what differs.

    Args:
        every: The series.
        plain: Its own names of its columns, such as the :func:`values`.
        apart: Places of series that get a suffix even if they are the first with a name; any other keeps the
            plain name there.
    """
    having: dict[str, list[int]] = {}
    for place, own in enumerate(plain):
        for name in own:
            having.setdefault(name, []).append(place)
    taken = {"time", "known_at", *having}
    known = [_parts(one) for one in every]
    # Once for all columns that the same series have: comparing each with all would be quadratic.
    labels = {places: _labels([known[one] for one in places]) for places in set(map(tuple, having.values()))}
    label = {name: dict(zip(places, labels[tuple(places)], strict=True)) for name, places in having.items()}
    numbers: dict[str, int] = {}
    spelled = []
    for place, own in enumerate(plain):
        words = []
        for name in own:
            word = name
            if place != having[name][0] or (place in apart and len(having[name]) > 1):
                word = labelled = f"{name}_{label[name][place]}".rstrip("_")
                while word in taken:
                    numbers[labelled] = numbers.get(labelled, 1) + 1
                    word = f"{labelled}_{numbers[labelled]}"
            taken.add(word)
            words.append(word)
        spelled.append(words)
    return spelled


def _labels(known: Sequence[Mapping[str, str | None]]) -> list[str]:
    """Labels that distinguish series: one field if that is enough and all have it, else all that are needed."""
    alone = (part for part in PARTS if len({one[part] for one in known} - {None}) == len(known))
    first = next(alone, None)
    parts = distinguishing(known, PARTS) if first is None else [first]
    words = ([one[part] for part in parts] for one in known)
    return ["_".join(word for word in one if word) for one in words]


def _parts(one: ColumnSource) -> dict[str, str | None]:
    """What may distinguish a series, as users write it: ``1h``, ``open_interest``."""
    identity = of_sum(one.id, one.asked_for, "_")
    known: dict[str, str | None] = {part: getattr(identity, part) for part in PARTS if part != "unit"}
    interval, wire = identity.interval, identity.type
    known["interval"] = BY_NAME[interval].short if interval in BY_NAME else interval
    known["type"] = next((method for method, other in METHODS.items() if other == wire), wire)
    known["unit"] = unit_of(one)
    return known


def is_number(values: Any) -> bool:
    """Whether values are numbers or bools: a missing one becomes NaN."""
    return values.dtype.kind in "fiub"


def taken(values: Any, places: Any) -> Any:
    """The values at these places; NaN, NaT or None where a place is -1."""
    import numpy as np

    if is_number(values):
        return _engine.gather(np.ascontiguousarray(values, dtype=np.float64), places)
    absent = places < 0
    if not len(values):
        return np.full(len(places), None if values.dtype.kind == "O" else np.datetime64("NaT", "ns"))
    taken = values[np.where(absent, 0, places)]
    taken[absent] = None if values.dtype.kind == "O" else np.datetime64("NaT", "ns")
    return taken
