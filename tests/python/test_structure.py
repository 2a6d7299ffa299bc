"""How the package and its tests hang together: imports run one way, and test files are named by what they try."""

import ast
import graphlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import marketpoints as mp
from support.children import run

PACKAGE = Path(mp.__file__).parent
TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parents[1]
#: The folders and the modules outside of them, from the ground floor up: each imports only from those before it.
FLOORS = [
    "_engine printable",
    "identity",
    "errors",
    "common",
    "plots",
    "explorer",
    "results",
    "records",
    "stream",
    "client",
    "universes",
    "dask",
    "adapters archive local",
    "testing",
    "cli",
    "__main__",
]
#: Test files that are named after neither a module nor a chapter, by the first word of their names: what they try.
OTHERS = {
    "dependencies": "what Cargo.lock names, against deny.toml and the notices",
    "docs": "the pages of the manual themselves: links, blocks, pages of types",
    "notebooks": "the committed notebooks",
    "structure": "this file",
    "version": "one version in the crate, the package, what is installed and the changelog",
}
HEAVY = {
    "numpy",
    "pandas",
    "polars",
    "pyarrow",
    "matplotlib",
    "mpl_toolkits",
    "tqdm",
    "anywidget",
    "ipywidgets",
    "traitlets",
    "dask",
    "distributed",
}


def modules():
    """Every module's tree by its dotted name within the package."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = (ast.parse(path.read_text("utf-8")), path.name == "__init__.py")
    return found


def imported(name, tree, is_package, known):
    """The modules of the package that one imports, anywhere: within functions and for types alone as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            here = name.split(".") if name else []
            up = node.level - (1 if is_package else 0)
            base = ".".join([*here[: len(here) - up], *((node.module or "").split(".") if node.module else [])])
            for alias in node.names:
                inner = f"{base}.{alias.name}".lstrip(".")
                yield inner if inner in known else base
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module]
            assert not any(one.split(".")[0] == PACKAGE.name for one in names), f"{name}: import by a relative name"


@pytest.fixture(scope="module")
def imports():
    """Of each module the modules of the package that it imports, within functions and for types alone as well."""
    trees = modules()
    known = set(trees) | {"_engine"}
    return {
        name: set(imported(name, tree, is_package, known)) & known - {name, ""}
        for name, (tree, is_package) in trees.items()
    }


def test_no_modules_import_each_other(imports):
    assert {"results.series", "results.frames", "plots", "client.clients"} <= set(imports)
    # What draws is imported by the function that draws: a picture needs the result, and the result can draw itself.
    graphlib.TopologicalSorter(imports).prepare()


def test_no_folder_imports_from_one_above(imports):
    floor = {name: number for number, names in enumerate(FLOORS) for name in names.split()}
    for name, targets in imports.items():
        for target in targets if name else ():
            own, other = name.split(".")[0], target.split(".")[0]
            assert own == other or floor[other] < floor[own], f"{name} imports {target}, which is not below it"


#: Modules that name a data type, and why: what they compute is of that type alone.
OF_ONE_TYPE = {
    "plots.options": "a smile is made of the implied volatility at the money and of skews",
    "results.dominance": "a share of the crypto market is a column of token supply",
}


def constants(tree):
    """The texts of a module, without docstrings."""
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node


def test_no_module_decides_by_the_name_of_a_data_type():
    # Titles, pictures and sums follow from the engine's table, so that a new type needs no change here.
    types = {row["name"] for row in mp._engine.data_types()}
    found = {
        name: [node.lineno for node in constants(tree) if node.value in types] for name, (tree, _) in modules().items()
    }
    found = {name: lines for name, lines in found.items() if lines}
    assert sorted(found) == sorted(OF_ONE_TYPE), found


def test_lengths_of_time_are_written_once():
    # Those in seconds are the engine's, in common/intervals.py; those in nanoseconds are made of them.
    lengths = {3_600, 86_400, 604_800, 10**9, 60 * 10**9, 3_600 * 10**9, 86_400 * 10**9}
    others = {"plots.labels": "billions", "plots.time_artists": "more columns than a screen has"}
    for name, (tree, _) in modules().items():
        if name == "common.times" or name in others:
            continue
        numbers = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is not str]
        found = [node.lineno for node in numbers if type(node.value) in (int, float) and node.value in lengths]
        assert not found, f"{name}, line {found[0]}: import the length from common.times or common.intervals"


def test_no_type_has_the_name_of_another():
    found = {}
    for module, (tree, _) in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module)
            elif isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
                found.setdefault(ast.unparse(node.target), []).append(module)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_what_a_class_leaves_to_others_is_abstract():
    # So that whoever forgets it learns of it when he makes one, and not when it is called.
    for name, (tree, _) in modules().items():
        raised = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "NotImplementedError"]
        assert not raised, f"{name}, line {raised[0].lineno}: make it an abstract method"


def at_import(body):
    """Statements that run when a module is imported."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_import(node.orelse)
            continue
        yield node
        for part in ("body", "orelse", "finalbody"):
            yield from at_import(getattr(node, part, []))


def test_no_module_imports_what_is_heavy():
    # Artists are subclasses of matplotlib's, the widget of anywidget's, events of NumPy's; functions that need them
    # import their module.
    for name, (tree, _) in modules().items():
        if name in (
            "plots.artists",
            "plots.images",
            "plots.ladders",
            "plots.time_artists",
            "explorer.widget",
            "adapters.pinned",
        ):
            continue
        for node in at_import(tree.body):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            assert not {one.split(".")[0] for one in names} & HEAVY, f"{name} imports {names}"


def test_importing_the_package_loads_none_of_it():
    code = f"import sys, marketpoints.plots; print(sorted(set(sys.modules) & {HEAVY!r}))"
    assert run(code) == "[]\n"


@pytest.mark.parametrize("target", ["demo", "test", "lint"])
def test_what_compiles_for_minutes_says_so(target):
    make = shutil.which("make")
    if make is None and "CI" not in os.environ:
        pytest.skip("make is not installed")
    # A virtual environment that is not there: everything is to be made.
    plan = [make, "--dry-run", "--silent", f"VENV={ROOT / 'nowhere'}", target]
    done = subprocess.run(plan, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    compiles = ("maturin develop", "cargo test", "cargo clippy")
    steps = [line for line in done.stdout.splitlines() if any(step in line for step in compiles)]
    # Once everything is compiled, tests may be quiet.
    talking = [step for step in steps if "--no-run" in step]
    steps = [step for step in steps if not (talking and "cargo test --quiet" in step)]
    assert steps and not any("quiet" in step.replace("PIP_QUIET", "") for step in steps), steps


def subjects():
    """What a test file may be named after: modules and folders of Python, rooms of the engine, chapters."""
    python = [path for top in ("marketpoints", "pytest_marketpoints") for path in (ROOT / "python" / top).rglob("*.py")]
    modules = {part for path in python for part in path.relative_to(ROOT / "python").with_suffix("").parts}
    rooms = {path.parent.name for path in (ROOT / "src").glob("*/mod.rs")}
    pages = {path.stem.replace("-", "_") for folder in ("docs", "docs/types") for path in (ROOT / folder).glob("*.md")}
    return modules - {"marketpoints", "__init__", "__main__"} | rooms | pages


def test_test_files_are_named_after_what_they_try():
    known, files = subjects(), sorted(path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py"))
    assert {"archive", "columns", "decode", "local_service", "liquidation_heatmap"} <= known and len(files) > 90
    others = [name for name in files if not any(f"{name}_".startswith(f"{one}_") for one in known)]
    # Whoever adds a file that belongs nowhere says in OTHERS what it tries.
    assert [name for name in others if name.split("_")[0] not in OTHERS] == []
    assert sorted(OTHERS) == sorted({name.split("_")[0] for name in others}), "what is listed belongs somewhere by now"


def test_no_test_imports_another():
    for path in sorted(TESTS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, (ast.Import, ast.ImportFrom)) else []
            if isinstance(node, ast.ImportFrom):
                names.append(node.module or "")
            tests = [name for name in names if (TESTS / f"{name}.py").is_file()]
            assert not tests, f"{path.name} imports {tests[0]}: what tests share stands in tests/python/support"


def test_what_is_no_test_stands_apart():
    assert sorted(path.name for path in TESTS.glob("*.py") if not path.name.startswith("test_")) == ["conftest.py"]
    assert [path.name for path in (TESTS / "support").rglob("test_*.py")] == []
