"""Licences, notices, bans and sources of the crates, by deny.toml and cargo alone; `make audit` has `cargo deny`."""

import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "licences"))

from crates import BORROWED, NOTICES, borrowed_files, label, licence_files, linked, metadata  # noqa: E402 - after the path above

RULES = tomllib.loads((ROOT / "deny.toml").read_text("utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
REGISTRY = "registry+" + RULES["sources"]["allow-registry"][0]


@pytest.fixture(scope="module")
def cargo_metadata():
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    return metadata()


def allowed(expression, allow):
    """Whether an SPDX expression can be met with these licences; older manifests write `/` for `OR`."""
    words = re.findall(r"\(|\)|[^\s()/]+|/", expression)

    def any_of():
        good = all_of()
        while words and words[0] in ("OR", "/"):
            words.pop(0)
            good = all_of() or good
        return good

    def all_of():
        good = one()
        while words and words[0] == "AND":
            words.pop(0)
            good = one() and good
        return good

    def one():
        name = words.pop(0)
        if name == "(":
            good = any_of()
            assert words.pop(0) == ")"
            return good
        if words and words[0] == "WITH":
            words.pop(0)
            name = f"{name} WITH {words.pop(0)}"
        return name in allow

    good = any_of()
    assert not words, expression
    return good


@pytest.mark.parametrize(
    ("expression", "good"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("GPL-3.0 OR MIT", True),
        ("GPL-3.0/MIT", True),
        ("GPL-3.0 AND MIT", False),
        ("(GPL-3.0 OR MIT) AND ISC", True),
        ("MIT AND (GPL-3.0 OR LGPL-3.0)", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("GPL-3.0 WITH LLVM-exception", False),
    ],
)
def test_expressions_of_licences_are_read(expression, good):
    assert allowed(expression, {"MIT", "ISC", "Apache-2.0 WITH LLVM-exception"}) is good


def test_every_licence_is_one_that_is_allowed(cargo_metadata):
    allow = set(RULES["licenses"]["allow"])
    bad = [
        (label(one), one["license"])
        for one in cargo_metadata["packages"]
        if not allowed(one["license"] or "none", allow)
    ]
    assert bad == []


def test_no_crate_is_banned_and_none_is_there_twice_without_being_named(cargo_metadata):
    banned = {entry["crate"] for entry in RULES["bans"]["deny"]}
    versions = defaultdict(set)
    for package in cargo_metadata["packages"]:
        versions[package["name"]].add(package["version"])
    assert banned & set(versions) == set()
    skipped = {entry["crate"] for entry in RULES["bans"]["skip"]}
    for name, several in versions.items():
        left = {version for version in several if f"{name}@{version}" not in skipped}
        assert len(left) <= 1, f"{name} is there as {sorted(several)}; name the older ones in deny.toml, or move on"
    there = {f"{name}@{version}" for name, several in versions.items() if len(several) > 1 for version in several}
    assert skipped <= there, "these are not there twice any more; take them out of deny.toml"


def test_no_crate_asks_for_any_version_of_another(cargo_metadata):
    assert RULES["bans"]["wildcards"] == "deny"
    asked = [
        (label(one), need["name"])
        for one in cargo_metadata["packages"]
        for need in one["dependencies"]
        if need["req"] == "*"
    ]
    named = {need["name"] for one in cargo_metadata["packages"] for need in one["dependencies"] if need.get("path")}
    assert [(who, what) for who, what in asked if what not in named] == []


def test_every_crate_is_from_the_registry(cargo_metadata):
    root = cargo_metadata["resolve"]["root"]
    assert [label(one) for one in cargo_metadata["packages"] if one["source"] != REGISTRY and one["id"] != root] == []


def features(*options):
    """The features of every `name version` in the graph that these options ask for."""
    command = ["cargo", "tree", "--locked", "--no-dedupe", "--prefix", "none", "--format", "{p}|{f}", *options]
    tree = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=300).stdout
    graph = defaultdict(set)
    for line in tree.splitlines():
        name, _, several = line.partition("|")
        if not name.startswith("marketpoints "):
            graph[name].add(several.removesuffix(" (*)"))
    return graph


def test_rust_tests_and_engine_share_what_is_compiled_of_others(cargo_metadata):
    [asked] = re.findall(r"^FAST_ENGINE := .*--features (\S+)$", MAKEFILE, re.MULTILINE)
    engine = features("--edges", "normal,build", "--features", asked)
    tests = features("--edges", "normal,build,dev")
    both = engine.keys() & tests.keys()
    assert len(both) > 150
    differ = {name: (sorted(engine[name]), sorted(tests[name])) for name in both if engine[name] != tests[name]}
    assert differ == {}, "compiled twice: name these features in [dev-dependencies] or [build-dependencies]"


def test_the_notices_name_every_linked_crate_and_hold_its_licences(cargo_metadata):
    notices = NOTICES.read_text("utf-8")
    assert len(notices.encode()) < 1_000_000
    listed = set(re.findall(r"^(\S+ \d\S*)  \(", notices.partition("=" * 100)[0], re.MULTILINE))
    packages = linked(cargo_metadata)
    assert len(packages) > 100
    assert listed == {label(one) for one in packages}, "run `make notices`"
    # The texts themselves, whatever their white space.
    text = " ".join(notices.split())
    bare = {package["name"] for package in packages if not licence_files(package)}
    assert bare == set(BORROWED), "crates without the text of their licence, and those that are named so"
    for package in packages:
        for file in licence_files(package) or borrowed_files(package, packages):
            assert " ".join(file.read_text("utf-8", errors="replace").split()) in text, f"{label(package)}: {file.name}"


def test_the_wheel_carries_licence_and_notices():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(project["license-files"]) == {"LICENSE", NOTICES.name}
    assert all((ROOT / name).is_file() for name in project["license-files"])
