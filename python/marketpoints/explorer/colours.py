"""Volumes as colours of one byte each, as the explorer sends them. Needs no matplotlib."""

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from .. import _engine
from ..errors import InvalidRequest
from ..plots.palette import LEAST, MOST, theme

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["EMPTY", "FIRST", "NONE", "NORMS", "Scale", "palette", "scale"]

#: Bytes of pixels: no snapshot, a snapshot without a level there, the smallest volume; then up to 255.
NONE, EMPTY, FIRST = 0, 1, 2
COLOURS = 256 - FIRST
NORMS = ("quantile", "log", "linear")
#: Low bits of a float32 that do not affect its colour. Edges of colours have zeros there: within 0.05 % of their exact
#: values, and a colour is then one look-up in a table by the upper bits.
LOW = 13


@dataclass(frozen=True)
class Scale:
    """Maps volumes to colours.

    Attributes:
        lower: The least volume of each byte, float32 (256,), ascending; 0 up to and with the first colour.
        table: The byte of a volume by the upper bits of its float32, uint8.
    """

    lower: "npt.NDArray[np.float32]"
    table: "npt.NDArray[np.uint8]"

    def bytes_of(self, volumes: "npt.NDArray[np.float32]") -> "npt.NDArray[np.uint8]":
        """Each pixel's byte; NaN means no snapshot, and 0 or less no level."""
        import numpy as np

        found: npt.NDArray[np.uint8] = self.table[np.ascontiguousarray(volumes).view(np.uint32) >> np.uint32(LOW)]
        return found


def scale(norm: str, levels: Any) -> Scale:
    """A scale made of all volumes: the same at every zoom, size and side.

    Args:
        norm: As of :func:`~marketpoints.plots.palette.scale`: ``"quantile"``, ``"log"`` or ``"linear"``.
        levels: Price and volume, float64 (levels, 2).

    Raises:
        InvalidRequest: There is no such scale.
    """
    import numpy as np

    if norm not in NORMS:
        raise InvalidRequest(f"scale: {norm!r} is none of {', '.join(map(repr, NORMS))}")
    places = np.linspace(0, 1, COLOURS + 1)
    inner: npt.NDArray[np.float64]
    ranks = 1 - (1 - places) ** 2
    found = _engine.volume_quantiles(levels, ranks if norm == "quantile" else np.array([LEAST, MOST]))
    if not len(found):
        inner = np.array([], dtype=np.float64)
    elif norm == "quantile":
        inner = found[1:-1]
    else:
        low, high = map(float, found)
        inner = (np.geomspace(low, high, COLOURS + 1) if norm == "log" else places * high)[1:-1]
    edges = np.unique(_rounded(inner))
    if len(edges) and edges[0] == edges[-1]:  # one volume everywhere: the colour in the middle
        edges = edges[:0]
    middle = FIRST + COLOURS // 2
    count = len(edges) + 1
    # With fewer steps than colours, the first and the last have the colours of the ends.
    steps = FIRST + (np.round(np.linspace(0, COLOURS - 1, count)) if count > 1 else np.array([COLOURS // 2]))
    steps = steps.astype(np.uint8)
    uppers = (np.arange(2**18, dtype=np.uint32) << np.uint32(LOW)).view(np.float32)  # positive ones
    table = np.full(2**19, EMPTY, dtype=np.uint8)
    table[: 2**18] = steps[np.searchsorted(edges, uppers, side="right")]
    table[0] = EMPTY
    table[2**18 - 2**10 + 1 : 2**18] = NONE
    table[2**19 - 2**10 + 1 :] = NONE
    lower = np.zeros(256, dtype=np.float32)
    if count > 1:
        lower[steps[1:]] = edges
    elif len(found):
        lower[middle:] = found[0]
    lower = np.maximum.accumulate(lower)
    for one in (lower, table):
        one.flags.writeable = False
    return Scale(lower, table)


def _rounded(edges: Any) -> Any:
    """Numbers as float32 with zeros in the bits that do not affect the colour."""
    import numpy as np

    bits = edges.astype(np.float32).view(np.uint32)
    half = np.uint32(1 << (LOW - 1))
    return ((bits + half) & ~np.uint32((1 << LOW) - 1)).view(np.float32)


@cache
def palette(name: str, side: str) -> bytes:
    """The colours of the bytes: 256 × red, green, blue and opacity, 1 kB.

    Where both sides are known the lower half is for bids and the upper half for asks.

    Args:
        name: ``dark`` or ``light``.
        side: ``both``, ``bids``, ``asks``, or ``two``.

    Raises:
        InvalidRequest: There is no such theme.
    """
    import numpy as np

    chosen = theme(name)
    stops = {"both": [chosen.one], "bids": [chosen.bids], "asks": [chosen.asks], "two": [chosen.bids, chosen.asks]}[
        side
    ]
    rows = np.zeros((256, 4), dtype=np.uint8)
    rows[EMPTY] = [*_rgb(chosen.paper), 255]
    start = FIRST
    for colours in stops:
        count = COLOURS // len(stops)
        fixed = np.array([_rgb(colour) for colour in colours], dtype=np.float64)
        places = np.linspace(0, len(fixed) - 1, count)
        for channel in range(3):
            blend = np.interp(places, np.arange(len(fixed)), fixed[:, channel])
            rows[start : start + count, channel] = np.round(blend)
        rows[start : start + count, 3] = 255
        start += count
    return rows.tobytes()


def _rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
