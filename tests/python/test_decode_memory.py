"""Decoding takes the memory of its values and at most 2 MiB more, even at its peak."""

import sys

import pytest

from support.bodies import START
from support.children import run

LEVELS, SNAPSHOTS, CANDLES = 1_000, 1_000, 100_000

# In a process that has done nothing else: memory that something left would be taken again, and not count.
CHILD = """
import sys
from pathlib import Path
import marketpoints as mp

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

body = Path({path!r}).read_bytes()
# What is loaded once is no memory of a body: NumPy, and the ways of short and of long columns into arrays.
for rows in 1, 1000:
    points = ",".join('{{"Point":{{"x":1,"timestamp":{{"s":%d}}}}}}' % row for row in range(rows))
    mp.decode_points(('{{"series":[{{"id":{{"type":"A"}},"points":[' + points + "]}}]}}").encode())
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = memory("VmRSS")
series = mp.decode_points(body)
print(memory("VmHWM") - before, len(series.timestamps))
"""


def series(points, key="points", data_type="BLOCK_BOOK_SNAPSHOT_AGG"):
    return f'{{"series":[{{"id":{{"type":"{data_type}"}},"{key}":[{points}]}}]}}'


def levels():
    return ",".join(f"{95_000 + level / 2},{level * 0.37 % 9 + 0.001:.8f}" for level in range(LEVELS))


def flat():
    micros, pairs = ((START + 60 * row) * 1_000_000 for row in range(SNAPSHOTS)), levels()
    return series(",".join(f"{LEVELS},{micro:.15e},{pairs}" for micro in micros), "flat_points")


def nested():
    asks = levels()
    points = (f'{{"Point":{{"asks":[{asks}],"timestamp":{{"s":{START + 60 * row}}}}}}}' for row in range(SNAPSHOTS))
    return series(",".join(points))


def candles():
    values = '"open":96000.1,"high":96010.5,"low":95990.25,"close":96001.75,"volume":3353.919000000029'
    point = (
        f'{{"Point":{{{values},"timestamp":{{"s":%d}},"firstTimestamp":{{"s":%d,"ns":126000000}},'
        '"lastTimestamp":{"s":%d,"ns":976000000}}}'
    )
    return series(",".join(point % ((START + 60 * row,) * 3) for row in range(CANDLES)), data_type="TRADE_AGG")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told by /proc")
@pytest.mark.parametrize(
    ("body", "rows", "values"),
    [
        pytest.param(flat, SNAPSHOTS, 2 * LEVELS * SNAPSHOTS, id="flat"),
        pytest.param(nested, SNAPSHOTS, 2 * LEVELS * SNAPSHOTS, id="nested"),
        # A timestamp, five numbers and two times each.
        pytest.param(candles, CANDLES, 8 * CANDLES, id="candles"),
    ],
)
def test_decoding_takes_the_memory_of_its_values_and_two_mebibytes(tmp_path, body, rows, values):
    path = tmp_path / "body.json"
    path.write_text(body())
    grown, decoded = map(int, run(CHILD.format(path=str(path))).split())
    assert decoded == rows
    # A little of what the imports left is taken again.
    least, most = values * 8 - (1 << 20), values * 8 + (2 << 20)
    assert least <= grown <= most, f"{grown / 2**20:.2f} MiB for values of {values / 2**17:.2f} MiB"
