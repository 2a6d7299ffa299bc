"""Builds the manual into a folder, or says what is wrong with it: `make docs`."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import check
import pages
import tomli  # the builder's own; Python 3.10 has none

ROOT = Path(__file__).resolve().parents[2]


def listed(nav: list[Any]) -> list[str]:
    """The pages that a table of contents names, depth first."""
    found = []
    for entry in nav:
        for value in [entry] if isinstance(entry, str) else entry.values():
            found += listed(value) if isinstance(value, list) else [value]
    return found


def build(root: Path, folder: Path) -> list[str]:
    """Builds the manual of a checkout into `folder/site`; returns what is wrong, a line each."""
    shutil.rmtree(folder, ignore_errors=True)
    made = {page.as_posix() for page in pages.gather(root, folder / "pages")}
    shutil.copy(root / "docs/site/style.css", folder / "pages/style.css")
    text = (root / "docs/site/zensical.toml").read_text("utf-8")
    # The package is read where it lies; paths of the configuration count from its own folder.
    text = text.replace('"@package"', f'"{root}/python"').replace('"@references"', f'"{root}/docs/site/references.py"')
    (folder / "zensical.toml").write_text(text, "utf-8")
    named = set(listed(tomli.loads(text)["project"]["nav"]))
    found = [f"{page} stands in no table of contents" for page in sorted(made - named)]
    found += [f"{page} of the table of contents is not there" for page in sorted(named - made)]
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "-f", str(folder / "zensical.toml")]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode or "Traceback" in ran.stderr:
        found.append(ran.stdout + ran.stderr)
    return found + (check.faults(folder / "site") if (folder / "site/index.html").is_file() else ["there is no site"])


if __name__ == "__main__":
    target = ROOT / "target/manual"
    wrong = build(ROOT, target)
    print("\n".join(wrong) or f"the manual: {target}/site/index.html")
    sys.exit(bool(wrong))
