"""The explorer: a heatmap or candles to zoom and drag in a notebook, with anything over them.

Knows results only by the protocols of ``common/``. Needs anywidget for a notebook (the extra ``notebook``), matplotlib
for the static picture beside it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ..common.data_types import TABLE, role
from ..common.optional import load
from ..common.protocols import Drawable
from ..common.times import Time
from ..errors import InvalidRequest, SelectionError
from ..plots.bars import is_bars
from ..plots.bounds import check_all
from ..plots.candles import is_candles
from ..plots.labels import amount_unit
from ..plots.pixels import Pixels, asked_view
from ..plots.together import flattened, same_market
from .base_layer import BaseLayer, View
from .downsampling import BubbleData
from .explorer import Explorer
from .loading import Loader, ResultLoader
from .messages import Overlays

__all__ = ["Explorer", "explore", "explorer_of"]


def explore(
    shown: Any,
    over: Iterable[object] | object = (),
    *,
    window: tuple[Time, Time] | None = None,
    prices: tuple[float, float] | None = None,
    client: Any = None,
    archive: Any = None,
    arguments: Mapping[str, Any],
) -> Explorer:
    """An explorer of a heatmap or of candles; arguments as of :meth:`~marketpoints.Series.explore`."""
    load("anywidget")
    every = _every(shown, over)
    base, above = _sorted_out(every)
    check_all(every)
    if arguments and client is None and archive is None:
        raise InvalidRequest(f"{next(iter(arguments))}: is of a call for more; give client= or archive= too")
    below = BaseLayer(base)
    beyond = (
        None if client is None and archive is None else ResultLoader(base, client, archive, _sized(below, arguments))
    )
    return Explorer(below, above, beyond, _view(below, window, prices), every)


def explorer_of(
    below: BaseLayer,
    over: Iterable[object] | object,
    more: Loader,
    window: tuple[Time, Time] | None,
    prices: tuple[float, float] | None,
) -> Explorer:
    """An explorer of an existing base layer; ``more`` loads what is missing.

    Raises:
        Error: As of :func:`explore`.
    """
    load("anywidget")
    every = _every(below.shown, over)
    _, above = _sorted_out(every)
    check_all(every[1:])
    return Explorer(below, above, more, _view(below, window, prices), every)


def _every(shown: Any, over: Iterable[object] | object) -> list[Any]:
    """The result to show and the results to draw over it."""
    if over is None:
        return [shown]
    return [shown, *flattened(over if isinstance(over, (list, tuple)) else [over])]


def _sorted_out(every: list[Any]) -> tuple[Any, Overlays]:
    """The base layer, and the layers over it.

    Raises:
        SelectionError: Something has no prices, is of another market, or there are two of a kind.
    """
    roles: dict[str, list[Any]] = {"heatmap": [], "candles": [], "liquidations": [], "profile": []}
    for one in every:
        if not same_market(every[0], one):
            raise SelectionError(f"{one.id} is of another market than {every[0].id}; explore each by itself")
        roles[_role(one)].append(one)
    for name, several in roles.items():
        if len(several) > (2 if name == "liquidations" else 1):
            ids = ", ".join(str(one.id) for one in several)
            raise SelectionError(f"there are {len(several)} {name} for one explorer ({ids}); pick with sel(…)")
    bases = roles["heatmap"] or roles["candles"]
    if not bases:
        raise SelectionError(f"{every[0].id} has no prices to explore; give it as over= of candles or of a heatmap")
    candles = roles["candles"][0] if roles["heatmap"] and roles["candles"] else None
    price_sources = [one for one in (candles, bases[0]) if one is not None]
    liquidations = roles["liquidations"]
    bubbles = BubbleData.of(liquidations, price_sources) if liquidations else None
    unit = amount_unit(liquidations[0]) if liquidations else None
    return bases[0], Overlays(candles, bubbles, roles["profile"][0] if roles["profile"] else None, unit)


def _role(one: Drawable) -> str:
    if is_candles(one):
        return "candles"
    if is_bars(one):
        return "liquidations"
    if role(one.id.type) == "profile":
        return "profile"
    if hasattr(one, "split") and hasattr(one, "volumes"):
        return "heatmap"
    raise SelectionError(f"{one.id} has no place in an explorer; mp.plot(…) draws it below the prices")


def _sized(base: BaseLayer, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments for loading more; an order book's block size is the height of its levels."""
    row = TABLE.get(base.shown.id.type or "")
    if row is None or not row["needs_block_size"] or "block_size" in arguments or not base.step:
        return arguments
    return {**arguments, "block_size": float(f"{base.step:.9g}")}


def _view(base: BaseLayer, window: tuple[Time, Time] | None, prices: tuple[float, float] | None) -> View:
    """The initial view, as given.

    Raises:
        InvalidRequest: It is none, or lies beside what there is.
    """
    home = base.home()
    pixels = base.parts[0].pixels
    if window is None and prices is None:
        return home
    if pixels is None:
        import numpy as np

        trace = base.parts[0].trace
        low, high = (trace.low, trace.high) if len(trace.low) else (np.array([0.0]), np.array([1.0]))
        # Candles as levels: one from the lowest price to the highest.
        levels = np.array([[np.nanmin(low), 1.0], [np.nanmax(high), 1.0]])
        edges = [0] * len(trace.starts) + [2] if len(trace.starts) else [0]
        offsets = np.array(edges, dtype=np.int64)
        pixels = Pixels(offsets, levels, trace.starts, trace.ends, None, "both", max(levels[1, 0] * 1e-9, 1e-12))
    asked, shown, _ = asked_view(pixels, 1, 1, window, prices)
    return (home[0] if window is None else asked), (home[1] if prices is None else shown)
