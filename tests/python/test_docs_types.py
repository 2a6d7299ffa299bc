"""The pages of the data types, against the engine's table of types and against results."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import marketpoints as mp
from marketpoints import _engine
from marketpoints.common.arguments import METHODS

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "types"
TYPES = {row["name"]: row for row in _engine.data_types()}
FUTURES = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "interval": "1h", "period": "1d"}
OPTION = {"exchange": "DERIBIT", "interval": "1h", "coin": "BTC", "tenor": "ONE_W", "period": "1d"}
#: What brings each type from the demo market.
ASKED = dict.fromkeys(METHODS, FUTURES) | {
    "orderbook_heatmap": FUTURES | {"block_size": 10, "period": "1h"},
    "liquidation_heatmap": {"coin": "BTC", "interval": "1h", "period": "1d"},
    "tpo": FUTURES | {"session": "daily", "period": "3d"},
    "skew": OPTION | {"symbol": "BTC_25"},
    "implied_volatility": OPTION | {"symbol": "BTC_ATM"},
    "token_supply": {"coin": "BTC", "interval": "1d", "period": "3d"},
}
#: What a result has beside its columns.
BESIDE = {"heatmap": {"timestamps", "offsets"}, "profile": {"timestamps", "offsets"}}


def tables(name):
    """Rows of the page's tables, each a list of cells, without backticks."""
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    rows = [re.split(r"\s*\|\s*", line.strip("| \n")) for line in text.splitlines() if line.startswith("|")]
    return [[cell.replace("`", "") for cell in row] for row in rows]


def snake(wire):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", wire).lower()


@pytest.fixture(scope="module")
def answers(demo):
    with demo.client("unlimited") as client:
        return {name: getattr(client, name)(**asked) for name, asked in ASKED.items()}


def test_every_type_has_its_page():
    assert {path.stem for path in FOLDER.glob("*.md")} == set(METHODS) | {"index", "analytics"}


@pytest.mark.parametrize("name", METHODS)
def test_facts_are_those_of_the_table(name):
    facts = {row[0]: row[1] for row in tables(name) if len(row) == 2}
    row = TYPES[METHODS[name]]
    assert facts["wire type"] == row["name"]
    assert facts["weight"] == f"{row['cost']} for each started thousand of points"
    assert facts["points a request"].startswith(f"at most {row['max_points']:,};")
    depth = f"{row['included_depth']:,} levels; " if row["included_depth"] else None
    assert facts.get("included depth", "").startswith(depth) if depth else "included depth" not in facts
    assert facts["lowest tier"] == row["lowest_tier"]
    assert facts["usd=True"] == ("yes" if row["usd"] else "no")
    assert facts["gapfill=True"] == ("yes" if row["gapfill"] else "no")
    group = {None: "no", "GROUP_BY_TYPE_SUM": '"sum"'}.get(row["group_by"], '"oi_weighted"')
    assert facts["group_by="].startswith(group)


@pytest.mark.parametrize("name", METHODS)
def test_methods_take_what_the_table_says_that_their_type_has(name):
    row, taken = TYPES[METHODS[name]], inspect.signature(getattr(mp.Client, name)).parameters
    assert {"usd", "gapfill", "group_by"} & set(taken) == {one for one in ("usd", "gapfill", "group_by") if row[one]}


@pytest.mark.parametrize("name", METHODS)
def test_fields_are_those_of_the_wire_and_of_the_results(name, answers):
    rows = [row for row in tables(name) if len(row) == 4 and row[0] != "column" and not row[0].startswith("---")]
    wire = {snake(one) for row in rows for one in row[1].split(", ") if one}
    assert wire == set(TYPES[METHODS[name]]["columns"])
    series = answers[name][0]
    shape = TYPES[METHODS[name]]["shape"]
    assert {row[0] for row in rows} == set(series.columns) | BESIDE.get(shape, {"timestamps"})
    for column, _, dtype, unit in rows:
        assert unit, column
        values = getattr(series, column) if column in {"timestamps", "offsets"} else series[column]
        if dtype in {"text", "list", "records"}:
            assert not (isinstance(values, np.ndarray) and values.dtype.kind in "fiM"), column
            continue
        assert str(values.dtype) == dtype.split()[0], column
        assert values.ndim == (2 if re.search(r"\(N, \d\)", dtype) else 1), column


def test_weights_of_the_list_are_those_of_the_table():
    weights = {row[0]: int(row[2]) for row in tables("index") if len(row) == 3 and row[2].isdigit()}
    names = {re.search(r"\((\w+)\.md\)", entry)[1]: weight for entry, weight in weights.items()}
    assert names == {name: TYPES[wire]["cost"] for name, wire in METHODS.items()}


def test_weights_of_the_analytics_are_the_planner_s(demo):
    weights = {row[0]: int(row[1]) for row in tables("analytics") if len(row) == 3 and row[1].isdigit()}
    assert len(weights) == 5
    with demo.client("unlimited") as client:
        for call, weight in weights.items():
            name = re.search(r"client\.(\w+)", call)[1]
            wallet = {"user_wallet": "0x" + "a" * 40}
            given = {
                "market_summary": {"condition_id": "0x" + "a" * 64},
                "leaderboard": {"limit": 100},
                "positions": wallet | {"limit": 100},
            }
            plan = client.plan(name, **given.get(name, wallet))
            assert plan.weight == weight, name
