"""backtesting.py itself on candles as the adapter shapes them."""

import backtesting
import numpy as np
import pytest
from backtesting.lib import resample_apply

from marketpoints import adapters


class Every(backtesting.Strategy):
    hours = 3

    def init(self):
        pass

    def next(self):
        if len(self.data) % self.hours == 0:
            self.position.close() if self.position else self.buy(size=1)


def test_the_recipe_of_the_documents_runs(recipes, candles):
    names = recipes("backtesting.py", candles=candles)
    # The strategy is asked first at the second bar, buys at the open of the third and sells at that of the last.
    gained = candles["open"][-1] - candles["open"][2]
    assert names["result"]["Equity Final [$]"] - 10_000_000 == pytest.approx(gained)
    assert names["result"]["Start"].value == candles.timestamps[0].astype("int64")
    assert names["result"]["_trades"]["EntryPrice"].tolist() == [candles["open"][2]]


def test_days_are_made_of_their_own_hours(candles):
    seen = {}

    class Daily(backtesting.Strategy):
        def init(self):
            for name, agg in (("Volume", "sum"), ("High", "max")):
                column = getattr(self.data, name).s
                seen[name] = np.asarray(resample_apply("D", None, column, agg=agg, plot=False), dtype=float)

        def next(self):
            pass

    backtesting.Backtest(adapters.backtesting(candles), Daily, cash=10_000_000).run()
    volumes, highs = candles["volume"].reshape(7, 24).sum(axis=1), candles["high"].reshape(7, 24).max(axis=1)
    for name, daily in (("Volume", volumes), ("High", highs)):
        # On the first day none is known; then each day knows the day before, all of its 24 hours and no other.
        assert np.isnan(seen[name][:24]).all()
        np.testing.assert_allclose(seen[name][24:], np.repeat(daily[:6], 24))


def test_it_optimizes(candles):
    test = backtesting.Backtest(adapters.backtesting(candles), Every, cash=10_000_000, finalize_trades=True)
    best = test.optimize(hours=[2, 5], maximize="# Trades")
    assert best["_strategy"].hours == 2 and best["# Trades"] == 42  # 168 hours, a trade in four
