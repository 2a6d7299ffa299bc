"""NautilusTrader itself, of the second major version: bars and books by Arrow, catalogs, and backtests over them."""

from collections import deque
from decimal import Decimal

import crossing
import numpy as np
import pytest
from nautilus import given, instrument, shown
from nautilus_trader.backtest import BacktestEngine, BacktestEngineConfig
from nautilus_trader.common import LoggerConfig
from nautilus_trader.execution import MakerTakerFeeModel
from nautilus_trader.model import (
    AccountType,
    BarType,
    BookType,
    Currency,
    Money,
    NautilusDataType,
    OmsType,
    OrderSide,
    Quantity,
    Venue,
)
from nautilus_trader.persistence import ParquetDataCatalog
from nautilus_trader.risk import RiskEngineConfig
from nautilus_trader.trading import Strategy

__all__ = ["given", "instrument"]

BINANCE, USDT = Venue("BINANCE"), Currency.from_str("USDT")


@pytest.fixture
def made(recipes, given, crossed):
    """The names of the documents' recipe."""
    return recipes("NautilusTrader 2", candles=crossed, **given)


def run(strategy, instrument, data, book_type=BookType.L1_MBP):
    """A backtest; returns what the account holds at the end, when nothing is open."""
    config = BacktestEngineConfig(
        logging=LoggerConfig(bypass_logging=True), run_analysis=False, risk_engine=RiskEngineConfig(bypass=True)
    )
    engine, fee = BacktestEngine(config), Decimal(repr(crossing.FEE))
    engine.add_venue(
        BINANCE,
        OmsType.NETTING,
        AccountType.MARGIN,
        [Money(crossing.CASH, USDT)],
        book_type=book_type,
        fee_model=MakerTakerFeeModel(fee, fee),
    )
    engine.add_instrument(instrument)
    engine.add_data(data)
    engine.add_strategy(strategy)
    engine.run()
    total = engine.cache.account_for_venue(BINANCE).balance_total(USDT)
    engine.dispose()
    return total.as_double()


class Trading(Strategy):
    """Keeps its fills: when, and at which price."""

    def __init__(self, instrument):
        super().__init__()
        self.instrument, self.fills, self.seen = instrument, [], []

    def __new__(cls, instrument):
        return super().__new__(cls)

    def trade(self, side, size):
        self.submit_order(self.order_factory.market(self.instrument.id, side, Quantity.from_str(size)))

    def on_order_filled(self, event):
        self.fills.append((event.ts_event, float(str(event.last_px))))


def test_the_recipe_of_the_documents_makes_bars_of_the_instruments_digits(made, crossed, instrument):
    bars, ends = made["bars"], crossed.closes_at.astype("int64").tolist()
    assert [bar.ts_event for bar in bars] == ends and [bar.ts_init for bar in bars] == ends
    for name in ("open", "high", "low", "close", "volume"):
        digits = instrument.size_precision if name == "volume" else instrument.price_precision
        # What is shown is all that there is: no digits beyond it.
        assert [str(getattr(bar, name)) for bar in bars] == [shown(value, digits) for value in crossed[name].tolist()]
        assert [getattr(bar, name).as_decimal() for bar in bars] == [
            Decimal(shown(value, digits)) for value in crossed[name].tolist()
        ]


def test_depths_have_the_best_first(made, book):
    depths = made["depths"]
    assert len(depths) == len(book) == 60
    for row, depth in enumerate(depths):
        levels, split = book.snapshot(row).tolist(), book.split[row]
        bids, asks = ([(float(str(one.price)), str(one.size)) for one in side] for side in (depth.bids, depth.asks))
        assert bids == [(price, shown(size, 3)) for price, size in reversed(levels[:split])]
        assert asks == [(price + 10, shown(size, 3)) for price, size in levels[split:]]
        assert depth.ts_event == depth.ts_init == book.closes_at[row].astype("int64") and depth.sequence == row


def test_a_catalog_gives_them_back(made, tmp_path, instrument):
    catalog = ParquetDataCatalog(str(tmp_path))  # opened anew
    assert [one.id for one in catalog.instruments()] == [instrument.id]
    assert catalog.query(NautilusDataType.Bar) == made["bars"]
    again = catalog.query(NautilusDataType.OrderBookDepth)
    assert [one.to_dict() for one in again] == [one.to_dict() for one in made["depths"]]


def test_a_crossing_of_means_trades_as_computed(made, crossed, instrument):
    class Crossing(Trading):
        def on_start(self):
            self.closes, self.held = deque(maxlen=crossing.SLOW), False
            self.subscribe_bars(BarType.from_str(made["bar_type"]))

        def on_bar(self, bar):
            self.seen.append(bar)
            self.closes.append(float(str(bar.close)))
            if len(self.seen) <= crossing.SLOW:
                return
            closes = list(self.closes)
            want = np.mean(closes[-crossing.FAST :]) > np.mean(closes)
            if want != self.held:
                self.trade(OrderSide.BUY if want else OrderSide.SELL, "1.000")
                self.held = want

    strategy, expected = Crossing(instrument), crossing.expected(crossed, "close")
    final = run(strategy, instrument, made["bars"])
    assert len(strategy.seen) == len(crossed)
    times, prices = zip(*strategy.fills, strict=True)
    assert list(times) == expected.times.astype("int64").tolist() and list(prices) == pytest.approx(expected.prices)
    assert final == pytest.approx(expected.equity[-1], abs=1e-6)


def test_what_is_taken_costs_what_the_snapshots_say(made, book, instrument):
    class Taking(Trading):
        def on_start(self):
            self.subscribe_book_depth(instrument.id, BookType.L2_MBP)

        def on_book_depth(self, depth):
            self.seen.append(self.clock.timestamp_ns())
            if len(self.seen) % 10 == 0:
                self.trade(OrderSide.BUY if len(self.seen) % 20 else OrderSide.SELL, "0.500")

    taking = Taking(instrument)
    final = run(taking, instrument, made["depths"], BookType.L2_MBP)
    assert taking.seen == book.closes_at.astype("int64").tolist()
    rows = range(9, 60, 10)
    # The best ask is the first behind the bids, at the upper edge of its block; the best bid the last of them.
    best = [
        book.snapshot(row)[book.split[row] - number % 2, 0] + 10 * (number % 2 == 0) for number, row in enumerate(rows)
    ]
    assert taking.fills == [(taking.seen[row], price) for row, price in zip(rows, best, strict=True)]
    gained = sum(0.5 * (sold - bought) for bought, sold in zip(best[0::2], best[1::2], strict=True))
    assert final == pytest.approx(crossing.CASH + gained - crossing.FEE * 0.5 * sum(best), abs=1e-6)
