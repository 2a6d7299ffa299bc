"""A built site, looked through: every link leads somewhere, and nothing is fetched from elsewhere."""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

__all__ = ["faults"]

# Attributes by which a browser fetches something on its own.
FETCHED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "link": "href", "video": "src"}
ELSEWHERE = re.compile(r"(?:https?:)?//", flags=re.IGNORECASE)


class Page(HTMLParser):
    """What a page fetches, links to, and can be linked at."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names |= {found[name] for name in ("id", "name") if found.get(name)}
        # A canonical address is only stated.
        if FETCHED.get(tag) in found and found.get("rel") not in {"canonical", "next", "prev"}:
            self.fetched.append(found[FETCHED[tag]])
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


def faults(site: Path) -> list[str]:
    """What is wrong with a site, a line each."""
    # The page for what is not there has absolute addresses, which only a server has.
    pages = {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}
    found = []
    for path, page in pages.items():
        name = path.relative_to(site)
        found += [f"{name} fetches {target}" for target in page.fetched if ELSEWHERE.match(target)]
        for target in [*page.fetched, *page.links]:
            if re.match(r"[a-z]+:|//", target):
                continue
            address, anchor = urldefrag(target)
            file = (path.parent / unquote(address)).resolve() if address else path
            if file.is_dir():
                file /= "index.html"
            if not file.is_file():
                found.append(f"{name}: {target} leads nowhere")
            elif anchor and file in pages and unquote(anchor) not in pages[file].names:
                found.append(f"{name}: {target} has no such place")
    for sheet in site.rglob("*.css"):
        text = sheet.read_text("utf-8")
        found += [
            f"{sheet.name} fetches {one}" for one in re.findall(r"(?:url\(|@import )[\"']?(https?:[^\"')]+)", text)
        ]
    return found
