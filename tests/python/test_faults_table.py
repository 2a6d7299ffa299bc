"""docs/faults.md names which test covers which fault: it must be true.

A test says by itself which rows it looks at: by its name (``d3_16_and_17_…``), or by a comment above it
(``faults.md rows 16 and 17``). The table names the same tests, no more and no fewer.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
ROWS = {int(number): row for number, row in re.findall(r"^\| (\d+) \|(.*)$", TABLE, re.MULTILINE)}
NAMED = re.compile(r"(?:test_)?d3_(\d+(?:_and_\d+)*)_")
SAID = re.compile(r"faults\.md rows? (\d+(?:(?:, | and )\d+)*)$")


def numbers(text):
    return {int(number) for number in re.findall(r"\d+", text)}


def functions(path):
    """Each function's name and the lines of comments and attributes that stand above it."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if path.suffix == ".py":
        begins = [
            (node.name, min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1)
            for node in ast.walk(ast.parse("\n".join(lines)))
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
    else:
        found = [(re.search(r"\bfn (\w+)\(", line), at) for at, line in enumerate(lines)]
        begins = [(match[1], at) for match, at in found if match]
    for name, at in begins:
        above = at
        while above and lines[above - 1].strip().startswith(("#", "//")):
            above -= 1
        yield name, lines[above:at]


def rows_in_tests():
    """Rows by the tests that say they look at them, and comments that stand above no test."""
    rows, lost = {}, []
    for path in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("tests/**/*.rs"), *ROOT.glob("src/**/*.rs")]:
        if path == Path(__file__).resolve():
            continue
        place, used = path.relative_to(ROOT).as_posix(), 0
        for name, above in functions(path):
            named = NAMED.match(name)
            said = [match for match in map(SAID.search, above) if match]
            used += len(said)
            looks = set().union(*(numbers(match[1]) for match in said), numbers(named[1]) if named else set())
            if looks:
                rows.setdefault((place, name), set()).update(looks)
        if used != len(re.findall(r"faults\.md rows? \d", path.read_text(encoding="utf-8"))):
            lost.append(place)
    return rows, lost


def test_every_fault_has_a_row():
    assert sorted(ROWS) == list(range(1, 57))


def test_the_table_names_the_tests_that_look_at_each_row():
    table = {}
    for number, row in ROWS.items():
        for path, name in re.findall(r"`([\w/.]+)::(\w+)`", row):
            table.setdefault((path, name), set()).add(number)
    rows, lost = rows_in_tests()
    assert lost == [], "a comment that stands above no test"
    assert {
        test: sorted(table[test] - rows.get(test, set())) for test in table if table[test] - rows.get(test, set())
    } == {}
    assert {
        test: sorted(rows[test] - table.get(test, set())) for test in rows if rows[test] - table.get(test, set())
    } == {}
    assert len(table) > 150
    assert all("::" in row for row in ROWS.values())
