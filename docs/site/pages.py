"""The manual's pages: the repository's Markdown and notebooks, links and lists as the site's builder reads them."""

import os
import re
from pathlib import Path

__all__ = ["gather", "page_of", "readable"]

#: Texts of the top level, by the names of their pages.
TOP = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"} | {
    "SECURITY.md": "security.md"
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
# Code is left alone: fences, and spans within a line.
CODE = re.compile(r"(^[ ]*```.*?^[ ]*```[ ]*$|`+[^`]*?`+)", flags=re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"( *)(?:[-*+]|\d+\.) ")


def page_of(path: Path, root: Path) -> Path | None:
    """Where a file of the repository stands among the pages; None when it is no page."""
    try:
        own = path.resolve().relative_to(root)
    except ValueError:
        return None
    if own.as_posix() in TOP:
        return Path(TOP[own.as_posix()])
    if own.parts[:1] == ("notebooks",) and own.suffix == ".ipynb":
        return own.with_suffix(".md")
    if own.parts[:2] == ("docs", "site"):
        return None
    return Path(*own.parts[1:]) if own.parts[0] == "docs" and own.suffix in {".md", ".png", ".svg"} else None


def relinked(text: str, source: Path, root: Path) -> str:
    """Links to files of the repository lead to their pages; what is no page keeps its words alone."""
    here = page_of(source, root)
    assert here is not None

    def link(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        path, mark, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", target):
            return found[0]
        file = (source.parent / path).resolve()
        if not file.exists():
            return found[0]  # the builder names the dead link
        page = page_of(file, root)
        if page is None:
            return words
        return f"{picture}[{words}]({os.path.relpath(page, here.parent)}{mark}{anchor})"

    # A link's words may hold code, but code that looks like a link is none: it is hidden meanwhile.
    hidden = CODE.sub(lambda span: span[0].replace("](", "]\0("), text)
    return LINK.sub(link, hidden).replace("]\0(", "](")


def readable(text: str) -> str:
    """Lists and tables as Python-Markdown wants them: a blank line before, and four columns for what is in an item."""
    out: list[str] = []
    fenced, listed = False, False
    for line in text.splitlines():
        item, table = ITEM.match(line), line.lstrip().startswith("|")
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or not line.strip():
            pass
        elif item or table:
            before = out[-1] if out else ""
            begins = not ITEM.match(before) and not before.startswith("    ") if item else not _cells(before)
            if before.strip() and begins and not (item and listed):
                out.append("")
            listed = listed or bool(item)
        elif not line.startswith(" ") and (not out or not out[-1].strip() or not listed):
            listed = False
        indent = len(line) - len(line.lstrip())
        out.append(" " * (4 * ((indent + 2) // 4)) + line.lstrip() if listed and indent in {2, 3, 6} else line)
    return "\n".join(out) + "\n"


def _cells(line: str) -> bool:
    return line.lstrip().startswith("|")


def gather(root: Path, pages: Path) -> list[Path]:
    """Writes every page into a folder; returns them, relative to it."""
    from nbconvert import MarkdownExporter

    made = []
    for source in [*(root / name for name in TOP), *sorted((root / "docs").rglob("*"))]:
        page = page_of(source, root) if source.is_file() else None
        if page is None:
            continue
        target = pages / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix != ".md":
            target.write_bytes(source.read_bytes())
            continue
        target.write_text(readable(relinked(source.read_text("utf-8"), source, root)), "utf-8")
        made.append(page)
    for notebook in sorted((root / "notebooks").glob("*.ipynb")):
        body, more = MarkdownExporter().from_filename(str(notebook))
        page = Path("notebooks", notebook.stem + ".md")
        (pages / page).parent.mkdir(parents=True, exist_ok=True)
        for name, data in more["outputs"].items():
            own = f"{notebook.stem}-{name}"
            (pages / "notebooks" / own).write_bytes(data)
            body = body.replace(f"]({name})", f"]({own})")
        body = re.sub(r"<style scoped>.*?</style>", "", body, flags=re.DOTALL)
        (pages / page).write_text(readable(relinked(body, notebook, root)), "utf-8")
        made.append(page)
    return made
