"""Bounds on the numbers in pictures: larger ones are refused before anything is drawn."""

from collections.abc import Iterable
from typing import Any

from ..common.protocols import Drawable
from ..errors import SelectionError
from .candles import TRADED, is_candles
from .labels import known_of

__all__ = ["LARGEST", "check", "check_all"]

#: Pixels are float32, and sums of many levels go into one; matplotlib adds room around what it shows.
LARGEST = 1e30


def check_all(every: Iterable[Drawable]) -> None:
    """:func:`check` for each series.

    Raises:
        SelectionError: As there, with the time of the row.
    """
    for shown in every:
        for name, values, row_of in _drawn(shown):
            if (at := _beyond(values)) is not None:
                raise _too_large(f"{known_of(shown)}: {name}", values, at, _when(shown, row_of(at)))


def check(what: str, values: Any, where: Any = None) -> None:
    """Numbers that a picture is to show; ``where`` names the place of one by its index.

    Raises:
        SelectionError: One is larger than any picture holds.
    """
    if (at := _beyond(values)) is not None:
        raise _too_large(what, values, at, "" if where is None else where(at))


def _beyond(values: Any) -> int | None:
    """The index of the first number out of bounds."""
    import numpy as np

    numbers = np.asarray(values, dtype=np.float64).reshape(-1)
    # No square is larger than the sum of all: read once, and without a copy.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.dot(numbers, numbers) <= LARGEST**2:
            return None
    # NaN is neither.
    if not (np.nanmax(numbers, initial=0) > LARGEST or np.nanmin(numbers, initial=0) < -LARGEST):
        return None
    return int(np.flatnonzero(np.abs(numbers) > LARGEST)[0])


def _too_large(what: str, values: Any, at: int, place: str) -> SelectionError:
    import numpy as np

    return SelectionError(
        f"{what} is {np.asarray(values, dtype=np.float64).flat[at]:.6g}{place}, and pictures hold numbers up to "
        f"{LARGEST:.0e}; draw the rows without it, such as series[:10]"
    )


def _drawn(shown: Drawable) -> Iterable[tuple[str, Any, Any]]:
    """The numbers of a result that pictures show: name, values, and the row of a value."""
    import numpy as np

    names = TRADED if is_candles(shown) else shown.columns
    for name in names:
        if name not in shown:
            continue
        values = shown[name]
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "fiu":
            yield name, values, int
    offsets, levels = getattr(shown, "offsets", None), getattr(shown, "levels", None)
    # The fields of levels that lie side by side are looked at together.
    if offsets is None or (isinstance(levels, np.ndarray) and _beyond(levels) is None):
        return
    for field in ("prices", "volumes", "buys", "sells"):
        values = getattr(shown, field, None)
        if isinstance(values, np.ndarray):
            yield field.removesuffix("s"), values, lambda at: int(np.searchsorted(offsets, at, side="right")) - 1


def _when(shown: Drawable, row: int) -> str:
    return f" at {str(shown.timestamps[row])[:19].replace('T', ' ')} UTC"
