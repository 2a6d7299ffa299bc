"""Reading an archive takes the memory of its values and at most a tenth more, and once that of some files under way."""

import sys

import pytest

import marketpoints as mp
from support.archives import END
from support.children import run

#: A year of minutes, and four days of books by the minute.
CANDLES, SNAPSHOTS = 365 * 1_440, 4 * 1_440
#: Files that are read, checked and decoded at once, 4 MiB; what they are unpacked into; the rest of huge pages. On a
#: busy machine a thread may find nothing of what the C library kept of the read before, and 7.7 MiB were seen.
UNDER_WAY = 10 << 20

# In a process that has done nothing else: memory that something left would be taken again, and not count.
CHILD = """
import gc
from pathlib import Path
import marketpoints as mp

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))

archive = mp.Archive({folder!r})
# What is loaded once is no memory of a read: NumPy, and the ways of columns into arrays. The C library keeps what files
# under way took, where the read before had several.
archive.read(**{query!r}, start={end} - {before}, end={end})
gc.collect()
Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = memory("VmRSS")
series = archive.read(**{query!r}).only
peak = memory("VmHWM") - before
if hasattr(series, "prices"):
    arrays = [series.timestamps, series.offsets, series.prices, series.volumes]
else:
    arrays = [series.timestamps, *(series[name] for name in series.columns)]
print(peak, len(series.timestamps), *(array.nbytes for array in arrays))
"""


@pytest.fixture(scope="module")
def client():
    with mp.LocalService(now=END + 900) as service, service.client("unlimited") as made:
        yield made


@pytest.mark.skipif(sys.platform != "linux", reason="memory is told by /proc")
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
@pytest.mark.parametrize(
    ("more", "rows"),
    [
        pytest.param({"type": "candles"}, CANDLES, id="candles"),
        pytest.param({"type": "orderbook_heatmap", "block_size": 20.0}, SNAPSHOTS, id="heatmap"),
    ],
)
def test_reading_takes_the_memory_of_its_values_and_a_tenth(client, tmp_path, more, rows, first):
    query = {"exchange": "BINANCE_FUTURES", "symbol": "BTCUSDT", "interval": "1m", **more}
    mp.Archive(tmp_path).sync(client, **query, start=END - rows * 60, end=END)
    before = 7_200 if first else rows * 60 // 4
    code = CHILD.format(folder=str(tmp_path), query=query, end=END, before=before)
    peak, read, *sizes = map(int, run(code).split())
    assert read == rows
    values = sum(sizes)
    # What was kept of the read before may be taken again.
    least = values if first else values / 2
    assert least <= peak <= values * 1.1 + UNDER_WAY, f"{peak / 2**20:.2f} MiB for values of {values / 2**20:.2f} MiB"
