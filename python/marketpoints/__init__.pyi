"""The public names and their modules; ``import marketpoints`` loads a name when it is first looked up."""

from . import (
    adapters as adapters,
    dask as dask,
    testing as testing,
)
from ._engine import __version__ as __version__
from .archive import Archive as Archive
from .client.clients import (
    AsyncClient as AsyncClient,
    Client as Client,
)
from .common.dialect import Dialect as Dialect
from .common.limits import (
    TIERS as TIERS,
    Tier as Tier,
    weight as weight,
)
from .common.warnings import (
    ExposedKeysWarning as ExposedKeysWarning,
    ExposedServiceWarning as ExposedServiceWarning,
    ForeignFileWarning as ForeignFileWarning,
    OutdatedDataWarning as OutdatedDataWarning,
    RenamedFieldWarning as RenamedFieldWarning,
    UnknownSymbolWarning as UnknownSymbolWarning,
)
from .errors import (
    ArchiveError as ArchiveError,
    AuthenticationError as AuthenticationError,
    DamagedFileError as DamagedFileError,
    DecodeError as DecodeError,
    Error as Error,
    ForeignFileError as ForeignFileError,
    InvalidRequest as InvalidRequest,
    MissingDependencyError as MissingDependencyError,
    NewerFormatError as NewerFormatError,
    NotArchivedError as NotArchivedError,
    PartialError as PartialError,
    RateLimitError as RateLimitError,
    SelectionError as SelectionError,
    ServerError as ServerError,
    TierError as TierError,
    TimeoutError as TimeoutError,  # noqa: A004 - the name users catch: mp.TimeoutError
    TransportError as TransportError,
    UnsupportedStoreError as UnsupportedStoreError,
)
from .identity import (
    Selection as Selection,
    SeriesId as SeriesId,
    Window as Window,
)
from .local.faults import (
    FaultRule as FaultRule,
    Faults as Faults,
)
from .local.ingest import (
    IngestReport as IngestReport,
    Problem as Problem,
    ingest as ingest,
)
from .local.service import LocalService as LocalService
from .records.analytics import (
    CategoryRow as CategoryRow,
    MarketSummary as MarketSummary,
    OutcomePricing as OutcomePricing,
    TraderProfile as TraderProfile,
    UserCategories as UserCategories,
    UserPosition as UserPosition,
)
from .records.archive import (
    Archived as Archived,
    Compacted as Compacted,
    FileProblem as FileProblem,
    Inconsistency as Inconsistency,
    Missing as Missing,
    Overviews as Overviews,
    Refreshed as Refreshed,
    Revision as Revision,
    Synced as Synced,
    Verification as Verification,
    Vintage as Vintage,
)
from .records.markets import (
    Market as Market,
    PredictionMarket as PredictionMarket,
    Tag as Tag,
)
from .records.pieces import (
    Piece as Piece,
    PieceReport as PieceReport,
)
from .records.plan import (
    Budget as Budget,
    Plan as Plan,
    PlannedRequest as PlannedRequest,
    Usage as Usage,
)
from .records.requests import (
    RequestQuery as RequestQuery,
    ServiceRequest as ServiceRequest,
)
from .records.tables import (
    Records as Records,
    Table as Table,
)
from .records.universe import (
    SeriesPlan as SeriesPlan,
    SeriesReport as SeriesReport,
    UniversePlan as UniversePlan,
    UniverseReport as UniverseReport,
)
from .results.align import align as align
from .results.dominance import altcoin_dominance as altcoin_dominance
from .results.heatmap import Heatmap as Heatmap
from .results.levels import (
    Profile as Profile,
    Sessions as Sessions,
    Tpo as Tpo,
)
from .results.picture import plot as plot
from .results.ragged import (
    Nested as Nested,
    Ragged as Ragged,
)
from .results.series import Series as Series
from .results.sets import (
    SeriesSet as SeriesSet,
    decode_points as decode_points,
)
from .stream.channels import Channel as Channel
from .stream.events import (
    BookSnapshotEvent as BookSnapshotEvent,
    FundingRateEvent as FundingRateEvent,
    LiquidationEvent as LiquidationEvent,
    OpenInterestEvent as OpenInterestEvent,
    StreamEvent as StreamEvent,
    StreamGap as StreamGap,
    TradeAggEvent as TradeAggEvent,
    TradeBatch as TradeBatch,
    TradeEvent as TradeEvent,
    VolumeProfileEvent as VolumeProfileEvent,
)
from .stream.streams import (
    AsyncStream as AsyncStream,
    Stream as Stream,
)
from .universes.universe import Universe as Universe
