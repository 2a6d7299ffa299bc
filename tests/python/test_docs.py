"""The texts for users: their links lead somewhere, and what they tell users to run runs and does what they say."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset
import pytest

import marketpoints as mp

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
TEXTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES]
REFERENCE = sorted((ROOT / "docs" / "reference").glob("*.md"))
MARKET = ("BINANCE_FUTURES", "BTCUSDT", "1h")


def links(text):
    """Targets of the links that are no address of the web."""
    found = re.findall(r"\]\(([^()\s]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def anchors(text):
    """What `#…` may name: headings as forges spell them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks(name):
    """The blocks of Python of a text, in order."""
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text("utf-8"), flags=re.DOTALL)


def play(code, **names):
    """Runs a block; returns its names."""
    exec(compile(code, "block", "exec"), names)
    return names


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_links_lead_somewhere(text):
    for target in links(text.read_text("utf-8")):
        path, _, anchor = target.partition("#")
        file = (text.parent / path).resolve() if path else text
        assert file.exists() and file.is_relative_to(ROOT), f"{text.name}: {target}"
        if anchor:
            assert anchor in anchors(file.read_text("utf-8")), f"{text.name}: {target}"


@pytest.mark.parametrize("text", TEXTS, ids=lambda path: path.name)
def test_files_named_are_there(text):
    code = re.sub(r"```.*?```", "", text.read_text("utf-8"), flags=re.DOTALL)
    folders = r"`((?:src|python|tests|docs|benches|fuzz|notebooks|\.ci)/[^`\s]+)`"
    # Tests are named as `file::test`.
    named = [name.partition("::")[0] for name in re.findall(folders, code)]
    assert [name for name in named if not list(ROOT.glob(name))] == []


def test_the_ends_of_paths_are_those_of_files_and_folders():
    """What a text names without its beginning, such as ``trades/files.rs``, ``demo.rs`` or ``overviews/``."""
    code = re.sub(r"```.*?```", "", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), flags=re.DOTALL)
    tops = ("src", "python", "tests", "docs", "benches", "fuzz", "notebooks", ".ci")
    found = [
        *ROOT.glob("*.*"),
        *(ROOT / top for top in tops),
        *(path for top in tops for path in (ROOT / top).rglob("*")),
    ]
    there = [f"/{path.relative_to(ROOT).as_posix()}{'/' * path.is_dir()}" for path in found]
    kinds = {path.suffix for path in found if path.is_file() and path.suffix}
    named = [name for name in re.findall(r"`([\w./-]+)`", code) if name[-1] == "/" or Path(name).suffix in kinds]
    assert {"trades/files.rs", "overviews/"} <= set(named)
    # Folders of builds are there after a build.
    short = [name for name in named if not name.startswith("target/")]
    assert [name for name in short if not any(path.endswith(f"/{name}") for path in there)] == []


def test_every_page_can_be_reached_from_the_readme():
    reached, ahead = set(), [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        if page not in reached:
            reached.add(page)
            found = links(page.read_text("utf-8")) if page.suffix == ".md" else []
            ahead += [(page.parent / target.partition("#")[0]).resolve() for target in found if target[0] != "#"]
    assert len(PAGES) > 30
    assert [page for page in PAGES if page not in reached] == []


def test_the_glossary_is_short_and_its_terms_are_in_use():
    terms = re.findall(r"^\| (.+?) \|", (ROOT / "docs" / "glossary.md").read_text("utf-8"), re.MULTILINE)[1:]
    assert terms == sorted(terms, key=str.lower) and 50 < len(terms) <= 60
    sources = [
        path for folder in ("src", "python") for path in (ROOT / folder).rglob("*") if path.suffix in (".rs", ".py")
    ]
    pages = [path for path in TEXTS if path.stem != "glossary"]
    text = "\n".join(path.read_text("utf-8").lower() for path in [*sources, *pages])
    assert [word for term in terms for word in term.lower().split(", ") if word not in text] == []


def test_the_readme_has_at_most_120_lines_and_a_picture():
    text = (ROOT / "README.md").read_text("utf-8")
    assert len(text.splitlines()) <= 120
    (picture,) = re.findall(r"!\[[^\]]+\]\((docs/pictures/\S+\.png)\)", text)
    assert (ROOT / picture).stat().st_size < 150_000


def test_every_public_name_is_in_the_reference():
    documented = set(
        re.findall(r"^::: marketpoints\.(\w+)$", "".join(map(Path.read_text, REFERENCE)), flags=re.MULTILINE)
    )
    assert set(mp.__all__) - {"TIERS", "__version__"} <= documented


def test_every_option_of_the_command_line_is_documented():
    page = (ROOT / "docs" / "cli.md").read_text("utf-8")
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL))
    commands = re.findall(r"^    (\w+)  ", help_of(), flags=re.MULTILINE)
    assert len(commands) >= 7
    for command in commands:
        assert f"| `{command}` |" in page, command
        mine = next(text for name, text in sections.items() if command in name.split())
        options = options_of(command) - {"--help"}
        shown = set(re.findall(r"`(--[a-z][a-z-]+)`", mine))
        assert options <= shown, f"{command}: the page lacks {options - shown}"
        every = {one for other in mine_of(sections, command) for one in options_of(other)}
        assert shown <= every, f"{command} has no {shown - every}"


def test_every_error_and_warning_is_documented_with_what_to_do():
    page = (ROOT / "docs" / "errors.md").read_text("utf-8")
    listed = set(re.findall(r"`(\w+(?:Error|Request|Warning))`(?=[^|]*\|[^|]+\|[^|]+\|$)", page, flags=re.MULTILINE))
    public = [(name, getattr(mp, name)) for name in mp.__all__]
    classes = {name for name, one in public if isinstance(one, type) and issubclass(one, (Exception, Warning))}
    assert classes - {"Error", "ArchiveError"} <= listed <= classes


def test_the_tiers_of_the_budget_s_page_are_the_engine_s():
    page = (ROOT / "docs" / "budget.md").read_text("utf-8")
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in page.splitlines() if line.startswith("| ")]
    table = {row[0]: [cell.replace(",", "").removesuffix(" days") for cell in row[1:]] for row in rows}
    for name, tier in mp.TIERS.items():
        day = "" if tier.weight_per_day is None else str(tier.weight_per_day)
        assert table[name] == [str(tier.weight_per_minute), str(tier.burst), day, str(tier.history_days)]


def help_of(*command):
    """What `--help` of a command says."""
    run = subprocess.run(
        [sys.executable, "-m", "marketpoints", *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"COLUMNS": "200"},
    )
    return run.stdout


def options_of(command):
    heads = re.findall(r"^  (-\S.*?)(?:  |$)", help_of(command), flags=re.MULTILINE)
    return set(re.findall(r"--[a-z][a-z-]+", " ".join(heads)))


def mine_of(sections, command):
    """The commands that share a section."""
    name = next(name for name in sections if command in name.split())
    return name.split(" and ")


def test_the_readme_s_dozen_lines_run(capsys):
    code = next(block for block in blocks("README.md") if "to_grid" in block)
    names = play(code)
    # 90 days of minutes weigh 1 for each started thousand (section 8.2); more than 100,000 go in two requests.
    # The tiers' bursts are 20, 100, 200 and 1,500, their histories 7, 30, 90 and 365 days (section 8.1).
    output = "130 129600 {'free': None, 'basic': None, 'standard': 0.0, 'advanced': 0.0}\n"
    assert capsys.readouterr().out.startswith(output)
    assert [one.id.raw_symbol for one in names["both"]] == ["BTCUSDT", "ETHUSDT"]
    assert (len(names["candles"].only), len(names["frame"])) == (30 * 24, 30 * 24)
    assert names["frame"].index.name == "time" and str(names["frame"].index.tz) == "UTC"
    assert names["volumes"].shape == (len(names["times"]), len(names["prices"])) and len(names["times"]) == 60


def test_the_readme_s_faults_run(capsys):
    code = next(block for block in blocks("README.md") if "service.faults.set" in block)
    play(code, mp=mp)
    assert int(capsys.readouterr().out) >= 2


def test_the_stream_s_block_runs(capsys):
    names = play(blocks("docs/stream.md")[0])
    assert isinstance(names["event"], mp.BookSnapshotEvent)
    assert capsys.readouterr().out


def test_the_trap_of_look_ahead_is_as_documented(client):
    code = next(block for block in blocks("docs/results.md") if "merge_asof" in block)
    candles = client.candles(*MARKET, start="2026-01-01T12:00", end="2026-01-01T20:00")
    names = play(code, pd=pd, candles=candles)
    close = {hour: candles["close"][hour - 12] for hour in range(12, 20)}
    # At 18:30 the last candle that is known is that of 17:00; at 19:00 it is that of 18:00.
    assert [str(time) for time in names["signals"]["time"].dt.strftime("%H:%M")] == ["18:30", "19:00"]
    assert names["sound"]["close"].tolist() == [close[17], close[18]]
    assert names["naive"]["close"].tolist() == [close[18], close[19]]


def test_the_archive_s_blocks_run(demo, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MARKETPOINTS_API_KEY", demo.keys["unlimited"])
    monkeypatch.setenv("MARKETPOINTS_BASE_URL", demo.url)
    found = blocks("docs/archive.md")
    work, scans = (next(block for block in found if word in block) for word in ("archive.sync(", "pl.scan_parquet("))
    monkeypatch.setenv("MARKETPOINTS_CLOCK_OFFSET", str(demo.now() - time.time()))
    with mp.Client() as client:
        kept = play(work, client=client)["candles"]
    hours = 181 * 24  # January to June
    assert len(kept.only) == hours
    imports, _, lines = scans.strip().partition("\n\n")
    assert imports == "import duckdb\nimport polars as pl\nimport pyarrow.dataset"
    lines = lines.splitlines()
    assert len(lines) == 3
    with duckdb.connect() as connection:
        found = [eval(line, {"pl": pl, "duckdb": connection, "pyarrow": pyarrow}) for line in lines]
        assert found[1].aggregate("count(*)").fetchall() == [(hours,)]
    assert found[0].collect().height == hours
    assert found[2].count_rows() == hours
    frame = found[0].sort("time").collect()
    assert frame["close"].to_list() == kept["close"].tolist()
    assert set(frame["exchange"]) == {"BINANCE_FUTURES"}


def test_the_archive_s_tree_is_one(client, tmp_path):
    page = (ROOT / "docs" / "archive.md").read_text("utf-8")
    shown = re.search(r"^  (type=\S+)/key=\S+/(date=\S+)$", page, flags=re.MULTILINE)
    mp.Archive(tmp_path).sync(client, "candles", *MARKET, start="2026-01-01", end="2026-01-03")
    (file,) = tmp_path.glob("type=*/**/*.parquet")
    parts = file.relative_to(tmp_path).as_posix()
    assert re.fullmatch(rf"{shown[1]}/key=\w+/{shown[2]}", parts), parts
