"""What wheels and source distributions hold, and for which machines the wheels say they are.

MARKETPOINTS_WHEELS names the folder with them. Tags are judged by auditwheel, which knows what each one allows.
"""

import csv
import email
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from io import BytesIO, StringIO
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("MARKETPOINTS_WHEELS", ROOT / "target" / "wheels"))
WHEELS = sorted(BUILT.glob("*.whl"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["package"]["version"]
INFO = f"marketpoints-{VERSION}.dist-info/"
ENGINE = "marketpoints/_engine.abi3.so"
#: Of a wheel that is shipped (7.9 MB on x86, nearly all of it the engine's code), and of the one for tests: most of
#: others' code is not optimised there, and it is 14.7 MB with incremental state and 15.5 without.
LARGEST = {"shipped": 8_000_000, "fast": 18_000_000}[os.environ.get("MARKETPOINTS_PROFILE", "shipped")]
#: Python's sources, stubs, licences and the list of packages, compressed: about 0.5 MB.
LARGEST_BESIDE_THE_ENGINE = 700_000
#: What every Linux has that the tags speak of: the C library, and what unwinds the stack.
SYSTEM = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
LOADERS = {"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def sources():
    """The files of both packages as they stand in the checkout, and what is no source."""
    for package in ("marketpoints", "pytest_marketpoints"):
        for path in (ROOT / "python" / package).rglob("*"):
            if path.is_file() and path.suffix not in (".pyc", ".so"):
                yield path.relative_to(ROOT / "python").as_posix()


@pytest.fixture(params=WHEELS, ids=lambda path: path.stem.rpartition("-")[2])
def wheel(request):
    return request.param


@pytest.fixture
def files(wheel):
    with zipfile.ZipFile(wheel) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


@pytest.fixture
def engine(files):
    return ELFFile(BytesIO(files[ENGINE]))


def test_there_is_something_to_test():
    assert WHEELS != [], f"no wheel in {BUILT}"
    assert len(list(BUILT.glob("*.tar.gz"))) == 1


def test_a_wheel_holds_the_packages_the_engine_and_nothing_else(files):
    described = {"METADATA", "WHEEL", "RECORD", "entry_points.txt"}
    described |= {f"licenses/{name}" for name in PROJECT["license-files"]} | {"sboms/marketpoints.cyclonedx.json"}
    assert set(files) == {*sources(), ENGINE, *(INFO + name for name in described)}
    assert {name for name, _, _ in csv.reader(StringIO(files[INFO + "RECORD"].decode()))} == set(files)
    for name in PROJECT["license-files"]:
        assert files[f"{INFO}licenses/{name}"] == (ROOT / name).read_bytes()
    for name in sources():
        assert files[name] == (ROOT / "python" / name).read_bytes(), name


def test_a_wheel_is_small(wheel):
    assert wheel.stat().st_size < LARGEST


def test_a_wheel_is_little_beside_the_engine(wheel):
    with zipfile.ZipFile(wheel) as opened:
        sizes = {entry.filename: entry.compress_size for entry in opened.infolist()}
    assert sum(size for name, size in sizes.items() if name != ENGINE) < LARGEST_BESIDE_THE_ENGINE


def test_the_tag_is_the_one_that_holds(wheel):
    output = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", "--json", wheel],
        capture_output=True, text=True, check=True, timeout=120,
    ).stdout  # fmt: skip
    overall = json.loads(output)["overall_tag"]
    python, abi, machines = wheel.stem.split("-")[2:]
    assert (python, abi) == ("cp310", "abi3")
    assert overall in machines.split("."), output


def test_the_engine_needs_the_system_alone(engine):
    dynamic = list(engine.get_section_by_name(".dynamic").iter_tags())
    needed = {tag.needed for tag in dynamic if tag.entry.d_tag == "DT_NEEDED"}
    assert needed <= SYSTEM | LOADERS
    assert "libgcc_s.so.1" in needed, "another unwinder crashes where Python ends a thread by unwinding"
    assert [tag.entry.d_tag for tag in dynamic if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH")] == []


def test_the_engine_is_stripped_and_shows_one_name(engine):
    assert engine.get_section_by_name(".symtab") is None
    assert [name for section in engine.iter_sections() if (name := section.name).startswith(".debug")] == []
    defined = {
        symbol.name
        for symbol in engine.get_section_by_name(".dynsym").iter_symbols()
        if symbol.entry.st_shndx != "SHN_UNDEF" and symbol.entry.st_info.bind == "STB_GLOBAL"
    }
    # One crate is a C library too, and shows its functions whoever links it.
    assert {name for name in defined if not name.startswith("crc_fast_")} == {"PyInit__engine"}


def test_the_bill_of_materials_names_what_the_notices_name(files):
    bill = json.loads(files[f"{INFO}sboms/marketpoints.cyclonedx.json"])
    assert bill["bomFormat"] == "CycloneDX"
    own = bill["metadata"]["component"]
    assert (own["name"], own["version"]) == ("marketpoints", VERSION)
    named = Counter(f"{one['name']} {one['version']}" for one in bill["components"])
    listed = files[f"{INFO}licenses/THIRD-PARTY-NOTICES.txt"].decode().partition("=" * 100)[0]
    linked = set(re.findall(r"^(\S+ \d\S*)  \(", listed, re.MULTILINE))
    assert len(linked) > 100
    assert linked - set(named) == set()


def test_metadata_is_complete(files):
    metadata = email.message_from_bytes(files[INFO + "METADATA"])
    assert (metadata["Name"], metadata["Version"], metadata["License-Expression"]) == ("marketpoints", VERSION, "MIT")
    assert metadata["Requires-Python"] == PROJECT["requires-python"]
    assert metadata["Summary"] == PROJECT["description"]
    assert metadata.get_all("Classifier") == PROJECT["classifiers"]
    assert set(metadata.get_all("Provides-Extra")) == set(PROJECT["optional-dependencies"])
    assert metadata.get_all("License-File") == PROJECT["license-files"]
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    assert metadata.get_payload().startswith("# marketpoints")
    entries = files[INFO + "entry_points.txt"].decode()
    assert "marketpoints=marketpoints.cli:main" in entries.replace(" ", "")
    assert "[pytest11]" in entries
    # Of addresses there are none that only some can reach.
    addresses = [line.partition(",")[2].strip() for line in metadata.get_all("Project-URL", [])]
    assert all(re.match(r"https://[\w-]+(\.[\w-]+)+(/|$)", address) for address in addresses)


def test_the_source_distribution_holds_what_a_build_needs():
    (path,) = BUILT.glob("*.tar.gz")
    top = f"marketpoints-{VERSION}/"
    with tarfile.open(path) as opened:
        names = [one.name for one in opened if one.isfile()]
    assert all(name.startswith(top) for name in names)
    held = {name.removeprefix(top) for name in names}
    single = {"Cargo.toml", "Cargo.lock", "pyproject.toml", "PKG-INFO", "README.md", "CHANGELOG.md"}
    single |= {".cargo/config.toml", *PROJECT["license-files"]}
    rust = {one.relative_to(ROOT).as_posix() for one in (ROOT / "src").rglob("*") if one.is_file()}
    assert held == single | rust | {f"python/{name}" for name in sources()}


def test_the_machine_of_a_wheel_is_the_one_of_its_name(wheel, engine):
    machine = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}[engine["e_machine"]]
    assert all(tag.endswith(machine) for tag in wheel.stem.rpartition("-")[2].split("."))


def test_one_of_them_is_for_this_machine():
    assert any(path.stem.endswith(platform.machine()) for path in WHEELS)
