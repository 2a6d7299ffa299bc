"""vectorbt itself on closes side by side."""

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


def test_an_order_at_a_signal_pays_the_close_that_was_known(several):
    frame = adapters.closes(several)
    entries = frame.index == frame.index[10]  # eleven hours are over
    made = vectorbt.Portfolio.from_signals(frame, entries=entries, init_cash=1e6, size=1.0, freq="1h")
    orders = made.orders.records_readable
    assert orders["Price"].tolist() == [one["close"][10] for one in several]
    assert orders["Timestamp"].tolist() == [frame.index[10]] * 2
    assert frame.index[10].value == several[0].closes_at[10].astype("int64")
