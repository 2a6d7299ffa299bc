"""One version everywhere: in the crate, in the package, in what is installed and in the changelog."""

import re
import sys
from importlib import metadata
from pathlib import Path

import marketpoints as mp

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]


def numbers(version):
    return tuple(map(int, version.split(".")))


def test_the_package_has_the_version_of_the_crate():
    crate = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["package"]["version"]
    assert mp.__version__ == crate
    installed = [one.version for one in metadata.distributions() if one.metadata["Name"] == "marketpoints"]
    assert set(installed) <= {crate}


def test_the_changelog_begins_with_this_version_or_with_what_is_not_released():
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    released = headings[1:] if headings[0] == "Unreleased" else headings
    # `## 0.1.0 (2026-12-01)`, newest first.
    matches = [re.fullmatch(r"(\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)", one) for one in released]
    assert None not in matches, released
    versions = [numbers(one[1]) for one in matches]
    assert versions == sorted(versions, reverse=True)
    if headings[0] == "Unreleased":
        assert all(numbers(mp.__version__) >= one for one in versions)
    else:
        assert numbers(mp.__version__) == versions[0]
