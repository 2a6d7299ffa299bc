"""Look-ahead is caught: a function's row of a moment must be what it was at that moment."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import marketpoints as mp
from marketpoints.testing import LookaheadError, assert_no_lookahead

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
START = "2026-05-25"
# Within buckets, at their ends, and a second after.
TIMES = ["2026-05-29T18:30", "2026-05-30T07:00", "2026-05-30T12:00:01", "2026-05-31T23:45"]


@pytest.fixture(scope="module")
def service():
    with mp.LocalService(now="2026-06-01") as running:
        yield running


def caught(function, service, times=TIMES):
    with pytest.raises(LookaheadError) as raised:
        assert_no_lookahead(function, service, times)
    return raised.value


def candles(client, **more):
    return client.candles(*MARKET, "1h", start=START, **more)


def test_features_joined_on_what_was_known_pass(service):
    def features(client):
        funding = client.funding_rate(*MARKET, "1h", start=START)
        profiles = client.tpo(*MARKET, "1h", session="daily", start=START)
        frame = mp.align(candles(client), funding, profiles)
        frame["mean"] = frame["close"].rolling(24).mean()
        return frame

    assert_no_lookahead(features, service, TIMES)


def test_candles_stamped_with_their_end_pass_and_with_their_start_do_not(service):
    assert_no_lookahead(lambda client: candles(client).to_pandas(label="right"), service, TIMES)
    error = caught(candles, service)
    # At 18:30 the latest candle was that of 17:00; the full history has that of 18:00, which ends at 19:00.
    assert error.differences[0].column == "row"
    assert str(error.differences[0].then).startswith("2026-05-29 17:00:00")
    assert str(error.differences[0].later).startswith("2026-05-29 18:00:00")
    assert "label='right'" in str(error) and "look-ahead at 4 of 4 moments" in str(error)


def test_a_naive_join_is_caught(service):
    def features(client):
        minutes = client.candles(*MARKET, "5m", start=START).to_pandas(label="right")
        hours = candles(client).to_pandas()[["close"]]  # stamped with their start
        return pd.merge_asof(minutes, hours.add_suffix("_hour"), left_index=True, right_index=True)

    error = caught(features, service)
    assert {one.column for one in error.differences} == {"close_hour"}


def test_a_centred_window_and_a_mean_over_everything_are_caught(service):
    def centred(client):
        return candles(client).to_pandas(label="right")["close"].rolling(5, center=True).mean()

    assert np.isnan(caught(centred, service).differences[0].then)

    def scores(client):
        close = candles(client).to_pandas(label="right")["close"]
        return (close - close.mean()) / close.std()

    assert {one.column for one in caught(scores, service).differences} == {"close"}


def test_a_forming_bucket_is_caught(service):
    def features(client):
        return candles(client, include_forming=True).to_pandas()[["close", "volume"]]

    error = caught(features, service, ["2026-05-29T18:30"])
    assert {one.column for one in error.differences} == {"close", "volume"}


def test_one_moment_in_the_place_of_several_is_pointed_out(service):
    with pytest.raises(
        mp.InvalidRequest, match=r"times: '2026-05-29' is one time; give several, such as \['2026-05-29'\]"
    ):
        assert_no_lookahead(candles, service, "2026-05-29")
    with pytest.raises(mp.InvalidRequest, match="is one time; give several"):
        assert_no_lookahead(candles, service, np.datetime64("2026-05-29"))


def test_a_client_is_asked_by_its_clock(service):
    with service.client("unlimited") as client:
        assert_no_lookahead(lambda asked: candles(asked).to_pandas(label="right"), client, TIMES)
        with pytest.raises(LookaheadError):
            assert_no_lookahead(candles, client, TIMES)
        assert len(candles(client)["close"])  # it is open, and its own clock runs on


@pytest.mark.parametrize(
    "method",
    [
        "side_candles",
        "liquidations",
        "funding_rate",
        "open_interest",
        "tpo",
        "skew",
        "implied_volatility",
        "token_supply",
    ],
)
def test_values_of_each_type_are_joined_when_they_were_known(service, method):
    """Buckets of four hours or a day beside hours: at each moment what the whole history holds for it was there."""
    of_coin = {"coin": "BTC", "exchange": "DERIBIT", "symbol": "BTC_25", "tenor": "ONE_W", "interval": "4h"}
    asked = {
        "tpo": {"session": "daily", "interval": "1h"},
        "skew": of_coin,
        "implied_volatility": {**of_coin, "symbol": "BTC_ATM"},
        "token_supply": {"coin": "BTC", "token_name": "Bitcoin", "interval": "1d"},
    }.get(method, {"interval": "4h"})
    if method in ("side_candles", "liquidations", "funding_rate", "open_interest", "tpo"):
        asked = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", **asked}

    def features(client):
        hours = client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-05-29")
        other = getattr(client, method)(start="2026-05-27", **asked)
        assert len(other) and all(len(one.timestamps) for one in other)
        return mp.align(hours, other)

    assert_no_lookahead(features, service, ["2026-05-30T12:30", "2026-05-31T00:00", "2026-05-31T18:30"])


def test_closes_for_signals_pass(service):
    def features(client):
        return mp.adapters.closes(client.candles("BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT"], "1h", start=START))

    assert_no_lookahead(features, service, TIMES)


def test_bars_and_books_for_frameworks_pass(service):
    instrument = SimpleNamespace(price_precision=1, size_precision=3)

    def book(client):
        return client.orderbook_heatmap(*MARKET, "5m", start="2026-05-31T21:00", block_size=10, max_depth=5)

    def best(client):
        """The first bid and the first ask of each snapshot, as hftbacktest gets them."""
        events = mp.adapters.hftbacktest(book(client), tick_size=0.1)
        levels = events[(events["ev"] & 0xFF) == 4]
        first = np.flatnonzero(np.append(True, np.diff(levels["ev"].astype("int64")) != 0))
        times = levels["local_ts"][first][0::2].view("datetime64[ns]")
        return pd.DataFrame({"bid": levels["px"][first][0::2], "ask": levels["px"][first][1::2]}, index=times)

    def depths(client):
        stream = mp.adapters.nautilus_arrow(book(client), instrument)
        table = pa.ipc.open_stream(stream).read_all().select(["ts_init", "bids", "asks"])
        return pd.DataFrame(
            {side: [str(row) for row in table[side].to_pylist()] for side in ("bids", "asks")},
            index=table["ts_init"].to_pandas(),
        )

    for features in (
        best,
        depths,
        lambda client: mp.adapters.nautilus(candles(client)),
        lambda client: mp.adapters.nautilus_deltas(book(client), instrument).groupby(level=0)["price"].agg(list),
    ):
        assert_no_lookahead(features, service, ["2026-05-31T22:30", "2026-05-31T23:07:01"])


def test_a_heatmap_as_a_grid_counts_from_when_it_was_known(service):
    def grid(client, known=True):
        book = client.orderbook_heatmap(*MARKET, "5m", start="2026-05-31T21:00", block_size=100, max_depth=5).only
        times, prices, volumes = book.to_grid(step=100)
        frame = pd.DataFrame(volumes, index=book.known_at if known else times, columns=prices)
        return frame.max(axis="columns")

    times = ["2026-05-31T22:32", "2026-05-31T23:07:01"]
    assert_no_lookahead(grid, service, times)
    assert {one.column for one in caught(lambda client: grid(client, known=False), service, times).differences} == {
        "row"
    }


def test_files_with_start_stamps_are_known_a_bucket_later(service, tmp_path):
    """freqtrade and backtesting.py act after the row of a stamp: with its end it is what was known."""

    def written(client):
        frame = pd.read_feather(mp.adapters.freqtrade(candles(client), tmp_path, "BTC/USDT:USDT"))
        return frame.set_index("date")

    def shaped(client):
        return mp.adapters.backtesting(candles(client))

    for starts in (written, shaped):
        assert {one.column for one in caught(starts, service).differences} == {"row"}

        def ends(client, starts=starts):
            frame = starts(client)
            return frame.set_axis(frame.index + pd.Timedelta("1h"))

        assert_no_lookahead(ends, service, TIMES)


def test_polars_frames_go_by_their_first_times(service):
    def features(client):
        return mp.align(candles(client), as_frame="polars")

    assert_no_lookahead(features, service, TIMES[:1])


def test_what_proves_nothing_is_refused(service):
    with pytest.raises(mp.InvalidRequest, match="at least one moment"):
        assert_no_lookahead(candles, service, [])
    with pytest.raises(mp.InvalidRequest, match="after the end of the history"):
        assert_no_lookahead(candles, service, ["2026-07-01"])
    with pytest.raises(mp.InvalidRequest, match="it returned int; return a frame"):
        assert_no_lookahead(lambda client: 5, service, TIMES)
    with pytest.raises(mp.InvalidRequest, match="has no times"):
        assert_no_lookahead(lambda client: pd.DataFrame({"a": [1]}), service, TIMES)
    # Where the full history does not reach back to a moment, nothing is known of it.
    short = "first row of the full history, of 2026-05-31 .*, lies after 2026-05-29 18:30"
    with pytest.raises(mp.InvalidRequest, match=short):
        assert_no_lookahead(lambda client: mp.align(client.candles(*MARKET, "1h", period="12h")), service, TIMES)
    with pytest.raises(mp.InvalidRequest, match="no row at or before"):
        assert_no_lookahead(lambda client: candles(client).to_pandas(label="right").iloc[:0], service, TIMES)


def test_a_service_as_of_another_moment_has_the_same_market(service):
    with service.as_of("2026-05-30T12:00") as then, then.client() as past, service.client() as present:
        window = {"start": "2026-05-29", "end": "2026-05-30"}
        assert past.candles(*MARKET, "1h", **window) == present.candles(*MARKET, "1h", **window)
        assert len(past.candles(*MARKET, "1h", start="2026-05-30")["close"]) == 12
