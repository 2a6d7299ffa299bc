"""Tables on a screen and in files: what they are of, in which unit, and how much of them is shown."""

import io
import itertools

import pandas as pd
import polars as pl
import pyarrow.parquet
import pytest

import marketpoints as mp
from marketpoints.cli import tables
from support.bodies import START, body, candles
from support.command_line import COMMAND, MARKET, WINDOW, good, on_a_terminal


def seen(environment, *words):
    """What the command line prints on a terminal."""
    status, text = on_a_terminal([*COMMAND, *map(str, words)], environment, errors=False)
    assert status == 0
    return text


def test_a_terminal_shows_both_ends_of_many_rows(cli, environment):
    command = ("fetch", "candles", *MARKET, "1m", *WINDOW)
    whole = good(cli(*command)).splitlines()
    assert len(whole) == 2 + 1440  # into a pipe goes everything
    lines = seen(environment, *command).splitlines()
    cells, expected = ([line.split() for line in rows] for rows in (lines, whole))  # a column is as wide as its rows
    assert cells[:22] == expected[:22]
    assert lines[22] == "… 1,400 more" and cells[23:-1] == expected[-20:]
    assert lines[-1].startswith("1,440 rows; ") and "--output" in lines[-1]


def test_a_terminal_shows_few_rows_as_they_are(cli, environment):
    command = ("fetch", "candles", *MARKET, "1h", *WINDOW)
    assert seen(environment, *command) == good(cli(*command))


def test_a_table_says_what_a_sum_is_of(cli):
    markets = ("BINANCE_FUTURES,BYBIT", "-", "4h", "--coin", "BTC")
    text = good(cli("fetch", "open_interest", *markets, *WINDOW, "--group-by", "sum", "--usd"))
    assert text.splitlines()[0] == "# OPEN_INTEREST_AGG BTC FOUR_HOURS of BTC on BINANCE_FUTURES + BYBIT, values in USD"


def test_the_screen_shows_what_was_meant_and_a_file_the_sum():
    candle = (1.0, 3.0, 1.0, 0.1 + 0.2, 3278.1367999999998)
    answer, screen, text = mp.decode_points(body(candles([candle]))), io.StringIO(), io.StringIO()
    tables.show(answer, screen)
    tables.print_table(answer, "csv", text)
    assert "0.3  3278.1368" in screen.getvalue()
    assert "0.30000000000000004,3278.1367999999998" in text.getvalue()


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([84_463.0, 84_684.9, -0.25], ["84463.00", "84684.90", "-0.25"]),
        ([84_463.0, 5.0], ["84463", "5"]),
        ([0.5, None, 10.0], ["0.5", "nan", "10.0"]),
        ([0.5, 4.955e-05], ["0.5", "4.955e-05"]),  # as many places as the smaller needs would be unreadable
    ],
)
def test_the_points_of_a_columns_numbers_stand_below_each_other(values, shown):
    series, out = candles([(1.0, 1.0, 1.0, 1.0, 1.0)] * len(values)), io.StringIO()
    for point, value in zip(series["points"], values, strict=True):
        point["Point"] |= {} if value is None else {"newer_field": value}
    tables.show(mp.decode_points(body(series)), out)
    assert [line.split()[-1] for line in out.getvalue().splitlines()[2:]] == shown


def test_books_without_levels_are_a_table_without_rows():
    point = {"timestamp": {"s": START}, "bids": [], "asks": []}
    series = {"id": {"type": "BLOCK_BOOK_SNAPSHOT_AGG"}, "points": [{"Point": {"BlockBookSnapshot": point}}]}
    answer, out = mp.decode_points(body(series)), io.StringIO()
    assert len(answer.only) == 1
    tables.show(answer, out)
    assert [line.split() for line in out.getvalue().splitlines()[1:]] == [["time", "(UTC)", "price", "volume"]]


def test_a_plan_tells_its_windows(cli, environment):
    own = environment | {"MARKETPOINTS_API_KEY": "", "MARKETPOINTS_BASE_URL": ""}
    # 250,000 minutes in requests of up to 100,000 (section 8.3), which begin where the others end.
    text = good(cli("plan", "candles", *MARKET, "1m", "--start", "2026-01-01", "--end", "2026-03-01T00:10"))
    lines = text.splitlines()
    assert lines[0].split()[:4] == ["weight", "points", "window", "(UTC)"]
    windows = [line.split("  ") for line in lines[1:] if "/v1/points" in line]
    edges = [next(cell for cell in line if " to " in cell).strip().split(" to ") for line in windows]
    assert edges[0][0] == "2026-01-01 00:00" and edges[-1][1] == "2026-03-01 00:10"
    assert all(one[1] == other[0] for one, other in itertools.pairwise(edges))
    assert "window: 2026-01-01 00:00 to 2026-03-01 00:10 UTC" in lines
    many = ("plan", "orderbook_heatmap", *MARKET, "1m", "--block-size", 10, "--start", "2026-01-01", "--period", "200d")
    shown, every = (text.count("/v1/points") for text in (seen(own, *many), good(cli(*many))))
    assert shown == 40 < every


def test_values_in_usd_are_labelled(client, tmp_path):
    for usd in (True, False):
        answer = client.candles(*MARKET, "1h", start="2026-01-01", period="2h", usd=usd)
        assert answer.to_pandas().attrs["usd"] is usd
        assert answer.to_arrow().schema.metadata[b"usd"] == str(usd).lower().encode()
        sides = client.liquidations(*MARKET, "1h", start="2026-01-01", period="2d", usd=usd)
        assert len(sides) == 2
        assert (
            sides.to_pandas().attrs["usd"] is usd
            and sides.to_arrow().schema.metadata[b"usd"] == str(usd).lower().encode()
        )
        tables.write(answer, tmp_path / "one.csv")
        frame = pd.read_csv(tmp_path / "one.csv")
        assert frame.get("quote", pd.Series([None] * 2)).tolist() == (["USD"] * 2 if usd else [None] * 2)
    alone = mp.decode_points(body(candles([(1.0, 2.0, 0.5, 1.5, 3.0)])))  # a body alone does not tell
    assert "usd" not in alone.to_pandas().attrs and b"usd" not in alone.to_arrow().schema.metadata
    out = io.StringIO()
    tables.show(alone, out)
    assert "USD" not in out.getvalue().splitlines()[0].removesuffix("BTCUSDT HOUR")


def test_a_time_that_is_not_known_is_blank():
    series = candles([(1.0, 2.0, 0.5, 1.5, 3.0), (1.5, 2.0, 1.0, 1.25, 4.0)])
    del series["points"][1]["Point"]["lastTimestamp"]
    out = io.StringIO()
    tables.show(mp.decode_points(body(series)), out)
    first, second = out.getvalue().splitlines()[2:]
    assert first.endswith("2026-04-22 18:00:00.126  2026-04-22 18:59:59")
    assert second.endswith("2026-04-22 19:00:00.126")


def test_block_ids_are_int32_in_frames(client):
    answer = client.tpo(*MARKET, "30m", start="2026-01-01", period="2d", session="daily", block_minutes=30)
    ids = [row.tolist() for row in answer.block_ids]
    assert max(map(max, ids)) > 10
    pandas, polars, arrow = answer.to_pandas(), answer.to_polars(), answer.to_arrow()
    assert {one.dtype.str for one in pandas["block_ids"]} == {"<i4"}
    assert [one.tolist() for one in pandas["block_ids"]] == ids
    assert polars["block_ids"].dtype == pl.List(pl.Int32) and polars["block_ids"].to_list() == ids
    assert str(arrow.schema.field("block_ids").type) == "large_list<item: int32>"
    assert arrow["block_ids"].to_pylist() == ids
    none = client.tpo(*MARKET, "30m", start="2005-01-01", period="2d", session="daily", block_minutes=30)
    assert len(none.to_polars()) == 0


@pytest.mark.parametrize("number", [0.5, 3e9, -3e9])
def test_block_ids_that_are_no_int32_stay_as_sent(number):
    level = {"price": 1.0, "block_ids": [0, number]}
    point = {"timestamp": {"s": START}, "levels": [level]}
    answer = mp.decode_points(body({"id": {"type": "TPO_AGG"}, "points": [{"Point": {"TpoAggregation": point}}]}))
    assert answer.to_polars()["block_ids"].to_list() == [[0.0, number]]


def test_an_empty_file_has_the_columns_of_a_full_one(client, tmp_path):
    schemas = []
    for start in ("2026-01-01", "2005-01-01"):
        answer = client.candles(*MARKET, "1h", start=start, period="2h")
        tables.write(answer, tmp_path / "file.parquet")
        schemas.append(pyarrow.parquet.read_schema(tmp_path / "file.parquet"))
    assert schemas[1].names == schemas[0].names and schemas[1].types == schemas[0].types


@pytest.mark.parametrize("name", ["candles", "markets", "leaderboard"])
def test_a_wrong_argument_names_the_call_as_it_is_typed(client, name):
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'unheard_of'"):
        getattr(client, name)(unheard_of=1)
