"""docs/faults.md tells which test covers which fault: it must be true."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
ROWS = {int(number): row for number, row in re.findall(r"^\| (\d+) \|(.*)$", TABLE, re.MULTILINE)}


def test_every_fault_has_a_row():
    assert sorted(ROWS) == list(range(1, 56))


def test_every_test_that_is_named_is_there():
    named = re.findall(r"`([\w/.]+)::(\w+)`", TABLE)
    assert len(named) > 90
    missing = []
    for path, name in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        if not re.search(rf"\b(?:fn|def) {name}\(", text):
            missing.append((path, name))
    assert missing == []
    assert all("::" in row for row in ROWS.values())


def test_every_test_that_names_a_fault_stands_in_its_row():
    """``d3_16_and_17_…`` stands in rows 16 and 17, under its own file."""
    absent = []
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("tests/**/*.rs"), *ROOT.glob("src/**/*.rs")]:
        text = path.read_text(encoding="utf-8")
        for name, numbers in re.findall(r"(?:fn|def) ((?:test_)?d3_(\d+(?:_and_\d+)*)_\w+)\(", text):
            place = f"`{path.relative_to(ROOT).as_posix()}::{name}`"
            absent += [(number, place) for number in numbers.split("_and_") if place not in ROWS.get(int(number), "")]
    assert absent == []
