"""NautilusTrader itself, of the first major version: bars made of candles, and a backtest over them."""

import pytest
from nautilus_trader.backtest.engine import BacktestEngine, BacktestEngineConfig
from nautilus_trader.config import LoggingConfig
from nautilus_trader.model.currencies import USDT
from nautilus_trader.model.enums import AccountType, OmsType
from nautilus_trader.model.identifiers import Venue
from nautilus_trader.model.objects import Money
from nautilus_trader.test_kit.providers import TestInstrumentProvider
from nautilus_trader.trading.strategy import Strategy


def bars_of(recipes, candles):
    instrument = TestInstrumentProvider.btcusdt_perp_binance()
    return recipes("NautilusTrader 1", candles=candles, instrument=instrument)["bars"], instrument


def test_the_recipe_of_the_documents_makes_bars(recipes, candles):
    bars, instrument = bars_of(recipes, candles)
    assert len(bars) == len(candles.only) == 168
    ends = candles.closes_at.astype("int64").tolist()
    assert [bar.ts_event for bar in bars] == ends and [bar.ts_init for bar in bars] == ends
    for name in ("open", "high", "low", "close"):
        rounded = [round(value, instrument.price_precision) for value in candles[name].tolist()]
        assert [float(str(getattr(bar, name))) for bar in bars] == rounded, name
    # The demo's volumes have more digits than the instrument: the wrangler rounds the last one its own way.
    smallest = 10**-instrument.size_precision
    assert [float(str(bar.volume)) for bar in bars] == pytest.approx(candles["volume"].tolist(), abs=smallest)


def test_a_strategy_sees_a_bar_when_it_is_over(recipes, candles):
    bars, instrument = bars_of(recipes, candles)
    seen = []

    class Watch(Strategy):
        def on_start(self):
            self.subscribe_bars(bars[0].bar_type)

        def on_bar(self, bar):
            seen.append((self.clock.timestamp_ns(), float(str(bar.close))))

    engine = BacktestEngine(BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True)))
    engine.add_venue(Venue("BINANCE"), OmsType.NETTING, AccountType.MARGIN, [Money(1_000_000, USDT)])
    engine.add_instrument(instrument)
    engine.add_data(bars)
    engine.add_strategy(Watch())
    engine.run()
    engine.dispose()
    closes = [round(value, instrument.price_precision) for value in candles["close"].tolist()]
    assert seen == list(zip(candles.closes_at.astype("int64").tolist(), closes, strict=True))
