"""An archive in a folder or an object store: made, read, shown, pickled."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import _engine
from ..common.arguments import folder, names, seconds, store_options
from ..common.display import card, safe_repr
from ..common.queries import QueryArguments, build_query
from ..common.secrets import Hidden, hide_locals
from ..common.signatures import hinted_keywords
from ..common.times import to_unix
from ..errors import InvalidRequest
from ..results.sets import SeriesSet
from .downloads import Downloads
from .frames import frame
from .overviews import ExploreMethods
from .reading import read

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..common.arguments import Names
    from ..common.times import Interval, Time
    from .frames import PartitionSpan

__all__ = ["Archive"]


class Archive(Downloads, ExploreMethods):
    """Plain Parquet files, hive-partitioned, in a folder or an object store, with a ledger of the downloaded windows.

    It holds closed buckets of one service only. Several programs may read and write it at once; whatever ends a writer,
    what it had downloaded stays. See ``docs/archive.md``.
    """

    @hide_locals
    @hinted_keywords
    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        storage_options: Mapping[str, str | float | bool] | None = None,
        lease: float = 10.0,
    ) -> None:
        """Names the archive. Nothing is touched before the first sync.

        Args:
            path: A folder, which need not exist yet, or its ``file://`` address; or a prefix of an object store:
                ``s3://bucket/prefix``, ``gs://bucket/prefix``, ``az://container/prefix``.
            storage_options: Settings of the object store, which outdo the environment's: named as its variables, such
                as ``AWS_ENDPOINT_URL`` or ``endpoint_url``. Credentials are better left in the environment.
            lease: Seconds without a sign of life after which a writer of an object store counts as gone, and others
                need not wait for it any more. In a folder it is noticed at once.

        Raises:
            InvalidRequest: ``path`` names neither a folder nor an object store, or an option is none of the store's.
        """
        pairs = store_options(Hidden(storage_options))  # credentials may be among them
        place = folder(path)
        if pairs.reveal() and "://" not in place:
            raise InvalidRequest("storage_options: a local folder has none")
        self._engine = _engine.Archive(place, pairs.reveal(), seconds(lease, "lease"))
        self._lease = lease

    @property
    def path(self) -> str:
        """The folder, or the address of the object store's prefix."""
        return self._engine.path

    @property
    def source(self) -> str | None:
        """Which service the data are from: its address, or its ``archive_source``; None while there are none."""
        return self._engine.source

    def read(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        as_of: "Time | None" = None,
        columns: "Names" = None,
        **arguments: "Unpack[QueryArguments]",
    ) -> SeriesSet:
        """The archived data, as the client would answer. Needs no network and no key.

        Args:
            type: Data type by its wire name, or a series method's name, such as ``"candles"``.
            exchange: Exchange identifier, or several.
            symbol: Exchange-native symbol, or several.
            interval: Short name or wire name.
            as_of: Answers what the archive knew at that moment, whatever it learned since; without one, what it knows
                now. An open start or end is that of what it knew.
            columns: The column that is wanted, or several: of the files, nothing else is decoded beside the times. The
                levels of heatmaps and volume profiles always come; a market profile without ``"levels"`` is its
                :attr:`~marketpoints.Tpo.sessions`.
            arguments: As of :meth:`Client.points`, with lists as there. An open start or end is the archive's: without
                ``start``, ``end`` and ``period`` the answer is all that is kept.

        Raises:
            InvalidRequest: An argument is not valid, or no series of the answer has such a column.
            NotArchivedError: A part of the window was never asked, or was not known at ``as_of``, or it is not known
                any more (see :meth:`compact`): ``missing`` says which, ``results`` holds the rest.
                With several symbols, ``failures`` has such an error for each incomplete one.
            DamagedFileError: A file is not what was written; so :class:`ForeignFileError` and
                :class:`NewerFormatError`.
        """
        query = build_query("read", type, exchange, symbol, interval, arguments, open_window=True)
        wanted, known = names(columns, "columns") or None, to_unix(as_of, "as_of")
        found = read(self._engine, query, known, wanted)
        rows = [one for one in found if len(one)]
        if rows and (unknown := [name for name in wanted or () if not any(name in one for one in rows)]):
            at = min(one.timestamps.min() for one in rows).astype("datetime64[s]").astype(int)
            bucket: QueryArguments = {**arguments, "start": int(at), "end": int(at) + 1, "period": None}
            query = build_query("read", type, exchange, symbol, interval, bucket, open_window=True)
            there = dict.fromkeys(name for one in read(self._engine, query, known) for name in one.columns)
            raise InvalidRequest(f"columns: there is no {unknown[0]!r}; those are {', '.join(there)}")
        return found

    def to_dask(
        self,
        type: str,  # noqa: A002 - the wire's own name
        exchange: "Names" = None,
        symbol: "Names" = None,
        interval: "Interval | None" = None,
        *,
        as_of: "Time | None" = None,
        partition: "PartitionSpan | None" = None,
        columns: "Names" = None,
        **arguments: "Unpack[QueryArguments]",
    ) -> Any:
        """The archived data as a dask ``DataFrame`` whose partitions are read when needed.

        Its rows and columns are those of ``read(…).to_pandas()``, several series by time. It is indexed by ``time``
        with known divisions; texts and lists are Arrow's, and columns in which series differ are categories. The first
        and the last day are read at once, for the columns. Workers need the archive, and no key.

        Args:
            type: As of :meth:`read`.
            exchange: As of :meth:`read`.
            symbol: As of :meth:`read`.
            interval: As of :meth:`read`.
            as_of: As of :meth:`read`; an open start or end is that of what the archive knows now.
            partition: ``"day"``, ``"month"`` or ``"year"``; None takes the longest that is about 32 MB of files.
            columns: The columns that are wanted; None takes all.
            arguments: As of :meth:`read`; ``block_size`` and ``token_name`` are one for all.

        Raises:
            InvalidRequest: As :meth:`read`; or the archive has credentials of its own, which no graph may carry.
            NotArchivedError: As :meth:`read`, before anything is computed.
            SelectionError: A partition has a column, or several series, that the first and the last day do not have;
                raised when it is computed.
            MissingDependencyError: dask is not installed.
        """
        shape: dict[str, Any] = {"as_of": as_of, "partition": partition, "columns": columns}
        return frame(self, type, exchange, symbol, interval, arguments, **shape)

    @safe_repr
    def __repr__(self) -> str:
        return f"<Archive {self.path}>"

    def _repr_html_(self) -> str:
        # Nothing is read: a card comes by itself, and the archive may lie far away.
        return card("Archive", {"path": self.path, "holds": "see contents()"})

    def __reduce__(self) -> tuple[Any, ...]:
        options = self._engine.options
        if options is None:
            raise TypeError("a pickle never carries credentials: set them in the environment, here and there")
        return _unpickle, (type(self), self.path, dict(options), self._lease)


def _unpickle(kind: type[Archive], path: str, options: dict[str, str], lease: float) -> Archive:
    return kind(path, storage_options=options, lease=lease)
