"""Protocols for classes of higher folders that frames, pictures and clients use, so that imports run one way."""

from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from .. import _engine
from ..identity import Selection, SeriesId, Window

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "ArchiveLike",
    "ClientLike",
    "ColumnSource",
    "DatedFrameSource",
    "Drawable",
    "DrawableLevels",
    "DrawableProfile",
    "DrawableTpo",
    "FrameSource",
    "Label",
]

#: Which end of its bucket a row is stamped with: its start, as the service does, or its end.
Label: TypeAlias = Literal["left", "right"]


@runtime_checkable
class ArchiveLike(Protocol):
    """An archive, which imports the clients."""

    _engine: _engine.Archive
    _lease: float


class ClientLike(Protocol):
    """A client that waits, which imports the records that use it."""

    @property
    def _live(self) -> _engine.Client:
        """The engine's client of this process."""

    @property
    def tier(self) -> str | None:
        """The tier as set."""


class FrameSource(Protocol):
    """Something that can become a frame."""

    @property
    def id(self) -> SeriesId:
        """The identity."""

    @property
    def usd(self) -> bool | None:
        """Whether values were asked in USD; None where that is not known."""

    def flat(self, label: Label = "left") -> tuple[Any, dict[str, Any]]:
        """The time of each row, datetime64[ns] in UTC, and the columns by name."""


class DatedFrameSource(FrameSource, Protocol):
    """Something that can become a frame with the times at which its rows were known."""

    @property
    def asked_at(self) -> "np.datetime64 | None":
        """The time of the query."""

    def _times(self, label: Label) -> Any:
        """The time of each row of :meth:`flat`."""


class ColumnSource(DatedFrameSource, Protocol):
    """A series whose columns go into a frame beside those of others."""

    @property
    def asked_for(self) -> Selection | None:
        """The markets that were asked for; None where that is not known."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names."""

    def _stamps(self, label: Label) -> Any:
        """The time of each row: datetime64[ns] (rows,)."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Any: ...


class Drawable(Protocol):
    """Something that is drawn over time."""

    @property
    def id(self) -> SeriesId:
        """The identity."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names."""

    @property
    def timestamps(self) -> Any:
        """Start of each row's bucket: datetime64[ns] (rows,)."""

    @property
    def usd(self) -> bool | None:
        """Whether values were asked in USD; None where that is not known."""

    @property
    def asked_for(self) -> Selection | None:
        """The markets that were asked for; None where that is not known."""

    @property
    def requested(self) -> Window | None:
        """The window that was asked for; None where that is not known."""

    def plot(self, *, ax: Any = None, figsize: tuple[float, float] | None = None) -> Any:
        """Draws it."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...


class DrawableLadder(Drawable, Protocol):
    """Something with prices in every row."""

    @property
    def prices(self) -> Any:
        """Price of every level: float64 (levels,)."""

    @property
    def offsets(self) -> Any:
        """Where each row starts in the levels: int64 (rows + 1)."""

    def snapshot(self, index: int) -> Any:
        """The levels of one row."""


class DrawableLevels(DrawableLadder, Protocol):
    """A heatmap."""

    @property
    def levels(self) -> Any:
        """Price and volume of every level: float64 (levels, 2)."""

    @property
    def volumes(self) -> Any:
        """Volume of every level: float64 (levels,)."""

    @property
    def split(self) -> Any:
        """Bids of each row: int64 (rows,); -1 where unknown."""


class DrawableProfile(DrawableLadder, Protocol):
    """Volume by price and side."""

    @property
    def buys(self) -> Any:
        """Buy volume of every level: float64 (levels,)."""

    @property
    def sells(self) -> Any:
        """Sell volume of every level: float64 (levels,)."""


class DrawableTpo(DrawableProfile, Protocol):
    """A market profile."""

    @property
    def block_ids(self) -> Any:
        """The time blocks that visited each level: values and offsets, a row a level."""

    @property
    def closes_at(self) -> Any:
        """End of each session: datetime64[ns] (sessions,)."""
