"""Reading what an archive keeps."""

from .. import _engine
from ..errors import NotArchivedError
from ..identity import Asked
from ..results.sets import SeriesSet, wrap

__all__ = ["read"]


def read(archive: _engine.Archive, query: _engine.Query, as_of: float | None) -> SeriesSet:
    """What an archive holds of a query, as a client would answer.

    Raises:
        NotArchivedError: A part of the window was never asked, or was not known at ``as_of`` (Unix seconds); its
            ``results`` are the rest.
    """
    asked = Asked(None, query.bounded, query.session, query.usd, query.selection)
    try:
        found = wrap(archive.read(query, as_of), *asked)
    except NotArchivedError as error:
        error.results = wrap(error.results or [], *asked)
        raise
    found._weight = 0
    return found
