"""What is typed, and names from files and from the network, reach no terminal raw."""

import io
import json
import logging
import re
import subprocess
import sys
import unicodedata
from contextlib import redirect_stderr, redirect_stdout

import pytest

import marketpoints as mp
from marketpoints import cli
from marketpoints.common import logs
from marketpoints.printable import printable
from support import NOW
from support.command_line import command, on_a_terminal
from support.scripted import scripted

# Clears the screen, names the window, C1's CSI, turns the direction, hides, forges a line.
EVIL = "A\x1b[2J\x1b]0;t\x07\x9b31m\u202eB\u2066\u200b\r\nmarketpoints: all is well\x7f\x00"
HOUR = 3_600
WINDOW = {"start": NOW // HOUR * HOUR - HOUR, "end": NOW // HOUR * HOUR}


def raw(text):
    """Characters that a terminal obeys, or that turn or hide text; without the line feeds."""
    return {one for one in text if one != "\n" and unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


def test_every_control_character_becomes_an_escape_and_every_letter_stays():
    for point in range(sys.maxunicode + 1):
        one = chr(point)
        shown = printable(one)
        if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
            assert shown.isascii() and shown.isprintable() and shown.startswith("\\"), hex(point)
            assert shown.encode().decode("unicode_escape") == one
        elif unicodedata.category(one)[0] in "LMNPS" or one == " ":
            assert shown == one, hex(point)
    assert printable("Größe 価格 Цена × – “€”") == "Größe 価格 Цена × – “€”"


def test_messages_and_reprs_of_errors(demo):
    error = mp.Error(EVIL)
    assert not raw(str(error) + repr(error) + error.message) and "\n" not in str(error)

    def refuse(_):
        return 400, {}, {"error": "INVALID_SYMBOL", "message": f"no {EVIL}"}

    with scripted(refuse) as (url, _):
        client = mp.Client("key", url, budget="process", clock=lambda: NOW)
        with pytest.raises(mp.InvalidRequest) as caught:
            client.candles("BYBIT", EVIL, "1m", **WINDOW)
    assert not raw(str(caught.value)) and "\n" not in str(caught.value)


def hostile(path, **more):
    """Points of a market whose names are all hostile, but for those that were asked for: others are refused."""
    start = int(re.search(r"from=(\d+)", path)[1])
    names = {"type": "TRADE_SIDE_AGNOSTIC_AGG", "normalizedSymbol": EVIL, "coin": EVIL, "category": EVIL, **more}
    point = {"timestamp": {"s": start}, "open": 1, "high": 1, "low": 1, "close": 1.0, EVIL: EVIL}
    return {"series": [{"id": names | {EVIL: EVIL}, "points": [{"Point": point}]}]}


def test_reprs_cards_and_hints():
    with scripted(hostile) as (url, _), mp.Client("key", url, budget="process", clock=lambda: NOW) as client:
        asked = client.candles("BYBIT", "X", "1m", **WINDOW)
    shown = []
    for answer in (asked, mp.decode_points(json.dumps(hostile("from=60", exchange=EVIL, rawSymbol=EVIL)).encode())):
        shown += [repr(answer), repr(answer[0]), repr(answer[0].id), str(answer[0].id), repr(answer[0].asked_for)]
        shown += [answer._repr_html_(), answer[0]._repr_html_(), repr(answer.ids)]
        with pytest.raises(mp.SelectionError) as caught:
            answer.sel(side="BUY")
        shown.append(str(caught.value))
    assert not raw("".join(shown))


def test_records_of_a_listing():
    def answer(_):
        return {"symbols": [{"exchange": EVIL, "rawSymbol": EVIL, "category": EVIL}], "nextOffset": 0}

    with scripted(answer) as (url, _), mp.Client("key", url, budget="process") as client:
        markets = client.markets()
        assert markets[0].raw_symbol == EVIL  # the value itself is untouched
        assert not raw(repr(markets) + repr(markets[0]) + markets._repr_html_() + markets[0]._repr_html_())


# faults.md row 35
def test_warnings_and_logs(caplog):
    with pytest.warns(mp.UnknownSymbolWarning) as caught:
        logs.warn(EVIL, mp.UnknownSymbolWarning)
    caplog.set_level(logging.DEBUG, "marketpoints")
    logs.emit(logging.WARNING, EVIL, {})
    logs.note(EVIL)
    text = str(caught[0].message) + "".join(record.getMessage() for record in caplog.records)
    assert len(caplog.records) == 2 and "\n" not in text and not raw(text)
    # What the engine warns of: a field with a hostile name in a price's place.
    point = {"timestamp": {"s": 60}, "X\x1b[2J\u202e": 5}
    body = json.dumps({"series": [{"id": {"type": "TRADE_SIDE_AGNOSTIC_AGG"}, "points": [{"Point": point}]}]})
    with pytest.warns(mp.RenamedFieldWarning) as caught:
        mp.decode_points(body.encode())
    assert not raw("".join(str(one.message) for one in caught))


# faults.md row 35
def test_problems_of_an_ingest(tmp_path):
    name = EVIL.replace("\x00", "").replace("/", "")
    folder = tmp_path / "dumps" / "trades" / "BYBIT" / name
    folder.mkdir(parents=True)
    (folder / "2024-12-01.csv").write_text("exchange,symbol\nx,y\n")
    (tmp_path / "dumps" / "trades" / f"{name}.csv").write_text("a\n")
    report = mp.ingest(tmp_path / "dumps", tmp_path / "store")
    assert report.problems and any("\x1b" in problem.file for problem in report.problems)
    shown = [repr(report), report._repr_html_(), *map(str, report.problems), *map(repr, report.problems)]
    assert not raw("".join(shown))
    out, errors = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        cli.main(["ingest", str(tmp_path / "dumps"), str(tmp_path / "store")])
    assert len(errors.getvalue().splitlines()) == len(report.problems)
    assert not raw(out.getvalue() + errors.getvalue())


FETCH = ("fetch", "candles", "BYBIT", "X", "1m", "--start", str(WINDOW["start"]), "--end", str(WINDOW["end"]))


# faults.md row 35
@pytest.mark.parametrize("more", [(), ("--format", "csv"), ("--format", "json")], ids=str)
def test_a_fetch_shows_no_control_character_on_a_terminal(more):
    with scripted(hostile) as (url, _):
        _, shown = on_a_terminal(*command(url, *FETCH, *more))
    assert "all is well" in shown  # it is shown, and on no line of its own
    assert not raw(shown) and not re.search("^marketpoints: all is well", shown, re.MULTILINE)


def test_a_pipe_gets_the_values_as_they_are():
    with scripted(hostile) as (url, _):
        line, environment = command(url, *FETCH, "--format", "csv")
        done = subprocess.run(line, env=environment, capture_output=True, timeout=60, check=True)
    assert EVIL.encode() in done.stdout


def test_names_of_keys_are_shown_escaped(tmp_path):
    keys = tmp_path / "keys"
    keys.write_text("la\x1b[2Jb\u202e\x9b advanced mp-lab-key-1\n")
    keys.chmod(0o600)
    log = tmp_path / "log"
    with mp.LocalService(keys=keys, access_log=log) as service:
        assert list(service.keys) == ["la\x1b[2Jb\u202e\x9b"]
        with service.client("advanced") as client:
            client.usage()
        with pytest.raises(mp.InvalidRequest) as caught:
            service.client("no-such-key")
        assert not raw(str(caught.value) + repr(service))
    text = log.read_text()
    assert "/v1/usage" in text and text.isascii() and not raw(text)


START = 1_733_011_200  # 2024-12-01
SPAN = ("--start", str(START), "--end", str(START + HOUR))
TYPED = EVIL.replace("\x00", "")  # no argument holds a NUL


# faults.md row 35
@pytest.mark.parametrize(
    "words",
    [
        ("fetch", "candles", "BYBIT", TYPED, "1h", *SPAN),
        ("fetch", "candles", TYPED, "BTCUSDT", "1h", *SPAN),
        ("fetch", "candles", "BYBIT", "X", TYPED, *SPAN),
        ("fetch", TYPED, "BYBIT", "X", "1h", *SPAN),
        ("fetch", "candles", "BYBIT", "X", "1h", "--start", TYPED),
        ("fetch", "candles", "-", "-", "1h", "--coin", TYPED, *SPAN),
        ("fetch", "candles", "BYBIT", "X", "1h", *SPAN, "--output", f"{TYPED}.csv"),
        ("fetch", "candles", "BYBIT", "X", "1h", *SPAN, "--output", f"/nowhere/{TYPED}.csv"),
        ("fetch", "candles", "BYBIT", "X", "1h", *SPAN, "--output", f"x.{TYPED}"),
        ("fetch", "candles", "BYBIT", "X", "1h", *SPAN, TYPED),
        ("plan", "candles", "BYBIT", TYPED, "1h", *SPAN),
        ("plan", "candles", TYPED, "X", "1h", *SPAN),
        ("plan", "candles", "BYBIT", "X", "1h", *SPAN, "--session", TYPED),
        ("plan", "candles", "BYBIT", "X", "1h", *SPAN, f"--{TYPED}"),
        ("ingest", TYPED, "store"),
        ("ingest", "dumps", f"plain/{TYPED}"),
        ("ingest", "dumps", TYPED),
        ("serve", "--data", TYPED),
        ("serve", "--now", TYPED),
        ("weight", TYPED),
        (TYPED,),
    ],
    ids=lambda words: ascii(" ".join(word.replace(TYPED, "…") for word in words)),
)
def test_nothing_typed_reaches_a_terminal_raw(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    day = tmp_path / "dumps" / "trades" / "BYBIT" / "BTCUSDT" / "2024-12-01.csv"
    day.parent.mkdir(parents=True)
    day.write_text(
        "exchange,symbol,timestamp,local_timestamp,id,side,price,amount\nx,y,1733011201000000,0,1,buy,100,1\n"
    )
    (tmp_path / "plain").write_text("a file")

    def answer(path):
        if path.startswith("/v1/points"):
            point = {"timestamp": {"s": START}, "open": 1, "high": 1, "low": 1, "close": 1}
            return 200, {}, {"series": [{"id": {"type": "TRADE_SIDE_AGNOSTIC_AGG"}, "points": [{"Point": point}]}]}
        return 404, {}, {"error": "NOT_FOUND", "message": f"no {EVIL}"}

    with scripted(answer) as (url, _):
        _, shown = on_a_terminal(*command(url, *words))
    assert shown
    assert not raw(shown), shown
    assert not any(line.startswith(("all is well", "marketpoints: all is well")) for line in shown.splitlines()), shown
