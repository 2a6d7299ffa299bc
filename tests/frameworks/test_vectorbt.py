"""vectorbt itself on closes side by side."""

import crossing
import numpy as np
import pytest
import vectorbt

from marketpoints import adapters


def test_the_recipe_of_the_documents_runs(recipes, several):
    names = recipes("vectorbt", several=several)
    expected = [100.0 * one["close"][-1] / one["close"][0] for one in several]
    assert names["held"].final_value().tolist() == pytest.approx(expected)


def test_it_finds_the_frequency_itself(several):
    frame = adapters.closes(several)
    held = vectorbt.Portfolio.from_holding(frame, init_cash=100.0)
    assert held.wrapper.freq.total_seconds() == 3600
    assert held.stats(agg_func=None)["Period"].dt.total_seconds().tolist() == [7 * 86_400] * 2


def test_an_order_pays_the_close_that_is_known_at_its_stamp(several):
    frame = adapters.closes(several)
    sizes = frame * 0.0
    sizes.iloc[10] = 1.0  # eleven hours are over
    orders = vectorbt.Portfolio.from_orders(frame, size=sizes, init_cash=1e6, freq="1h").orders.records_readable
    assert orders["Price"].tolist() == [one["close"][10] for one in several]
    assert orders["Timestamp"].tolist() == [frame.index[10]] * 2
    assert frame.index[10].value == several[0].closes_at[10].astype("int64")


@pytest.mark.parametrize("at", ["close", "open"])
def test_a_crossing_of_means_trades_as_computed(crossed, at):
    frame = adapters.closes(crossed)
    fast, slow = (frame.rolling(length).mean() for length in (crossing.FAST, crossing.SLOW))
    want = (fast > slow).where(np.arange(len(frame))[:, None] >= crossing.SLOW, other=False)
    price = frame
    if at == "open":  # what is known at a stamp is done in the next row, at its open
        want, price = want.vbt.fshift(1, fill_value=False), adapters.closes(crossed, column="open")
    portfolio = vectorbt.Portfolio.from_signals(
        frame, want, ~want, price=price, size=1.0, fees=crossing.FEE, init_cash=crossing.CASH
    )
    expected = crossing.expected(crossed, at)
    orders = portfolio.orders.records_readable
    assert orders["Price"].tolist() == pytest.approx(expected.prices)
    assert orders["Side"].tolist() == ["Buy", "Sell"] * len(expected.bought)
    # Stamped with the end of the bar that it is done in: of the next open an hour after it was decided.
    ends = crossed.closes_at[expected.rows + (at == "open")]
    assert orders["Timestamp"].dt.tz_localize(None).to_numpy().astype("datetime64[ns]").tolist() == ends.tolist()
    np.testing.assert_allclose(portfolio.value().to_numpy().ravel(), expected.equity, rtol=1e-12)
