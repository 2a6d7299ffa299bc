"""Universes as files: what is wrong is refused with its place; `marketpoints sync` and its statuses."""

import json
import os
import subprocess
import sys

import pytest

import marketpoints as mp
from support.archives import END, HOUR, content

GOOD = """
archive = "history"
interval = "1h"
start = {start}
end = {end}

[[series]]
type = ["candles", "open_interest"]
exchange = "BINANCE_FUTURES"
symbol = ["BTCUSDT", "ETHUSDT"]
"""


@pytest.fixture
def file(tmp_path):
    def write(text=GOOD, **more):
        path = tmp_path / "universe.toml"
        path.write_text(text.format(start=END - 24 * HOUR, end=END) + "".join(f"{k} = {v}\n" for k, v in more.items()))
        return path

    return write


def test_a_file_is_the_same_as_its_mapping(file):
    whole = mp.Universe.from_toml(file())
    same = mp.Universe(
        {"type": ["candles", "open_interest"], "exchange": "BINANCE_FUTURES", "symbol": ["BTCUSDT", "ETHUSDT"]}
        | {"interval": "1h", "start": END - 24 * HOUR, "end": END}
    )
    wanted = [list(one.blocks[0].wanted([])) for one in (whole, same)]
    assert wanted[0] == wanted[1] and len(wanted[0]) == 4
    assert whole.archive == str(file().parent / "history")  # beside the file
    assert repr(whole) == "<Universe 1 blocks, 2 types>"


def test_arguments_and_blocks_mean_the_same():
    by_name = mp.Universe(type="candles", exchange="BYBIT", symbol="BTCUSDT", interval="HOUR", period="1d")
    by_block = mp.Universe(
        [{"symbol": "BTCUSDT", "type": "TRADE_SIDE_AGNOSTIC_AGG"}], exchange="BYBIT", interval="1h", period="1d"
    )
    assert [list(one.blocks[0].wanted([])) for one in (by_name,)] == [list(by_block.blocks[0].wanted([]))]


def test_dates_of_toml_are_times(file):
    text = GOOD.replace("{start}", "2026-01-01").replace("{end}", "2026-01-02T12:00:00Z")
    (block,) = mp.Universe.from_toml(file(text)).blocks
    (one, *_) = block.wanted([])
    assert (str(one.arguments["start"]), one.arguments["end"].hour) == ("2026-01-01", 12)


BLOCK = {"type": "candles", "exchange": "BYBIT", "symbol": "BTCUSDT", "interval": "1h", "period": "1d"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"symbl": "ETHUSDT"}, r"series\[1\]\.symbl: there is no such key; did you mean symbol\?"),
        ({"max_weight": 3}, r"series\[1\]\.max_weight: a universe has none; give it to archive\.sync_all"),
        ({"zzz": 1}, r"series\[1\]\.zzz: there is no such key; those are type, exchange, "),
        ({"interval": "7m"}, r"series\[1\]\.interval: '7m' is no interval; those are 1m, 5m"),
        ({"interval": "HOURR"}, r"series\[1\]\.interval: 'HOURR' is no interval; .*did you mean HOUR\?"),
        ({"interval": None}, r"series\[1\]\.interval: it is missing"),
        ({"interval": []}, r"series\[1\]\.interval: the list is empty"),
        ({"type": None}, r"series\[1\]\.type: it is missing"),
        ({"type": []}, r"series\[1\]\.type: the list is empty"),
        ({"type": "candels"}, r"series\[1\]\.type: type 'candels' is no data type; did you mean candles\?"),
        ({"symbol": []}, r"series\[1\]\.symbol: the list is empty"),
        ({"symbol": 7}, r"series\[1\]\.symbol: "),
        ({"symbol": None}, r"series\[1\]: it names no market"),
        ({"period": None}, r"series\[1\]\.start: it is missing"),
        ({"period": "1 year"}, r"series\[1\]\.period: "),
        ({"start": "yesterday"}, r"series\[1\]\.start: "),
        ({"start": 10, "end": 20}, r"series\[1\]\.period: start and end say it already"),
        ({"start": 20, "end": 10, "period": None}, r"series\[1\]\.end: the window ends where it starts"),
        ({"markets": {"exchange": "BYBIT"}}, r"series\[1\]\.exchange: series\[1\]\.markets picks the markets"),
        ({"markets": 7, "exchange": None, "symbol": None}, r"series\[1\]\.markets: 7 is no mapping"),
        (
            {"markets": {"categry": "SPOT"}, "exchange": None, "symbol": None},
            r"series\[1\]\.markets\.categry: there is no such key; did you mean category\?",
        ),
        ({"block_size": [1, 2, 3]}, r"series\[1\]\.block_size: 3 for 1 markets"),
        ({"sort": "asc"}, r"series\[1\]\.sort: there is no such key"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_place(change, problem):
    with pytest.raises(mp.InvalidRequest, match=f"^{problem}"):
        mp.Universe([BLOCK, {**BLOCK, **change}])


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"series": []}, "series: the list is empty"),
        ({"series": 7}, "series: 7 is no list of blocks"),
        ({"series": [7]}, r"series\[0\]: 7 is no mapping"),
        ({"seris": [BLOCK]}, r"seris: there is no such key; did you mean series\?"),
        ({**BLOCK, "interval": "1x"}, "interval: '1x' is no interval"),
    ],
)
def test_so_is_what_is_wrong_at_the_top(given, problem):
    with pytest.raises(mp.InvalidRequest, match=f"^{problem}"):
        mp.Universe(given)


def test_a_file_is_named_in_its_errors(file, tmp_path):
    path = file(GOOD.replace("interval", "intervl"))
    with pytest.raises(
        mp.InvalidRequest, match=r"universe\.toml: intervl: there is no such key; did you mean interval"
    ):
        mp.Universe.from_toml(path)
    with pytest.raises(mp.InvalidRequest, match=r"universe\.toml: is no TOML: .*line 1"):
        mp.Universe.from_toml(file("= 3"))
    with pytest.raises(mp.InvalidRequest, match=r"universe\.toml: is no universe: .*nested too deeply"):
        mp.Universe.from_toml(file("a = " + "[" * 100_000))
    with pytest.raises(mp.InvalidRequest, match=r"nowhere\.toml: cannot be read: No such file"):
        mp.Universe.from_toml(tmp_path / "nowhere.toml")
    os.mkfifo(tmp_path / "pipe.toml")  # whoever opens one waits for its writer
    for path, kind in ((tmp_path / "pipe.toml", "a named pipe"), ("/dev/zero", "a device"), (tmp_path, "a folder")):
        with pytest.raises(mp.InvalidRequest, match=f"is {kind}, not a file"):
            mp.Universe.from_toml(path)
    with pytest.raises(mp.InvalidRequest, match="neither a Universe nor mappings"):
        mp.Archive(tmp_path).sync_all(mp.Client("key", "http://127.0.0.1:9"), 7)


@pytest.fixture
def service():
    with mp.LocalService(now=END + 900) as running:
        yield running


@pytest.fixture
def command(service):
    """Runs `marketpoints` with the service's settings: status, standard output, standard error."""

    def run(*words, key="advanced", **more):
        own = {name: value for name, value in os.environ.items() if not name.startswith("MARKETPOINTS_")}
        own |= {"MARKETPOINTS_CACHE_DIR": os.environ["MARKETPOINTS_CACHE_DIR"]}
        clock = f"{service.now() - __import__('time').time():.3f}"
        if key:
            own |= {"MARKETPOINTS_API_KEY": service.keys[key], "MARKETPOINTS_BASE_URL": service.url}
        own |= {"MARKETPOINTS_TIER": key or "advanced", "MARKETPOINTS_CLOCK_OFFSET": clock} | more
        done = subprocess.run(
            [sys.executable, "-m", "marketpoints", *map(str, words)],
            env=own,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_the_command_plans_keeps_and_asks_nothing_twice(service, command, file):
    status, out, err = command("sync", file(), "--dry-run")
    assert (status, err) == (0, "")
    assert "TRADE_SIDE_AGNOSTIC_AGG" in out and "4 series, 4 requests, weight 4, 96 points" in out
    assert [line.split()[0] for line in out.partition("from a full budget:\n")[2].splitlines()[1:5]] == list(mp.TIERS)
    service.assert_spent(0)
    status, out, err = command("sync", file())
    assert (status, err) == (0, "") and "complete 4" in out
    service.assert_spent(4)
    status, out, _ = command("sync", file(), "--json")
    parsed = json.loads(out)
    assert (status, parsed["complete"], parsed["requests"]) == (0, 4, 0)
    assert json.loads(command("sync", file(), "--dry-run", "--json")[1])["kept"] == 4
    service.assert_spent(4)
    assert len(mp.Archive(file().parent / "history").contents()) == 4


def test_a_plan_needs_no_key_where_nobody_is_to_be_asked(service, command, file):
    status, out, err = command("sync", file(), "--dry-run", key=None)
    assert (status, err) == (0, "") and "4 requests, weight 4" in out
    assert not service.requests
    picked = GOOD.replace(
        'exchange = "BINANCE_FUTURES"\nsymbol = ["BTCUSDT", "ETHUSDT"]', 'markets = {{ coin = "BTC" }}'
    )
    status, _, err = command("sync", file(picked), "--dry-run", key=None)
    assert status == 2 and "markets" in err and "MARKETPOINTS_API_KEY" in err


PICKED = """
archive = "history"
type = "candles"
interval = "1h"
start = {start}
end = {end}
markets = {{ exchange = "BYBIT", category = "PERPETUAL", sort_by = "VOLUME_24H", sort_direction = "desc", limit = 3 }}
"""


def test_markets_of_a_file_are_picked_by_the_service_whenever_it_is_run(service, command, file):
    with service.client("unlimited") as client:
        every = client.markets(exchange="BYBIT", category="PERPETUAL")
        largest = sorted(every, key=lambda one: one.volume_24h_usd, reverse=True)[:3]
        expected = [one.raw_symbol for one in largest]
        assert len(every) > 3 and len({one.volume_24h_usd for one in every}) == len(every)
        service.clear_requests()
        status, out, err = command("sync", file(PICKED), "--dry-run", "--json")
        assert (status, err) == (0, "")
        assert [one["symbol"] for one in json.loads(out)["series"]] == expected
        service.assert_spent(0)
        status, out, err = command("sync", file(PICKED), "--json")
        assert (status, err) == (0, "")
        report = json.loads(out)
        assert (report["complete"], report["weight"], report["rows"]) == (3, 3, 3 * 24)
        assert [(one["exchange"], one["symbol"]) for one in report["series"]] == [("BYBIT", one) for one in expected]
        service.assert_spent(3)
        archive = mp.Archive(file(PICKED).parent / "history")
        for symbol in expected:
            query = ("candles", "BYBIT", symbol, "1h")
            asked = client.points(*query, start=END - 24 * HOUR, end=END)
            assert content(archive.read(*query)) == content(asked)
    # Filters that no market passes, and a key that the service does not know.
    status, _, err = command("sync", file(PICKED.replace("PERPETUAL", "OPTION")))
    assert status == 2 and "universe.toml: markets: no market passes the filters" in err
    status, _, err = command("sync", file(PICKED), MARKETPOINTS_API_KEY="mp-unknown")
    assert status == 1 and "401" in err and "mp-unknown" not in err


def test_a_key_of_the_file_is_named_as_it_stands_there(command, file):
    status, out, err = command("sync", file(GOOD + "max_weight = 4\n"), "--dry-run")
    assert (status, out) == (2, "") and "].max_weight" in err and "--" not in err


def test_a_refused_series_is_explained_by_the_names_in_the_file(command, file):
    status, out, _ = command("sync", file(GOOD + "max_depth = 3\n"), "--dry-run")
    assert status == 3 and "has no depth; leave max_depth= out" in out and "--" not in out


def test_the_commands_statuses(service, command, file):
    refused = GOOD.replace("BTCUSDT", "BTCUSDTT")
    status, out, _ = command("sync", file(refused))
    assert status == 3 and "refused: TRADE_SIDE_AGNOSTIC_AGG BINANCE_FUTURES BTCUSDTT 1h" in out
    status, _, err = command("sync", file(GOOD.replace('"1h"', '"7h"')))
    assert status == 2 and "universe.toml: interval: '7h' is no interval" in err
    status, _, err = command("sync", file(GOOD.replace('archive = "history"', "")))
    assert status == 2 and "--archive" in err
    status, _, err = command("sync", file(), "--max-weight", "1", "--archive", file().parent / "other")
    assert status == 2 and "more than --max-weight" in err
    # A wait that no minute's budget needs: the day's weight is spent.
    service.faults.set(status=429, retry_after=40_000, path="/v1/points")
    status, out, _ = command("sync", file(), "--archive", file().parent / "third")
    assert status == 1 and out.count("failed: ") == 4 and "weight for today is spent" in out


@pytest.fixture
def moved(service):
    """Settings of the same data at another port, as the next `marketpoints serve` has it; and that service."""
    with mp.LocalService(now=END + 900) as other:
        assert other.archive_source == service.archive_source == "local demo, seed 0"
        yield {"MARKETPOINTS_BASE_URL": other.url, "MARKETPOINTS_API_KEY": other.keys["advanced"]}, other


def test_an_archive_of_another_port_is_refused_with_the_option_that_helps(service, command, file, moved):
    there, other = moved
    assert command("sync", file())[0] == 0
    no_key = {"MARKETPOINTS_BASE_URL": other.url, "key": None}
    for words, settings in (((), there), (("--dry-run",), there), (("--dry-run",), no_key)):
        status, out, err = command("sync", file(), *words, **settings)
        assert (status, out) == (1, ""), err
        assert f"holds data of {service.url}, not of {other.url}" in err
        assert f'give its name: --archive-source="{service.url}"' in err
    for words in ((), ("--dry-run",)):
        status, out, err = command("sync", file(), *words, "--archive-source", service.url, "--json", **there)
        assert (status, err) == (0, "") and json.loads(out)["requests"] == 0
    other.assert_spent(0)


def test_a_service_has_one_name_at_every_port(service, command, file, moved):
    there, other = moved
    path = file(f'archive_source = "{service.archive_source}"' + GOOD)
    for settings in ({}, there):
        status, _, err = command("sync", path, **settings)
        assert (status, err) == (0, "")
    service.assert_spent(4)
    other.assert_spent(0)
    assert mp.Archive(path.parent / "history").source == mp.Universe.from_toml(path).archive_source
    # The option outdoes the file.
    status, _, err = command("sync", path, "--archive-source", "another")
    assert status == 1 and "not of another; use a folder" in err
    with pytest.raises(mp.InvalidRequest, match=r"^archive_source: "):
        mp.Universe([BLOCK], archive_source=7)
