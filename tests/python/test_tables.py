"""Typed records alone and in sequence: frames, reprs, cards, equality, pickles."""

import copy
import json
import pickle
from dataclasses import fields

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import marketpoints as mp
from marketpoints.records.tables import record

BAD = '<img src=x onerror="alert(1)">'
# The longest id there is: 78 digits, more than any number type of the machine holds.
TOKEN = "7" * 78
ENTRY = {"conditionId": "0xab", "question": BAD, "outcomes": ["Yes", "No"], "prices": [0.25, 0.5], "closed": True}
SUMMARY = {
    "event_id": "e1",
    "condition_id": ["0xab"],
    "total_open_positions": 3,
    "mean_hold_duration": 1.5,
    "realized_pnl_distribution": [-1.5, 0.0, 2.5],
    "outcome_pricing": [
        {"token_id": TOKEN, "outcome_name": BAD, "open_pos_avg_price_distribution": [4, 5]},
        {"token_id": "8", "outcome_name": "No", "closed_pos_avg_exit_price_distribution": [6.0]},
    ],
    "newer": {"a": [1]},
}
CATEGORIES = {"wallet_address": BAD, "category_breakdown": [{"market_category": "Politics ", "count": 3}]}

RECORDS = {
    "profile": lambda: record(mp.TraderProfile, {"wallet_address": BAD, "total_roi": 2.5, "newer": [1]}),
    "position": lambda: record(mp.UserPosition, {"wallet_address": BAD, "asset_id": TOKEN, "realized_size": 1.25}),
    "pricing": lambda: summary().outcome_pricing[0],
    "summary": lambda: summary(),
    "category": lambda: categories().category_breakdown[0],
    "categories": lambda: categories(),
    "market": lambda: mp.Market.from_wire({"exchange": BAD, "lastPrice": 2.5, "tags": [{"id": "1", "label": BAD}]}),
    "question": lambda: market().prediction_markets[0],
    "tag": lambda: mp.Tag("1", BAD, "slug"),
}


def summary():
    return record(mp.MarketSummary, SUMMARY)


def categories():
    return record(mp.UserCategories, CATEGORIES)


def market():
    return mp.Market.from_wire({"exchange": "POLYMARKET", "predictionMarkets": [ENTRY]})


def plain(value):
    """A field as a row of a frame has it, computed apart from the code under test."""
    if isinstance(value, mp.Records):
        return [{one.name: plain(getattr(part, one.name)) for one in fields(part)} for part in value]
    if isinstance(value, (np.ndarray, tuple)):
        return list(value)
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else pd.Timestamp(value, tz="UTC")
    return json.dumps(value) if isinstance(value, dict) else value


def row(one):
    if isinstance(one, mp.UserCategories):  # its one category, with whose it is
        return {"wallet_address": one.wallet_address} | row(one.category_breakdown[0])
    return {field.name: plain(getattr(one, field.name)) for field in fields(one)}


@pytest.mark.parametrize("made", RECORDS.values(), ids=RECORDS)
def test_a_record_is_a_frame_of_one_row(made):
    one = made()
    expected = row(one)
    table = one.to_arrow()
    np.testing.assert_equal(table.to_pylist(), [expected])  # NaN is as NaN
    np.testing.assert_equal(pa.table(one).to_pylist(), table.to_pylist())
    assert pa.table(one).schema == table.schema
    frame = one.to_polars()
    assert frame.equals(pl.DataFrame(one))
    assert frame.columns == list(expected) and len(frame) == 1
    pandas = one.to_pandas()
    assert list(pandas.columns) == list(expected) and len(pandas) == 1
    for name, value in expected.items():
        if isinstance(value, (str, bool, int, float)) and name != "extra":
            np.testing.assert_equal([pandas[name].tolist(), frame[name].to_list()], [[value]] * 2)


@pytest.mark.parametrize("made", RECORDS.values(), ids=RECORDS)
def test_records_of_a_kind_are_a_table_even_when_there_are_none(made):
    one = made()
    several, none = mp.Records([one, made()]), mp.Records([], type(one))
    assert several.to_arrow().num_rows == len(several.to_pandas()) == len(several.to_polars()) == 2
    assert none.to_arrow().schema == several.to_arrow().schema == one.to_arrow().schema
    assert list(none.to_pandas().columns) == none.to_polars().columns == list(row(one))
    assert repr(several) == f"<2 × {type(one).__name__}>" and repr(none) == f"<0 × {type(one).__name__}>"
    assert repr(several[1:]) == f"<1 × {type(one).__name__}>"
    assert len(pa.table(several)) == 2


@pytest.mark.parametrize("made", RECORDS.values(), ids=RECORDS)
def test_cards_are_short_and_escape_everything(made):
    one = made()
    for shown in (one, mp.Records([one] * 20)):
        assert len(repr(shown)) < 500 and "\n" not in repr(shown)
        html = shown._repr_html_()
        assert type(one).__name__ in html and "<img" not in html
    assert repr(one).startswith(f"<{type(one).__name__} ")
    # Five rows from each end, and how many are between.
    assert mp.Records([one] * 20)._repr_html_().count("<tr>") == 1 + 5 + 1 + 5
    assert "… 10 more" in mp.Records([one] * 20)._repr_html_()
    assert "more<" not in mp.Records([one] * 10)._repr_html_()


@pytest.mark.parametrize("made", RECORDS.values(), ids=RECORDS)
def test_records_are_equal_by_value_and_pickle(made):
    one = made()
    for again in (made(), pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert type(again) is type(one) and again == one and hash(again) == hash(one)
        for field in fields(one):
            value = getattr(again, field.name)
            assert not isinstance(value, np.ndarray) or not value.flags.writeable
    assert pickle.loads(pickle.dumps(mp.Records([one]))) == mp.Records([one])
    assert one != type(one)() and one != "record"


def test_categories_are_the_rows_of_their_frame():
    rows = [{"market_category": f"C{number} ", "count": 40 - number, "newer": number} for number in range(40)]
    categories = record(mp.UserCategories, {"wallet_address": "0xa", "category_breakdown": rows})
    frame = categories.to_pandas()
    assert len(frame) == len(categories.to_polars()) == categories.to_arrow().num_rows == 40
    assert frame["market_category"].tolist() == [row["market_category"] for row in rows]
    assert frame["count"].tolist() == [row["count"] for row in rows] and set(frame["wallet_address"]) == {"0xa"}
    assert categories.to_polars()["extra"][3] == '{"newer": 3}'
    other = record(mp.UserCategories, {"wallet_address": "0xb", "category_breakdown": rows[:2]})
    assert mp.Records([categories, other]).to_pandas()["wallet_address"].tolist() == ["0xa"] * 40 + ["0xb"] * 2
    assert len(mp.UserCategories().to_pandas()) == 0


def test_a_summary_differs_by_its_distributions():
    other = record(mp.MarketSummary, SUMMARY | {"realized_pnl_distribution": [-1.5, 0.0, 2.0]})
    assert other != summary()


def test_distributions_are_one_tidy_table():
    table = summary().distributions
    expected = [
        *(("realized_pnl_distribution", "", "", place, value) for place, value in enumerate([-1.5, 0.0, 2.5])),
        ("open_pos_avg_price_distribution", TOKEN, BAD, 0, 4.0),
        ("open_pos_avg_price_distribution", TOKEN, BAD, 1, 5.0),
        ("closed_pos_avg_exit_price_distribution", "8", "No", 0, 6.0),
    ]
    names = ["distribution", "token_id", "outcome_name", "bin", "value"]
    assert list(table) == names and table["value"].dtype == np.float64 and table["bin"].dtype == np.int64
    assert [tuple(row.values()) for row in table.to_arrow().to_pylist()] == expected
    assert list(table.to_polars().iter_rows()) == expected
    assert list(table.to_pandas().itertuples(index=False, name=None)) == expected
    assert pa.table(table).schema.field("bin").type == pa.int64()
    assert repr(table).startswith("<Table rows 6") and "<img" not in table._repr_html_()
    assert pickle.loads(pickle.dumps(table)) == table
    assert mp.MarketSummary().distributions.to_arrow().num_rows == 0


def test_what_is_not_sent_is_missing_and_a_fraction_is_kept():
    profile = record(mp.TraderProfile, {"latest_open_position_ts": {"s": 1776595344, "ns": 123456789}})
    both = mp.Records([profile, mp.TraderProfile()])
    assert both.to_arrow()["latest_open_position_ts"].cast("int64").to_pylist() == [1776595344123456789, None]
    assert both.to_pandas()["latest_open_position_ts"].isna().tolist() == [False, True]
    # The specification says whole numbers; a service that says otherwise is not cut short.
    odd = mp.Records([record(mp.TraderProfile, {"total_position_count": 2.5}), profile])
    assert odd.to_arrow()["total_position_count"].to_pylist() == [2.5, 0.0]
    assert odd.to_pandas()["total_position_count"].tolist() == odd.to_polars()["total_position_count"].to_list()


def test_answers_of_the_service_are_such_tables(client):
    listed = client.markets(limit=3)
    assert listed.to_arrow()["exchange"].to_pylist() == [one.exchange for one in listed]
    assert listed[0].to_pandas()["raw_symbol"].tolist() == [listed[0].raw_symbol]
    nobody = client.positions("0x" + "0" * 40)
    assert repr(nobody) == "<0 × UserPosition>" and "asset_id" in nobody.to_polars().columns
    wallet = client.leaderboard(limit=1)[0].wallet_address
    position = client.positions(wallet, limit=1)[0]
    whole = client.market_summary(asset_id=position.asset_id)
    # Section 2.5: 100 percentiles of the market, and 101 cents of each outcome, twice.
    sizes = [len(one.open_pos_avg_price_distribution) for one in whole.outcome_pricing]
    sizes += [len(one.closed_pos_avg_exit_price_distribution) for one in whole.outcome_pricing]
    assert len(whole.realized_pnl_distribution) == 100 and set(sizes) == {101}
    assert len(whole.distributions["value"]) == 100 + sum(sizes)
