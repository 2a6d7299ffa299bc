"""The command line, as a child process: what it prints, what it writes, what it says when something is wrong."""

import gzip
import io
import json
import re
import shlex
import subprocess
import time
from pathlib import Path

import pandas as pd
import pytest

import marketpoints as mp
from marketpoints.cli.tables import print_table
from support import NOW
from support.command_line import COMMAND, MARKET, WINDOW, good


def test_help_names_every_command(cli):
    text = good(cli("--help"))
    for name in ("demo", "serve", "ingest", "fetch", "plan", "weight", "usage", "MARKETPOINTS_API_KEY"):
        assert name in text
    assert good(cli("--version")) == f"marketpoints {mp.__version__}\n"
    assert "--block-size" in good(cli("fetch", "--help"))


def test_weight(cli):
    arguments = ("--interval", "1m", "--period", 60_000, "--exchanges", 3, "--max-depth", 3500)
    assert good(cli("weight", "BLOCK_BOOK_SNAPSHOT_AGG", *arguments)) == "16\n"
    assert good(cli("weight", "orderbook_heatmap", *arguments)) == "16\n"


@pytest.mark.parametrize(
    ("name", "weight"),  # section 8.5
    [("leaderboard", 60), ("trader-profile", 100), ("positions", 40), ("market_summary", 60), ("user-categories", 40)],
)
def test_weight_of_the_analytics(name, weight):
    assert mp.weight(name) == mp.weight(name.replace("-", "_")) == weight
    with pytest.raises(mp.InvalidRequest, match="nothing but its name"):
        mp.weight(name, interval="1h", period=3600)


def test_help_tells_which_names_each_command_takes(cli):
    for command in ("fetch", "plan"):
        text = good(cli(command, "--help"))
        assert "Series only" in text and "client.leaderboard(" in text and "open_interest" in text
    text = good(cli("weight", "--help"))
    assert all(name in text for name in ("leaderboard", "trader_profile", "market_summary", "candles"))


def test_plan_needs_no_account(cli):
    text = good(cli("plan", "candles", *MARKET, "1m", *WINDOW, MARKETPOINTS_API_KEY=None, MARKETPOINTS_BASE_URL=None))
    assert text.splitlines()[-1] == "1 request, 1,440 points, weight 2"
    assert "service.invalid" not in text
    assert "/v1/points?type=TRADE_SIDE_AGNOSTIC_AGG&exchange=BINANCE_FUTURES&rawSymbol=BTCUSDT" in text


# Of two symbols one is unknown to the service: what was paid for the other is kept, and not where all would be.
SOME = ("fetch", "candles", "BINANCE_FUTURES", "BTCUSDT,NOPE", "1h", *WINDOW, "--no-check-symbols")


@pytest.fixture(scope="module")
def strict():
    """The environment of commands to a service that refuses unknown symbols."""
    with mp.LocalService(now=NOW, strict_symbols=True) as service:
        yield {"MARKETPOINTS_API_KEY": service.keys["unlimited"], "MARKETPOINTS_BASE_URL": service.url}


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_what_arrived_of_a_fetch_that_failed_in_part_lies_beside_its_file(cli, strict, tmp_path, suffix):
    done = cli(*SOME, "-o", tmp_path / f"candles{suffix}", **strict)
    part = tmp_path / f"candles.partial{suffix}"
    assert (done.returncode, done.stdout) == (1, f"{part}: 24 rows, what arrived\n")
    assert done.stderr.startswith("marketpoints: 1 of 2 symbols failed; first: BINANCE_FUTURES NOPE")
    assert [one.name for one in tmp_path.iterdir()] == [part.name]
    frame = pd.read_parquet(part) if suffix == ".parquet" else pd.read_csv(part)
    assert set(frame["symbol"]) == {"BTCUSDT"} and len(frame) == 24


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="a folder in which not even root writes")
def test_what_arrived_in_part_and_cannot_be_written_is_kept_elsewhere_and_said_to_be_a_part(cli, strict, tmp_path):
    done = cli(*SOME, "-o", "/proc/candles.csv", TMPDIR=tmp_path, **strict)
    kept = next(tmp_path.glob("marketpoints-*/candles.partial.csv"))
    unwritten, failed = done.stderr.splitlines()
    assert done.returncode == 1 and len(pd.read_csv(kept)) == 24
    assert unwritten.endswith(f"; what was paid was written to {kept}")
    assert failed.startswith("marketpoints: 1 of 2 symbols failed; first: BINANCE_FUTURES NOPE")


def test_what_arrived_of_a_fetch_that_failed_in_part_is_shown_and_never_piped(cli, strict):
    shown = cli(*SOME, **strict)
    assert shown.returncode == 1 and "BTCUSDT" in shown.stdout and "1 of 2 symbols failed" in shown.stderr
    piped = cli(*SOME, "-o", "-", **strict)
    assert (piped.returncode, piped.stdout) == (1, "") and "--output FILE keeps it" in piped.stderr


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="a folder in which not even root writes")
def test_a_paid_answer_whose_file_cannot_be_written_is_kept_elsewhere(cli, tmp_path):
    done = cli("fetch", "candles", *MARKET, "1h", *WINDOW, "-o", "/proc/candles.csv", TMPDIR=tmp_path)
    kept = next(tmp_path.glob("marketpoints-*/candles.csv"))
    assert (done.returncode, done.stdout) == (1, "") and len(pd.read_csv(kept)) == 24
    assert done.stderr.startswith("marketpoints: /proc/candles.csv: ")
    assert done.stderr.endswith(f"; what was paid was written to {kept}\n")


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_fetch_writes_a_file(cli, client, tmp_path, suffix):
    file = tmp_path / f"candles{suffix}"
    text = good(cli("fetch", "candles", *MARKET, "1h", *WINDOW, "-o", file))
    assert text.startswith(f"{file}: 24 rows; ")
    frame = pd.read_parquet(file) if suffix == ".parquet" else pd.read_csv(file, parse_dates=["time"])
    expected = client.candles(*MARKET, "1h", start="2026-01-01", end="2026-01-02").to_pandas()
    # Whose rows they are stands in the file.
    assert list(frame.columns)[: 1 + len(expected.columns)] == ["time", *expected.columns]
    assert frame[list(frame.columns)[1 + len(expected.columns) :]].drop_duplicates().to_dict("records") == [
        {
            "type": "TRADE_SIDE_AGNOSTIC_AGG",
            "exchange": "BINANCE_FUTURES",
            "symbol": "BTCUSDT",
            "normalized_symbol": "BTC-USDT",
            "category": "PERPETUAL",
            "interval": "HOUR",
            "coin": "BTC",
        }
    ]
    assert frame["close"].tolist() == expected["close"].tolist()
    assert pd.DatetimeIndex(frame["time"]).as_unit("ns").tolist() == expected.index.tolist()
    assert list(tmp_path.iterdir()) == [file]


def test_fetch_writes_into_a_pipe(cli, client, tmp_path):
    expected = client.side_candles(*MARKET, "1h", start="2026-01-01", end="2026-01-02")
    rows = [(side, value) for one in expected for side, value in zip([one.id.side] * 24, one["close"], strict=True)]
    for options in (("--format", "csv"), ("-o", "-"), ("-o", "-", "--format", "csv")):
        text = good(cli("fetch", "side_candles", *MARKET, "1h", *WINDOW, *options))
        frame = pd.read_csv(io.StringIO(text), parse_dates=["time"])
        assert list(zip(frame["side"], frame["close"], strict=True)) == rows
    parsed = json.loads(good(cli("fetch", "side_candles", *MARKET, "1h", *WINDOW, "--format", "json")))
    assert [(row["side"], row["close"]) for row in parsed] == rows
    assert (parsed[0]["time"], parsed[0]["exchange"]) == ("2026-01-01T00:00:00Z", "BINANCE_FUTURES")
    good(cli("fetch", "side_candles", *MARKET, "1h", *WINDOW, "-o", "sides.json"))
    assert json.loads((tmp_path / "sides.json").read_text()) == parsed
    nothing = cli("fetch", "candles", *MARKET, "1h", "--start", NOW, "--period", 60, "--format", "json")
    assert (nothing.returncode, json.loads(nothing.stdout)) == (0, []) and "no bucket starts from" in nothing.stderr


def test_a_period_has_a_unit(cli):
    for period in ("86400", "1d", "24h"):
        text = good(cli("plan", "candles", *MARKET, "1h", "--start", "2026-01-01", "--period", period))
        assert text.splitlines()[-1] == "1 request, 24 points, weight 1"
    assert good(cli("weight", "candles", "--interval", "1m", "--period", "30d")) == "44\n"


def test_fetch_writes_sides_and_levels(cli, client, tmp_path):
    good(cli("fetch", "side_candles", *MARKET, "1h", *WINDOW, "-o", "sides.parquet"))
    frame = pd.read_parquet(tmp_path / "sides.parquet")
    assert frame["side"].value_counts().to_dict() == {"BUY": 24, "SELL": 24}
    assert set(frame["symbol"]) == {"BTCUSDT"}
    good(cli("fetch", "orderbook_heatmap", *MARKET, "4h", *WINDOW, "--block-size", 50, "-o", "book.parquet"))
    book = client.orderbook_heatmap(*MARKET, "4h", start="2026-01-01", end="2026-01-02", block_size=50).to_pandas()
    frame = pd.read_parquet(tmp_path / "book.parquet")
    assert frame["price"].tolist() == book["price"].tolist()
    assert frame["side"].tolist() == book["side"].tolist()


def test_every_series_method_is_a_type(cli, tmp_path):
    file = tmp_path / "tpo.csv"
    window = ("--start", 1_789_862_400, "--end", 1_789_948_800)
    session = ("--session", "daily", "--block-minutes", 60)
    good(cli("fetch", "tpo", *MARKET, "1d", *session, *window, "-o", file))
    header, first, *_ = file.read_text().splitlines()
    assert header.split(",")[:3] == ["time", "price", "block_ids"]
    blocks = first.split(",")[2].split()
    assert blocks and all(0 <= int(block) < 24 for block in blocks)
    option = ("--coin", "BTC", "--tenor", "ONE_W")
    assert "tenor=ONE_W" in good(cli("plan", "skew", "DERIBIT", "BTC_25", "1h", *option, *window))
    token = ("--coin", "BTC", "--token-name", "Bitcoin")
    assert "tokenName=Bitcoin" in good(cli("plan", "token_supply", "-", "-", "1d", *token, *window))


def test_fetch_prints_a_table(cli, client):
    lines = good(cli("fetch", "candles", *MARKET, "4h", "--start", 1_767_225_600, "--period", 86_400)).splitlines()
    assert lines[0] == "# TRADE_SIDE_AGNOSTIC_AGG BINANCE_FUTURES BTCUSDT FOUR_HOURS"
    assert lines[1].split()[:4] == ["time", "(UTC)", "open", "high"]
    rows = [line.split("  ") for line in lines[2:]]
    close = client.candles(*MARKET, "4h", start="2026-01-01", end="2026-01-02")["close"]
    assert [float([cell for cell in row if cell][4]) for row in rows] == close.tolist()
    assert rows[0][0] == "2026-01-01 00:00:00"


def test_a_symbol_that_does_not_exist_is_no_success(cli):
    done = cli("fetch", "candles", "BINANCE_FUTURES", "BTCUSD", "1h", *WINDOW)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("marketpoints: BINANCE_FUTURES has no BTCUSD; did you mean BTCUSDT? (")
    assert "check_symbols" not in done.stderr


def test_an_empty_fetch_says_why(cli):
    done = cli("fetch", "candles", *MARKET, "1h", "--start", NOW, "--period", 60)
    assert (done.returncode, done.stdout) == (0, "no data\n")
    assert done.stderr.startswith("no bucket starts from 2026-09-21 14:13:20 UTC to 2026-09-21 14:14:20 UTC")


def test_several_symbols_and_coins_are_one_fetch(cli, client, tmp_path):
    good(cli("fetch", "candles", "BINANCE_FUTURES", "ETHUSDT,BTCUSDT", "1h", *WINDOW, "-o", "both.parquet"))
    frame = pd.read_parquet(tmp_path / "both.parquet")
    assert frame[["exchange", "symbol"]].drop_duplicates().values.tolist() == [
        ["BINANCE_FUTURES", "ETHUSDT"],
        ["BINANCE_FUTURES", "BTCUSDT"],
    ]
    window = {"start": "2026-01-01", "end": "2026-01-02"}
    both = client.candles("BINANCE_FUTURES", ["ETHUSDT", "BTCUSDT"], "1h", **window)
    assert frame["close"].tolist() == [*both[0]["close"], *both[1]["close"]]
    good(cli("fetch", "token_supply", "-", "-", "1d", "--coin", "BTC, ETH", *WINDOW, "-o", "supply.csv"))
    assert set(pd.read_csv(tmp_path / "supply.csv")["coin"]) == {"BTC", "ETH"}
    book = ("BYBIT,BINANCE_FUTURES", "BTCUSDT,ETHUSDT", "1h", *WINDOW, "--block-size", "10,1")
    text = good(cli("plan", "orderbook_heatmap", *book))
    sent = re.findall(r"exchange=(\w+)&rawSymbol=(\w+).*blockSize=(\d+)", text)
    sizes = {"BTCUSDT": "10", "ETHUSDT": "1"}
    assert sent == [(where, what, sizes[what]) for where in ("BYBIT", "BINANCE_FUTURES") for what in sizes]
    assert text.splitlines()[-1] == "4 requests, 96 points, weight 40"
    assert "separated by commas" in good(cli("fetch", "--help"))


def test_a_plan_tells_what_each_tier_would_take(cli):
    own = {"MARKETPOINTS_API_KEY": None, "MARKETPOINTS_BASE_URL": None}
    text = good(cli("plan", "candles", "BYBIT,BINANCE_FUTURES", "-", "1h", "--coin", "BTC", "--period", 86_400, **own))
    assert "from a full budget: free refuses; basic refuses; standard refuses; advanced 0 s\n" in text
    assert "  free: 2 exchanges at once need the tier advanced\n" in text


def test_usage(cli, demo):
    text = good(cli("usage", MARKETPOINTS_API_KEY=demo.keys["basic"]))
    assert "50 weight in 60 s, burst 100\n" in text
    assert demo.keys["basic"] not in text


def test_a_misspelt_command_or_choice_has_the_nearest(cli):
    for words, choice, near in [
        (("fech", "candles"), "fech", "fetch"),
        (("fetch", "candles", *MARKET, "1h", "--format", "parket"), "parket", "parquet"),
    ]:
        done = cli(*words)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"invalid choice: {choice!r}" in done.stderr and f"did you mean {near}?" in done.stderr
    assert "did you mean" not in cli("zzzzzzzz").stderr


def test_a_misspelt_option_shows_the_usage_of_its_command_and_what_was_meant(cli):
    done = cli("fetch", "candles", *MARKET, "1h", "--strat", "2026-01-01")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: marketpoints fetch [-h]")
    assert done.stderr.endswith("unrecognized arguments: --strat 2026-01-01; did you mean --start?\n")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (
            ("fetch", "candles", *MARKET, "1h", *WINDOW, "-o", "x.xlsx"),
            2,
            "x.xlsx: the name must end in .parquet or .csv or .json",
        ),
        (("fetch", "candles", *MARKET, "1h", *WINDOW, "-o", "x.csv", "--format", "json"), 2, "must end in .json"),
        (("fetch", "candles", *MARKET, "1h", *WINDOW, "-o", "-", "--format", "parquet"), 2, "not for a pipe"),
        (("fetch", "candles", *MARKET, "1h", "--period", "1M"), 2, "period: '1M': months and years differ in length"),
        (("fetch", "candles", *MARKET, "1h", *WINDOW, "-o", "no/x.csv"), 2, "there is no folder no"),
        (("fetch", "candles", *MARKET, "1x", *WINDOW), 2, "1x"),
        (("fetch", "candles", *MARKET, "1h", "--start", "yesterday"), 2, "start: 'yesterday' is not a time"),
        (("fetch", "candels", *MARKET, "1h", *WINDOW), 2, "candels"),
        (("fetch", "candels", *MARKET, "1h", *WINDOW), 2, "did you mean candles?"),
        (
            ("fetch", "skew", "DERIBIT", "BTC_25", "1h", *WINDOW, "--coin", "BTC", "--tenor", "ONE_W,ONE_M"),
            2,
            "takes one",
        ),
        (("weight", "TRADE_AGGG", "--points", "1"), 2, "did you mean"),
        (("weight", "candels", "--points", "1"), 2, "did you mean candles?"),
        (("weight", "leader-bord"), 2, "did you mean leaderboard?"),
        (("weight", "leaderboard", "--points", "1"), 2, "weighs 60"),
        (("weight", "candles", "--interval", "1h"), 2, "give --period (such as 90d) or --points"),
        (("fetch", "leaderboard", "-", "-", "1h", "--period", "60"), 2, "ask it in Python by client.leaderboard(…)"),
        (("plan", "trader-profile", "-", "-", "1h", "--period", "60"), 2, "client.trader_profile(…)"),
        (("fetch", "candles", *MARKET, "1h", *WINDOW, "--max-depth", "4"), 2, "leave --max-depth out"),
        (("fetch", "candles", *MARKET, "1h", *WINDOW, "--max-depth", "0"), 2, "max_depth: 0 is not"),
        (("fetch", "candles", *MARKET, "1h", *WINDOW, "--block-size", "5"), 2, "leave --block-size out"),
        (("fetch", "volume_profile", *MARKET, "1h", *WINDOW, "--block-size", "5"), 2, "leave --block-size out"),
        (("fetch", "candles", *MARKET, "1h", *WINDOW, "--session", "daily"), 2, "leave --session out"),
        (("fetch", "candles", *MARKET, "1h", *WINDOW, "--block-minutes", "30"), 2, "leave --block-minutes out"),
        (("plan", "candles", *MARKET, "1h", *WINDOW, "--tenor", "ONE_W"), 2, "leave --tenor out"),
        (("plan", "candles", *MARKET, "1h", *WINDOW, "--token-name", "Bitcoin"), 2, "leave --token-name out"),
        (("plan", "skew", *MARKET, "1h", *WINDOW, "--group-by", "sum"), 2, "coin"),
        (("plan", "orderbook_heatmap", *MARKET, "1h", *WINDOW), 2, "needs --block-size"),
        (("plan", "candles", *MARKET, "1h", "--period", "-5d"), 2, "period: '-5d' is negative"),
        (("plan", "candles", *MARKET, "1h", "--period", "5 fortnights"), 2, "there is no unit 'fortnights'"),
        (("plan", "candles", *MARKET, "1h", "--period", "2.5"), 2, "give seconds, a number with a unit such as 90d"),
        (("plan", "candles", *MARKET, "1h", "--start", "20260421"), 2, "write '2026-04-21'"),
        (("plan", "token_supply", "-", "-", "1d", "--period", "1d"), 2, "goes by --coin (and --token-name)"),
        (("plan", "token_supply", *MARKET, "1d", "--coin", "BTC", "--period", "1d"), 2, "write - for EXCHANGE"),
        (("plan", "liquidation_heatmap", *MARKET, "1h", "--coin", "BTC", "--period", "1d"), 2, "write - for SYMBOL"),
        (("plan", "tpo", *MARKET, "1h", *WINDOW, "--block-minutes", "15"), 2, "not one of 5, 30, 60, 240"),
        (("plan", "tpo", *MARKET, "1h", *WINDOW, "--session", "day"), 2, "did you mean daily?"),
        (("weight", "orderbook_heatmap", "--points", "10", "--max-depth", "-4"), 2, "max_depth: -4"),
        (("weight", "orderbook_heatmap", "--points", "10", "--max-depth", "99999999999"), 2, "max_depth: 99999999999"),
        (("weight", "candles", "--points", "5", "--exchanges", "-1"), 2, "exchanges: -1"),
        (("weight", "candles", "--points", "5", "--exchanges", "99999999999999"), 2, "exchanges: 99999999999999"),
        (("weight", "candles", "--points", "9" * 30), 2, "points"),
        (("weight", "candles", "--points", "-3"), 2, "points: -3"),
        (("weight", "candles", "--points", "200000"), 2, "`marketpoints plan` cuts"),
        (("weight", "candles", "--points", "5", "--interval", "1h"), 2, "--points stands in the place of --interval"),
        (("weight", "foo"), 2, "known are TRADE_SIDE_AGNOSTIC_AGG"),
        (("serve", "--data", "nowhere"), 2, "nowhere"),
        (("serve", "--host", "nowhere"), 2, "nowhere"),
        (("ingest", "nowhere", "store"), 2, "nowhere"),
        (("demo", "--output", "/dev/null/x"), 2, "/dev/null/x"),
    ],
)
def test_what_is_wrong_is_one_line(cli, arguments, status, words):
    done = cli(*arguments)
    assert done.returncode == status, done
    assert done.stdout == ""
    assert done.stderr.startswith("marketpoints: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_why_nothing_came_is_said_in_the_words_of_a_command_line(cli):
    offset = f"{NOW - time.time():.3f}"
    done = cli("fetch", "candles", *MARKET, "1h", "--start", NOW // 3_600 * 3_600, MARKETPOINTS_CLOCK_OFFSET=offset)
    assert "no bucket of the window was closed" in done.stderr and "; --include-forming takes those" in done.stderr
    done = cli("fetch", "candles", *MARKET, "1h", "--period", "5h", MARKETPOINTS_CLOCK_OFFSET="3e9")
    assert "the service's clock says" in done.stderr and "set MARKETPOINTS_CLOCK_OFFSET" in done.stderr
    assert "client." not in done.stderr and "clock=" not in done.stderr


def test_a_service_that_refuses_is_status_1(cli):
    done = cli("usage", MARKETPOINTS_API_KEY="nonsense-key")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "nonsense-key" not in done.stderr


def test_what_is_missing_is_named_as_a_command_line_has_it(cli):
    done = cli("usage", MARKETPOINTS_API_KEY=None)
    assert (done.returncode, done.stderr) == (2, "marketpoints: no API key: set MARKETPOINTS_API_KEY\n")
    done = cli("usage", MARKETPOINTS_BASE_URL=None)
    assert (done.returncode, done.stderr) == (
        2,
        "marketpoints: no address: set MARKETPOINTS_BASE_URL, or name it in a dialect\n",
    )


def test_levels_without_sides_print_no_column_of_sides(cli):
    arguments = ("liquidation_heatmap", "-", "-", "4h", *WINDOW, "--coin", "BTC")
    assert good(cli("fetch", *arguments)).splitlines()[1].split() == ["time", "(UTC)", "price", "volume"]
    book = good(cli("fetch", "orderbook_heatmap", *MARKET, "4h", *WINDOW, "--block-size", 50))
    assert book.splitlines()[1].split() == ["time", "(UTC)", "price", "volume", "side"]


def test_unknown_commands_and_options_are_status_2(cli):
    for arguments in ((), ("fly",), ("fetch", "candles"), ("weight", "TRADE_AGG", "--fast")):
        done = cli(*arguments)
        assert done.returncode == 2
        assert "usage:" in done.stderr


def test_a_reader_that_leaves_early_is_no_error(environment):
    command = [*COMMAND, "fetch", "candles", *MARKET, "1m", *WINDOW]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as child:
        child.stdout.readline()
        child.stdout.close()
        problems = child.stderr.read()
        assert (child.wait(60), problems) == (141, "")


def test_ingest_reports_and_is_idempotent(cli, tmp_path):
    header = "exchange,symbol,timestamp,local_timestamp,id,side,price,amount"
    good_row = "okex,A-USDT,1709251200000000,1709251200000009,1,buy,2.5,4"
    day = tmp_path / "dumps" / "trades" / "OKEX" / "A-USDT" / "2024-03-01.csv"
    day.parent.mkdir(parents=True)
    day.write_text("\n".join([header, good_row, good_row.replace("2.5", "nonsense")]) + "\n")
    done = cli("ingest", "dumps", "store")
    assert done.returncode == 1
    assert done.stdout == "1 file read, 1 row, 1 problem\n"
    assert "2024-03-01.csv:3: " in done.stderr
    assert "1 unchanged" in cli("ingest", "dumps", "store").stdout
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert report.unchanged == 1
    assert repr(report).startswith("<IngestReport files ")
    with mp.LocalService(data=tmp_path / "store", now="2024-03-02") as service, service.client() as client:
        assert client.candles("OKEX", "A-USDT", "1m", period=86_400)["close"].tolist() == [2.5]


TRADES = """\
exchange,symbol,timestamp,local_timestamp,id,side,price,amount
okex,A-USDT,1709251200000000,1709251200000009,1,buy,2.5,4
"""


def dump(folder, name="2024-03-01.csv", text=TRADES):
    file = folder / "trades" / "OKEX" / "A-USDT" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_stray_file_is_reported_and_no_failure(cli, tmp_path):
    dump(tmp_path / "dumps")
    for place in ("README.txt", "trades/notes.md", "trades/OKEX/A-USDT/README", "token_supply/README.txt"):
        stray = tmp_path / "dumps" / place
        stray.parent.mkdir(parents=True, exist_ok=True)
        stray.write_text("whence these come")
    for summary in ("1 file read, 1 row, 4 problems\n", "0 files read, 1 unchanged, 0 rows, 4 problems\n"):
        done = cli("ingest", "dumps", "store")
        assert (done.returncode, done.stdout) == (0, summary)
        assert done.stderr.count("\n") == 4 and "README.txt: " in done.stderr


@pytest.mark.parametrize(
    "place",
    [
        "trades/OKEX/A-USDT/March.csv",
        "trades/OKEX/A-USDT/2024-03-02.csv.zst",
        "trades/2024-03-01.csv.gz",
        "trade/x",
        "trades.CSV",
    ],
)
def test_a_dump_in_a_wrong_place_is_a_failure(cli, tmp_path, place):
    dump(tmp_path / "dumps")
    lost = tmp_path / "dumps" / place
    lost.parent.mkdir(parents=True, exist_ok=True)
    lost.write_text(TRADES)
    done = cli("ingest", "dumps", "store")
    assert (done.returncode, done.stdout) == (1, "1 file read, 1 row, 1 problem\n")


@pytest.mark.parametrize("stray", [None, "README.txt"])
def test_a_folder_without_dumps_is_a_failure_that_says_what_was_looked_for(cli, tmp_path, stray):
    (tmp_path / "dumps").mkdir()
    if stray:
        (tmp_path / "dumps" / stray).write_text("nothing")
    done = cli("ingest", "dumps", "store")
    assert (done.returncode, done.stdout) == (1, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith("marketpoints: dumps: there is no dump in it; looked for KIND/EXCHANGE/SYMBOL/DAY.csv")
    assert not (tmp_path / "store").exists()
    # What stands there as an example is one.
    example = re.search(r"trades/\S+/2024-12-01\.csv\.gz", last).group()
    file = tmp_path / "dumps" / example
    file.parent.mkdir(parents=True)
    file.write_bytes(gzip.compress(TRADES.replace("1709251200", "1733011200").encode()))
    assert cli("ingest", "dumps", "store").stdout.startswith("1 file read, 1 row, ")


def test_the_demo_makes_its_files(cli, tmp_path):
    text = good(cli("demo", "--output", "out", MARKETPOINTS_API_KEY=None, MARKETPOINTS_BASE_URL=None, MPLBACKEND=None))
    assert "planned: weight 10 in 1 request(s)" in text
    assert "0 → 1 spent" in text
    frame = pd.read_parquet(tmp_path / "out" / "candles.parquet")
    assert len(frame) == 720
    picture = (tmp_path / "out" / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 50_000


def test_any_encoding_of_the_output_will_do(cli):
    text = good(cli("demo", "--output", "out", MARKETPOINTS_API_KEY=None, PYTHONIOENCODING="ascii:strict"))
    assert r"0 \u2192 1 spent" in text
    assert "usage: " in good(cli("fetch", "--help", PYTHONIOENCODING="ascii:strict"))


def test_data_are_utf_8_whatever_the_output_is():
    price = {"close": 1.0, "timestamp": {"s": int(NOW) - 3_600}}
    named = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "exchange": "BYBIT", "rawSymbol": "BTC\u00e9", "interval": "HOUR"}
    body = json.dumps({"series": [{"id": named, "points": [{"Point": price}]}]}).encode()
    answer = mp.decode_points(body)
    for form in ("csv", "json"):
        out = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
        print_table(answer, form, out)
        text = out.buffer.getvalue().decode()
        assert "BTC\u00e9" in (json.loads(text)[0]["symbol"] if form == "json" else text)


def test_an_output_that_is_closed_is_none():
    command = f"{shlex.join([*COMMAND, 'weight', 'candles', '--interval', '1h', '--period', '3600'])} >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_unknown_symbols_and_any_block_size_can_be_asked_all_the_same(cli):
    market = ("BINANCE_FUTURES", "BTCUSD", "1h", "--period", "2h")
    refused = cli("fetch", "candles", *market)
    assert refused.returncode == 2 and "did you mean BTCUSDT?" in refused.stderr
    assert "--no-check-symbols asks all the same" in refused.stderr
    asked = cli("fetch", "candles", *market, "--no-check-symbols")
    assert "did you mean" not in asked.stderr and asked.stdout != ""
    book = ("fetch", "orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1h", "--period", "1h", "--block-size", "0.35")
    refused = cli(*book)
    assert refused.returncode == 2 and "--block-size=0.35 is no multiple of" in refused.stderr
    assert "--any-block-size asks all the same" in refused.stderr
    # The service refuses it, too.
    assert "answered 400" in cli(*book, "--any-block-size").stderr
    assert "weight 1" in good(cli("plan", "candles", *market, "--no-check-symbols", "--any-block-size"))


def test_options_are_named_as_options(cli):
    done = cli("plan", "orderbook_heatmap", "BYBIT", "BTCUSDT", "1m", "--period", "60")
    assert (done.returncode, "--block-size" in done.stderr, "block_size" in done.stderr) == (2, True, False)
