"""bt itself on closes side by side."""

import bt
import crossing
import numpy as np
import pandas as pd
import pytest

from marketpoints import adapters


def test_the_recipe_of_the_documents_runs(recipes, several):
    result = recipes("bt", several=several)["result"]
    # Half of it in each from the first close on, nothing rebalanced: it begins at 100.
    growth = [one["close"][-1] / one["close"][0] for one in several]
    assert result.prices["halves"].iloc[-1] == pytest.approx(100 * sum(growth) / 2)


def test_a_price_that_is_missing_stops_it_until_it_is_filled(several):
    frame = adapters.closes(several)
    frame.iloc[50, 0] = np.nan  # nothing was traded in that hour

    def run(prices):
        algos = [bt.algos.RunOnce(), bt.algos.SelectAll(), bt.algos.WeighEqually(), bt.algos.Rebalance()]
        return bt.run(bt.Backtest(bt.Strategy("halves", algos), prices, integer_positions=False, progress_bar=False))

    with pytest.raises(ValueError, match="latest price is NaN for security BTCUSDT"):
        run(frame)
    growth = [one["close"][-1] / one["close"][0] for one in several]
    assert run(frame.ffill()).prices["halves"].iloc[-1] == pytest.approx(100 * sum(growth) / 2)


class Crossing(bt.Algo):
    """Holds one coin while it is wanted; a row's price is what trades of that row pay."""

    def __init__(self, want, name):
        super().__init__()
        self.want, self.symbol = want, name

    def __call__(self, target):
        wanted = self.want.get(target.now, False)
        held = self.symbol in target.children and target.children[self.symbol].position > 0
        if wanted != held:
            target.transact(1.0 if wanted else -1.0, child=self.symbol)
        return True


@pytest.mark.parametrize("at", ["close", "open"])
def test_a_crossing_of_means_trades_as_computed(crossed, at):
    closes = adapters.closes(crossed)
    (name,) = closes.columns
    means = [closes[name].rolling(length).mean() for length in (crossing.FAST, crossing.SLOW)]
    want = (means[0] > means[1]) & (np.arange(len(closes)) >= crossing.SLOW)
    prices = closes
    if at == "open":  # what is known at a stamp is done in the next row, at its open
        want, prices = want.shift(1, fill_value=False), adapters.closes(crossed, column="open")
    strategy = bt.Strategy("crossing", [Crossing(want.to_dict(), name)])
    fees = {"commissions": lambda quantity, price: abs(quantity) * price * crossing.FEE}
    test = bt.Backtest(
        strategy, prices, initial_capital=crossing.CASH, integer_positions=False, progress_bar=False, **fees
    )
    result, expected = bt.run(test), crossing.expected(crossed, at)
    trades = result.get_transactions()
    assert trades["price"].tolist() == pytest.approx(expected.prices)
    assert trades["quantity"].tolist() == [1.0, -1.0] * len(expected.bought)
    ends = crossed.closes_at[expected.rows + (at == "open")]
    done = trades.index.get_level_values("Date").tz_localize(None).to_numpy().astype("datetime64[ns]")
    assert done.tolist() == ends.tolist()
    # It adds a row a day before the first. What is held is worth the row's price: the open of the bar, or its close.
    held = np.zeros(len(closes), dtype=bool)
    for first, last in zip(expected.rows[0::2], expected.rows[1::2], strict=True):
        held |= (np.arange(len(closes)) >= first + (at == "open")) & (np.arange(len(closes)) < last + (at == "open"))
    marked = expected.equity + held * (prices[name].to_numpy() - crossed["close"])
    values = test.strategy.values.iloc[1:]
    assert pd.Timestamp(test.strategy.values.index[1]) == closes.index[0]
    np.testing.assert_allclose(values, marked, rtol=1e-12)
