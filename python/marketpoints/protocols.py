"""What frames, pictures and clients need of the classes above them: less than those are; imports run one way."""

from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from . import _engine
from .identity import SeriesId

__all__ = ["Drawable", "DrawableLevels", "Exported", "Framed", "Kept", "Label"]

#: Which end of its bucket a row is stamped with: its start, as the service does, or its end.
Label: TypeAlias = Literal["left", "right"]


@runtime_checkable
class Kept(Protocol):
    """An archive, which imports the clients."""

    _engine: _engine.Archive


class Exported(Protocol):
    """What has frames."""

    def to_arrow(self) -> Any:
        """A pyarrow ``Table``."""

    def to_polars(self) -> Any:
        """A polars ``DataFrame``."""


class Framed(Protocol):
    """What becomes a frame."""

    @property
    def id(self) -> SeriesId:
        """What it is of."""

    def flat(self, label: Label = "left") -> tuple[Any, dict[str, Any]]:
        """The time of each row, datetime64[ns] in UTC, and the columns by name."""


class Drawable(Protocol):
    """What is drawn over time."""

    @property
    def id(self) -> SeriesId:
        """What it is of."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Column names."""

    @property
    def timestamps(self) -> Any:
        """Start of each row's bucket: datetime64[ns] (rows,)."""

    def __len__(self) -> int: ...
    def __getitem__(self, name: str) -> Any: ...
    def __contains__(self, name: object) -> bool: ...


class DrawableLevels(Drawable, Protocol):
    """What is drawn over time and price."""

    @property
    def levels(self) -> Any:
        """Price and volume of every level: float64 (levels, 2)."""

    @property
    def prices(self) -> Any:
        """Price of every level: float64 (levels,)."""

    @property
    def volumes(self) -> Any:
        """Volume of every level: float64 (levels,)."""

    @property
    def offsets(self) -> Any:
        """Where each row starts in the levels: int64 (rows + 1)."""

    @property
    def split(self) -> Any:
        """Bids of each row: int64 (rows,); -1 where unknown."""

    def snapshot(self, index: int) -> Any:
        """The levels of one row."""

    def to_grid(self, step: float | None = None) -> tuple[Any, Any, Any]:
        """Times (T,), lower edges of the price buckets (P,), volumes (T, P)."""
