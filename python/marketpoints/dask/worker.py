"""What runs on the workers. Key and credentials come from their own environment and are never sent to them."""

import inspect
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .. import _engine
from ..client.base import BUDGET, KEY, URL, Connection
from ..client.clients import Client
from ..records.pieces import Part, Piece, PieceReport, rows_kept, sync_piece
from ..records.universe import UniversePlan
from ..universes.planning import planned_blocking
from ..universes.universe import Universe

__all__ = ["ADDRESSES", "BUDGET", "KEY", "Place", "do", "plan", "rows", "settings", "shares"]

#: Settings that may hold a password, and the environment variable that sets each on a worker.
ADDRESSES = {"base_url": URL, "budget": BUDGET, "proxy": "HTTPS_PROXY"}
#: Most runs whose clients a worker keeps, for their connections and fetched listings; the oldest run goes first.
MOST_RUNS = 4


@dataclass(frozen=True)
class Place:
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


def settings() -> list[str]:
    """The client's settings that may be given to a run."""
    names = inspect.signature(Connection.__init__).parameters
    return [name for name in names if name not in ("self", "api_key", "archive", "budget")]


_lock = threading.Lock()
_runs: dict[str, tuple[Client, _engine.Archive]] = {}


def _tools(place: Place) -> tuple[Client, _engine.Archive]:
    """The client and the archive of a run, one for all threads of this process."""
    with _lock:
        if place.run not in _runs:
            while len(_runs) >= MOST_RUNS:
                _runs.pop(next(iter(_runs)))
            _runs[place.run] = Client(**place.settings), _archive(place)
        return _runs[place.run]


def _archive(place: Place) -> _engine.Archive:
    return _engine.Archive(place.path, list(place.options), place.lease)


def plan(place: Place, universe: Universe) -> UniversePlan:
    """The plan of a universe, made on a worker with its own key."""
    client, archive = _tools(place)
    return planned_blocking(client, universe, archive)


def do(place: Place, piece: Piece) -> PieceReport:
    """Downloads a piece into the archive; the report also has the budget that is left."""
    client, archive = _tools(place)
    return replace(sync_piece(piece, client, archive), budget=client.budget)


def rows(place: Place, parts: Sequence[Part]) -> list[int]:
    """How many rows the archive has of each series."""
    return rows_kept(_archive(place), parts)


def shares(budget: str | None = None) -> str:
    """Who shares a budget: ``process``, ``machine``, or ``all`` that name one Redis or folder; None: this worker's."""
    name = budget or os.environ.get(BUDGET) or "machine"
    return name if name in ("process", "machine") else "all"
