"""backtesting.py itself on candles as the adapter shapes them."""

import backtesting
import crossing
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


class Crossing(backtesting.Strategy):
    def init(self):
        closes = self.data.Close.s
        self.fast, self.slow = (
            self.I(lambda length=length: closes.rolling(length).mean()) for length in (crossing.FAST, crossing.SLOW)
        )

    def next(self):
        want = self.fast[-1] > self.slow[-1]
        if want and not self.position:
            self.buy(size=1)
        elif not want and self.position:
            self.position.close()


@pytest.mark.parametrize("at", ["close", "open"])
def test_a_crossing_of_means_trades_as_computed(crossed, at):
    test = backtesting.Backtest(
        adapters.backtesting(crossed),
        Crossing,
        cash=crossing.CASH,
        commission=crossing.FEE,
        trade_on_close=at == "close",
    )
    result, expected = test.run(), crossing.expected(crossed, at)
    trades = result["_trades"]
    assert trades["EntryPrice"].tolist() == pytest.approx(expected.bought)
    assert trades["ExitPrice"].tolist() == pytest.approx(expected.sold)
    # Stamped with the start of the bar whose price it is.
    done = crossed.timestamps[expected.rows + (at == "open")]
    for name, moments in (("EntryTime", done[0::2]), ("ExitTime", done[1::2])):
        assert trades[name].to_numpy().astype("datetime64[ns]").tolist() == moments.tolist()
    equity = result["_equity_curve"]["Equity"].to_numpy()
    if at == "close":
        # It settles orders when the next bar begins: in the bar of a decision they are not counted yet.
        settled = np.setdiff1d(np.arange(len(equity)), expected.rows)
        equity, expected.equity = equity[settled], expected.equity[settled]
    np.testing.assert_allclose(equity, expected.equity, rtol=1e-12)
