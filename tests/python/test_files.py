"""Files that users name for output where something else stands: pipes, sockets, devices, folders, links."""

import os
import resource
import signal
import socket
import stat
import subprocess
import sys

import pytest

import marketpoints as mp
from support.bodies import CANDLES, body, candles

FETCH = ("fetch", "candles", "BINANCE_FUTURES", "BTCUSDT", "1h", "--period", "1d")


@pytest.fixture
def fetch(demo):
    settings = {"MARKETPOINTS_API_KEY": demo.keys["unlimited"], "MARKETPOINTS_BASE_URL": demo.url}

    def run(*arguments, **others):
        command = [sys.executable, "-m", "marketpoints", *FETCH, *map(str, arguments)]
        environment = {**os.environ, **settings, **others}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    return run


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def identity(place):
    about = os.lstat(place)
    return about.st_ino, about.st_mode, about.st_mtime_ns


def stand(place, what):
    """Puts something at a place that is no file."""
    if what == "a named pipe":
        os.mkfifo(place)
    elif what == "a socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(str(place))
    elif what == "a folder":
        place.mkdir()
    else:
        place.symlink_to("/dev/null")


STRANGE = ["a named pipe", "a socket", "a folder", "a device"]


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
@pytest.mark.parametrize("what", STRANGE)
def test_a_fetch_does_not_put_a_file_in_the_place_of_what_is_none(fetch, tmp_path, what, form):
    place = tmp_path / f"rows.{form}"
    stand(place, what)
    before = identity(place)
    done = fetch("--output", place, MARKETPOINTS_BASE_URL="http://127.0.0.1:9")  # where nobody is asked
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert f"{place}: {what}, not a file" in done.stderr and "--output -" in done.stderr
    assert identity(place) == before and names(tmp_path) == [place.name]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(fetch, tmp_path, there):
    other = tmp_path / "elsewhere"
    other.mkdir()
    real, link = other / "real.csv", tmp_path / "link.csv"
    if there:
        real.write_text("old")
    link.symlink_to(real)
    done = fetch("--output", link)
    assert done.returncode == 0, done.stderr
    assert link.is_symlink() and real.read_text().startswith("time,") and stat.S_ISREG(os.lstat(real).st_mode)
    assert names(other) == ["real.csv"]


def test_links_that_lead_nowhere_are_refused(fetch, tmp_path):
    circle, gone = tmp_path / "circle.csv", tmp_path / "gone.csv"
    circle.symlink_to(circle)
    gone.symlink_to(tmp_path / "no" / "such.csv")
    for place, words in ((circle, "circle.csv"), (gone, "there is no folder")):
        done = fetch("--output", place)
        assert (done.returncode, words in done.stderr) == (2, True), done.stderr
        assert "Traceback" not in done.stderr and place.is_symlink()


@pytest.mark.parametrize("name", ["candles.parquet", "demo.png"])
def test_the_demo_writes_over_no_pipe(tmp_path, name):
    os.mkfifo(tmp_path / name)
    done = subprocess.run(
        [sys.executable, "-m", "marketpoints", "demo", "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, f"{tmp_path / name}: a named pipe, not a file" in done.stderr) == (2, True), done.stderr
    assert names(tmp_path) == [name] and stat.S_ISFIFO(os.lstat(tmp_path / name).st_mode)


@pytest.fixture
def explorer():
    shown = mp.decode_points(body(candles(CANDLES))).only.explore()
    yield shown
    shown.close()


@pytest.mark.parametrize("what", STRANGE)
def test_a_page_is_written_over_nothing_but_a_file(explorer, tmp_path, what):
    place = tmp_path / "page.html"
    stand(place, what)
    before = identity(place)
    with pytest.raises(mp.InvalidRequest, match=rf"page\.html: {what}, not a file"):
        explorer.to_html(place)
    assert identity(place) == before


def test_a_page_appears_whole_or_not_at_all(explorer, tmp_path):
    real, link = tmp_path / "real.html", tmp_path / "link.html"
    link.symlink_to(real)
    assert explorer.to_html(link) == link and link.is_symlink()
    whole = real.read_bytes()
    assert whole.endswith(b"</html>\n") and stat.S_IMODE(real.stat().st_mode) == tmp_path.stat().st_mode & 0o666
    limits, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, limits[1]))  # as a full disk
    try:
        with pytest.raises(mp.InvalidRequest, match=r"real\.html: cannot be written"):
            explorer.to_html(real)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert real.read_bytes() == whole and names(tmp_path) == ["link.html", "real.html"]
