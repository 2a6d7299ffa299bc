"""`marketpoints serve` and the settings that LocalService shares with it: keys, access log, the way it ends."""

import hashlib
import json
import math
import re
import signal
import socket
import subprocess
import sys
import textwrap
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import marketpoints as mp
from support.children import run
from support.wire import get

COMMAND = [sys.executable, "-m", "marketpoints", "serve"]
ANOTHER_DAY = "2024-05-06T12:00:30"
KEYS = """\
# name   tier       key
lab      advanced   mp-lab-5f0c2a
student  free       sha256:{}
""".format(hashlib.sha256(b"mp-student-77").hexdigest())


@contextmanager
def serving(*arguments, environment=None):
    """A running `marketpoints serve`: the process, its address, what it printed so far."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([*COMMAND, *map(str, arguments)], env=environment, **pipes) as child:
        try:
            text = ""
            while "Ctrl-C stops it." not in text:
                line = child.stdout.readline()
                assert line, child.stderr.read()
                text += line
            yield child, re.search(r"http://\S+:\d+", text).group(), text
        finally:
            child.kill()


def ask(url, path, key):
    request = urllib.request.Request(url + path, headers={"X-Service-Key": key})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, json.load(refusal)


def refuses(url):
    host, port = re.fullmatch(r"http://(.+):(\d+)", url).groups()
    with socket.socket() as one:
        return one.connect_ex((host, int(port))) != 0


@pytest.fixture
def keys(tmp_path):
    file = tmp_path / "keys.txt"
    file.write_text(KEYS)
    file.chmod(0o600)
    return file


def test_serve_takes_a_keys_file_and_logs_without_keys(keys, tmp_path):
    log = tmp_path / "access.jsonl"
    with serving("--keys", keys, "--access-log", log) as (child, url, text):
        assert "lab        advanced\n" in text
        assert "student    free\n" in text
        pasted = [line.split()[1:] for line in text.splitlines() if line.split()[:1] == ["export"]]
        assert pasted == [[f"MARKETPOINTS_BASE_URL={url}"]]  # a shell takes it as it is
        # The port is another one at the next start.
        assert "  marketpoints sync FILE --archive-source 'local demo, seed 0'\n" in text
        assert ask(url, "/v1/usage?note=mp-lab-5f0c2a", "mp-lab-5f0c2a")[1]["limit"] == 750
        assert ask(url, "/v1/usage", "mp-student-77")[1]["limit"] == 10
        assert ask(url, "/v1/usage?api_key=mp-student-77", "nonsense-key")[0] == 401
        candles = "/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&period=60060"
        assert ask(url, candles, "mp-lab-5f0c2a")[0] == 200
        child.send_signal(signal.SIGTERM)
        rest, problems = child.communicate(timeout=60)
    assert (rest, problems, child.returncode) == ("stopped\n", "", 0)
    log_text = log.read_text()
    for secret in ("5f0c2a", "mp-student-77", "nonsense-key"):
        assert secret not in log_text + text
    lines = [json.loads(line) for line in log_text.splitlines()]
    facts = [(line["key_name"], line["status"], line["weight"], line["method"], line["peer"]) for line in lines]
    assert facts == [
        ("lab", 200, 0, "GET", "127.0.0.1"),
        ("student", 200, 0, "GET", "127.0.0.1"),
        (None, 401, 0, "GET", "127.0.0.1"),
        ("lab", 200, 2, "GET", "127.0.0.1"),
    ]
    assert [line["target"] for line in lines[:3]] == [
        "/v1/usage?note=[key]",
        "/v1/usage",
        "/v1/usage?api_key=[key]",
    ]
    assert lines[3]["target"] == candles
    assert lines[3]["bytes"] > 100_000
    assert all(line["microseconds"] > 0 and line["time"].endswith("Z") for line in lines)


def test_the_access_log_can_go_to_standard_error(tmp_path):
    with serving("--access-log", "-", "--now", "2026-01-01") as (child, url, text):
        key = re.search(r"^  free +(\S+)$", text, re.MULTILINE).group(1)
        ask(url, "/v1/usage", key)
        child.send_signal(signal.SIGINT)
        _, problems = child.communicate(timeout=60)
    line = json.loads(problems)
    assert (line["key_name"], line["target"]) == ("free", "/v1/usage")
    assert line["time"].startswith("2026-01-01T00:00")
    assert child.returncode == 0


def candles_of(trades):
    """Candles of minutes by Unix seconds: open, high, low, close, volume."""
    minutes = {}
    for second, price, amount in trades:
        minutes.setdefault(second // 60 * 60, []).append((price, amount))
    return {
        minute: (rows[0][0], max(rows)[0], min(rows)[0], rows[-1][0], math.fsum(amount for _, amount in rows))
        for minute, rows in minutes.items()
    }


def test_a_recording_is_replayed_faster_and_its_candles_are_those_of_the_live_stream(tmp_path):
    begin, pair, hour = 1_776_880_800, ("BINANCE_FUTURES", "BTCUSDT"), 3_600
    channel = mp.Channel(type="TRADE", exchange=pair[0], symbol=pair[1])
    with mp.LocalService(now=begin, speed=0) as live, live.client("unlimited") as client:
        with client.stream([channel], record=tmp_path / "recorded") as stream:
            live.advance(hour)
            last = next(event for event in stream if event.time >= np.datetime64(begin + hour - 60, "s"))
            assert last and stream.unrecorded == 0
        whole = client.candles(*pair, "1m", start=begin + 60, end=begin + hour - 120)
    assert mp.ingest(tmp_path / "recorded", tmp_path / "store").problems == []
    arguments = ("--data", tmp_path / "store", "--now", begin, "--speed", 600)
    with serving(*arguments) as (_, url, text):
        key = re.search(r"^  unlimited +(\S+)$", text, re.MULTILINE).group(1)
        with mp.Client(key, url, clock=lambda: begin + hour, check_symbols=False) as client:
            trades, began = [], time.monotonic()
            with client.stream([channel]) as stream:
                for event in stream:
                    if event.time >= np.datetime64(begin + hour - 120, "s"):
                        break
                    trades.append((int(event.time.astype("datetime64[s]").astype(int)), event.price, event.amount))
            taken = time.monotonic() - began
            # The minute in which it was opened is not whole.
            first = trades[0][0] // 60 * 60 + 60
            window = {"start": first, "end": begin + hour - 120}
            served = client.candles(*pair, "1m", **window)
    assert trades[-1][0] - trades[0][0] > 10 * taken
    made = {minute: candle for minute, candle in candles_of(trades).items() if minute >= first}
    assert len(made) >= 10
    for candles in (whole.only, served.only):
        rows = zip(*(candles[name].tolist() for name in ("open", "high", "low", "close", "volume")), strict=True)
        times = candles.timestamps.astype("datetime64[s]").astype(int).tolist()
        got = {minute: row for minute, row in zip(times, rows, strict=True) if minute >= first}
        assert got.keys() == made.keys()
        for minute, row in got.items():
            assert row[:4] == made[minute][:4]
            assert row[4] == pytest.approx(made[minute][4], rel=1e-12)
    later = whole.only.timestamps >= np.datetime64(first, "s")
    for name in whole.only.columns:
        assert np.array_equal(whole.only[name][later], served.only[name]), name


def test_data_that_ended_long_ago_are_told_with_the_option_that_helps(tmp_path):
    folder = tmp_path / "dumps" / "trades" / "BINANCE_FUTURES" / "BTCUSDT"
    folder.mkdir(parents=True)
    row = "BINANCE_FUTURES,BTCUSDT,1577707200000000,1577707200000000,1,buy,7300.5,0.25"
    (folder / "2019-12-30.csv").write_text(f"exchange,symbol,timestamp,local_timestamp,id,side,price,amount\n{row}\n")
    assert mp.ingest(tmp_path / "dumps", tmp_path / "store").problems == []
    with serving("--data", tmp_path / "store") as (child, _, _):
        warning = child.stderr.readline()
    assert "end on 2019-12-30, and without --now the" in warning and "give --now='2019-12-31 00:00'" in warning


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lab advanced\n", "line 1: 2 words"),
        ("\n\nlab expert s3cret-key\n", "line 3: the tier is none"),
        ("lab free sha256:s3cret-key\n", "line 1: what follows sha256:"),
        ("", "no keys"),
        ("a free s3cret-key\na basic other\n", "line 2: the name is that of line 1"),
    ],
)
def test_a_keys_file_that_cannot_be_is_one_line(tmp_path, text, words):
    file = tmp_path / "keys"
    file.write_text(text)
    done = subprocess.run([*COMMAND, "--keys", file], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr
    assert "s3cret" not in done.stderr


def test_what_serve_cannot_have_is_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        for arguments, status, words in [
            (["--port", port], 1, f"port {port} of 127.0.0.1 is in use"),
            (["--keys", tmp_path / "none"], 2, "cannot read the keys file"),
            (["--access-log", tmp_path / "no" / "log"], 2, "cannot open the access log"),
            (["--grace", "-1"], 2, "grace"),
        ]:
            command = [*COMMAND, *map(str, arguments)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
            assert (done.returncode, done.stdout, done.stderr.count("\n")) == (status, "", 1), done
            assert words in done.stderr


def test_help_tells_of_keys_log_and_end():
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, timeout=60, check=True)
    for words in ("--keys FILE", "--access-log FILE", "--grace S", "name tier key", "sha256:", "SIGTERM"):
        assert words in done.stdout


def test_keys_as_a_mapping():
    given = {"team one": ("standard", "k-1"), "load": ("unlimited", "k-2"), "hashed": ("basic", KEYS.split()[-1])}
    with mp.LocalService(keys=given) as service:
        assert service.keys == {"team one": "k-1", "load": "k-2"}
        assert service.tiers == {"team one": "standard", "load": "unlimited", "hashed": "basic"}
        assert get(service, "/v1/usage", "mp-student-77").json["limit"] == 50
        with service.client("team one") as client, service.client("standard") as same:
            assert (client.usage().limit, same.usage().limit) == (100, 100)
        with service.client("unlimited") as client:
            assert client.usage().limit == 1_000_000_000
        with pytest.raises(mp.InvalidRequest, match="load, team one"):
            service.client("free")
    for wrong, words in [({}, "there are none"), ({"a": ("expert", "s3cret")}, "tier"), ({"a": ("free", "")}, "empty")]:
        with pytest.raises(mp.Error, match=words) as caught:
            mp.LocalService(keys=wrong)
        assert "s3cret" not in str(caught.value)


def test_the_log_is_whole_when_the_service_has_stopped(tmp_path):
    log = tmp_path / "log"
    for _ in range(2):
        with mp.LocalService(access_log=log) as service:
            for _ in range(50):
                get(service, "/v1/usage", service.keys["free"])
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["status"] for line in lines] == [200] * 100


def test_a_request_under_way_is_finished_before_the_end():
    code = """
        import os, signal, threading, urllib.request
        import marketpoints as mp

        with mp.LocalService(grace=60) as service:
            held = service.faults.set(latency=0.5, path="/v1/usage")
            request = urllib.request.Request(service.url + "/v1/usage", headers={"X-Service-Key": service.keys["free"]})
            answers = []
            asking = threading.Thread(target=lambda: answers.append(urllib.request.urlopen(request, timeout=50).status))
            asking.start()
            while not held.seen:
                pass
        asking.join()
        print(answers)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert (done.stdout, done.stderr) == ("[200]\n", "")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_runs_until_it_is_told_to_stop(environment, ending):
    with serving("--now", "2026-01-01", "--seed", "3", environment=environment) as (child, url, text):
        key = re.search(r"^  free +(\S+)$", text, re.MULTILINE).group(1)
        assert "as of 2026-01-01 00:00" in text
        assert ask(url, "/v1/usage", key)[1]["limit"] == 10
        child.send_signal(ending)
        rest, problems = child.communicate(timeout=30)
    assert (rest, problems, child.returncode) == ("stopped\n", "", 0)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_does_not_wait(first):
    with serving("--grace", 3600) as (child, url, text):
        key = re.search(r"^  unlimited +(\S+)$", text, re.MULTILINE).group(1)
        host, port = re.fullmatch(r"http://(.+):(\d+)", url).groups()
        # An answer that nobody takes: 100,000 points are more than the buffers between two sockets hold.
        target = "/v1/points?type=TRADE_AGG&exchange=BYBIT&rawSymbol=BTCUSDT&interval=MINUTE&period=6000000"
        with socket.create_connection((host, int(port)), timeout=60) as greedy:
            greedy.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nX-Service-Key: {key}\r\n\r\n".encode())
            assert greedy.recv(12) == b"HTTP/1.1 200"
            child.send_signal(first)
            while not refuses(url):  # until the stop has begun
                pass
            child.send_signal(signal.SIGINT)
            assert child.wait(60) == -signal.SIGINT


def test_no_signal_is_lost_at_whatever_moment_it_comes():
    # One sent before each of the interpreter's own steps up to the call that blocks: each of these waits ends.
    steps = run("""
        import os, signal, sys
        from marketpoints.cli.signals import stop_signals

        def wait_with_a_signal_at(moment):
            steps, up_to_the_last_call = 0, 0

            def step(frame, event, _):
                nonlocal steps
                frame.f_trace_opcodes = True
                if event == "opcode":
                    steps += 1
                    if steps == moment:
                        os.kill(os.getpid(), signal.SIGTERM)
                return step

            def call(_, event, called):
                nonlocal up_to_the_last_call
                if event == "c_call" and called not in (sys.settrace, sys.setprofile):
                    up_to_the_last_call = steps

            with stop_signals() as wait:
                if moment == 0:
                    os.kill(os.getpid(), signal.SIGTERM)
                sys._getframe().f_trace_opcodes = True  # Python 3.12 looks before it traces
                sys.setprofile(call)
                sys.settrace(step)
                wait()
                sys.settrace(None)
                sys.setprofile(None)
            return up_to_the_last_call

        steps = wait_with_a_signal_at(0)
        for moment in range(1, steps + 1):
            wait_with_a_signal_at(moment)
        print(steps)
    """)
    assert int(steps) > 1


# faults.md row 51
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no /proc here")
def test_a_killed_service_leaves_nothing_running():
    with serving() as (child, url, _):
        children = [one.name for one in Path("/proc").iterdir() if one.name.isdigit() and parent(one) == child.pid]
        assert children == []
        assert not refuses(url)
        child.send_signal(signal.SIGKILL)
        child.wait(60)
        assert refuses(url)


def parent(process):
    """Parent of a process; None when it has gone."""
    try:
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return None


def test_openapi_is_what_is_served(service):
    assert service.openapi == get(service, "/openapi.json").json
    assert "/v1/points" in service.openapi["paths"]


@pytest.fixture
def printed(environment):
    """The environment that `marketpoints serve --now` prints for a client."""
    with serving("--now", ANOTHER_DAY, environment=environment) as (_, _, text):
        yield environment | dict(re.findall(r"(MARKETPOINTS_\w+)=(\S+)", text))


def fetch(environment, *arguments):
    command = [*COMMAND[:-1], "fetch", "candles", "BINANCE_FUTURES", "BTCUSDT", "1m", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_printed_settings_carry_the_services_time(printed):
    assert "MARKETPOINTS_CLOCK_OFFSET" in printed
    shown = fetch(printed, "--period", "300")
    assert "11:59" in shown.stdout  # the last closed minute
    assert "12:00" not in shown.stdout  # the forming one
    assert "12:00" in fetch(printed, "--period", "300", "--include-forming").stdout
    # Without an end the window ends now: at the service's now.
    assert shown.stdout.count("\n") == fetch(printed, "--start", "2024-05-06T11:55").stdout.count("\n")


def test_the_printed_settings_carry_the_services_speed(environment):
    with serving("--now", ANOTHER_DAY, "--speed", "600", environment=environment) as (_, _, text):
        assert re.search("^serving .*its clock at 600 times the speed$", text, re.MULTILINE)
        printed = dict(re.findall(r"(MARKETPOINTS_\w+)=(\S+)", text))
        code = """
            import pickle, time, marketpoints as mp
            with mp.Client() as client:
                clocks, began = [], time.monotonic()
                # The service's clock, by the header of its answers, runs ten minutes in a second; so does the client's.
                while not clocks or clocks[-1][0] - clocks[0][0] <= 200:
                    assert time.monotonic() - began < 20, clocks
                    before = client._live.now()
                    reset = client.usage().reset
                    clocks.append((before, int(reset.astype("datetime64[s]").astype(int)), client._live.now()))
                for before, service, after in clocks:
                    assert before - 2 <= service <= after + 2, clocks
                print(len(client.candles("BYBIT", "BTCUSDT", "1m", period=600).only))
            """
        assert run(code, environment | printed) == "10\n"
