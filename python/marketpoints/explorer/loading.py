"""Loads more than the initial window: from an archive at no cost, or from the service for a weight shown before."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

from ..common.intervals import BY_LENGTH, BY_NAME, MINUTE
from ..common.times import SECOND_NS, iso
from ..errors import Error, InvalidRequest, NotArchivedError
from .base_layer import BaseLayer, View

__all__ = ["BlockingClient", "Loader", "ReadableArchive", "ResultLoader"]

#: Most levels, or candles, that an explorer keeps, and most of one part.
MOST_LEVELS, MOST_AT_ONCE = 30_000_000, 10_000_000


class BlockingClient(Protocol):
    """A blocking client."""

    def plan(self, type: str, *arguments: Any, **named: Any) -> Any:  # noqa: A002 - the client's own name
        """The plan of a call."""

    def points(self, type: str, *arguments: Any, **named: Any) -> Any:  # noqa: A002 - the client's own name
        """The call."""


class ReadableArchive(Protocol):
    """An archive."""

    def read(self, type: str, *arguments: Any, **named: Any) -> Any:  # noqa: A002 - the archive's own name
        """The archived points."""


class Loader(Protocol):
    """Loads missing parts."""

    def look(self, base: BaseLayer, view: View) -> dict[str, Any] | None:
        """Loads what a view lacks if it is free, else offers it; returns the message for the page."""

    def spend(self, base: BaseLayer, offer: Any, note: Callable[[str], None]) -> dict[str, Any]:
        """Loads what was offered; returns the message for the page."""


class ResultLoader:
    """Loads more of a result.

    Args:
        shown: The result; its identity is that of the calls.
        client: A blocking client, which plans the weight of each stretch, and downloads it on request.
        archive: An archive, which is read without asking.
        arguments: Further arguments of the call, such as ``block_size``.

    Raises:
        InvalidRequest: They are no client and no archive; or what the result is of cannot be asked again.
    """

    def __init__(self, shown: Any, client: Any, archive: Any, arguments: Mapping[str, Any]) -> None:
        if client is not None and not (hasattr(client, "plan") and hasattr(client, "points")):
            raise InvalidRequest(f"client: a {type(client).__name__} is no client")
        if client is not None and hasattr(client, "__aenter__"):
            raise InvalidRequest(
                "client: the explorer loads in a thread of its own; give a mp.Client, not an AsyncClient"
            )
        if archive is not None and not hasattr(archive, "read"):
            raise InvalidRequest(f"archive: a {type(archive).__name__} is no archive; give mp.Archive(…)")
        self._client, self._archive = client, archive
        self._id = shown.id
        self._calls = list(_calls(shown, arguments))
        if not self._calls:
            raise InvalidRequest("the identity of this result is not known, so no more of it can be loaded")
        if {"start", "end", "period", "max_weight", "progress"} & set(arguments):
            raise InvalidRequest("the view is what says start, end and period; leave them out, and max_weight too")
        self._seconds = BY_NAME.get(self._id.interval or "", BY_LENGTH[MINUTE]).seconds
        self._offers: dict[int, tuple[list[tuple[int, int]], int]] = {}
        self._number = 0
        self._not_kept: set[tuple[int, int]] = set()

    def look(self, base: BaseLayer, view: View) -> dict[str, Any] | None:
        """Loads a view's missing parts from the archive, or offers them; None if there is nothing to send."""
        missing = self.missing(base, view[0])
        if not missing:
            return {"kind": "offer", "offer": 0}
        if too_much := self._too_much(base, missing):
            return {"kind": "offer", "offer": 0, "text": too_much}
        if self._archive is not None:
            left = [window for window in missing if window not in self._not_kept]
            read = [window for window in left if self._read(base, window)]
            if read:
                base.drop_beyond(view[0], MOST_LEVELS)
                return {"kind": "loaded"}
        if self._client is None:
            return {"kind": "offer", "offer": 0, "text": "the archive holds no more here"}
        return self._offer(missing)

    def missing(self, base: BaseLayer, window: tuple[int, int]) -> list[tuple[int, int]]:
        """The missing parts, adjacent to the loaded window, that cover a window with it, in Unix seconds."""
        grid = self._seconds
        there = base.window[0] // SECOND_NS, -(-base.window[1] // SECOND_NS)
        start, end = window[0] // SECOND_NS // grid * grid, -(-window[1] // SECOND_NS // grid) * grid
        return [(first, last) for first, last in ((start, there[0]), (there[1], end)) if first < last]

    def _too_much(self, base: BaseLayer, missing: list[tuple[int, int]]) -> str:
        loaded = (base.window[1] - base.window[0]) / SECOND_NS
        wanted = sum(last - first for first, last in missing)
        if base.levels * wanted / max(loaded, 1) <= MOST_AT_ONCE:
            return ""
        return "more than fits in memory lies past the loaded window: zoom in to load a part of it"

    def _read(self, base: BaseLayer, window: tuple[int, int]) -> bool:
        """Reads a part from the archive; False if it was never downloaded."""
        for call, named in self._calls:
            try:
                answer = self._archive.read(*call, start=window[0], end=window[1], **named)
            except NotArchivedError:
                continue
            base.add(self._own(answer), _nanos(window))
            return True
        self._not_kept.add(window)
        return False

    def _own(self, answer: Any) -> Any:
        """The shown series of an answer: a call for several markets returns others too."""
        return next((one for one in answer if one.id == self._id), None) or answer.only

    def _offer(self, missing: list[tuple[int, int]]) -> dict[str, Any]:
        call, named = self._calls[0]
        plans = [self._client.plan(*call, start=first, end=last, **named) for first, last in missing]
        weight = sum(plan.weight for plan in plans)
        self._number += 1
        self._offers = {self._number: (missing, weight)}
        wait = max(plan.eta for plan in plans)
        stretches = " and ".join(f"{iso(first)} to {iso(last)}" for first, last in missing)
        waits = f", waits {wait:,.0f} s for budget" if wait >= 1 else ""
        return {
            "kind": "offer",
            "offer": self._number,
            "weight": weight,
            "text": f"Load {stretches} UTC: weight {weight:,}{waits}",
        }

    def spend(self, base: BaseLayer, offer: Any, note: Callable[[str], None]) -> dict[str, Any]:
        """Loads an offer, for no more than its weight; each offer is accepted once.

        Raises:
            Error: As of the client's call, where nothing was loaded.
        """
        if not isinstance(offer, int) or offer not in self._offers:
            return {"kind": "note", "text": "this offer is out of date; move the view for another"}
        missing, weight = self._offers.pop(offer)
        call, named = self._calls[0]
        loaded = False
        for window in missing:
            note(f"loading {iso(window[0])} to {iso(window[1])} UTC …")
            try:
                plan = self._client.plan(*call, start=window[0], end=window[1], **named)
                most = min(weight, plan.weight)
                answer = self._client.points(*call, start=window[0], end=window[1], max_weight=most, **named)
                weight -= most
                if not len(answer):
                    raise InvalidRequest(f"nothing there: {answer.why_empty}")
                base.add(self._own(answer), _nanos(window))
            except Error as problem:
                if not loaded:
                    raise
                note(str(problem))  # parts loaded before it are shown
            else:
                loaded = True
        return {"kind": "loaded"}


def _calls(shown: Any, arguments: Mapping[str, Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls that load more of a result: for its market alone, which weighs least, and as in the original query.

    By the second an archive keeps it, where more was asked for at once.
    """
    identity, asked = shown.id, shown.asked_for
    exchanges = list(asked.exchanges) if asked is not None and asked.exchanges else None
    symbol, coin = (None, None) if asked is None else (asked.symbol, asked.coin)
    alone = identity.raw_symbol or symbol
    found = []
    for venues, market, asset in (
        (identity.exchange or exchanges, alone, None if alone else identity.coin or coin),
        (exchanges or identity.exchange, symbol or (None if coin else identity.raw_symbol), coin),
    ):
        named = {"coin": asset, "usd": shown.usd, **arguments}
        call = (
            (identity.type, venues, market, identity.interval),
            {name: value for name, value in named.items() if value not in (None, False)},
        )
        if identity.type is not None and (market or asset) and call not in found:
            found.append(call)
            yield call


def _nanos(window: tuple[int, int]) -> tuple[int, int]:
    return window[0] * SECOND_NS, window[1] * SECOND_NS
