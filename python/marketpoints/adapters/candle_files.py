"""Candles, funding rates and open interest as the files that freqtrade reads."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from ..common.arguments import METHODS
from ..common.files import unfinished
from ..common.intervals import BY_NAME, DAY
from ..common.optional import load
from ..common.secrets import redacted
from ..common.times import SECOND_NS, Duration, to_duration
from ..errors import InvalidRequest, SelectionError
from ..results.series import Series
from ..results.sets import SeriesSet, as_set

if TYPE_CHECKING:
    import os

    import numpy as np
    import numpy.typing as npt

__all__ = ["freqtrade"]

CandleKind: TypeAlias = Literal["spot", "futures", "mark", "index", "premiumIndex"]
Columns: TypeAlias = "dict[str, npt.NDArray[np.float64]]"

CANDLE = ("open", "high", "low", "close", "volume")
PAIR = re.compile(r"[A-Za-z0-9]+/[A-Za-z0-9]+(:[A-Za-z0-9]+(-\d{6})?)?", re.ASCII)
#: freqtrade looks for funding rates in files of this timeframe, however often a venue pays.
RATES_TIMEFRAME = "1h"
FORMATS = ("feather", "parquet")


def freqtrade(
    result: Series | SeriesSet,
    folder: "str | os.PathLike[str]",
    pair: str,
    *,
    kind: CandleKind | None = None,
    file_format: Literal["feather", "parquet"] = "feather",
    payments: Duration = "8h",
    rates_for: Duration = "8h",
) -> Path:
    """Writes a file of freqtrade's history: candles, mark prices, funding rates or open interest.

    Rows are stamped with the **start** of their bucket: freqtrade acts after a candle and trades at the next one's
    open. Buckets that were still forming are left out. An existing file is replaced atomically.

    Funding rates: a row for each payment, at its time, and no row between payments. The rate is that at the start of
    the bucket that begins with the payment. A backtest of futures also needs mark prices, or it charges nothing: the
    service has none; futures candles written again as ``kind="mark"`` come near.

    Args:
        result: Candles, funding rates or open interest of one market. Of open interest also both, in coins and in USD.
        folder: freqtrade's folder of the exchange, such as ``user_data/data/binance``.
        pair: The market as freqtrade spells it: ``BTC/USDT``, of futures with what settles it, ``BTC/USDT:USDT``.
        kind: Which of freqtrade's kinds candles are written as; None is ``"futures"`` for pairs like ``BTC/USDT:USDT``,
            else ``"spot"``.
        file_format: ``"feather"`` or ``"parquet"``, as in freqtrade's ``dataformat_ohlcv``.
        payments: How often the venue pays funding, counted from midnight UTC.
        rates_for: The period that the rates refer to: 8 hours, unless the query named another.

    Returns:
        The file.

    Raises:
        MissingDependencyError: pyarrow is not installed.
        SelectionError: ``result`` has another type, no series or several, an interval unknown to freqtrade, or no
            row. Nothing is written.
        InvalidRequest: An argument is not valid.
        OSError: The file cannot be written.
    """
    if file_format not in FORMATS:
        raise InvalidRequest(f"file_format: {file_format!r} is neither 'feather' nor 'parquet'")
    if not PAIR.fullmatch(str(pair)):
        raise InvalidRequest(
            f"pair: {pair!r} is none; spell it as freqtrade does: BTC/USDT, or BTC/USDT:USDT of futures"
        )
    every = as_set(result, "result")
    if len(every) and all(one.id.type == METHODS["open_interest"] for one in every):
        kind_of, timeframe, dates, columns = "open_interest", _timeframe(every[0]), *_interest(every)
    elif every.only.id.type == METHODS["funding_rate"]:
        kind_of, timeframe = "funding_rate", RATES_TIMEFRAME
        dates, columns = _rates(every.only, payments, rates_for)
    else:
        kind_of, timeframe = _candle_kind(kind, pair), _timeframe(every.only)
        dates, columns = _candles(every.only)
    if kind is not None and kind_of != kind:
        raise InvalidRequest(f"kind: {kind!r} is of candles; this is {kind_of}, which needs no kind")
    if kind_of != "spot" and ":" not in pair:
        raise InvalidRequest(f"pair: {pair!r} is a spot market; {kind_of} is of futures, such as BTC/USDT:USDT")
    if not len(dates):
        raise SelectionError(
            f"{every[0].id}: there is no row to write; {_file(pair, timeframe, kind_of)} is left alone"
        )
    file = _root(folder) / f"{_file(pair, timeframe, kind_of)}.{file_format}"
    _write(file, dates, columns, file_format)
    return file


def _root(folder: Any) -> Path:
    try:
        return Path(folder)
    except TypeError:
        raise InvalidRequest(f"folder: {redacted(folder)} is not a path") from None


def _candle_kind(kind: str | None, pair: str) -> str:
    if kind is None:
        return "futures" if ":" in pair else "spot"
    if kind not in get_args(CandleKind):
        raise InvalidRequest(f"kind: {kind!r} is none of {', '.join(map(repr, get_args(CandleKind)))}")
    if kind == "spot" and ":" in pair:
        raise InvalidRequest(f"kind: 'spot', and {pair!r} is of futures")
    return kind


def _timeframe(series: Series) -> str:
    known = BY_NAME.get(series.id.interval or "")
    if known is not None:
        return known.short
    raise SelectionError(f"{series.id}: freqtrade has no timeframe for the interval {series.id.interval!r}")


def _file(pair: str, timeframe: str, kind: str) -> str:
    name = f"{re.sub('[/:]', '_', pair)}-{timeframe}"
    return name if kind == "spot" else f"futures/{name}-{kind}"


def _candles(series: Series) -> "tuple[npt.NDArray[np.datetime64], Columns]":
    lacking = [name for name in CANDLE if name not in series]
    if lacking:
        raise SelectionError(
            f"{series.id}: this is no history of freqtrade's; take candles, funding rates or open interest"
        )
    closed = series.is_closed
    return series.timestamps[closed], {name: series[name][closed] for name in CANDLE}


def _rates(series: Series, payments: Any, rates_for: Any) -> "tuple[npt.NDArray[np.datetime64], Columns]":
    import numpy as np

    every, rate_period = to_duration(payments, "payments"), to_duration(rates_for, "rates_for")
    if not every or every < 0 or DAY % every:
        raise InvalidRequest(f"payments: {payments!r} does not divide a day")
    if not rate_period or rate_period < 0:
        raise InvalidRequest(f"rates_for: {rates_for!r} is not the time that a rate is for")
    bucket = series.bucket_nanoseconds // SECOND_NS
    if every % bucket:
        raise InvalidRequest(
            f"payments: {payments!r} is no multiple of the buckets' {series.id.interval}; ask the rates with a shorter "
            "interval, such as '1h'"
        )
    rates = series["rate_open"] * (every / rate_period)
    paid = series.timestamps.astype("int64") % (every * SECOND_NS) == 0
    taken = paid & series.is_closed & ~np.isnan(rates)
    return series.timestamps[taken], {"funding_rate": rates[taken]}


def _interest(every: SeriesSet) -> "tuple[npt.NDArray[np.datetime64], Columns]":
    """Open interest in coins and in USD, side by side; NaN where there is none."""
    import numpy as np

    names = ["open_interest_value" if one.usd else "open_interest_amount" for one in every]
    if len(set(names)) < len(names) or len({one.id for one in every}) > 1:
        ids = ", ".join(str(one.id) for one in every)
        raise SelectionError(f"one file holds the open interest of one market, in coins, in USD or both, not {ids}")
    closed = [one.is_closed for one in every]
    dates = np.unique(np.concatenate([one.timestamps[which] for one, which in zip(every, closed, strict=True)]))
    columns = {name: np.full(len(dates), np.nan) for name in ("open_interest_amount", "open_interest_value")}
    for name, one, which in zip(names, every, closed, strict=True):
        columns[name][np.searchsorted(dates, one.timestamps[which])] = one["close"][which]
    return dates, columns


def _write(file: Path, dates: Any, columns: "Columns", file_format: str) -> None:
    pyarrow = load("pyarrow")
    times = pyarrow.array(dates.astype("datetime64[ms]"), pyarrow.timestamp("ms", "UTC"))
    table = pyarrow.table({"date": times} | {name: pyarrow.array(values) for name, values in columns.items()})
    file.parent.mkdir(parents=True, exist_ok=True)
    with unfinished(file) as made:
        if file_format == "feather":
            load("pyarrow.feather").write_feather(table, str(made), compression="lz4", compression_level=9)
        else:
            load("pyarrow.parquet").write_table(table, str(made))
