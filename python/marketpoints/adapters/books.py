"""Order-book heatmaps as the two sides of a book, from the best price outwards."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..common.arguments import number
from ..errors import InvalidRequest, SelectionError
from ..results.heatmap import Heatmap
from ..results.sets import SeriesSet, as_set

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["BookSides", "sides", "smallest_step"]


@dataclass(frozen=True)
class BookSides:
    """The levels of snapshots, snapshot after snapshot; in each the bids, then the asks, and of both the best first."""

    times: "npt.NDArray[np.int64]"
    """When each snapshot was known, nanoseconds: (snapshots,)."""
    rows: "npt.NDArray[np.int64]"
    """The snapshot of each level: (levels,)."""
    is_ask: "npt.NDArray[np.bool_]"
    """Whether a level is an ask: (levels,)."""
    prices: "npt.NDArray[np.float64]"
    """Lower edge of a bid's block, upper edge of an ask's: (levels,)."""
    volumes: "npt.NDArray[np.float64]"
    """Coins: (levels,); none is 0."""

    def selected(self, levels: "npt.NDArray[np.bool_]") -> "BookSides":
        """The same snapshots with some of their levels."""
        return BookSides(self.times, self.rows[levels], self.is_ask[levels], self.prices[levels], self.volumes[levels])


def sides(book: Heatmap | SeriesSet, block_size: float | None) -> BookSides:
    """The closed snapshots of an order-book heatmap.

    A level stands for all orders in ``[price, price + block_size)``. A trade must not get a better price than
    there was: bids count from the lower edge of their block and asks from the upper one. So the sides never cross,
    though the best bid and the best ask often lie in one block.

    Args:
        book: One order-book heatmap.
        block_size: Height of a block; None takes the smallest distance of two levels, 0 leaves asks at the lower edge.

    Raises:
        SelectionError: It is no order book, a set of none or several, its sides are not known, or its volumes are USD.
        InvalidRequest: The size of a block is not valid, or cannot be derived from the levels.
    """
    import numpy as np

    series = as_set(book, "book").only
    if not isinstance(series, Heatmap):
        raise SelectionError(f"{series.id}: this is no order book; take client.orderbook_heatmap(…)")
    if (series.split < 0).any():
        raise SelectionError(f"{series.id}: bids and asks are not distinguished, so it is no order book")
    if series.usd:
        raise SelectionError(f"{series.id}: volumes are in USD, an order book has coins; ask without usd=True")
    closed = series.is_closed
    counts = np.diff(series.offsets)
    rows = np.repeat(np.arange(len(series)), counts)
    rank = np.arange(len(rows)) - np.repeat(series.offsets[:-1], counts)
    bids = np.repeat(series.split, counts)
    is_ask = rank >= bids
    prices = series.prices + np.where(is_ask, _block(series, rows, block_size), 0.0)
    # Levels ascend: of bids the last is the best.
    order = np.lexsort((np.where(is_ask, rank, -rank), is_ask, rows))
    order = order[(closed[rows] & (series.volumes > 0))[order]]
    numbers = np.cumsum(closed) - 1
    return BookSides(
        series.closes_at[closed].astype("int64"),
        numbers[rows[order]],
        is_ask[order],
        prices[order],
        series.volumes[order],
    )


def _block(series: Heatmap, rows: Any, given: float | None) -> float:
    size = number(given, "block_size")
    if size is None:
        return smallest_step(series.prices, rows, "block_size")
    if not 0 <= size < float("inf"):
        raise InvalidRequest(f"block_size: {given!r} is no height of a block")
    return size


def smallest_step(prices: "npt.NDArray[np.float64]", rows: "npt.NDArray[np.int64]", name: str) -> float:
    """The smallest distance of two levels of one row; 0 where there are no levels.

    Raises:
        InvalidRequest: No row has two levels.
    """
    import numpy as np

    steps = np.diff(prices)[rows[1:] == rows[:-1]]
    # The best bid and the best ask may lie in one block, and prices are rounded.
    steps = steps[steps > 1e-9 * np.abs(prices).max(initial=1.0)]
    if not len(steps) and len(rows):
        raise InvalidRequest(
            f"{name}: no bucket has two levels to derive the height of a level from; ask for more levels"
        )
    return float(np.round(steps.min(), 12)) if len(steps) else 0.0
