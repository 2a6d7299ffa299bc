"""Files of freqtrade's history by their bytes; the framework itself reads them in tests/frameworks."""

import datetime as dt

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet
import pytest

import marketpoints as mp
from marketpoints import adapters
from support.bodies import CANDLES, START, body, candles, stamp

PAIR, SPOT = "BTC/USDT:USDT", "BTC/USDT"
HOUR = 3600
MIDNIGHT = START - 18 * HOUR
DATE = pa.field("date", pa.timestamp("ms", "UTC"))


def moments(*hours):
    return [dt.datetime.fromtimestamp(MIDNIGHT + HOUR * hour, dt.timezone.utc) for hour in hours]


def hourly(kind, rows, *, interval="HOUR", start=MIDNIGHT, step=HOUR):
    points = [{"Point": row | {"timestamp": stamp(start + step * at)}} for at, row in enumerate(rows)]
    identity = {"type": kind, "exchange": "BINANCE_FUTURES", "rawSymbol": "BTCUSDT", "interval": interval}
    return {"id": identity, "points": points}


def rates(count=25, **more):
    """An hour's rate is its number; that of 08:00 is not known."""
    rows = [{"rateOpen": float(hour), "rateClose": -1.0} if hour != 8 else {} for hour in range(count)]
    return mp.decode_points(body(hourly("FUNDING_RATE_AGG", rows, **more)))


def test_candles_are_a_plain_table_stamped_with_their_start(tmp_path):
    answer = mp.decode_points(body(candles(CANDLES)), now=START + 3 * HOUR - 1)  # the third is still forming
    written = adapters.freqtrade(answer, tmp_path / "data", SPOT)
    assert written == tmp_path / "data" / "BTC_USDT-1h.feather"
    table = feather.read_table(written)
    names = ("open", "high", "low", "close", "volume")
    assert table.schema == pa.schema([DATE, *(pa.field(name, pa.float64()) for name in names)])
    assert table["date"].to_pylist() == moments(18, 19)
    assert [list(row) for row in zip(*(table[name].to_pylist() for name in names), strict=True)] == [
        list(row) for row in CANDLES[:2]
    ]
    written = adapters.freqtrade(answer, str(tmp_path), PAIR, kind="mark", file_format="parquet")
    assert written == tmp_path / "futures" / "BTC_USDT_USDT-1h-mark.parquet"
    assert parquet.read_table(written).equals(table)


def test_rates_are_written_where_they_were_paid(tmp_path):
    def written(**more):
        table = feather.read_table(adapters.freqtrade(rates(), tmp_path, PAIR, **more))
        assert table.schema == pa.schema([DATE, pa.field("funding_rate", pa.float64())])
        return dict(zip(table["date"].to_pylist(), table["funding_rate"].to_pylist(), strict=True))

    at = {hour: moments(hour)[0] for hour in range(25)}
    assert written() == {at[0]: 0.0, at[16]: 16.0, at[24]: 24.0}  # that of 08:00 is not known
    # Told for 8 hours and paid every 4: half of it, twice as often.
    assert written(payments="4h") == {at[hour]: hour / 2 for hour in (0, 4, 12, 16, 20, 24)}
    assert written(payments="1h", rates_for="1h") == {at[hour]: float(hour) for hour in range(25) if hour != 8}
    assert (tmp_path / "futures" / "BTC_USDT_USDT-1h-funding_rate.feather").exists()
    daily = rates(3, interval="DAY", step=24 * HOUR)
    with pytest.raises(mp.InvalidRequest, match="payments: '8h' is no multiple of the buckets' DAY"):
        adapters.freqtrade(daily, tmp_path, PAIR)
    with pytest.raises(mp.InvalidRequest, match="payments: '7h' does not divide a day"):
        adapters.freqtrade(rates(), tmp_path, PAIR, payments="7h")
    with pytest.raises(mp.InvalidRequest, match="rates_for: 0"):
        adapters.freqtrade(rates(), tmp_path, PAIR, rates_for=0)


def test_open_interest_is_in_coins_until_it_is_told_to_be_in_usd(tmp_path):
    rows = [{"close": 5.0}, {}, {"close": 7.0}]
    one = mp.decode_points(body(hourly("OPEN_INTEREST_AGG", rows)))
    table = feather.read_table(adapters.freqtrade(one, tmp_path, PAIR))
    assert table.column_names == ["date", "open_interest_amount", "open_interest_value"]
    assert str(table["open_interest_amount"].to_pylist()) == "[5.0, nan, 7.0]"
    assert str(table["open_interest_value"].to_pylist()) == "[nan, nan, nan]"
    with pytest.raises(mp.SelectionError, match="one file holds the open interest of one market"):
        adapters.freqtrade(one + one, tmp_path, PAIR)


def test_what_cannot_be_written_leaves_what_is_there(tmp_path):
    answer = mp.decode_points(body(candles(CANDLES)))
    there = adapters.freqtrade(answer, tmp_path, SPOT)
    before = there.read_bytes()
    with pytest.raises(mp.SelectionError, match=r"no row to write; BTC_USDT-1h is left alone"):
        adapters.freqtrade(answer.head(0), tmp_path, SPOT)
    with pytest.raises(mp.InvalidRequest, match="file_format: 'hdf5'"):
        adapters.freqtrade(answer, tmp_path, SPOT, file_format="hdf5")
    for pair in ("BTCUSDT", "BTC-USDT", "../BTC/USDT", None):
        with pytest.raises(mp.InvalidRequest, match="spell it as freqtrade does"):
            adapters.freqtrade(answer, tmp_path, pair)
    with pytest.raises(mp.InvalidRequest, match="'BTC/USDT' is a spot market; mark is of futures"):
        adapters.freqtrade(answer, tmp_path, SPOT, kind="mark")
    with pytest.raises(mp.InvalidRequest, match="kind: 'spot'"):
        adapters.freqtrade(answer, tmp_path, PAIR, kind="spot")
    with pytest.raises(mp.InvalidRequest, match="kind: 'trades' is none of"):
        adapters.freqtrade(answer, tmp_path, PAIR, kind="trades")
    with pytest.raises(mp.InvalidRequest, match="this is funding_rate, which needs no kind"):
        adapters.freqtrade(rates(), tmp_path, PAIR, kind="mark")
    with pytest.raises(mp.InvalidRequest, match="folder: 5 is not a path"):
        adapters.freqtrade(answer, 5, SPOT)
    with pytest.raises(mp.SelectionError, match="no history of freqtrade's"):
        adapters.freqtrade(mp.decode_points(body(hourly("LIQUIDATION_AGG", [{"liquidations": 1.0}]))), tmp_path, SPOT)
    with pytest.raises(mp.SelectionError, match="no timeframe for the interval 'FORTNIGHT'"):
        adapters.freqtrade(mp.decode_points(body(candles(CANDLES, interval="FORTNIGHT"))), tmp_path, SPOT)
    blocked = tmp_path / "BTC_USDT-1h.parquet"
    blocked.mkdir()
    with pytest.raises(OSError, match="BTC_USDT-1h"):
        adapters.freqtrade(answer, tmp_path, SPOT, file_format="parquet")
    assert there.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [there, blocked]
