"""Reading from an archive."""

from collections.abc import Sequence

from .. import _engine
from ..errors import NotArchivedError
from ..identity import Provenance
from ..results.levels import Tpo
from ..results.sets import SeriesSet, wrap

__all__ = ["read"]


def read(
    archive: _engine.Archive, query: _engine.Query, as_of: float | None, columns: Sequence[str] | None = None
) -> SeriesSet:
    """The archived data of a query, as a client would answer; of ``columns`` (None: all) those that exist.

    Raises:
        NotArchivedError: A part of the window was never asked, or was not known at ``as_of`` (Unix seconds); its
            ``results`` are the rest.
    """
    asked = Provenance(None, query.bounded, query.session, query.usd, query.selection)

    def series(found: Sequence[_engine.Columns], weight: int | None = None) -> SeriesSet:
        whole = wrap(found, asked, weight)
        if columns is None or "levels" in columns:
            return whole
        # Without its levels a market profile (TPO) is a table with one row per session.
        return SeriesSet([one.sessions if isinstance(one, Tpo) else one for one in whole], weight=weight)

    try:
        return series(archive.read(query, as_of, columns), 0)
    except NotArchivedError as error:
        error.results = series(error.results or [])
        raise
