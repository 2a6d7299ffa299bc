"""Several results in one picture."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..plots.together import Result

__all__ = ["plot"]


def plot(*results: "Result", ax: Any = None, figsize: tuple[float, float] | None = None, volume: bool = True) -> Any:
    """Draws several results on one time axis (UTC): ``mp.plot(candles, liquidations, profile, funding)``.

    Each market has a panel of prices: an order-book or liquidation heatmap with candles over it, or candles, or
    market profiles. Over the prices are liquidations, as bubbles whose area is the
    amount (BUY at the high of their moment, SELL at the low, since the service sends no price; those within a few
    pixels are one bubble of their sum), and a volume profile at the right edge, of the buckets that the axes show.
    The candles' volume is below, then everything else: funding rates, open interest, options and so on, those of one
    unit on one axis. Liquidations without prices are bars; a volume profile without prices is drawn as it is alone.

    Args:
        results: Series, sets of them, or lists of either.
        ax: The matplotlib axes to draw on, which are divided; None makes a figure.
        figsize: Width and height in inches of a new figure; None is as high as what it shows needs.
        volume: Whether candles have their volume below.

    Returns:
        The axes of the first panel.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        InvalidRequest: There is nothing to draw, or an argument is no result.
        SelectionError: A result has no time axis, such as a leaderboard; or there is more than fits into one figure.
    """
    from .. import plots

    return plots.together(results, ax=ax, figsize=figsize, volume=volume)
