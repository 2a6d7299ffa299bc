"""Order-book heatmaps as the events that hftbacktest replays."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..common.arguments import number, whole
from ..errors import InvalidRequest, SelectionError
from ..results.heatmap import Heatmap
from ..results.levels import Profile
from ..results.sets import SeriesSet
from .books import BookSides, sides, smallest_step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .pinned import Events

__all__ = ["hftbacktest"]

#: The framework's own layout, ``hftbacktest.types.event_dtype``: it takes an address and checks nothing.
FIELDS = [
    ("ev", "u8"),
    ("exch_ts", "i8"),
    ("local_ts", "i8"),
    ("px", "f8"),
    ("qty", "f8"),
    ("order_id", "u8"),
    ("ival", "i8"),
    ("fval", "f8"),
]
TRADE, CLEAR, SNAPSHOT = 2, 3, 4
# For the exchange and for the local side; what it means for bids and buyers, and for asks and sellers.
SEEN, BUY, SELL = 1 << 31 | 1 << 30, 1 << 29, 1 << 28
#: A price is on the grid when it is nearer to it than this part of a tick.
OFF_GRID = 1e-6
TRADED = ("time", "price", "amount", "side")


def hftbacktest(
    book: Heatmap | SeriesSet,
    *,
    tick_size: float,
    trades: "Profile | SeriesSet | Mapping[str, Any] | None" = None,
    latency_ns: int = 0,
    block_size: float | None = None,
) -> "Events":
    """An order-book heatmap, and what was traded, as events for hftbacktest 2: ``BacktestAsset().data(events)``.

    **An approximation**: a snapshot a bucket is no feed. Between two snapshots the book stands still; queue positions,
    cancellations and the order of things within a bucket cannot be derived from it, so that resting orders fill too
    early, too late or never. Levels are blocks: bids and what was bought count at the lower edge of theirs, asks and
    what was sold at the upper one, so that taking costs up to a block more than it did, and a resting order fills where
    its price was certainly passed. It serves strategies that take and hold for many
    buckets; for market making use a feed of orders (hftbacktest reads raw dumps itself: ``data.utils.tardis``).

    Each snapshot replaces the book: a clear event for either side, then its levels, the best first, all stamped with
    the **end** of the bucket, when it was known. Trades of that time come before it, as the framework's queue models
    want it. Buckets that were still forming are left out.

    The framework keeps the address of the array and no reference. So the array stays in memory from when it is handed
    over until ``events.release()``, or until the process ends.

    Args:
        book: One order-book heatmap, in coins.
        tick_size: The asset's, of which every price must be a multiple.
        trades: A volume profile of the same market: in each bucket and at each price all that was bought and all that
            was sold, as one trade each at the bucket's end. Or trades of one's own, a frame or mapping with columns
            ``time`` (datetime64, UTC), ``price``, ``amount`` and ``side`` (``"buy"`` or ``"sell"``, the taker's).
        latency_ns: Nanoseconds from the exchange to the strategy, 0 or more.
        block_size: Height of a block; None takes the smallest distance of two levels, 0 leaves asks at the lower edge.

    Returns:
        A structured NumPy array of its ``event_dtype``, contiguous, shape (events,); ordered by both of its times.

    Raises:
        SelectionError: It is no order book, or a set of none or several; its sides are not known, its volumes are USD;
            or the trades are no profile and have not these columns.
        InvalidRequest: A price is no multiple of the tick, or an argument is no such number, time or side.
    """
    import numpy as np

    from .pinned import Events

    tick = _tick(tick_size)
    latency = whole(latency_ns, "latency_ns") or 0
    if latency < 0:
        raise InvalidRequest(f"latency_ns: {latency} is negative; nothing is seen before it happens")
    parts = [_book(sides(book, block_size)), _trades(trades)]
    kinds, times, prices, volumes = (np.concatenate(part) for part in zip(*parts, strict=True))
    # At one time: what was traded, then what is cleared, then what stands there. Stable, so the best comes first.
    order = np.lexsort((kinds & 7, times))
    events = np.zeros(len(order), dtype=np.dtype(FIELDS, align=True)).view(Events)
    events["ev"] = (kinds | SEEN)[order]
    events["exch_ts"] = times[order]
    events["local_ts"] = times[order] + latency
    events["px"] = _on_grid(prices[order], tick)
    events["qty"] = volumes[order]
    return events


def _book(found: BookSides) -> tuple[Any, Any, Any, Any]:
    """Clear events and levels: kind, time, price, volume."""
    import numpy as np

    cleared = np.repeat(found.times, 2)
    kinds = np.tile([CLEAR | BUY, CLEAR | SELL], len(found.times))
    # No price clears all of a side. Down to a price, one of the framework's books (ROIVector, 2.4.4) leaves asks.
    nowhere, nothing = np.full(len(cleared), np.nan), np.zeros(len(cleared))
    levels = SNAPSHOT | np.where(found.is_ask, SELL, BUY)
    return (
        np.concatenate([kinds, levels]),
        np.concatenate([cleared, found.times[found.rows]]),
        np.concatenate([nowhere, found.prices]),
        np.concatenate([nothing, found.volumes]),
    )


def _trades(given: Any) -> tuple[Any, Any, Any, Any]:
    """Trades: kind, time, price, volume."""
    import numpy as np

    if given is None:
        empty = np.zeros(0)
        return empty.astype("int64"), empty.astype("int64"), empty, empty
    series = given.only if isinstance(given, SeriesSet) else given
    if isinstance(series, Profile):
        if series.usd:
            raise SelectionError(f"{series.id}: volumes are in USD, trades are of coins; ask without usd=True")
        rows = np.repeat(np.arange(len(series)), np.diff(series.offsets))
        closed = series.is_closed[rows]
        times, prices = series.closes_at.astype("int64")[rows], series.prices
        kinds = np.concatenate([np.full(len(rows), TRADE | BUY), np.full(len(rows), TRADE | SELL)])
        # Its position in its block is not known: the end at which it fills the fewest resting orders.
        ends = np.concatenate([prices, prices + smallest_step(prices, rows, "trades")])
        volumes = np.concatenate([series.buys, series.sells])
        traded = np.flatnonzero((volumes > 0) & np.tile(closed, 2))
        return kinds[traded], np.tile(times, 2)[traded], ends[traded], volumes[traded]
    return _own_trades(given)


def _own_trades(given: Any) -> tuple[Any, Any, Any, Any]:
    """Trades of the user's own."""
    import numpy as np

    try:
        columns = {name: np.asarray(given[name]) for name in TRADED}
    except (KeyError, IndexError, TypeError, ValueError):
        raise SelectionError(
            f"trades: a {type(given).__name__} is no volume profile and has not the columns {', '.join(TRADED)}"
        ) from None
    times, sides_of = columns["time"], columns["side"].astype(str)
    if times.dtype.kind == "O":  # a column of pandas that knows its zone
        times = np.array([getattr(time, "value", None) for time in times], dtype="datetime64[ns]")
    if times.dtype.kind != "M" or np.isnat(times).any():
        raise InvalidRequest("trades: time must be datetime64 in UTC, without NaT")
    strange = sorted({*sides_of.tolist()} - {"buy", "sell"})
    if strange:
        raise InvalidRequest(f"trades: a side is 'buy' or 'sell', the taker's, and not {strange[0]!r}")
    order = np.argsort(times, kind="stable")
    kinds = TRADE | np.where(sides_of == "buy", BUY, SELL)
    price, amount = (columns[name].astype("float64")[order] for name in ("price", "amount"))
    if not (np.isfinite(price) & np.isfinite(amount)).all():
        raise InvalidRequest("trades: a price or an amount is no number")
    return kinds[order], times.astype("datetime64[ns]").astype("int64")[order], price, amount


def _tick(given: Any) -> float:
    tick = number(given, "tick_size")
    if tick is None or not 0 < tick < float("inf"):
        raise InvalidRequest(f"tick_size: {given!r} is no price step; give the asset's, such as 0.1")
    return tick


def _on_grid(prices: Any, tick: float) -> Any:
    """Prices as exact multiples of the tick."""
    import numpy as np

    steps = np.rint(prices / tick)
    # Clear events have no price.
    off = np.flatnonzero(np.abs(prices / tick - steps) > np.maximum(OFF_GRID, np.abs(steps) * 1e-14))
    if len(off):
        raise InvalidRequest(
            f"tick_size: the price {prices[off[0]]:.10g} is no multiple of {tick:g}; give a tick that divides the "
            "size of a block, and every trade's price"
        )
    places = -int(Decimal(repr(tick)).as_tuple().exponent)
    return np.round(steps * tick, max(places, 0))
