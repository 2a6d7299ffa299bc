"""Results whose rows hold price levels: their base classes, volume profiles and market profiles (section 2.3)."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .. import _engine
from ..common.protocols import Label
from .ragged import Nested, Ragged, span
from .series import Series

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Levels", "Profile", "Sessions", "Tpo"]


class LevelSeries(Series):
    """A series whose frames have one row for each level."""

    @property
    @abstractmethod
    def offsets(self) -> "npt.NDArray[np.int64]":
        """Where each row starts in the levels: int64 (rows + 1)."""

    def _lines(self) -> int:
        return int(self.offsets[-1])

    def _times(self, label: Label) -> Any:
        import numpy as np

        return np.repeat(self._stamps(label), np.diff(self.offsets))

    def _facts(self) -> dict[str, str]:
        facts = super()._facts()
        facts.pop("columns")
        return facts | {"levels": f"{self._lines():,}"}


class Levels(LevelSeries):
    """Numbers by price: all levels of all rows back to back, and the offset of each row.

    Levels ascend by price within a row.
    """

    #: The engine's column that holds the levels as a flat list.
    LIST: ClassVar[str]
    #: The columns of a level, in their order in memory.
    FIELDS: ClassVar[tuple[str, ...]]

    @property
    def levels(self) -> "npt.NDArray[np.float64]":
        """Every level of every row: float64 (levels, fields), read-only, no copy."""
        return self._columns.list(self.LIST)[1].reshape(-1, len(self.FIELDS))

    @property
    def prices(self) -> "npt.NDArray[np.float64]":
        """The first column of :attr:`levels`, a view."""
        return self.levels[:, 0]

    @property
    def offsets(self) -> "npt.NDArray[np.int64]":
        """Where each row starts in :attr:`levels`: int64 (rows + 1), the last one the number of levels. Read-only."""
        offsets = self._columns.list(self.LIST)[0] // len(self.FIELDS)
        offsets.flags.writeable = False
        return offsets

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names: ``levels``, and those that have a value a row."""
        return ("levels", *(name for name in self._columns.layout.names if name != self.LIST))

    def _column(self, name: str) -> Any:
        """Also ``levels``, ``offsets``, and the columns of a level, such as ``prices``."""
        if name in ("levels", "offsets", *self.FIELDS):
            return getattr(self, name)
        return super()._column(name)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def snapshot(self, index: int) -> "npt.NDArray[np.float64]":
        """The levels of one row: float64 (levels, fields), a view. Negative indices count from the end.

        Raises:
            IndexError: There is no such row.
            TypeError: It is not an integer.
        """
        part, width = span(self._columns.list(self.LIST)[0], index, "snapshot"), len(self.FIELDS)
        return self.levels[part.start // width : part.stop // width]


class Profile(Levels):
    """Traded volume by price and side in each bucket (VOLUME_PROFILE_AGG, supplement 4).

    :attr:`levels` holds price, buy volume and sell volume, float64 (levels, 3); volumes in coin, or in USD with
    ``usd=True``.
    """

    LIST = "profile"
    FIELDS = ("prices", "buys", "sells")

    @property
    def buys(self) -> "npt.NDArray[np.float64]":
        """Buy volume, the second column of :attr:`levels`, a view."""
        return self.levels[:, 1]

    @property
    def sells(self) -> "npt.NDArray[np.float64]":
        """Sell volume, the third column of :attr:`levels`, a view."""
        return self.levels[:, 2]

    def flat(self, label: Label = "left") -> tuple[Any, dict[str, Any]]:
        """A row for each level: ``price``, ``buy_volume`` and ``sell_volume``."""
        return self._times(label), {"price": self.prices, "buy_volume": self.buys, "sell_volume": self.sells}

    def plot(
        self,
        *,
        ax: Any = None,
        figsize: tuple[float, float] | None = None,
        step: float | None = None,
        prices: tuple[float, float] | None = None,
        kind: "Literal['bars', 'cells', 'footprint', 'total'] | None" = None,
        imbalance: float = 3.0,
        **others: Any,
    ) -> Any:
        """Draws volume by price.

        Args:
            ax: The matplotlib axes to draw on; None makes a figure.
            figsize: Width and height in inches of a new figure; None is as high as what it shows needs.
            step: Height of a price block; None chooses one that suits the picture.
            prices: Lowest and highest price shown; None chooses where nearly all the volume is.
            kind: ``"bars"`` of buys and sells in each bucket; ``"cells"`` coloured by their sum; ``"footprint"``: in
                each cell sell volume (at the bid) × buy volume (at the ask), as numbers where a cell has about
                34 × 11 pixels, else as bars of two colours, and each bucket's difference below;
                ``"total"``: the sum of all buckets, with the point of control and the value area of 70 %. None
                takes bars where buckets are wide enough, else cells; under four pixels all but ``"total"`` are cells.
            imbalance: In a footprint, the ratio from which a side prevails: buys at a price against sells one row
                below, sells against buys one row above.
            others: None; refused as in :meth:`Series.plot`.

        Returns:
            The axes; for a footprint the upper ones.

        Raises:
            MissingDependencyError: matplotlib is not installed.
            InvalidRequest: The step is not more than 0, or so small that there are more than 10,000 rows; the prices
                are not two numbers of which the first is lower; there is no such kind; or the ratio is not more than 1.
        """
        from .. import plots

        plots.check_choices([self], others)
        return plots.profile(self, ax=ax, figsize=figsize, step=step, prices=prices, kind=kind, imbalance=imbalance)


class Sessions(Series):
    """The values of market profiles: a row a session, such as ``poc_price``, ``vah_price`` and ``single_prints``."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in the wire's order, without the levels."""
        return tuple(name for name in self._columns.layout.names if name != "levels")

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    @property
    def closes_at(self) -> "npt.NDArray[np.datetime64]":
        """End of each session: ``period_end`` where the service sends it, else by the session's length.

        datetime64[ns] in UTC, shape (sessions,).

        Raises:
            SelectionError: The length of a session is not known.
        """
        import numpy as np

        period_ends = self._ends()
        if period_ends is not None and not np.isnat(period_ends).any():
            return period_ends
        ends = self._buckets().ends(self.timestamps)
        return ends if period_ends is None else np.where(np.isnat(period_ends), ends, period_ends)

    def _ends(self) -> "npt.NDArray[np.datetime64] | None":
        if "period_end" not in self:
            return None
        ends: npt.NDArray[np.datetime64] = self["period_end"]
        return ends

    def _buckets(self) -> _engine.Buckets:
        """Buckets of the requested session, else of the rows' own ends, else of the interval."""
        session = self._provenance.session
        if session is None and (ends := self._ends()) is not None:
            buckets = _engine.Buckets.between(self.timestamps, ends)
            if buckets is not None:
                return buckets
        return _engine.Buckets.of(self._columns.id["interval"], session)


def _whole(numbers: Ragged) -> Ragged:
    """Numbers as int32, if all of them are such integers."""
    import numpy as np

    bounds = np.iinfo(np.int32)
    values: Any = numbers.values
    if not ((values >= bounds.min) & (values <= bounds.max) & (values == np.floor(values))).all():
        return numbers
    return Ragged(numbers.offsets, values.astype(np.int32))


class Tpo(Sessions, LevelSeries):
    """Market profiles (TPO_AGG, section 2.3): one row for each session, and the price levels that it visited.

    Values of a session are columns, such as ``tpo["poc_price"]``, NaN where the service omits them, and
    ``tpo["single_prints"][0]``, the prices of the first session; :attr:`sessions` has them as a table. Values of
    levels are in :attr:`levels`, those of all sessions back to back.
    """

    @property
    def sessions(self) -> Sessions:
        """The values of the sessions without their levels: a series with a row a session, and its frames."""
        return Sessions(self._columns, self._asked, self._part)

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names in the wire's order: values of a session, and ``levels``."""
        return self._columns.layout.names

    @property
    def levels(self) -> Nested:
        """The levels of every session, by the wire's field names."""
        levels: Nested = super().__getitem__("levels")
        return levels

    @property
    def offsets(self) -> "npt.NDArray[np.int64]":
        """Where each session starts in the levels: int64 (sessions + 1), read-only, no copy."""
        return self.levels.offsets

    @property
    def prices(self) -> "npt.NDArray[np.float64]":
        """Price of every level: float64 (levels,), read-only."""
        return self._level("price")

    @property
    def buys(self) -> "npt.NDArray[np.float64]":
        """Buy volume of every level: float64 (levels,), read-only."""
        return self._level("buy_volume")

    @property
    def sells(self) -> "npt.NDArray[np.float64]":
        """Sell volume of every level: float64 (levels,), read-only."""
        return self._level("sell_volume")

    @property
    def block_ids(self) -> Ragged:
        """The time blocks that visited each level: :class:`Ragged` with a row a level, block numbers as float64."""
        fields = self.levels.fields
        if "block_ids" not in fields:
            import numpy as np

            return Ragged(np.zeros(1 + int(self.offsets[-1]), dtype=np.int64), np.array([]))
        blocks: Ragged = fields["block_ids"]
        return blocks

    def snapshot(self, index: int) -> dict[str, Any]:
        """The levels of one session by field, views. Negative indices count from the end.

        Raises:
            IndexError: There is no such session.
            TypeError: It is not an integer.
        """
        return self.levels.row(index)

    def flat(self, label: Label = "left") -> tuple[Any, dict[str, Any]]:
        """A row for each level: the fields of the level, then the values of its session, repeated.

        Lists of prices become bools: ``single_print``, ``poor_high`` and ``poor_low`` say whether
        the level's price is one of them. ``block_ids`` are int32 (section 2.3) if all of them are such integers.
        """
        import numpy as np

        counts = np.diff(self.offsets)
        columns = dict(self.levels.fields)
        if isinstance(blocks := columns.get("block_ids"), Ragged):
            columns["block_ids"] = _whole(blocks)
        for name in self.columns:
            values = self[name]
            if isinstance(values, np.ndarray):
                columns.setdefault(name, np.repeat(values, counts))
            elif isinstance(values, Ragged):
                columns.setdefault(name.removesuffix("s"), self._price_is_in(values))
        return self._times(label), columns

    def _price_is_in(self, prices: Ragged) -> "npt.NDArray[np.bool_]":
        """Whether each level's price is in its session's list: bool (levels,)."""
        import numpy as np

        # Session and price as one complex number, since sessions share prices.
        def keys(offsets: Any, values: Any) -> Any:
            return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)) + 1j * values

        found: npt.NDArray[np.bool_] = np.isin(keys(self.offsets, self.prices), keys(prices.offsets, prices.values))
        return found

    def plot(
        self,
        *,
        ax: Any = None,
        figsize: tuple[float, float] | None = None,
        step: float | None = None,
        prices: tuple[float, float] | None = None,
        **others: Any,
    ) -> Any:
        """Draws the blocks that visited each price, session by session, with value area and point of control.

        Args:
            ax: The matplotlib axes to draw on; None makes a figure.
            figsize: Width and height in inches of a new figure; None is as high as what it shows needs.
            step: Height of a price block; None chooses one that suits the picture.
            prices: Lowest and highest price shown; None shows all of them.
            others: None; refused as in :meth:`Series.plot`.

        Returns:
            The axes.

        Raises:
            MissingDependencyError: matplotlib is not installed.
            InvalidRequest: The step is not more than 0, or so small that there are more than 10,000 rows; or the prices
                are not two numbers of which the first is lower.
        """
        from .. import plots

        plots.check_choices([self], others)
        return plots.tpo(self, ax=ax, figsize=figsize, step=step, prices=prices)

    def _level(self, name: str) -> "npt.NDArray[np.float64]":
        import numpy as np

        blank: npt.NDArray[np.float64] = np.zeros(int(self.offsets[-1]))  # an answer without levels has no fields
        values: npt.NDArray[np.float64] = self.levels.fields.get(name, blank)
        return values
