"""Candles in the shapes that backtest frameworks take."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .. import _engine
from ..common.optional import load
from ..common.protocols import Label
from ..common.suggest import did_you_mean
from ..errors import SelectionError
from ..results.series import Series
from ..results.sets import SeriesSet, as_set, field_of
from .digits import Instrument, digits, rounded

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["OHLCV", "backtesting", "closed_candles", "closes", "nautilus"]

# Identity fields that may name the columns of several series, the shortest combination first.
NAMES: tuple[tuple[str, ...], ...] = (
    ("raw_symbol",),
    ("exchange",),
    ("exchange", "raw_symbol"),
    ("coin",),
    ("exchange", "coin"),
    ("exchange", "raw_symbol", "side"),
    ("raw_symbol", "tenor"),
)
#: The columns that backtesting.py names, and ours.
OHLCV = {"Open": "open", "High": "high", "Low": "low", "Close": "close", "Volume": "volume"}


def backtesting(candles: Series | SeriesSet) -> Any:
    """Candles for ``backtesting.Backtest``: columns Open, High, Low, Close, Volume, indexed by time.

    Rows are stamped with the **start** of their bucket, in UTC without a zone: the framework acts after a row and
    trades at the next one's open, and its ``resample_apply`` groups rows by their stamp, so that a day is made of its
    own 24 hours. Buckets that were still forming are left out.

    Returns:
        A pandas ``DataFrame`` whose values are its own.

    Raises:
        MissingDependencyError: pandas is not installed.
        SelectionError: It is no candle series, or a set of none or several.
    """
    frame = _candles(candles, "left").set_axis(list(OHLCV), axis="columns")
    frame.index = frame.index.tz_localize(None)
    return frame


def nautilus(candles: Series | SeriesSet, instrument: Instrument | None = None) -> Any:
    """Candles for ``BarDataWrangler.process`` of NautilusTrader 1: open, high, low, close, volume in this order.

    Rows are stamped with the **end** of their bucket, tz-aware UTC: leave ``ts_init_delta`` at 0, and both times of a
    bar are the moment at which its values are known. Buckets that were still forming are left out.

    Args:
        candles: One series of candles.
        instrument: The framework's instrument: prices and volumes are rounded to its digits. None leaves them as they
            are, and the wrangler rounds doubles its own way.

    Returns:
        A pandas ``DataFrame`` of float64 whose values are its own and may be written.

    Raises:
        MissingDependencyError: pandas is not installed.
        SelectionError: It is no candle series, or a set of none or several.
        InvalidRequest: The instrument has no digits.
    """
    frame = _candles(candles, "right")
    if instrument is not None:
        price_places, size_places = digits(instrument)
        for name in OHLCV.values():
            frame[name] = rounded(frame[name].to_numpy(), size_places if name == "volume" else price_places)
    return frame


def _candles(candles: Series | SeriesSet, label: Label) -> Any:
    """The closed candles of one series, as a frame of five columns."""
    series, closed = closed_candles(candles)
    return series.to_pandas(label=label)[list(OHLCV.values())].loc[closed].copy()


def closed_candles(candles: Series | SeriesSet) -> "tuple[Series, npt.NDArray[np.bool_]]":
    """One series of candles, and which of them were closed.

    Raises:
        SelectionError: It is no candle series, or a set of none or several.
    """
    every = as_set(candles, "candles")
    lacking = [[name for name in OHLCV.values() if name not in one] for one in every]
    # Checked before one of several has to be picked: no other would do either.
    if every and all(lacking):
        raise SelectionError(f"{every[0].id}: these are no candles, there is no column {', '.join(lacking[0])}")
    series = every.only
    return series, series.is_closed


def closes(candles: Series | SeriesSet, *, column: str = "close", by: str | Sequence[str] | None = None) -> Any:
    """Several series side by side for vectorbt: a row per time, a column per series.

    Rows are stamped with the **end** of their bucket, tz-aware UTC, and cover every bucket from first to last, so
    that the index has a frequency; where a series has no row its value is NaN: filling is the user's choice. Buckets
    that were still forming are left out.

    Args:
        candles: Series of one interval, of one exchange or several.
        column: The column to lay side by side.
        by: The field of the identity that names the columns, or several, joined by a space. None takes the symbol;
            where it is the same for several series the exchange, or exchange and symbol, such as ``BYBIT BTCUSDT``.

    Returns:
        A pandas ``DataFrame`` whose values are its own.

    Raises:
        MissingDependencyError: pandas is not installed.
        InvalidRequest: ``by`` names no field of an identity.
        SelectionError: There is no series, their names are not distinct, their intervals differ, or one has no such
            column or several rows of one time.
    """
    candles = as_set(candles, "candles")
    names = _names(candles, by)
    intervals = {series.id.interval for series in candles}
    if len(intervals) > 1:
        raise SelectionError(f"the series have different intervals: {', '.join(sorted(map(str, intervals)))}")
    for series in candles:
        if column not in series:
            near = _engine.closest(str(column), series.columns)
            hint = did_you_mean(near and repr(near)) or ";"
            raise SelectionError(
                f"{series.id}: there is no column {column!r}{hint} there are {', '.join(series.columns)}"
            )
    for series in candles:
        if (series.timestamps[1:] == series.timestamps[:-1]).any():
            raise SelectionError(f"{series.id}: several rows share a time, which has no one place in such a frame")
    pandas = load("pandas")
    parts = {
        name: series.to_pandas(label="right")[column].loc[series.is_closed]
        for name, series in zip(names, candles, strict=True)
    }
    frame = pandas.concat(parts, axis="columns", sort=True)
    if not len(frame):
        return frame
    step = pandas.Timedelta(_engine.Buckets.of(intervals.pop()).nanoseconds, unit="ns")
    every = pandas.date_range(frame.index[0], frame.index[-1], freq=step, name="time").as_unit("ns")
    # Where nothing is missing pandas would lend the engine's memory, which cannot be written.
    return frame.reindex(every if frame.index.isin(every).all() else every.union(frame.index)).copy()


def _names(candles: SeriesSet, by: str | Sequence[str] | None) -> list[str]:
    """A name of each series, all different.

    Raises:
        SelectionError: There is no series, or they do not differ in the fields.
    """
    wanted = () if by is None else (by,) if isinstance(by, str) else tuple(by)
    choices = NAMES if by is None else (tuple(field_of(field, "by") for field in wanted),)
    known = [series.id.known() for series in candles]
    for fields in choices:
        if all(field in one for one in known for field in fields):
            names = [" ".join(one[field] for field in fields) for one in known]
            if names and len(set(names)) == len(names):
                return names
    ids = ", ".join(str(series.id) for series in candles) or "no series"
    raise SelectionError(
        f"the series do not differ in {' and '.join(choices[0]) if by else 'exchange and symbol'}: {ids}; "
        "pick some with sel(…), or name other fields by by="
    )
