"""Answers the requests of the explorer's page: messages in, messages with binary buffers out."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ..common.data_types import amount
from ..common.protocols import Drawable
from ..errors import Error, InvalidRequest
from ..plots.colours import DOWN, UP
from ..plots.labels import amount_unit, bare, price_label
from ..plots.palette import THEMES
from .base_layer import BaseLayer, View
from .colours import COLOURS, FIRST, NORMS, Scale, palette, scale
from .downsampling import BubbleData, PriceLine, candles_between, nearby
from .latest_task import LatestTask
from .loading import Loader

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["SIDES", "Answers", "Overlays", "ViewRequest"]

#: Sends a message and its buffers to the page.
Send: TypeAlias = Callable[[dict[str, Any], list[bytes]], None]
SIDES = ("both", "two", "bids", "asks")
#: Most pixels of a picture, and of one side.
MOST_PIXELS, LONGEST = 8_000_000, 8_192
MILLI = 1_000_000
#: Milliseconds from 1970 to the first and to the last moment that nanoseconds hold.
LAST = 2**63 / MILLI
#: Seconds that the view stands still before its profile is made.
PAUSE = 0.08
#: Most seconds that the interpreter's exit waits for a picture, and for what is being loaded.
PICTURE_GRACE, LOAD_GRACE = 10.0, 1.0


@dataclass(frozen=True)
class Overlays:
    """The layers over the base layer.

    Attributes:
        candles: Candles of the market.
        bubbles: Its liquidations.
        profile: Its volume profile.
        unit: The unit of the liquidations.
    """

    candles: Drawable | None = None
    bubbles: BubbleData | None = None
    profile: Any = None
    unit: str | None = None


@dataclass(frozen=True)
class ViewRequest:
    """A picture requested by the page.

    Attributes:
        id: Its number; a later one is higher.
        view: What it shows.
        size: Width and height in pixels.
        side: One of :data:`SIDES`.
        norm: One of :data:`NORMS`.
        theme: ``dark`` or ``light``.
        dpr: The page's pixels per pixel of the picture's overlays.
    """

    id: int
    view: View
    size: tuple[int, int]
    side: str
    norm: str
    theme: str
    dpr: float

    @classmethod
    def of(cls, message: Mapping[str, Any], has_sides: bool) -> "ViewRequest":
        """Parses a request of the page.

        Raises:
            InvalidRequest: It is malformed, or too large.
        """
        try:
            start, end, low, high, dpr = (float(message[name]) for name in ("t0", "t1", "p0", "p1", "dpr"))
            size = int(message["w"]), int(message["h"])
            number = int(message["id"])
        except (KeyError, TypeError, ValueError, OverflowError) as problem:
            raise InvalidRequest(f"the message lacks a number: {problem!r}") from None
        if not all(map(math.isfinite, (start, end, low, high, dpr))) or not (start < end and low < high and dpr > 0):
            raise InvalidRequest(f"no view: time {start} to {end}, prices {low} to {high}")
        if not (abs(start) <= LAST and abs(end) <= LAST):
            raise InvalidRequest(f"no view: time {start} to {end} ms is beyond the years that are known")
        if not (0 < size[0] <= LONGEST and 0 < size[1] <= LONGEST and size[0] * size[1] <= MOST_PIXELS):
            raise InvalidRequest(f"{size[0]} × {size[1]} pixels are no picture; up to {MOST_PIXELS:,} are")
        side, norm, name = (message.get(key) for key in ("side", "scale", "theme"))
        if side not in SIDES or norm not in NORMS or name not in THEMES:
            raise InvalidRequest(f"no such side, scale or theme: {side!r}, {norm!r}, {name!r}")
        first, last = (max(-(2**63), min(2**63 - 1, round(edge * MILLI))) for edge in (start, end))
        window = first, last
        if window[0] >= window[1]:
            raise InvalidRequest("a view of less than a nanosecond")
        return cls(number, (window, (low, high)), size, side if has_sides else "both", norm, name, dpr)


class Answers:
    """Answers a page's messages. Pictures are made in a thread, only the latest one requested.

    Args:
        base: The base layer.
        over: What lies over it.
        beyond: Where what is not loaded comes from; None nowhere.
        send: Sends a message and its buffers.
        home: The view to begin with.
    """

    def __init__(self, base: BaseLayer, over: Overlays, beyond: Loader | None, send: Send, home: View) -> None:
        self.base, self.over, self.beyond, self._send = base, over, beyond, send
        self._home = home
        self._scales: dict[str, Scale] = {}
        self.pictures: LatestTask[ViewRequest] = LatestTask(self._answer, PICTURE_GRACE)
        self.profiles: LatestTask[ViewRequest] = LatestTask(self._answer_profile, PICTURE_GRACE)
        self.loads: LatestTask[View | None] = LatestTask(self._load, LOAD_GRACE)
        # Accepted offers: a later view does not replace them.
        self._taken: deque[Any] = deque()

    @property
    def about(self) -> dict[str, Any]:
        """The page's initial state: small, because it is saved with the notebook."""
        shown, base = self.base.shown, self.base
        unit = amount_unit(shown)
        (start, end), (low, high) = self._home
        return {
            "title": base.title,
            "unit": bare(unit or ""),
            "price": bare(price_label(shown)),
            "home": [start / MILLI, end / MILLI, low, high],
            "loaded": self.loaded,
            "interval": base.grain / MILLI,
            "step": base.step or 0.0,
            "levels": base.has_levels,
            "sides": base.has_sides,
            "rows": len(base),
            "empty": "" if len(base) else "no rows",
            "profile": self._beside,
            "largest": self.over.bubbles.most if self.over.bubbles else 0.0,
            "amounts": bare(self.over.unit or ""),
            "up": UP,
            "down": DOWN,
            "themes": {
                name: {"paper": one.paper, "ink": one.ink, "bought": one.bought, "sold": one.sold}
                | {"bids": one.bids[len(one.bids) // 2], "asks": one.asks[len(one.asks) // 2]}
                for name, one in THEMES.items()
            },
        }

    @property
    def loaded(self) -> list[float]:
        """The loaded window in milliseconds."""
        return [edge / MILLI for edge in self.base.window]

    def handle(self, message: object) -> None:
        """Handles a message of the page. Errors are sent to the page, never raised."""
        try:
            if not isinstance(message, Mapping):
                raise InvalidRequest(f"{type(message).__name__} is no message")
            if message.get("kind") == "view":
                self.pictures.ask(ViewRequest.of(message, self.base.has_sides))
            elif message.get("kind") == "spend" and self.beyond is not None:
                self._taken.append(message.get("offer"))
                self.loads.ask(None)
            else:
                raise InvalidRequest(f"{message.get('kind')!r} is no kind of message")
        except Error as problem:
            number = message.get("id") if isinstance(message, Mapping) else None
            self._send({"kind": "error", "id": number, "text": str(problem)}, [])

    def close(self) -> None:
        """Stops making and loading."""
        self.pictures.close()
        self.profiles.close()
        self.loads.close()

    def scale(self, norm: str) -> Scale:
        """The colour scale of the initial volumes: loading more does not change it."""
        if norm not in self._scales:
            self._scales[norm] = scale(norm, self.base.parts[0].pixels.levels if self.base.parts[0].pixels else [])
        return self._scales[norm]

    def pixels(self, asked: ViewRequest) -> "tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]":
        """A picture as bytes, uint8 (height, width), the first row the lowest prices; and each byte's least volume."""
        import numpy as np

        known = self.scale(asked.norm)
        if asked.side != "two":
            return known.bytes_of(self.base.raster(asked.view, asked.size, asked.side)), known.lower
        bids, asks = (self.base.raster(asked.view, asked.size, side) for side in ("bids", "asks"))
        is_ask = np.nan_to_num(asks) > np.nan_to_num(bids)
        found = known.bytes_of(np.where(is_ask, asks, bids))
        half = np.uint8(COLOURS // 2)
        coloured = found >= FIRST
        found[coloured] = FIRST + (found[coloured] - FIRST) // 2 + np.where(is_ask[coloured], half, np.uint8(0))
        lower = known.lower.copy()
        lower[FIRST : FIRST + half] = lower[FIRST + half :] = known.lower[FIRST::2]
        return found, lower

    def _answer(self, asked: ViewRequest) -> None:
        with self._sending_errors(asked):
            place = _place(asked)
            if self.base.has_levels:
                pixels, lower = self.pixels(asked)
                header = {
                    "kind": "view",
                    "w": asked.size[0],
                    "h": asked.size[1],
                    "side": asked.side,
                    "scale": asked.norm,
                }
                self._send(place | header, [pixels.tobytes(), palette(asked.theme, asked.side), lower.tobytes()])
            if self.pictures.has_newer:
                return
            self._send_lists(place, self.lists(asked), last=not self._beside)
            if self._beside:
                self.profiles.ask(asked)
            if self.beyond is not None and not self.pictures.has_newer:
                self.loads.ask(asked.view)

    def _answer_profile(self, asked: ViewRequest) -> None:
        """Expensive, so made only once the view stands still. The next picture does not wait for it."""
        with self._sending_errors(asked):
            if not self.pictures.has_newer and self.profiles.has_time(PAUSE):
                self._send_lists(_place(asked), self.profile(asked), last=True)

    @contextmanager
    def _sending_errors(self, asked: ViewRequest) -> Iterator[None]:
        """Sends errors to the page and continues."""
        try:
            yield
        except Error as problem:
            self._send({"kind": "error", "id": asked.id, "text": str(problem)}, [])
        except Exception as problem:
            self._send({"kind": "error", "id": asked.id, "text": f"{type(problem).__name__}: {problem}"}, [])

    def _send_lists(self, place: Mapping[str, Any], lists: Mapping[str, Any], *, last: bool) -> None:
        header = {"kind": "over", "last": last, "lists": [[name, len(values)] for name, values in lists.items()]}
        self._send({**place, **header}, [values.tobytes() for values in lists.values()])

    @property
    def _beside(self) -> str:
        """The label of the profile; empty without one."""
        if self.over.profile is not None:
            return amount(self.over.profile.id.type) or "volume"
        return self.base.beside

    def lists(self, asked: ViewRequest) -> dict[str, Any]:
        """The layers over a picture by name, float64 each."""
        (start, end), _ = asked.view
        wide, high = (max(1, round(size / asked.dpr)) for size in asked.size)
        found: dict[str, Any] = {}
        over = self.over
        candles = over.candles if self.base.has_levels else self.base.shown
        if candles is not None:
            several = (
                self.base.candles(start, end, wide)
                if candles is self.base.shown
                else candles_between(candles, start, end, wide)
            )
            found |= _named("candles", several or {})
            if several is None:
                line = self.base.line(start, end, wide) if candles is self.base.shown else None
                found |= _named("close", line or PriceLine.of(candles).columns(start, end, wide))
        if self.base.has_levels:
            found |= _named("mid", self.base.line(start, end, wide))
        if over.bubbles is not None:
            found |= _named("bubbles", over.bubbles.squares(asked.view, (wide, high)))
        return _doubles(found)

    def profile(self, asked: ViewRequest) -> dict[str, Any]:
        """Volume by price of the visible buckets: traded, or else resting in the book, float64 each."""
        (start, end), prices = asked.view
        wide, rows = asked.size[0], max(1, round(asked.size[1] / asked.dpr))
        traded = self.over.profile
        found = (
            nearby(traded, start, end, prices, rows)
            if traded is not None
            else self.base.resting(asked.view, (wide, rows))
        )
        return _doubles(_named("profile", {name: sums for name, sums in found.items() if sums is not None}))

    def _load(self, view: View | None) -> None:
        """Loads accepted offers; then reads what is free beyond the loaded window and offers the rest."""
        beyond = self.beyond
        assert beyond is not None
        while self._taken:
            offer = self._taken.popleft()
            self._send_loaded(partial(beyond.spend, self.base, offer, self._note))
        if view is not None:
            self._send_loaded(partial(beyond.look, self.base, view))

    def _send_loaded(self, load: Callable[[], dict[str, Any] | None]) -> None:
        """Loads, and sends the page the result."""
        try:
            answer = load()
        except Error as problem:
            answer = {"kind": "note", "text": str(problem)}
        except Exception as problem:  # from the user's client or archive: shown on the page, nothing is lost
            answer = {"kind": "note", "text": f"{type(problem).__name__}: {problem}"}
        if answer is not None:
            self._send(answer | {"loaded": self.loaded}, [])

    def _note(self, text: str) -> None:
        self._send({"kind": "note", "text": text, "busy": True}, [])


def _doubles(columns: Mapping[str, Any]) -> dict[str, Any]:
    import numpy as np

    return {name: np.ascontiguousarray(values, dtype=np.float64) for name, values in columns.items()}


def _place(asked: ViewRequest) -> dict[str, Any]:
    """Identifies a message's picture and view."""
    (start, end), (low, high) = asked.view
    return {"id": asked.id, "t0": start / MILLI, "t1": end / MILLI, "p0": low, "p1": high}


def _named(prefix: str, columns: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{name}": values for name, values in columns.items()}
