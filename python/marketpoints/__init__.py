"""marketpoints: market data as NumPy arrays and frames, with a budget that is known before it is spent.

>>> import marketpoints as mp
>>> with mp.LocalService() as service:
...     client = service.client()
...     candles = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-01-01", end="2026-02-01")
...     frame = candles.to_pandas()
"""

import atexit

from . import adapters
from ._engine import __version__, shutdown
from .analytics_records import (
    CategoryRow,
    MarketSummary,
    OutcomePricing,
    TraderProfile,
    UserCategories,
    UserPosition,
)
from .archive import Archive
from .archive_records import Archived, FileProblem, Refreshed, Revision, Synced, Verification
from .channels import Channel
from .client import AsyncClient, Client
from .dialect import Dialect
from .dominance import altcoin_dominance
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
from .faults import FaultRule, Faults
from .identity import Selection, SeriesId, Window
from .levels import Heatmap, Profile, Sessions, Tpo
from .limits import TIERS, Tier, weight
from .market_records import Market, PredictionMarket, Tag
from .ragged import Nested, Ragged
from .records import Budget, Plan, PlannedRequest, Usage
from .series import Series
from .service import LocalService
from .sets import SeriesSet, decode_points
from .store import IngestReport, Problem, ingest
from .stream import AsyncStream, Stream
from .stream_events import (
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
from .tables import Records, Table
from .warning_classes import OutdatedDataWarning, RenamedFieldWarning, UnknownSymbolWarning

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
    "DamagedFileError",
    "DecodeError",
    "Dialect",
    "Error",
    "FaultRule",
    "Faults",
    "FileProblem",
    "ForeignFileError",
    "FundingRateEvent",
    "Heatmap",
    "IngestReport",
    "InvalidRequest",
    "LiquidationEvent",
    "LocalService",
    "Market",
    "MarketSummary",
    "MissingDependencyError",
    "Nested",
    "NewerFormatError",
    "NotArchivedError",
    "OpenInterestEvent",
    "OutcomePricing",
    "OutdatedDataWarning",
    "PartialError",
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
    "Revision",
    "Selection",
    "SelectionError",
    "Series",
    "SeriesId",
    "SeriesSet",
    "ServerError",
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
    "UnknownSymbolWarning",
    "UnsupportedStoreError",
    "Usage",
    "UserCategories",
    "UserPosition",
    "Verification",
    "VolumeProfileEvent",
    "Window",
    "__version__",
    "adapters",
    "altcoin_dominance",
    "decode_points",
    "ingest",
    "weight",
]

# The engine's threads end before the interpreter does, so that no call in flight touches what is gone.
atexit.register(shutdown)
