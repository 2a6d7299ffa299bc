"""A full disk, several writers of one archive, and a universe (faults D3 45).

The disk is a file system of its own, of some hundred kilobytes: whatever is written next may be what does not fit.
"""

import json
import subprocess
import sys
from collections import Counter

import pytest

import marketpoints as mp
from support.archives import END, content

DAY = 86_400
FIRST = END // DAY * DAY - 20 * DAY
PLACE = ("BINANCE_FUTURES",)
SYMBOLS = ("BTCUSDT", "ETHUSDT", "SOLUSDT")
WHOLE = {"start": FIRST, "end": FIRST + 10 * DAY}

WRITER = """
import json, sys
import marketpoints as mp

folder, url, key, now, symbol, first = sys.argv[1:]
client = mp.Client(key, url, archive_source="twin", clock=lambda: float(now))
archive, outcomes = mp.Archive(folder), []
for start in range(int(first), int(first) + 10 * 86_400, 86_400):
    window = {"start": start, "end": start + 86_400}
    try:
        weight = archive.sync(client, "candles", "BINANCE_FUTURES", symbol, "1m", **window).weight
        outcomes.append(["kept", start, weight])
    except mp.ArchiveError as error:
        times = [one.timestamps.astype("datetime64[s]").astype(int).tolist() for one in error.results or ()]
        rows = sorted(sum(times, []))
        outcomes.append(["told", start, rows == list(range(start, start + 86_400, 60)), str(error)])
print(json.dumps(outcomes))
"""


@pytest.fixture
def disk(tmp_path):
    """A file system of some kilobytes, and what makes it larger."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(*options):
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    made = False

    def of(kilobytes):
        nonlocal made
        done = mount(*(["remount"] if made else []), f"size={kilobytes}k")
        if done.returncode:
            pytest.skip(f"no file system may be mounted here: {done.stderr.strip()}")
        made = True
        return folder

    yield of
    if made:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def client(service):
    with service.client("unlimited", archive_source="twin") as made:
        yield made


# faults.md row 45
@pytest.mark.parametrize("kilobytes", [200, 400, 600])
def test_several_writers_on_a_full_disk_harm_nothing(service, client, disk, kilobytes):
    folder = disk(kilobytes) / "archive"
    of = (folder, service.url, service.keys["unlimited"], service.now())
    commands = [[sys.executable, "-c", WRITER, *map(str, (*of, symbol, FIRST))] for symbol in ("BTCUSDT", *SYMBOLS)]
    children = [subprocess.Popen(one, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for one in commands]
    outputs = [child.communicate(timeout=100) for child in children]
    assert [errors for _, errors in outputs] == [""] * 4
    archive = mp.Archive(folder)
    paid = Counter(
        (one.query["rawSymbol"], int(one.query["from"]))
        for one in service.requests
        if one.path == "/v1/points" and one.weight
    )
    outcomes = [
        (symbol, *one)
        for symbol, (out, _) in zip(("BTCUSDT", *SYMBOLS), outputs, strict=True)
        for one in json.loads(out)
    ]
    assert {what for _, what, *_ in outcomes} == {"kept", "told"}
    handed = Counter()
    for symbol, what, start, *more in outcomes:
        if what == "kept":
            handed[symbol, start] += bool(more[0])
            assert len(archive.read("candles", *PLACE, symbol, "1m", start=start, end=start + DAY).timestamps) == 1_440
        else:
            whole, message = more
            handed[symbol, start] += whole
            assert "No space left" in message
            # Unpaid: a file of the archive's own did not fit, such as the ledger in which another's work is ended.
            assert whole or "_marketpoints/" in message, message
    # What was paid for was kept, or came with the error.
    assert paid and handed == paid
    assert archive.verify()
    disk(64 << 10)
    for symbol in SYMBOLS:
        missing = 10 - sum(one.buckets for one in archive.contents() if one.symbol == symbol) // 1_440
        done = archive.sync(client, "candles", *PLACE, symbol, "1m", **WHOLE)
        assert done.mended == () and (done.weight > 0) == (missing > 0)
        expected = client.candles(*PLACE, symbol, "1m", **WHOLE)
        assert content(archive.read("candles", *PLACE, symbol, "1m")) == content(expected)
    assert archive.verify()
    assert list((folder / "_marketpoints" / "unfinished").iterdir()) == []


# faults.md row 45
@pytest.mark.parametrize("kilobytes", [200, 600])
def test_a_universe_on_a_full_disk_stops_paying_and_is_brought_to_its_end(service, client, disk, kilobytes):
    archive = mp.Archive(disk(kilobytes) / "archive")
    many = [f"{coin}USDT" for coin in ("BTC", "ETH", "SOL", "XRP", "DOGE")]
    universe = mp.Universe(
        type=["candles", "side_candles"], exchange=PLACE[0], symbol=many, interval=["1m", "5m"], **WHOLE
    )
    whole = archive.plan_all(client, universe)
    report = archive.sync_all(client, universe)
    assert not report and len(report.complete) + len(report.failed) == len(whole.series) == 20
    assert all("No space left" in one.reason for one in report.failed)
    # Eight calls are under way at once: what the others would weigh is not paid.
    kept = sum(one.weight for one in report.complete)
    largest = max(one.weight for one in whole.series)
    assert report.weight <= kept + 8 * largest < whole.weight
    assert archive.verify()
    disk(64 << 10)
    again = archive.sync_all(client, universe)
    assert again and again.weight <= whole.weight - kept
    assert archive.verify() and archive.sync_all(client, universe).weight == 0
