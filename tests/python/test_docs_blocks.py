"""Every block of Python of every page runs, in the order of the page, in one namespace, against a local service."""

import ast
import io
import logging
import multiprocessing
import os
import re
import time
from contextlib import contextmanager
from pathlib import Path

import duckdb
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import PIL.Image
import polars as pl
import pyarrow.dataset
import pytest

import marketpoints as mp
from support.deployment import Names, deployed

mpl.use("agg")

ROOT = Path(__file__).resolve().parents[2]
# A picture right below a block is what the block draws.
FENCE = re.compile(
    r"^(#+ [^\n]+)$|^```python\n(.*?)^```(?:\n\n!\[[^\]]*\]\(([^)]+\.png)\))?", flags=re.MULTILINE | re.DOTALL
)
#: Pages whose blocks frameworks run that have environments of their own.
TRIED = (ROOT / "docs" / "frameworks.md", ROOT / "docs" / "cluster.md")
#: Root of the mean square of what colours, 0 to 255, differ by: other versions of matplotlib's fonts stay below it.
TOLERANCE = 12.0
PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if "```python" in path.read_text("utf-8")
]


def blocks(path):
    """Heading, code and picture (a file, or None) of each block of Python, in order."""
    heading, found = "", []
    for match in FENCE.finditer(path.read_text("utf-8")):
        if match[2] is None:
            heading = match[1].lstrip("# ")
        else:
            found.append((heading, match[2], match[3] and (path.parent / match[3]).resolve()))
    return found


def elsewhere():
    """The headings whose blocks run in an environment of their framework."""
    calls = [
        node
        for path in (ROOT / "tests" / "frameworks").glob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "recipes"
    ]
    return {call.args[0].value for call in calls}


@contextmanager
def nothing(demo, monkeypatch):
    yield {}


@contextmanager
def archive(demo, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")  # the object store's own settings; nothing is asked of it
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    with mp.Client() as client, duckdb.connect() as connection:
        yield {"client": client, "pl": pl, "duckdb": connection, "pyarrow": pyarrow}


def closes_of_a_day(client):
    """What another process does with a client."""
    return list(client.candles("BINANCE_FUTURES", "BTCUSDT", "1h", period=86_400)["close"])


@contextmanager
def client(demo, monkeypatch):
    with demo.client("unlimited") as made:
        modules = {"os": os, "multiprocessing": multiprocessing}
        yield {"client": made, "service": demo, "work": closes_of_a_day, **modules}


@contextmanager
def dialect(demo, monkeypatch):
    """The page's own file, of a deployment that speaks so."""
    (block,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "dialect.md").read_text("utf-8"), flags=re.DOTALL)
    known = mp.Dialect.from_toml(write("acme.toml", block))
    names = Names(
        known.key_header, known.analytics_prefix, dict(known.types), dict(known.exchanges), dict(known.fields)
    )
    monkeypatch.delenv("MARKETPOINTS_BASE_URL")
    with deployed(demo, names) as (url, heads):
        write("acme.toml", block.replace("https://api.acme.example", url))
        yield {}
        assert any("type=ACME_LIQUIDATION_AGG" in head for head in heads)


@contextmanager
def results(demo, monkeypatch):
    with demo.client("unlimited") as made:
        candles = made.candles("BINANCE_FUTURES", "BTCUSDT", "1h", start="2026-01-01", end="2026-01-03")
        yield {"pd": pd, "mp": mp, "client": made, "candles": candles}
        plt.close("all")


@contextmanager
def frameworks(demo, monkeypatch):
    with demo.client("unlimited") as made:
        symbols = ["BTCUSDT", "ETHUSDT"]
        several = made.candles("BINANCE_FUTURES", symbols, "1h", start="2026-01-01", end="2026-01-03")
        names = {"several": several}
        yield names
    # What a loader of qlib's takes: sorted by time and instrument, numbers alone.
    frame = names["frame"]
    assert frame.index.names == ["datetime", "instrument"] and frame.index.is_monotonic_increasing
    assert frame.xs("ETHUSDT", level=1)["close"].tolist() == several[1]["close"].tolist()
    assert list(frame.columns) == ["open", "high", "low", "close", "volume", "factor"]
    assert frame.index.levels[0].tz is None and (frame.dtypes == "float64").all()


@contextmanager
def universe(demo, monkeypatch):
    """The page's own file."""
    (block,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "universe.md").read_text("utf-8"), flags=re.DOTALL)
    write("universe.toml", block)
    demo.clear_requests()
    page = {}
    yield page
    assert page["plan"].weight == page["report"].weight == demo.spent > 0 and page["again"].weight == 0
    assert len(page["report"].complete) == len(page["plan"].series) == 2 * 2 * 2 + 3


#: What a page needs besides the settings of a service: a page that is not named needs nothing.
NEEDS = {
    "archive.md": archive,
    "client.md": client,
    "dialect.md": dialect,
    "results.md": results,
    "frameworks.md": frameworks,
    "universe.md": universe,
}


def drawn_as_shown(figure, file):
    """The committed picture is the one that the code draws; `make pictures` draws them anew."""
    made = io.BytesIO()
    figure.savefig(made, format="png", dpi=100)
    if os.environ.get("MARKETPOINTS_DRAW"):
        file.parent.mkdir(exist_ok=True)
        PIL.Image.open(made).convert("RGB").quantize(256, dither=PIL.Image.Dither.NONE).save(file, optimize=True)
    shown, drawn = (np.asarray(PIL.Image.open(one).convert("RGB"), float) for one in (file, made))
    assert shown.shape == drawn.shape, f"{file.name}: {shown.shape} is shown, {drawn.shape} drawn; make pictures"
    apart = float(np.sqrt(((shown - drawn) ** 2).mean()))
    assert apart < TOLERANCE, f"{file.name} differs from what its code draws by {apart:.1f}; make pictures"
    assert file.stat().st_size < 150_000


def write(name, text):
    Path(name).write_text(text, "utf-8")
    return name


@pytest.fixture
def settings(demo, tmp_path, monkeypatch):
    """An empty folder, and the environment of a client of the demo service."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARKETPOINTS_API_KEY", demo.keys["unlimited"])
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", demo.url)
    monkeypatch.setenv("MARKETPOINTS_CLOCK_OFFSET", str(demo.now() - time.time()))
    for name in ("MARKETPOINTS_TIER", "MARKETPOINTS_DIALECT"):
        monkeypatch.delenv(name, raising=False)
    level, handlers = logging.getLogger("marketpoints").level, logging.root.handlers[:]
    yield
    logging.getLogger("marketpoints").setLevel(level)
    logging.root.handlers[:] = handlers


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_block_runs(page, demo, monkeypatch, settings):
    ran = 0
    with NEEDS.get(page.name, nothing)(demo, monkeypatch) as names:
        for number, (heading, code, picture) in enumerate(blocks(page)):
            ran += 1
            if page in TRIED and heading in elsewhere():
                continue
            if code.startswith(("# test_", "# conftest")):
                continue  # a file of pytest's, which runs it: test_pytest_marketpoints.py
            exec(compile(code, f"{page.name}, block {number + 1}", "exec"), names)
            if picture is not None:
                drawn_as_shown(plt.gcf(), picture)
        plt.close("all")
        for value in names.values():
            if isinstance(value, mp.Client):
                value.close()
    assert ran > 0


def test_blocks_of_frameworks_run_in_their_environments():
    headings = {heading for page in TRIED for heading, *_ in blocks(page)}
    assert len(elsewhere()) >= 4 and elsewhere() <= headings


def test_no_page_of_the_table_is_gone():
    assert set(NEEDS) <= {page.name for page in PAGES} and len(PAGES) > 5


def test_every_picture_is_drawn_by_a_block():
    drawn = {picture for page in PAGES for *_, picture in blocks(page) if picture}
    assert drawn == set((ROOT / "docs" / "pictures").glob("*.png"))
