"""The work of Dask workers. Key and credentials come from their own environment and are never sent to them."""

import inspect
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import _engine
from ..client.base import BUDGET, KEY, URL, Connection
from ..client.clients import Client
from ..records.pieces import Piece, PieceReport, PlannedSeries, rows_kept, sync_piece
from ..records.universe import UniversePlan
from ..universes.planning import planned_blocking
from ..universes.universe import Universe

__all__ = [
    "ADDRESSES",
    "BUDGET",
    "KEY",
    "RunConfig",
    "budget_scope",
    "client_settings",
    "download_piece",
    "plan",
    "rows",
]

#: Settings that may hold a password, and the environment variable that sets each on a worker.
ADDRESSES = {"base_url": URL, "budget": BUDGET, "proxy": "HTTPS_PROXY"}
#: Most runs whose clients a worker keeps, for their connections and fetched listings; the oldest run goes first.
MOST_RUNS = 4


@dataclass(frozen=True)
class RunConfig:
    """A run's archive and client settings. It is sent to the workers with every piece: no key, no password.

    Attributes:
        run: Name of the run.
        path: The archive's folder or address.
        options: The object store's options.
        lease: Seconds of the archive's lease.
        settings: Settings of the client; ``budget`` is always among them.
    """

    run: str
    path: str
    options: tuple[tuple[str, str], ...]
    lease: float
    settings: Mapping[str, Any]


def client_settings() -> list[str]:
    """The client's settings that may be given to a run."""
    names = inspect.signature(Connection.__init__).parameters
    return [name for name in names if name not in ("self", "api_key", "archive", "budget")]


_lock = threading.Lock()
_runs: dict[str, tuple[Client, _engine.Archive]] = {}


def _client_and_archive(config: RunConfig) -> tuple[Client, _engine.Archive]:
    """The client and the archive of a run, one for all threads of this process."""
    with _lock:
        if config.run not in _runs:
            while len(_runs) >= MOST_RUNS:
                _runs.pop(next(iter(_runs)))
            _runs[config.run] = Client(**config.settings), _archive(config)
        return _runs[config.run]


def _archive(config: RunConfig) -> _engine.Archive:
    return _engine.Archive(config.path, list(config.options), config.lease)


def plan(config: RunConfig, universe: Universe) -> UniversePlan:
    """The plan of a universe, made on a worker with its own key."""
    client, archive = _client_and_archive(config)
    return planned_blocking(client, universe, archive)


def download_piece(config: RunConfig, piece: Piece) -> PieceReport:
    """Downloads a piece into the archive; the report also has the budget that is left."""
    client, archive = _client_and_archive(config)
    return replace(sync_piece(piece, client, archive), budget=client.budget)


def rows(config: RunConfig, parts: Sequence[PlannedSeries]) -> list[int]:
    """How many rows the archive has of each series."""
    return rows_kept(_archive(config), parts)


def budget_scope(budget: str | None = None) -> str:
    """The scope of a budget: ``process``, ``machine``, or ``all`` with one Redis or folder; None: this worker's."""
    name = budget or os.environ.get(BUDGET) or "machine"
    return name if name in ("process", "machine") else "all"
