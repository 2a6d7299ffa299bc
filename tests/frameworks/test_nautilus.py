"""NautilusTrader itself, of the first major version: bars and books, catalogs of them, and backtests over them."""

from collections import deque

import crossing
import numpy as np
import pytest
from nautilus import given, instrument, shown
from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig
from nautilus_trader.config import LoggingConfig
from nautilus_trader.model.currencies import USDT
from nautilus_trader.model.enums import AccountType, BookType, OmsType, OrderSide
from nautilus_trader.model.identifiers import Venue
from nautilus_trader.model.objects import Money
from nautilus_trader.persistence.catalog import ParquetDataCatalog
from nautilus_trader.trading.strategy import Strategy

__all__ = ["given", "instrument"]

BINANCE = Venue("BINANCE")


@pytest.fixture
def made(recipes, given, candles):
    """The names of the documents' recipe."""
    return recipes("NautilusTrader 1", candles=candles, **given)


def run(strategy, instrument, data, book_type=BookType.L1_MBP):
    """A backtest's fills, and what the account holds at the end; nothing is open then."""
    engine = BacktestEngine(BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True)))
    engine.add_venue(BINANCE, OmsType.NETTING, AccountType.MARGIN, [Money(crossing.CASH, USDT)], book_type=book_type)
    engine.add_instrument(instrument)
    engine.add_data(data)
    engine.add_strategy(strategy)
    engine.run()
    account = engine.trader.generate_account_report(BINANCE)
    engine.dispose()
    return float(account["total"].iloc[-1])


class Trading(Strategy):
    """Keeps its fills: when, at which price, and what they cost."""

    def __init__(self, instrument):
        super().__init__()
        self.instrument, self.fills, self.seen = instrument, [], []

    def trade(self, side, size):
        quantity = self.instrument.make_qty(size)
        self.submit_order(self.order_factory.market(self.instrument.id, side, quantity))

    def on_order_filled(self, event):
        self.fills.append((event.ts_event, float(str(event.last_px)), event.commission.as_double()))


def test_the_recipe_of_the_documents_makes_bars(made, candles, instrument):
    bars = made["bars"]
    assert len(bars) == len(candles.only) == 168
    ends = candles.closes_at.astype("int64").tolist()
    assert [bar.ts_event for bar in bars] == ends and [bar.ts_init for bar in bars] == ends
    for name in ("open", "high", "low", "close", "volume"):
        digits = instrument.size_precision if name == "volume" else instrument.price_precision
        rounded = [shown(value, digits) for value in candles[name].tolist()]
        assert [str(getattr(bar, name)) for bar in bars] == rounded, name


def test_a_catalog_gives_them_back(made, tmp_path, instrument):
    catalog = ParquetDataCatalog(str(tmp_path))  # opened anew
    assert [one.id for one in catalog.instruments()] == [instrument.id]
    assert catalog.bars([str(made["bar_type"])]) == made["bars"]
    deltas = catalog.order_book_deltas([instrument.id.value])
    # The wrangler itself begins with one that clears, of no digits. Two that clear are never equal: they are compared
    # as they print.
    assert [str(one) for one in deltas[1:]] == [str(one) for one in made["deltas"][1:]]


def test_a_strategy_sees_a_bar_when_it_is_over(made, candles, instrument):
    class Watch(Trading):
        def on_start(self):
            self.subscribe_bars(made["bar_type"])

        def on_bar(self, bar):
            self.seen.append((self.clock.timestamp_ns(), float(str(bar.close))))

    watch = Watch(instrument)
    run(watch, instrument, made["bars"])
    assert watch.seen == list(zip(candles.closes_at.astype("int64").tolist(), candles["close"].tolist(), strict=True))


def test_a_crossing_of_means_trades_as_computed(recipes, given, crossed, instrument):
    names = recipes("NautilusTrader 1", candles=crossed, **given)

    class Crossing(Trading):
        def on_start(self):
            self.closes, self.held = deque(maxlen=crossing.SLOW), False
            self.subscribe_bars(names["bar_type"])

        def on_bar(self, bar):
            self.seen.append(bar)
            self.closes.append(float(str(bar.close)))
            if len(self.seen) <= crossing.SLOW:
                return
            closes = list(self.closes)
            want = np.mean(closes[-crossing.FAST :]) > np.mean(closes)
            if want != self.held:
                self.trade(OrderSide.BUY if want else OrderSide.SELL, 1.0)
                self.held = want

    strategy, expected = Crossing(instrument), crossing.expected(crossed, "close", float(instrument.taker_fee))
    final = run(strategy, instrument, names["bars"])
    times, prices, costs = zip(*strategy.fills, strict=True)
    assert list(times) == expected.times.astype("int64").tolist()
    assert list(prices) == pytest.approx(expected.prices)
    assert list(costs) == pytest.approx(expected.prices * float(instrument.taker_fee))
    assert final == pytest.approx(expected.equity[-1], abs=1e-6)


def test_its_book_is_the_snapshot_and_what_is_taken_costs_what_it_says(made, book, instrument):
    class Taking(Trading):
        def on_start(self):
            self.subscribe_order_book_deltas(instrument.id, BookType.L2_MBP)

        def on_order_book_deltas(self, deltas):
            known = self.cache.order_book(instrument.id)
            sides = [
                [(float(str(level.price)), level.size()) for level in side] for side in (known.bids(), known.asks())
            ]
            self.seen.append((self.clock.timestamp_ns(), *sides))
            if len(self.seen) % 10 == 0:
                self.trade(OrderSide.BUY if len(self.seen) % 20 else OrderSide.SELL, 0.5)

    taking = Taking(instrument)
    final = run(taking, instrument, made["snapshots"], BookType.L2_MBP)
    assert len(taking.seen) == len(book) == 60
    for row, (time, bids, asks) in enumerate(taking.seen):
        levels, split = book.snapshot(row).tolist(), book.split[row]
        assert time == book.closes_at[row].astype("int64")
        assert bids == [(price, float(shown(size, 3))) for price, size in reversed(levels[:split])]
        assert asks == [(price + 10, float(shown(size, 3))) for price, size in levels[split:]]
    rows = range(9, 60, 10)
    best = [taking.seen[row][1 if number % 2 else 2][0][0] for number, row in enumerate(rows)]
    times, prices, costs = zip(*taking.fills, strict=True)
    assert list(times) == [taking.seen[row][0] for row in rows] and list(prices) == best
    gained = sum(0.5 * (sold - bought) for bought, sold in zip(best[0::2], best[1::2], strict=True))
    assert final == pytest.approx(crossing.CASH + gained - sum(costs), abs=1e-6)
    assert list(costs) == pytest.approx([0.5 * price * float(instrument.taker_fee) for price in best])
