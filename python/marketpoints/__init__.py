"""marketpoints: market data as NumPy arrays and frames, with a budget that is known before it is spent.

>>> import marketpoints as mp
>>> with mp.LocalService() as service:
...     client = service.client()
...     candles = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-01-01", end="2026-02-01")
...     frame = candles.to_pandas()
"""

import atexit

from . import adapters, dask, testing
from ._engine import __version__, shutdown
from .archive import Archive
from .client.clients import AsyncClient, Client
from .common.dialect import Dialect
from .common.limits import TIERS, Tier, weight
from .common.warnings import (
    ExposedKeysWarning,
    ExposedServiceWarning,
    ForeignFileWarning,
    OutdatedDataWarning,
    RenamedFieldWarning,
    UnknownSymbolWarning,
)
from .errors import (
    ArchiveError,
    AuthenticationError,
    DamagedFileError,
    DecodeError,
    Error,
    ForeignFileError,
    InvalidRequest,
    MissingDependencyError,
    NewerFormatError,
    NotArchivedError,
    PartialError,
    RateLimitError,
    SelectionError,
    ServerError,
    TierError,
    TimeoutError,  # noqa: A004 - the name users catch: mp.TimeoutError
    TransportError,
    UnsupportedStoreError,
)
from .identity import Selection, SeriesId, Window
from .local.faults import FaultRule, Faults
from .local.ingest import IngestReport, Problem, ingest
from .local.service import LocalService
from .records.analytics import CategoryRow, MarketSummary, OutcomePricing, TraderProfile, UserCategories, UserPosition
from .records.archive import (
    Archived,
    Compacted,
    FileProblem,
    Inconsistency,
    Missing,
    Refreshed,
    Revision,
    Synced,
    Verification,
    Vintage,
)
from .records.markets import Market, PredictionMarket, Tag
from .records.pieces import Piece, PieceReport
from .records.plan import Budget, Plan, PlannedRequest, Usage
from .records.requests import RequestQuery, ServiceRequest
from .records.tables import Records, Table
from .records.universe import SeriesPlan, SeriesReport, UniversePlan, UniverseReport
from .results.align import align
from .results.dominance import altcoin_dominance
from .results.heatmap import Heatmap
from .results.levels import Profile, Sessions, Tpo
from .results.picture import plot
from .results.ragged import Nested, Ragged
from .results.series import Series
from .results.sets import SeriesSet, decode_points
from .stream.channels import Channel
from .stream.events import (
    BookSnapshotEvent,
    FundingRateEvent,
    LiquidationEvent,
    OpenInterestEvent,
    StreamEvent,
    StreamGap,
    TradeAggEvent,
    TradeEvent,
    VolumeProfileEvent,
)
from .stream.streams import AsyncStream, Stream
from .universes.universe import Universe

__all__ = [
    "TIERS",
    "Archive",
    "ArchiveError",
    "Archived",
    "AsyncClient",
    "AsyncStream",
    "AuthenticationError",
    "BookSnapshotEvent",
    "Budget",
    "CategoryRow",
    "Channel",
    "Client",
    "Compacted",
    "DamagedFileError",
    "DecodeError",
    "Dialect",
    "Error",
    "ExposedKeysWarning",
    "ExposedServiceWarning",
    "FaultRule",
    "Faults",
    "FileProblem",
    "ForeignFileError",
    "ForeignFileWarning",
    "FundingRateEvent",
    "Heatmap",
    "Inconsistency",
    "IngestReport",
    "InvalidRequest",
    "LiquidationEvent",
    "LocalService",
    "Market",
    "MarketSummary",
    "Missing",
    "MissingDependencyError",
    "Nested",
    "NewerFormatError",
    "NotArchivedError",
    "OpenInterestEvent",
    "OutcomePricing",
    "OutdatedDataWarning",
    "PartialError",
    "Piece",
    "PieceReport",
    "Plan",
    "PlannedRequest",
    "PredictionMarket",
    "Problem",
    "Profile",
    "Ragged",
    "RateLimitError",
    "Records",
    "Refreshed",
    "RenamedFieldWarning",
    "RequestQuery",
    "Revision",
    "Selection",
    "SelectionError",
    "Series",
    "SeriesId",
    "SeriesPlan",
    "SeriesReport",
    "SeriesSet",
    "ServerError",
    "ServiceRequest",
    "Sessions",
    "Stream",
    "StreamEvent",
    "StreamGap",
    "Synced",
    "Table",
    "Tag",
    "Tier",
    "TierError",
    "TimeoutError",
    "Tpo",
    "TradeAggEvent",
    "TradeEvent",
    "TraderProfile",
    "TransportError",
    "Universe",
    "UniversePlan",
    "UniverseReport",
    "UnknownSymbolWarning",
    "UnsupportedStoreError",
    "Usage",
    "UserCategories",
    "UserPosition",
    "Verification",
    "Vintage",
    "VolumeProfileEvent",
    "Window",
    "__version__",
    "adapters",
    "align",
    "altcoin_dominance",
    "dask",
    "decode_points",
    "ingest",
    "plot",
    "testing",
    "weight",
]


def __dir__() -> list[str]:
    """What users use; the folders behind it are the package's own."""
    return sorted(__all__)


# The engine's threads end before the interpreter does, so that no call in flight touches what is gone.
atexit.register(shutdown)
