"""The crates that are linked into the wheel, from cargo itself, and the text of their licences for it.

Run as a program it writes THIRD-PARTY-NOTICES.txt.
"""

import json
import subprocess
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOTICES = ROOT / "THIRD-PARTY-NOTICES.txt"
#: What wheels are built for.
PLATFORM = "x86_64-unknown-linux-gnu"
#: How the names of files with licences begin.
FILES = ("licen", "copying", "notice", "unlicense", "copyright")
#: Crates that come without the text of their licence: another crate's file with that very text.
BORROWED = {"flatbuffers": ("Apache-2.0", "serde", "LICENSE-APACHE")}


def metadata():
    """What cargo says of the project and everything it needs, tests included."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--features", "python"]
    command += ["--filter-platform", PLATFORM]
    return json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=300).stdout)


def linked(cargo_metadata):
    """The packages that a build of the wheel links or runs as macros: all that normal dependencies lead to."""
    nodes = {node["id"]: node for node in cargo_metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in cargo_metadata["packages"]}
    found, waiting = set(), [cargo_metadata["resolve"]["root"]]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            deps = nodes[one]["deps"]
            waiting += [dep["pkg"] for dep in deps if any(kind["kind"] is None for kind in dep["dep_kinds"])]
    found.discard(cargo_metadata["resolve"]["root"])
    return sorted((packages[one] for one in found), key=lambda package: (package["name"], package["version"]))


def label(package):
    """How the notices name a crate."""
    return f"{package['name']} {package['version']}"


def licence_files(package):
    """The files of a crate that hold its licences and notices."""
    folder = Path(package["manifest_path"]).parent
    named = [folder / package["license_file"]] if package["license_file"] else []
    found = [one for one in sorted(folder.iterdir()) if one.name.lower().startswith(FILES) and one.is_file()]
    found += sorted((folder / "LICENSES").glob("*.txt"))  # where the REUSE specification puts them
    return list(dict.fromkeys([*named, *found]))


def borrowed_files(package, packages):
    """The file of another crate that holds the licence of one that comes without its text."""
    licence, lender, name = BORROWED.get(package["name"], (None, None, None))
    if licence != package["license"]:
        return []
    return [file for one in packages if one["name"] == lender for file in licence_files(one) if file.name == name]


def notices(packages):
    """The text of THIRD-PARTY-NOTICES.txt: every crate, then every licence once with the crates that it is of."""
    texts, owners = {}, {}
    for package in packages:
        files = licence_files(package) or borrowed_files(package, packages)
        if not files:
            raise SystemExit(f"{label(package)} comes without the text of its licence ({package['license']})")
        for file in files:
            text = file.read_text("utf-8", errors="replace").strip()
            # Copies of one text differ in their white space.
            key = " ".join(text.split())
            texts.setdefault(key, text)
            owners.setdefault(key, []).append(label(package))
    listed = "\n".join(f"{label(one)}  ({one['license']})" for one in packages)
    parts = [
        "The wheel of marketpoints holds code of these crates, under the licences in brackets. Their texts follow,\n"
        "each once, under the crates that carry it. Made by `make notices`; of a choice every text is given.\n\n"
        f"{listed}\n"
    ]
    for key, text in texts.items():
        names = textwrap.fill(", ".join(dict.fromkeys(owners[key])), 100, break_on_hyphens=False)
        parts.append(f"{'=' * 100}\n{names}\n{'-' * 100}\n{text}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    NOTICES.write_text(notices(linked(metadata())), "utf-8")
