"""Order-book heatmaps and candles for NautilusTrader: frames for its first major version, Arrow for its second."""

from typing import TYPE_CHECKING, Any

from ..common.optional import load
from ..errors import InvalidRequest
from ..results.heatmap import Heatmap
from ..results.series import Series
from ..results.sets import SeriesSet, as_set
from .bars import OHLCV, closed_candles
from .books import BookSides, sides
from .digits import Instrument, digits, rounded, units

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["nautilus_arrow", "nautilus_deltas"]

#: Flags of the framework's records: part of a snapshot, and the last of its time.
SNAPSHOT, LAST = 1 << 5, 1 << 7
#: How the framework keeps numbers in Arrow.
PLACES, DIGITS = 16, 38


def nautilus_deltas(book: Heatmap | SeriesSet, instrument: Instrument, *, block_size: float | None = None) -> Any:
    """An order-book heatmap for ``OrderBookDeltaDataWrangler.process`` of NautilusTrader 1: every level of it.

    Each snapshot clears the book and adds its levels, the best first, stamped with the **end** of its bucket. It is an
    approximation, for between two snapshots the book stands still; bids count at the lower edge of their block and asks
    at the upper one, so that nothing trades at a better price than there was. Buckets that were still forming are left
    out, and levels that have nothing within the instrument's digits.

    Args:
        book: One order-book heatmap, in coins.
        instrument: The framework's instrument: prices and sizes are rounded to its digits.
        block_size: Height of a block; None takes the smallest distance of two levels, 0 leaves asks at the lower edge.

    Returns:
        A pandas ``DataFrame`` indexed by time (UTC): ``action``, ``side``, ``price``, ``size``, ``order_id``,
        ``flags`` and ``sequence``, the number of the snapshot.

    Raises:
        MissingDependencyError: pandas is not installed.
        SelectionError: It is no order book, a set of none or several, its sides are not known, or its volumes are USD.
        InvalidRequest: The instrument has no digits, or too few to distinguish two levels.
    """
    import numpy as np

    pandas = load("pandas")
    found, prices, sizes = _levels(book, instrument, block_size)
    snapshots = np.arange(len(found.times))
    rows = np.concatenate([snapshots, found.rows])
    order = np.argsort(rows, kind="stable")  # of each snapshot what clears it comes first
    rows = rows[order]
    flags = np.full(len(rows), SNAPSHOT, dtype=np.uint8)
    flags[np.flatnonzero(np.append(np.diff(rows) > 0, len(rows) > 0))] |= LAST
    none, zeros = np.full(len(snapshots), "NO_ORDER_SIDE", dtype=object), np.zeros(len(snapshots))
    columns = {
        "action": np.where(np.arange(len(rows)) < len(snapshots), "CLEAR", "ADD").astype(object)[order],
        "side": np.concatenate([none, np.where(found.is_ask, "SELL", "BUY")])[order],
        "price": np.concatenate([zeros, prices])[order],
        "size": np.concatenate([zeros, sizes])[order],
        "order_id": np.zeros(len(rows), dtype=np.uint64),
        "flags": flags,
        "sequence": rows.astype(np.uint64),
    }
    index = pandas.DatetimeIndex(found.times[rows].view("datetime64[ns]"), tz="UTC", name="time")
    return pandas.DataFrame(columns, index=index)


def nautilus_arrow(result: Series | SeriesSet, instrument: Instrument, *, block_size: float | None = None) -> bytes:
    """Candles or an order-book heatmap for the wranglers of NautilusTrader 2: ``process_record_batch_bytes``.

    Candles for ``BarDataWrangler``, heatmaps for ``OrderBookDepthDataWrangler``: bids descend and asks ascend, each
    from the best price. Both times of a row are the **end** of its bucket. Values have the instrument's digits and no
    more: the framework would keep further ones, and print others than it computes with. What :func:`nautilus_deltas`
    says of heatmaps holds here too.

    Args:
        result: One series of candles, or one order-book heatmap in coins.
        instrument: The framework's instrument: prices and sizes are rounded to its digits.
        block_size: Of a heatmap the height of a block; None takes the smallest distance of two levels, 0 leaves asks
            at the lower edge.

    Returns:
        A stream of Arrow IPC: numbers are decimal128(38, 16), times timestamp[ns, UTC].

    Raises:
        MissingDependencyError: pyarrow is not installed.
        SelectionError: It is neither, a set of none or several, its sides are not known, or its volumes are USD.
        InvalidRequest: The instrument has no digits, or too few to distinguish two levels.
    """
    pyarrow = load("pyarrow")
    every = as_set(result, "result")
    if len(every) == 1 and isinstance(every[0], Heatmap):
        times, columns = _depths(every[0], instrument, block_size)
    else:
        times, columns = _bars(every, instrument)
    stamps = pyarrow.array(times, pyarrow.timestamp("ns", "UTC"))
    table = pyarrow.table(columns | {"ts_event": stamps, "ts_init": stamps})
    sink = pyarrow.BufferOutputStream()
    with load("pyarrow.ipc").new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    made: bytes = sink.getvalue().to_pybytes()
    return made


def _levels(
    book: Heatmap | SeriesSet, instrument: Instrument, block_size: float | None
) -> "tuple[BookSides, npt.NDArray[np.float64], npt.NDArray[np.float64]]":
    """A book of the levels whose size is not 0 in the instrument's digits, with prices and sizes."""
    import numpy as np

    price_places, size_places = digits(instrument)
    found = sides(book, block_size)
    sizes = rounded(found.volumes, size_places)
    kept = found.selected(sizes > 0)
    prices = rounded(kept.prices, price_places)
    same = (np.diff(kept.rows) == 0) & (np.diff(kept.is_ask.astype(int)) == 0) & (np.diff(prices) == 0)
    if same.any():
        raise InvalidRequest(
            f"instrument: with {price_places} digits behind the point two levels have the price "
            f"{prices[1:][same][0]:g}; ask for larger blocks"
        )
    return kept, prices, sizes[sizes > 0]


def _bars(every: SeriesSet, instrument: Instrument) -> tuple[Any, dict[str, Any]]:
    price_places, size_places = digits(instrument)
    series, closed = closed_candles(every)
    columns = {
        name: _decimals(series[name][closed], size_places if name == "volume" else price_places)
        for name in OHLCV.values()
    }
    return series.closes_at[closed], columns


def _depths(book: Heatmap, instrument: Instrument, block_size: float | None) -> tuple[Any, dict[str, Any]]:
    import numpy as np

    pyarrow = load("pyarrow")
    price_places, size_places = digits(instrument)
    found, prices, sizes = _levels(book, instrument, block_size)
    columns = {}
    for name, mine in (("bids", ~found.is_ask), ("asks", found.is_ask)):
        offsets = np.searchsorted(found.rows[mine], np.arange(len(found.times) + 1)).astype(np.int32)
        zeros = np.zeros(int(mine.sum()), dtype=np.uint64)
        level = {
            "price": _decimals(prices[mine], price_places),
            "size": _decimals(sizes[mine], size_places),
            "count": pyarrow.array(zeros.astype(np.uint32)),
            "order_id": pyarrow.array(zeros),
        }
        records = pyarrow.StructArray.from_arrays(list(level.values()), names=list(level))
        columns[name] = pyarrow.ListArray.from_arrays(pyarrow.array(offsets), records)
    count = len(found.times)
    columns["flags"] = pyarrow.array(np.full(count, SNAPSHOT | LAST, dtype=np.uint8))
    columns["sequence"] = pyarrow.array(np.arange(count, dtype=np.uint64))
    return found.times.view("datetime64[ns]"), columns


def _decimals(values: Any, places: int) -> Any:
    """Exact decimals of so many digits after the point, in the framework's width."""
    from decimal import Decimal

    pyarrow = load("pyarrow")
    whole = pyarrow.array(units(values, places)).cast(pyarrow.decimal128(19, 0))
    unit = pyarrow.scalar(Decimal(1).scaleb(-places))
    return load("pyarrow.compute").multiply(whole, unit).cast(pyarrow.decimal128(DIGITS, PLACES))
