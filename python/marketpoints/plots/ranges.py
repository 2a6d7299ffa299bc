"""Ranges of prices and heights of rows as users give them."""

import math
from typing import Any

from .. import _engine
from ..common.protocols import DrawableLevels
from ..errors import InvalidRequest

__all__ = ["block_height", "finest", "price_range", "row_height"]

#: Rows that one can ask for: memory grows with them.
MOST_ROWS = 10_000


def block_height(shown: DrawableLevels) -> float:
    """The height of a price block: the smallest distance of two levels of a row; where no row has two, of any."""
    gap = _engine.level_extent(shown.offsets, shown.levels)[2]
    return gap if math.isfinite(gap) else distance(shown.levels[:, 0])


def finest(first: Any, prices: Any) -> float:
    """The smallest distance of two prices of the first row; where it has no two, of any."""
    import numpy as np

    gaps = np.diff(first)
    gaps = gaps[gaps > 0]
    return float(gaps.min()) if gaps.size else distance(prices)


def distance(prices: Any) -> float:
    """The smallest distance of two prices, in whichever rows they are; of a single price, a height that shows it."""
    import numpy as np

    if not len(prices):
        return 1.0
    largest = float(np.abs(prices).max())
    apart = np.diff(np.unique(prices))
    apart = apart[apart > 1e-9 * largest]  # less is how sums of doubles differ
    return float(apart.min()) if apart.size else max(1e-4 * largest, 1e-12)


def row_height(step: float | None, low: float, high: float) -> float | None:
    """The height of a row as given.

    Raises:
        InvalidRequest: It is not more than 0, or there would be more rows than any picture shows.
    """
    if step is None:
        return None
    try:
        height = float(step)
    except (TypeError, ValueError):
        raise InvalidRequest(f"step: {step!r} is not a number; give the height of a row in prices") from None
    if not (math.isfinite(height) and height > 0):
        raise InvalidRequest(f"step: {step!r} is no height of a row; give a number of more than 0")
    if (high - low) / height > MOST_ROWS:
        raise InvalidRequest(
            f"step: {step!r} makes {(high - low) / height:,.0f} rows of the prices from {low:,.12g} to {high:,.12g}; "
            f"a picture has up to {MOST_ROWS:,}"
        )
    return height


def price_range(prices: Any) -> tuple[float, float] | None:
    """The lowest and the highest price as given.

    Raises:
        InvalidRequest: They are not two numbers, or the first is not below the second.
    """
    if prices is None:
        return None
    try:
        low, high = map(float, prices)
    except (TypeError, ValueError):
        raise InvalidRequest(f"prices: {prices!r} are not the lowest and the highest price, two numbers") from None
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        hint = f"; prices=({high:.12g}, {low:.12g}) is the other way round" if low > high else ""
        raise InvalidRequest(f"prices: {low:.12g} is not below {high:.12g}{hint}")
    return low, high
