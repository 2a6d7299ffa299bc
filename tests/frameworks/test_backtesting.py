"""backtesting.py itself on candles as the adapter shapes them."""

import backtesting
import numpy as np
import pytest
from backtesting.lib import resample_apply

from marketpoints import adapters


def test_the_recipe_of_the_documents_runs(recipes, candles):
    names = recipes("backtesting.py", candles=candles)
    # The strategy is asked first at the second bar, buys at the open of the third and sells at that of the last.
    gained = candles["open"][-1] - candles["open"][2]
    assert names["result"]["Equity Final [$]"] - 10_000_000 == pytest.approx(gained)
    assert names["result"]["Start"].value == candles.timestamps[0].astype("int64")
    assert names["result"]["_trades"]["EntryPrice"].tolist() == [candles["open"][2]]


def test_days_are_made_of_their_own_hours(candles):
    seen = []

    class Daily(backtesting.Strategy):
        def init(self):
            self.volumes = resample_apply("D", None, self.data.Volume.s, agg="sum", plot=False)
            self.highs = resample_apply("D", None, self.data.High.s, agg="max", plot=False)

        def next(self):
            seen.append((self.data.index[-1], self.volumes[-1], self.highs[-1]))

    backtesting.Backtest(adapters.backtesting(candles), Daily, cash=10_000_000).run()
    midnights = [(volume, high) for time, volume, high in seen if time.hour == 0]
    assert len(midnights) == 6  # 2 to 7 January: each knows the day before, and that alone
    volumes, highs = candles["volume"].reshape(7, 24), candles["high"].reshape(7, 24)
    np.testing.assert_allclose(midnights, np.column_stack([volumes.sum(axis=1), highs.max(axis=1)])[:6])
    # During a day its own hours are not known: the day before's sum stands until midnight.
    during = [volume for time, volume, _ in seen if time.day == 3]
    np.testing.assert_allclose(during, volumes[1].sum())


def test_it_optimizes(candles):
    class Every(backtesting.Strategy):
        hours = 3

        def init(self):
            pass

        def next(self):
            if len(self.data) % self.hours == 0:
                self.position.close() if self.position else self.buy(size=1)

    test = backtesting.Backtest(adapters.backtesting(candles), Every, cash=10_000_000, finalize_trades=True)
    best = test.optimize(hours=[2, 5], maximize="# Trades")
    assert best["_strategy"].hours == 2 and best["# Trades"] == 42  # 168 hours, a trade in four
