"""hftbacktest itself on an order-book heatmap: its book, and fills and equity computed from the snapshots."""

import gc
import weakref

import hftbacktest
import numpy as np
import pytest
from hftbacktest import BUY_EVENT, GTC, LIMIT, SELL_EVENT, BacktestAsset
from hftbacktest.data.validation import validate_event_order
from hftbacktest.types import event_dtype

from marketpoints import SelectionError, adapters

MARKET = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "interval": "1m"}
HOURS = {"start": "2026-01-01", "end": "2026-01-01T03:00"}
MINUTE = 60_000_000_000
TICK, LOT, BLOCK, FEE = 0.1, 0.001, 10.0, 0.0005


@pytest.fixture(scope="module")
def book(client):
    return client.orderbook_heatmap(**MARKET, **HOURS, block_size=BLOCK, max_depth=40).only


@pytest.fixture(scope="module")
def profile(client):
    return client.volume_profile(**MARKET, **HOURS).only


def opened(events, engine=hftbacktest.HashMapMarketDepthBacktest):
    asset = BacktestAsset().data(events).linear_asset(1.0).tick_size(TICK).lot_size(LOT)
    asset = asset.constant_order_latency(0, 0).risk_adverse_queue_model().no_partial_fill_exchange()
    backtest = engine([asset.trading_value_fee_model(0.0, FEE).roi_lb(50_000).roi_ub(150_000)])
    assert backtest.elapse(0) == 0  # to the first event
    return backtest


def to(backtest, moment):
    """Runs to a moment, all of whose events count."""
    assert backtest.elapse(moment - backtest.current_timestamp) == 0


def best(book, row):
    """The best prices of a snapshot as a careful reader of the heatmap would state them."""
    levels, bids = book.snapshot(row), book.split[row]
    return levels[bids - 1, 0], levels[bids, 0] + BLOCK


def test_the_recipe_of_the_documents_runs(recipes, book, profile):
    names = recipes("hftbacktest", book=book, profile=profile)
    bid, _ = best(book, -2)
    _, ask = best(book, 0)
    # It buys one at the first book that it sees, and is worth what it can be sold for.
    assert names["worth"] == pytest.approx(bid - ask)


def test_events_are_what_the_framework_reads(book, profile):
    events = adapters.hftbacktest(book, tick_size=TICK, trades=profile, latency_ns=5_000_000)
    assert events.dtype == event_dtype and events.flags.c_contiguous
    validate_event_order(events)
    assert set(events["local_ts"] - events["exch_ts"]) == {5_000_000}
    kinds = events["ev"] & 0xFF
    ends = book.closes_at.astype("int64")
    for end in (ends[0], ends[-1]):
        now = kinds[events["exch_ts"] == end]
        assert set(now) == {2, 3, 4} and (np.diff(now.astype(int)) >= 0).all()  # traded, cleared, then what stands
    bought = events[(kinds == 2) & ((events["ev"] & BUY_EVENT) > 0)]
    sold = events[(kinds == 2) & ((events["ev"] & SELL_EVENT) > 0)]
    assert bought["qty"].sum() == pytest.approx(profile.buys.sum())
    assert sold["qty"].sum() == pytest.approx(profile.sells.sum())
    prices = events["px"][kinds != 3]
    assert (np.rint(prices / TICK) * TICK).tolist() == pytest.approx(prices.tolist(), abs=1e-9)
    assert np.isnan(events["px"][kinds == 3]).all()  # the whole side


@pytest.mark.parametrize("engine", ["HashMapMarketDepthBacktest", "ROIVectorMarketDepthBacktest"])
def test_its_book_is_the_snapshot_and_nothing_of_the_ones_before(book, engine):
    events = adapters.hftbacktest(book, tick_size=TICK)
    backtest = opened(events, getattr(hftbacktest, engine))
    ticks = np.arange(800_000, 1_000_000, round(BLOCK / TICK))
    for row, end in enumerate(book.closes_at.astype("int64").tolist()[:-1]):
        to(backtest, end)
        depth, levels, bids = backtest.depth(0), book.snapshot(row), book.split[row]
        assert (round(depth.best_bid, 6), round(depth.best_ask, 6)) == best(book, row)
        for side, shift, rows in (("bid", 0.0, levels[:bids]), ("ask", BLOCK, levels[bids:])):
            shown = np.array([getattr(depth, f"{side}_qty_at_tick")(tick) for tick in ticks])
            wanted = np.zeros(len(ticks))
            wanted[np.searchsorted(ticks, np.rint((rows[:, 0] + shift) / TICK).astype(int))] = rows[:, 1]
            np.testing.assert_array_equal(shown, wanted)
    backtest.close()


def test_what_is_taken_costs_what_the_snapshots_say(book):
    events = adapters.hftbacktest(book, tick_size=TICK)
    backtest = opened(events)
    ends = book.closes_at.astype("int64").tolist()
    # Buys 0.5 at the end of minutes 10, 40, …, and sells it fifteen minutes later.
    turns = [(row, side) for start in range(10, 150, 30) for row, side in ((start, 1), (start + 15, -1))]
    for number, (row, side) in enumerate(turns):
        to(backtest, ends[row] + 1)
        send = backtest.submit_buy_order if side > 0 else backtest.submit_sell_order
        assert send(0, number, 200_000.0 if side > 0 else 60_000.0, 0.5, GTC, LIMIT, True) == 0
        order = backtest.orders(0).get(number)
        assert order.exec_qty == 0.5
        assert order.exec_price_tick * TICK == pytest.approx(best(book, row)[side > 0])
    state = backtest.state_values(0)
    prices = [best(book, row)[side > 0] for row, side in turns]
    traded = 0.5 * np.array(prices)
    balance = -(traded * [side for _, side in turns]).sum()
    assert (state.position, state.num_trades) == (0.0, len(turns))
    assert state.balance == pytest.approx(balance) and state.fee == pytest.approx(FEE * traded.sum())
    backtest.close()


def test_a_resting_order_fills_when_the_price_was_certainly_passed(book, profile):
    events = adapters.hftbacktest(book, tick_size=TICK, trades=profile)
    backtest = opened(events)
    ends = book.closes_at.astype("int64").tolist()
    to(backtest, ends[0] + 1)
    limit = best(book, 0)[0] - 200.0
    assert backtest.submit_buy_order(0, 1, limit, 1.0, GTC, LIMIT, True) == 0
    height = np.diff(profile.snapshot(0)[:, 0]).min()

    def passed(row):
        """Sold below the limit for certain, or offered at it."""
        levels = profile.snapshot(row)
        sold = levels[levels[:, 2] > 0, 0] + height
        return (sold < limit).any() or best(book, row)[1] <= limit

    first = next(row for row in range(1, len(ends)) if passed(row))
    assert 1 < first < len(ends) - 2
    to(backtest, ends[first] - 1)
    assert backtest.position(0) == 0
    to(backtest, ends[first] + 1)
    assert backtest.position(0) == 1.0 and backtest.state_values(0).balance == pytest.approx(-limit)
    backtest.close()


def test_trades_of_ones_own_come_at_their_time(book):
    ends = book.closes_at
    bid = best(book, 3)[0]
    trades = {
        "time": np.array([ends[5] + 7, ends[3] + 9]),
        "price": np.array([bid - BLOCK, bid - 2 * BLOCK]),
        "amount": np.array([3.0, 1.0]),
        "side": np.array(["buy", "sell"]),
    }
    backtest = opened(adapters.hftbacktest(book, tick_size=TICK, trades=trades))
    start = int(ends[3].astype("int64"))
    to(backtest, start + 1)
    assert backtest.submit_buy_order(0, 1, bid - BLOCK, 1.0, GTC, LIMIT, True) == 0
    to(backtest, start + 8)
    assert backtest.position(0) == 0
    to(backtest, start + 9)  # sold below the limit
    assert backtest.position(0) == 1.0
    backtest.close()


def test_events_outlive_their_name_until_they_are_released(book):
    events = adapters.hftbacktest(book, tick_size=TICK)
    copies = [weakref.ref(events), weakref.ref(events[:100]), weakref.ref(other := events[:100].copy())]
    backtest = opened(events)
    asset = BacktestAsset().data(other).tick_size(TICK).lot_size(LOT)
    del events, other
    gc.collect()
    assert [one() is not None for one in copies] == [True, False, True]
    backtest.close()
    for one in (copies[0], copies[2]):
        one().release()
    del asset
    gc.collect()
    assert [one() for one in copies] == [None, None, None]


def test_what_makes_no_book_is_refused(client, book):
    with pytest.raises(SelectionError, match="USD"):
        adapters.hftbacktest(client.orderbook_heatmap(**MARKET, **HOURS, block_size=BLOCK, usd=True), tick_size=TICK)
