"""Heatmaps: order books and liquidations, a snapshot a row (section 2.3)."""

from typing import TYPE_CHECKING, Any, Literal

from .. import _engine
from ..common.protocols import Label
from ..common.texts import sendable
from ..common.times import Time
from ..errors import InvalidRequest
from .levels import Levels

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Heatmap"]


class Heatmap(Levels):
    """Price levels per snapshot: :attr:`levels` holds price and volume, float64 (levels, 2).

    Nested and flat answers give equal heatmaps.
    """

    LIST = "levels"
    FIELDS = ("prices", "volumes")

    @property
    def volumes(self) -> "npt.NDArray[np.float64]":
        """The second column of :attr:`levels`, a view."""
        return self.levels[:, 1]

    @property
    def split(self) -> "npt.NDArray[np.int64]":
        """Number of bids of each snapshot: int64 (snapshots,); -1 where the wire does not say. Read-only."""
        return self._columns["split"]

    def flat(self, label: Label = "left") -> tuple[Any, dict[str, Any]]:
        """A row for each level: ``price``, ``volume`` and ``side``, an int8 code: 0 bid, 1 ask, -1 neither."""
        import numpy as np

        counts = np.diff(self.offsets)
        rank = np.arange(len(self.levels)) - np.repeat(self.offsets[:-1], counts)
        bids = np.repeat(self.split, counts)
        side = np.where(bids < 0, -1, rank >= bids).astype(np.int8)
        return self._times(label), {"price": self.prices, "volume": self.volumes, "side": side}

    def to_grid(
        self, step: float | None = None
    ) -> "tuple[npt.NDArray[np.datetime64], npt.NDArray[np.float64], npt.NDArray[np.float64]]":
        """The heatmap as a dense matrix.

        Args:
            step: Height of a price block; None takes the smallest distance between two levels.

        Returns:
            Times datetime64[ns] (T,), lower edges of the price blocks float64 (P,), volumes float64 (T, P).

        Raises:
            InvalidRequest: The step is no price step, or the matrix would not fit into memory.
        """
        offsets, values = self._columns.list("levels")
        try:
            prices, volumes = _engine.to_grid(offsets // 2, values.reshape(-1, 2), step)
        except InvalidRequest:
            raise
        except (TypeError, ValueError) as problem:
            raise InvalidRequest(f"step: {problem}") from None
        return self.timestamps, prices, volumes

    def raster(
        self,
        width: int,
        height: int,
        window: tuple[Time, Time] | None = None,
        prices: tuple[float, float] | None = None,
        reduce: str = "max",
        *,
        side: str = "both",
        step: float | None = None,
    ) -> "npt.NDArray[np.float32]":
        """The heatmap as a picture, drawn from the levels without a dense matrix.

        A level covers the time of its snapshot's bucket and the prices from its own to the next block's. Along each
        axis it takes the pixels whose centre it covers, or, if it is too small for that, the one around its middle.
        So no level is lost, and levels larger than a pixel are exact rectangles.

        Args:
            width: Pixels from left to right.
            height: Pixels from bottom to top.
            window: Start and end of the time shown; None is from the first snapshot's start to the last one's end.
            prices: Lowest and highest price shown; None is all of them.
            reduce: What a pixel shows of several levels. ``"max"``: the largest, so that walls survive. ``"sum"``: the
                volume in the pixel, each level's spread evenly over what it covers: all pixels together have the
                volume of what is shown, at each zoom. ``"stack"``: the sum of whole levels, so that one larger than a
                pixel counts in full in each of its pixels. ``"last"``: the largest of the latest snapshot.
            side: ``"both"``, ``"bids"`` or ``"asks"``; snapshots whose :attr:`split` is -1 have no sides.
            step: Height of a price block in which levels are added up first; None takes the levels as they are.

        Returns:
            float32 (height, width); the first row is the lowest prices, as for ``imshow(…, origin="lower")``. NaN
            where there is no snapshot, 0 where a snapshot has no level.

        Raises:
            InvalidRequest: The picture has no pixels or too many (32,768 each way, 67 million in all); window or prices
                lie beside the heatmap or are none; there are no sides; or the step is no height.
        """
        from ..plots.pixels import Pixels, asked_view

        if not isinstance(reduce, str):
            raise InvalidRequest(f"reduce: {reduce!r} is none of 'max', 'sum', 'stack' and 'last'")
        pixels = Pixels.of(self, step, side)
        return pixels.raster(*asked_view(pixels, width, height, window, prices), sendable(reduce, "reduce"))

    def plot(
        self,
        *,
        ax: Any = None,
        figsize: tuple[float, float] | None = None,
        step: float | None = None,
        prices: tuple[float, float] | None = None,
        norm: Any = "quantile",
        sides: Literal["one", "two"] = "one",
        theme: Literal["dark", "light"] = "dark",
        candles: Any = None,
        liquidations: Any = None,
        **others: Any,
    ) -> Any:
        """Draws volume by time and price in colours, and the mid price; a missing snapshot stays empty.

        Each zoom is drawn again by :meth:`raster`: if several levels share a pixel, an order
        book shows the largest, a liquidation heatmap their sum. The scale of colours is that of the whole heatmap at
        every zoom.

        Args:
            ax: The matplotlib axes to draw on; None makes a figure.
            figsize: Width and height in inches of a new figure; None is as high as what it shows needs.
            step: Height of a price block in which levels are added up; None draws the levels as they are.
            prices: Lowest and highest price shown; None chooses the part around the market.
            norm: ``"quantile"``: about as many volumes of one colour as of another, fewer of those for the largest, so
                that walls differ. ``"log"``, ``"symlog"``, ``"linear"``: by size. Ascending numbers: the edges of
                colours. Or a ``Normalize`` of matplotlib's.
            sides: ``"two"`` paints bids blue and asks orange, where :attr:`split` tells them.
            theme: ``"dark"`` or ``"light"`` paper.
            candles: Candles drawn over it.
            liquidations: Liquidations drawn over it as bubbles whose area is the amount, at the price of their moment.
            others: None; refused as in :meth:`Series.plot`.

        Returns:
            The axes.

        Raises:
            MissingDependencyError: matplotlib is not installed.
            InvalidRequest: The step is not more than 0, or so small that there are more than 10,000 rows; the prices
                are not two numbers of which the first is lower; or there is no such norm, theme or side.
            SelectionError: What is to be drawn over it is something else, of another market, or of another time.
        """
        from .. import plots

        plots.check_choices([self], others)
        return plots.heatmap(
            self,
            ax=ax,
            figsize=figsize,
            step=step,
            prices=prices,
            norm=norm,
            sides=sides,
            theme=theme,
            candles=candles,
            liquidations=liquidations,
        )
