"""The manual's builder says what is wrong with a manual; run by `make docs` in the builder's own environment."""

import re
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))

import build  # noqa: E402 - it lies beside the pages
import check  # noqa: E402
import pages  # noqa: E402


def copied(root):
    """The texts and the package of this checkout, to be damaged."""
    for name in pages.TOP:
        shutil.copy(ROOT / name, root / name)
    for name in ("docs", "notebooks"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copytree(ROOT / "python", root / "python", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    # What texts link to and is no page.
    for name in ("tests", "src", "benches", "LICENSE", "THIRD-PARTY-NOTICES.txt", "Cargo.toml", "deny.toml"):
        (root / name).symlink_to(ROOT / name)
    return root


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A manual without a fault: what is wrong with it, and its folder."""
    root = copied(tmp_path_factory.mktemp("whole"))
    return build.build(root, root / "target"), root / "target/site"


@pytest.fixture(scope="module")
def damaged(tmp_path_factory):
    """What is expected of each damage of the table, and everything that is found in a manual with all of them."""
    root = copied(tmp_path_factory.mktemp("damaged"))
    expected = {damage: damage(root) for damage in DAMAGES}
    return expected, "\n".join(build.build(root, root / "target"))


def change(file, old, new):
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def dead_link(root):
    change(root / "docs/tutorial.md", "](budget.md)", "](nowhere.md)")
    return "page does not exist"


def dead_anchor(root):
    change(root / "docs/errors.md", "budget.md#how-to-spend-less", "budget.md#nothing")
    return "anchor does not exist"


def unknown_name(root):
    change(root / "docs/reference/archive.md", "::: marketpoints.Synced", "::: marketpoints.Sunk")
    return "Sunk"


def docstring_of_nothing(root):
    change(root / "python/marketpoints/archive/downloads.py", ":class:`~marketpoints.", ":class:`~marketpoints.No")
    return "unresolved autoref"


def lost_page(root):
    (root / "docs/lost.md").write_text("# Lost\n", "utf-8")
    return "lost.md stands in no table of contents"


def picture_from_elsewhere(root):
    change(root / "docs/tutorial.md", "pictures/tutorial_candles.png", "https://example.com/a.png")
    return "fetches https://example.com/a.png"


def lost_picture(root):
    change(root / "docs/types/skew.md", "../pictures/skew.png", "../pictures/none.png")
    return "none.png"


DAMAGES = [
    dead_link,
    dead_anchor,
    unknown_name,
    docstring_of_nothing,
    lost_page,
    picture_from_elsewhere,
    lost_picture,
]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_what_is_wrong_is_reported(damage, damaged):
    expected, said = damaged
    assert expected[damage] in said


def test_the_manual_as_it_is_has_no_fault(whole):
    found, site = whole
    assert found == []
    client = (site / "reference/client.html").read_text("utf-8")
    # Methods stand there with their arguments, those of the typed dictionaries too, and roles became links.
    candles = re.sub(r"<[^>]+>", "", client.partition('id="marketpoints.Client.candles"')[2].partition("</pre>")[0])
    assert all(f"{name}:" in candles for name in ("exchange", "start", "include_forming", "gapfill", "max_weight"))
    assert "tenor" not in candles and candles.rstrip().endswith("SeriesSet")
    assert ":class:" not in client and ":meth:" not in client
    assert len(list(site.glob("notebooks/order_book-*.png"))) >= 2


def test_lists_are_read_as_forges_read_them():
    text = pages.readable("Text:\n- one\n  more\n  - two\n\nText\n| a |\n|---|\n| b |\n```\n- code\n  kept\n```\n")
    assert text == ("Text:\n\n- one\n    more\n    - two\n\nText\n\n| a |\n|---|\n| b |\n```\n- code\n  kept\n```\n")


def test_links_to_what_is_no_page_keep_their_words():
    text = pages.relinked("[licence](LICENSE) [how](docs/howto.md#a) `[code](LICENSE)`", ROOT / "README.md", ROOT)
    assert text == "licence [how](howto.md#a) `[code](LICENSE)`"


def test_a_site_is_looked_through(tmp_path):
    (tmp_path / "a.html").write_text(
        '<script src="//cdn.example/x.js"></script><a href="b.html#there">b</a><a href="b.html#gone">b</a>'
        '<a href="c.html">c</a><a href="https://example.com">fine</a>',
        "utf-8",
    )
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>', "utf-8")
    (tmp_path / "a.css").write_text("@import 'https://fonts.example/f.css';", "utf-8")
    assert check.faults(tmp_path) == [
        "a.html fetches //cdn.example/x.js",
        "a.html: b.html#gone has no such place",
        "a.html: c.html leads nowhere",
        "a.css fetches https://fonts.example/f.css",
    ]
