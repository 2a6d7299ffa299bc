"""Times of a series' rows: when each bucket starts, closes and is known, and which are missing."""

from typing import TYPE_CHECKING, Any

from .. import _engine
from ..common.protocols import Label
from ..common.times import from_seconds
from ..errors import InvalidRequest
from ..identity import Provenance, Selection, SeriesId, Window

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["BucketMethods"]


class BucketMethods(_engine.SeriesBase):
    """Rows, each of a bucket of time."""

    __slots__ = ()

    @property
    def _provenance(self) -> Provenance:
        return Provenance(*self._asked)

    @property
    def id(self) -> SeriesId:
        """The identity of the series."""
        return SeriesId(**self._columns.id, extra=self._columns.extra_id)

    @property
    def asked_at(self) -> "np.datetime64 | None":
        """When it was requested: datetime64[ns] by the client's clock; for a body decoded alone, its ``now``.

        None for a series read from an archive, which holds closed buckets only.
        """
        now = self._provenance.now
        return None if now is None else from_seconds(now)

    @property
    def usd(self) -> bool | None:
        """Whether values were requested in USD; None for a body decoded alone, which does not say."""
        return self._provenance.usd

    @property
    def asked_for(self) -> Selection | None:
        """The exchanges, the symbol and the coin that were requested; None for a body decoded alone.

        A sum or mean over exchanges has no exchange in its :attr:`id` (section 2.2).
        """
        selection = self._provenance.selection
        return None if selection is None else Selection(*selection)

    @property
    def requested(self) -> Window | None:
        """The requested window of bucket starts.

        None for a body decoded alone, and for a series read from an archive with open ends. A range of rows has
        the part from its first row to the row after its last; at an end of the series it has the series' own end.
        The window is on bucket starts, ends at the moment of the call at the latest, and is without the buckets that
        were not closed yet unless these were requested.
        """
        window = self._provenance.window
        return self._part or (None if window is None else Window(*map(from_seconds, window)))

    @property
    def covered(self) -> Window | None:
        """From the start of the first row's bucket to the end of the last one's; None without rows.

        Where it is less than :attr:`requested`, the service had no more; for missing buckets within see :meth:`gaps`.

        Raises:
            SelectionError: The length of a bucket is not known.
        """
        return Window(self.timestamps[0], self.closes_at[-1]) if len(self) else None

    @property
    def closes_at(self) -> "npt.NDArray[np.datetime64]":
        """End of each row's bucket, when its values are known: datetime64[ns] in UTC, shape (rows,).

        Timestamps are bucket starts (section 2.2); a join by them looks a whole bucket ahead.

        Raises:
            SelectionError: The length of a bucket is not known.
        """
        return self._buckets().ends(self.timestamps)

    @property
    def known_at(self) -> "npt.NDArray[np.datetime64]":
        """When each row's values were known: datetime64[ns] in UTC, shape (rows,).

        The end of its bucket (:attr:`closes_at`), and of a market profile its ``period_end``.

        Raises:
            SelectionError: The length of a bucket is not known.
        """
        return self.closes_at

    @property
    def bucket_nanoseconds(self) -> int:
        """Length of a bucket in nanoseconds; for months the longest.

        Raises:
            SelectionError: The length of a bucket is not known.
        """
        return self._buckets().nanoseconds

    @property
    def is_closed(self) -> "npt.NDArray[np.bool_]":
        """Whether each row's bucket was over at :attr:`asked_at`: bool, shape (rows,).

        A row that is not was still forming: its values were not final.

        Raises:
            SelectionError: The length of a bucket is not known.
        """
        import numpy as np

        now = self.asked_at
        closed: npt.NDArray[np.bool_] = np.ones(len(self), dtype=bool) if now is None else self.closes_at <= now
        return closed

    def gaps(self) -> "npt.NDArray[np.datetime64]":
        """Starts of the buckets that have no row: datetime64[ns] in UTC, ascending, shape (missing,).

        They are looked for in :attr:`requested`, or, for a body decoded alone, between the first and the last row. A
        gap is no error by itself: a bucket without a trade or a liquidation is absent. Nothing is filled in.

        Raises:
            SelectionError: The length of a bucket is not known.
        """
        requested = self.requested
        window = None if requested is None else (_nanoseconds(requested.start), _nanoseconds(requested.end))
        return self._buckets().missing(self.timestamps, window)

    def gap_spans(self) -> "npt.NDArray[np.datetime64]":
        """The :meth:`gaps` as spans: start and end, half-open, of consecutive missing buckets.

        Returns:
            datetime64[ns] in UTC, shape (spans, 2).

        Raises:
            SelectionError: The length of a bucket is not known.
        """
        return self._buckets().stretches(self.gaps())

    def _buckets(self) -> _engine.Buckets:
        return _engine.Buckets.of(self._columns.id["interval"])

    def _stamps(self, label: Label) -> Any:
        if label not in ("left", "right"):
            raise InvalidRequest(f"label: {label!r} is neither 'left', a bucket's start, nor 'right', its end")
        return self.timestamps if label == "left" else self.closes_at


def _nanoseconds(time: "np.datetime64") -> int:
    return int(time.astype("datetime64[ns]").astype("int64"))
