"""Exploring an archive's heatmaps, and making their overviews."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ... import _engine
from ...common.data_types import adds_up, role
from ...common.intervals import BY_LENGTH, DAY
from ...common.progress import counting
from ...common.queries import QueryArguments, build_query
from ...common.times import SECOND_NS
from ...errors import InvalidRequest, NotArchivedError, SelectionError
from ...identity import Provenance
from ...records.archive import Overviews
from ...results.heatmap import Heatmap
from ..inventory import Inventory
from ..reading import read
from .files import INTERVALS, Month, MonthOverviews, months_of, opened

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ...common.arguments import Names
    from ...common.progress import Progress
    from ...common.times import Interval, Time
    from ...explorer import Explorer

__all__ = ["ExploreMethods"]

SeriesArguments: TypeAlias = "tuple[str, Names, Names, Interval | None]"
#: Most bytes of files that are explored without overviews.
SMALL = 32_000_000


class ArchivedSeries:
    """One heatmap of an archive.

    Args:
        archive: The archive.
        call: What is called, for errors.
        market: Type, exchange, symbol and interval.
        named: Further arguments.

    Raises:
        InvalidRequest: An argument is not valid, or the window is one.
        SelectionError: It is several.
        NotArchivedError: Nothing of it is kept.
    """

    def __init__(self, archive: Inventory, call: str, market: SeriesArguments, named: QueryArguments) -> None:
        for name in ("start", "end", "period"):
            if named.get(name) is not None:
                raise InvalidRequest(f"{name}: overviews are of all that is kept; {call} takes no {name}")
        self._archive, self._call, self._market, self._named = archive, call, market, named
        self.query = build_query(call, *market, named, open_window=True)
        entries = archive._engine.missing(self.query)
        if len(entries) != 1:
            raise SelectionError(f"{call} takes one market; these are {len(entries)}")
        self.key = str(entries[0]["key"])
        pairs = dict(entries[0]["query"])
        self.type = str(pairs["type"])
        self.interval = int(entries[0]["interval_seconds"])
        self.block = float(pairs["blockSize"]) if "blockSize" in pairs else None

    @property
    def has_overviews(self) -> bool:
        """Whether overviews are made of it: of heatmaps of up to an hour."""
        return role(self.type) == "heatmap" and self.interval in INTERVALS

    def months(self) -> list[Month]:
        """The archived data, by month.

        Raises:
            InvalidRequest: The archive is in an object store.
        """
        path = self._archive._engine.path
        if "://" in path:
            raise InvalidRequest(f"{self._call}: overviews lie beside the data, in folders only, and {path} is none")
        return months_of(Path(path), self.key)

    def day(self, start: int) -> Heatmap | None:
        """The heatmap of a day by its start in Unix seconds; None where there are no rows."""
        window: Any = {**self._named, "start": start, "end": start + DAY}
        try:
            found = read(self._archive._engine, build_query(self._call, *self._market, window), None)
        except NotArchivedError as error:  # asked for in part
            found = error.results
        if not len(found):
            return None
        only = found.only
        assert isinstance(only, Heatmap)
        return only

    def coarsest(self, found: list[MonthOverviews], seconds: int, pixels: Any) -> Heatmap:
        """The coarsest overview as a heatmap."""
        about = next(one.about for one in found if one.about["id"] is not None)
        levels = ("levels", "list", (pixels.offsets * 2, pixels.levels.reshape(-1)))
        fields = [levels, ("split", "int", pixels.split)]
        identity = about["id"] | {"interval": BY_LENGTH[seconds].wire}
        columns = _engine.Columns(identity, about["extra"], "heatmap", pixels.starts, fields)
        query = self.query
        return Heatmap(columns, Provenance(None, None, query.session, query.usd, query.selection))


class ExploreMethods(Inventory):
    """The methods of an archive that show its data."""

    def build_overviews(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        progress: "Progress" = False,
        **arguments: "Unpack[QueryArguments]",
    ) -> Overviews:
        """Makes coarser heatmaps of an archived one, so that :meth:`explore` shows a year of it at once.

        They hold the largest volume of each price in 15 minutes, 1 hour and 4 hours; of a liquidation heatmap the sum.
        They lie beside the data, have about a quarter of its size and may be removed at any time. Overviews of
        unchanged data are kept, so that after a sync only the changed months are made. Each month is written
        atomically; one day is in memory at a time.

        Args:
            type: Data type by its wire name, or a series method's name: of a heatmap.
            exchange: Exchange identifier, or several that the heatmap sums up.
            symbol: Exchange-native symbol.
            interval: Short name or wire name, up to an hour.
            progress: True shows a bar; a function is called with (days done, days).
            arguments: As of :meth:`read`, without a window.

        Raises:
            InvalidRequest: It is no heatmap, or of longer buckets, of which all is read; or the archive is in an object
                store.
            NotArchivedError: Nothing of it is kept.
            DamagedFileError: A file is not what was written; so :class:`ForeignFileError`.
            ArchiveError: They cannot be written, such as on a full disk.
        """
        from .build import build

        kept = ArchivedSeries(self, "build_overviews", (type, exchange, symbol, interval), arguments)
        if not kept.has_overviews:
            raise InvalidRequest(
                "build_overviews: overviews are made of heatmaps of 1m, 5m, 15m, 30m and 1h; of others all is read"
            )
        months = kept.months()
        wanted = [month for month in months if opened(month) is None]
        size = 0
        with counting(progress, sum(len(month.days) for month in wanted), "day", "overviews") as done:
            for month in wanted:
                size += build(
                    month,
                    lambda name: kept.day(_seconds(name)),
                    kept.interval,
                    kept.block,
                    adds_up=adds_up(kept.type),
                    done=done,
                )
        return Overviews(months=len(months), built=len(wanted), bytes=size)

    def explore(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        over: Any = (),
        window: "tuple[Time, Time] | None" = None,
        prices: tuple[float, float] | None = None,
        **arguments: "Unpack[QueryArguments]",
    ) -> "Explorer":
        """All archived candles, or a heatmap, to zoom and drag in a notebook; costs nothing.

        Heatmaps of more than 32 MB of files are shown by their overviews (:meth:`build_overviews`): each view by the
        coarsest whose buckets are no wider than a pixel, so that nothing visible is lost. Zoomed in, the snapshots of
        the days in view are read.

        Args:
            type: Data type by its wire name, or a series method's name.
            exchange: Exchange identifier, or several that are summed up.
            symbol: Exchange-native symbol.
            interval: Short name or wire name.
            over: As of :meth:`Series.explore`.
            window: Start and end of the time shown first; None is all of it.
            prices: Lowest and highest price shown first.
            arguments: As of :meth:`read`, without a window.

        Raises:
            InvalidRequest: There are no overviews, or the archive is in an object store: its stretches are read and
                explored by themselves; or as :meth:`Series.explore`.
            NotArchivedError: Nothing of it is kept.
            MissingDependencyError: anywidget is not installed.
        """
        kept = ArchivedSeries(self, "explore", (type, exchange, symbol, interval), arguments)
        if not kept.has_overviews or _is_small(kept):
            try:
                whole = read(self._engine, kept.query, None)
            except NotArchivedError as error:  # gaps between what is kept
                whole = error.results
            return whole.only.explore(over, window=window, prices=prices)
        months = kept.months()
        found = [one for one in map(opened, months) if one is not None]
        filled = [one for one in found if one.about["id"] is not None]
        if not filled:
            raise InvalidRequest(
                "explore: this is more than is read at once, and there are no overviews of it; "
                "archive.build_overviews(…) with the same arguments makes them"
            )
        from ...explorer import explorer_of
        from .detail_levels import DayLoader, DetailLevels, layers

        several = layers(filled)
        shown = kept.coarsest(filled, several[0].seconds, several[0].pieces[0][0])
        levels = {_seconds(name) * SECOND_NS: count for one in filled for name, count in one.about["levels"].items()}
        base = DetailLevels(shown, several, kept.interval, levels)
        return explorer_of(base, over, DayLoader(lambda start: kept.day(start // SECOND_NS)), window, prices)


def _is_small(kept: ArchivedSeries) -> bool:
    """Whether all of it is read at once."""
    return sum(month.bytes for month in kept.months()) <= SMALL


def _seconds(day: str) -> int:
    import numpy as np

    return int(np.datetime64(day, "s").astype("int64"))
