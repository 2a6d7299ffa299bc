"""Overviews of archived heatmaps: what is seen of them is what is seen of the snapshots, and they follow the data."""

import errno
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import marketpoints as mp
from marketpoints.archive.overviews import of_archive
from marketpoints.archive.overviews.build import Downsampled, coarsened, step_of
from marketpoints.archive.overviews.files import months_of, opened
from support.bodies import body, heatmap

if "CI" not in os.environ:  # there nothing is skipped
    pytest.importorskip("anywidget")

BOOKS = ("orderbook_heatmap", "BINANCE_FUTURES", "BTCUSDT", "1m")
DEPTH = {"block_size": 10, "max_depth": 12}
LIQUIDATIONS = ("liquidation_heatmap", "BINANCE_FUTURES", None, "1h")
SECOND, HOUR, DAY = 10**9, 3_600 * 10**9, 86_400 * 10**9


@pytest.fixture(scope="module")
def template(demo, tmp_path_factory):
    """Two days on either side of a month's end, of the second but half, and a day of which nothing was asked."""
    folder = tmp_path_factory.mktemp("template") / "archive"
    archive = mp.Archive(folder)
    with demo.client("unlimited") as client:
        archive.sync(client, *BOOKS, start="2026-01-31", end="2026-02-01T12:00", **DEPTH)
        archive.sync(client, *BOOKS, start="2026-02-03", end="2026-02-04", **DEPTH)
    return folder


@pytest.fixture
def archive(template, tmp_path, monkeypatch):
    monkeypatch.setattr(of_archive, "SMALL", 0)
    return mp.Archive(shutil.copytree(template, tmp_path / "archive"))


@pytest.fixture
def explored(archive):
    """Makes explorers of the archive with what their page gets."""
    made = []

    def make(*arguments, **named):
        explorer = archive.explore(*(arguments or BOOKS), **(named or DEPTH))
        heard = []
        explorer._answers._send = lambda content, buffers: heard.append((content, buffers))
        made.append(explorer)
        return explorer, heard

    yield make
    for explorer in made:
        explorer.close()


def folders(archive):
    """The folders of overviews, by month."""
    return sorted(path.name for path in Path(archive.path).glob("_marketpoints/overviews/*/*"))


def whole(archive):
    try:
        return archive.read(*BOOKS, start="2026-01-31", end="2026-02-04", **DEPTH).only
    except mp.NotArchivedError as error:
        return error.results.only


def largest(shown, start, end, seconds, side):
    """The largest volume by bucket and price, computed one by one."""
    found = {}
    times = shown.timestamps.astype("int64")
    for at, (time, bids) in enumerate(zip(times.tolist(), shown.split.tolist(), strict=True)):
        if start <= time < end:
            levels = shown.snapshot(at)
            for price, volume in levels[:bids] if side == "bids" else levels[bids:]:
                place = (time // (seconds * SECOND), round(price / 10))
                found[place] = max(found.get(place, 0.0), float(np.float32(volume)))
    return found


@pytest.mark.parametrize("seconds", [900, 3_600, 14_400])
def test_of_each_price_the_largest_volume_of_a_bucket(archive, seconds):
    shown = archive.read(*BOOKS, start="2026-01-31", end="2026-02-01", **DEPTH).only
    starts = shown.timestamps.astype("int64")
    day = (int(starts[0]) // DAY * DAY, int(starts[0]) // DAY * DAY + DAY)
    made = coarsened(Downsampled(starts, shown.offsets, shown.split, shown.levels), 60 * SECOND, day, seconds, 10.0)
    assert made.starts.tolist() == list(range(day[0], day[1], seconds * SECOND)) and (made.bids > 0).all()
    for side in ("bids", "asks"):
        found = {}
        for at, start in enumerate(made.starts.tolist()):
            levels = made.levels[made.offsets[at] : made.offsets[at + 1]]
            levels = levels[: made.bids[at]] if side == "bids" else levels[made.bids[at] :]
            assert (np.diff(levels[:, 0]) > 0).all()
            found |= {(start // (seconds * SECOND), round(price / 10)): volume for price, volume in levels.tolist()}
        assert found == largest(shown, *day, seconds, side)


def test_prices_without_end_have_higher_rows():
    given = [([(0.001 * at**1.9, 1.0) for at in range(60_000, 0, -1)], [(2e6, 1.0)])]
    shown = mp.decode_points(body(heatmap(given))).only
    gap = float(np.diff(shown.prices).min())
    step = step_of(shown, None)
    # The least that lets 64 bunches of 2,048 rows hold all of them.
    assert step > gap and len(np.unique(np.floor(shown.prices / (step * 2048)))) <= 64
    assert len(np.unique(np.floor(shown.prices / (step / 2 * 2048)))) > 64


def test_a_level_far_away_and_snapshots_without_sides():
    given = [([(99.5, 1.0), (99.0, 2.0)], [(100.0, 3.0), (1e6, 7.0)]), ([(99.5, 5.0)], [(100.5, 4.0)])]
    shown = mp.decode_points(body(heatmap(given))).only
    starts = shown.timestamps.astype("int64")
    day = (int(starts[0]) // DAY * DAY, int(starts[0]) // DAY * DAY + DAY)
    fine = Downsampled(starts, shown.offsets, shown.split, shown.levels)
    made = coarsened(fine, 60 * SECOND, day, 900, step_of(shown, None))
    assert made.levels.tolist() == [[99.0, 2.0], [99.5, 5.0], [100.0, 3.0], [100.5, 4.0], [1e6, 7.0]]
    assert made.bids.tolist() == [2] and made.offsets.tolist() == [0, 5]
    without_sides = coarsened(
        Downsampled(starts, shown.offsets, np.full(2, -1), shown.levels), 60 * SECOND, day, 900, 0.5
    )
    assert without_sides.levels.tolist() == made.levels.tolist() and without_sides.bids.tolist() == [-1]


@pytest.mark.parametrize("side", ["both", "bids", "asks"])
@pytest.mark.parametrize(("width", "seconds"), [(24, 14_400), (96, 3_600), (384, 900)])
def test_every_view_shows_what_the_snapshots_show(archive, explored, width, seconds, side):
    assert archive.build_overviews(*BOOKS, **DEPTH) == mp.Overviews(months=2, built=2, bytes=_size(archive))
    explorer, _ = explored()
    base = explorer._answers.base
    start = int(np.datetime64("2026-01-31", "ns").astype("int64"))
    prices = base.home()[1]
    view = ((start, start + 4 * DAY), prices)
    assert base.level(view[0], width) == {14_400: 0, 3_600: 1, 900: 2}[seconds]
    found = base.raster(view, (width, 200), side)
    expected = whole(archive).raster(width, 200, ("2026-01-31", "2026-02-04"), prices, side=side)
    # A day of which nothing was asked is none, and so is the second half of the one before.
    assert np.array_equal(found, expected, equal_nan=True)
    assert np.isnan(found[:, width * 3 // 8 : width * 6 // 8]).all() and not np.isnan(found[:, : width * 3 // 8]).any()


def _size(archive):
    files = (path for path in Path(archive.path).glob("_marketpoints/overviews/**/*") if path.is_file())
    return sum(path.stat().st_size for path in files)


def test_close_up_the_snapshots_are_read(archive, explored):
    archive.build_overviews(*BOOKS, **DEPTH)
    explorer, heard = explored()
    answers = explorer._answers
    about = answers.about
    assert about["title"].endswith("1m") and about["interval"] == 60_000 and about["sides"]
    assert about["home"][:2] == about["loaded"]
    low, high = about["home"][2:]
    start = int(np.datetime64("2026-02-01T06:00", "ms").astype("int64"))
    asked = {"kind": "view", "t0": start, "t1": start + 120 * 60_000, "p0": low, "p1": high, "w": 120, "h": 90}
    asked |= {"dpr": 1, "side": "both", "scale": "quantile", "theme": "dark"}

    def ask(number, **changes):
        del heard[:]
        answers.handle(asked | {"id": number} | changes)
        answers.pictures.join()
        answers.loads.join()
        return [content for content, _ in heard]

    messages = ask(1, t0=about["home"][0], t1=about["home"][1], w=24)
    assert messages[-1]["text"] == "largest of each 4 h; zoom in for each snapshot"
    assert ask(2)[-1] == {"kind": "loaded", "again": True, "loaded": about["loaded"]}
    messages = ask(3)
    assert messages[0]["kind"] == "view" and messages[-1]["text"] == ""
    view = ((start * 10**6, (start + 7_200_000) * 10**6), (low, high))
    window = ("2026-02-01T06:00", "2026-02-01T08:00")
    expected = whole(archive).raster(120, 90, window, (low, high))
    assert np.array_equal(answers.base.raster(view, (120, 90), "both"), expected, equal_nan=True)
    # The mean of the snapshots in view, for each is the largest of itself.
    resting = answers.base.resting(view, (120, 90))
    sums = whole(archive).raster(1, 90, window, (low, high), "sum", side="bids")[:, 0]
    assert np.allclose(resting["bids"], np.nan_to_num(sums) / 120, rtol=1e-6)


def test_a_view_of_a_hole_is_empty(archive, explored):
    """Of 2 February nothing was asked: a view of some of its hours has neither pixels nor lines, and says so."""
    archive.build_overviews(*BOOKS, **DEPTH)
    explorer, heard = explored()
    answers = explorer._answers
    low, high = answers.about["home"][2:]
    start = int(np.datetime64("2026-02-02T06:00", "ms").astype("int64"))
    for hours, width in ((1, 900), (6, 900), (6, 40)):
        del heard[:]
        asked = {"kind": "view", "id": 1, "t0": start, "t1": start + hours * 3_600_000, "p0": low, "p1": high}
        asked |= {"w": width, "h": 90, "dpr": 1, "side": "both", "scale": "quantile", "theme": "dark"}
        answers.handle(asked)
        answers.pictures.join()
        answers.profiles.join()
        answers.loads.join()
        kinds = [content["kind"] for content, _ in heard]
        assert kinds[0] == "view" and "over" in kinds and "error" not in kinds, heard
        assert set(heard[0][1][0]) == {0}


def test_overviews_follow_the_data(archive, demo, explored):
    done = []
    archive.build_overviews(*BOOKS, progress=lambda *each: done.append(each), **DEPTH)
    assert done == [(1, 3), (2, 3), (3, 3)]
    before = folders(archive)
    assert [name[:7] for name in before] == ["2026-01", "2026-02"]
    again = archive.build_overviews(*BOOKS, **DEPTH)
    assert (again.built, again.bytes) == (0, 0) and folders(archive) == before
    with demo.client("unlimited") as client:
        archive.sync(client, *BOOKS, start="2026-02-01T12:00", end="2026-02-02", **DEPTH)
    # What was made of other data is not shown.
    explorer, _ = explored()
    assert explorer._answers.base.window[1] == int(np.datetime64("2026-02-01", "ns").astype("int64"))
    assert archive.build_overviews(*BOOKS, **DEPTH).built == 1
    after = folders(archive)
    assert after[0] == before[0] and after[1] != before[1] and len(after) == 2
    explorer, _ = explored()
    assert explorer._answers.base.window[1] == int(np.datetime64("2026-02-04", "ns").astype("int64"))


def test_they_are_no_data_of_the_archive(archive):
    before = whole(archive)
    archive.build_overviews(*BOOKS, **DEPTH)
    assert archive.verify() and whole(archive) == before and len(archive.contents()) == 2
    polars = pytest.importorskip("polars")
    pattern = archive.path + "/type=BLOCK_BOOK_SNAPSHOT_AGG/**/*.parquet"
    assert polars.scan_parquet(pattern, hive_partitioning=True).select(polars.len()).collect().item() == len(before)
    # Who reads an archive needs no right to write it; and whoever removes them loses nothing.
    shutil.rmtree(archive.path + "/_marketpoints/overviews")
    assert archive.verify() and archive.build_overviews(*BOOKS, **DEPTH).built == 2


def test_a_damaged_overview_is_made_anew(archive):
    archive.build_overviews(*BOOKS, **DEPTH)
    (key,) = (path.name for path in Path(archive.path).glob("_marketpoints/overviews/*"))
    first, second = (month.folder for month in months_of(Path(archive.path), key))
    with (first / "900.levels").open("ab") as file:
        file.truncate(160)
    (second / "about.json").write_text("{")
    assert archive.build_overviews(*BOOKS, **DEPTH).built == 2
    assert archive.build_overviews(*BOOKS, **DEPTH).built == 0 and len(folders(archive)) == 2
    # A single bit of any file.
    for number, file in enumerate(sorted(first.iterdir())):
        whole_file = bytearray(file.read_bytes())
        whole_file[len(whole_file) * number // 8] ^= 1
        file.write_bytes(whole_file)
        assert opened(next(month for month in months_of(Path(archive.path), key) if month.folder == first)) is None
        assert archive.build_overviews(*BOOKS, **DEPTH).built == 1, file.name
    (first / "900.levels").write_bytes(b"")
    assert archive.build_overviews(*BOOKS, **DEPTH).built == 1


def test_a_disk_that_takes_no_overviews_is_an_error_of_the_archive(archive, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "touch", full)
    with pytest.raises(mp.ArchiveError, match="overviews of 2026-01 cannot be written: No space left on device"):
        archive.build_overviews(*BOOKS, **DEPTH)
    assert not folders(archive)


def test_what_a_killed_build_left_is_removed_by_a_later_one(archive):
    archive.build_overviews(*BOOKS, **DEPTH)
    (key,) = Path(archive.path).glob("_marketpoints/overviews/*")
    old, new = key / "2026-01-aa.new", key / "2026-01-bb.new"
    for one in (old, new):
        one.mkdir()
    os.utime(old, (0, 0))
    for month in key.glob("2026-01-*/about.json"):
        month.write_text("[]")
    assert archive.build_overviews(*BOOKS, **DEPTH).built == 1
    assert not old.exists() and new.exists()  # somebody may be at work there


def test_a_build_that_fails_leaves_nothing(archive):
    def fail(done, days):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        archive.build_overviews(*BOOKS, progress=fail, **DEPTH)
    assert folders(archive) == []
    (damaged, *_) = sorted(Path(archive.path).glob("type=*/**/part.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:100])
    with pytest.raises(mp.DamagedFileError):
        archive.build_overviews(*BOOKS, **DEPTH)
    assert folders(archive) == []


def test_a_day_that_cannot_be_read_keeps_its_overview_and_says_so(archive, explored):
    archive.build_overviews(*BOOKS, **DEPTH)
    explorer, heard = explored()
    for part in Path(archive.path).glob("type=*/**/part.parquet"):
        part.write_bytes(part.read_bytes()[:100])
    about = explorer._answers.about
    start = about["home"][0]
    asked = {"kind": "view", "id": 1, "t0": start, "t1": start + 60_000, "p0": 1.0, "p1": 1e6, "w": 60, "h": 9}
    explorer._answers.handle(asked | {"dpr": 1, "side": "both", "scale": "log", "theme": "light"})
    explorer._answers.pictures.join()
    explorer._answers.loads.join()
    assert "part.parquet" in heard[-1][0]["text"] and np.frombuffer(heard[0][1][0], np.uint8).max() > 1


def test_days_are_forgotten_where_there_are_too_many(archive, explored, monkeypatch):
    from marketpoints.archive.overviews import detail_levels

    archive.build_overviews(*BOOKS, **DEPTH)
    monkeypatch.setattr(detail_levels, "MOST_KEPT", 60_000)
    explorer, _ = explored()
    shown, days = explorer._answers.base, explorer._answers.beyond
    first, second, third = shown.days((shown.window[0], shown.window[1]))
    for day in (first, second, third):
        window = (day, day + HOUR)
        shown.raster((window, (1.0, 1e6)), (60, 5), "both")
        assert days.look(shown, (window, (1.0, 1e6)))["again"]
    assert list(shown._days) == [second, third]  # of 34,560 + 17,280 + 34,560 levels


def test_what_is_liquidated_adds_up(demo, tmp_path, monkeypatch):
    monkeypatch.setattr(of_archive, "SMALL", 0)
    archive = mp.Archive(tmp_path / "archive")
    with demo.client("unlimited") as client:
        archive.sync(client, *LIQUIDATIONS, start="2026-01-01", end="2026-01-04", coin="BTC")
    archive.build_overviews(*LIQUIDATIONS, coin="BTC")
    explorer = archive.explore(*LIQUIDATIONS, coin="BTC")
    base = explorer._answers.base
    shown = archive.read(*LIQUIDATIONS, coin="BTC").only
    assert explorer._answers.about["profile"] == "liquidated volume"
    total = sum(float(part.pixels.levels[:, 1].sum()) for part in base.parts)
    assert total == pytest.approx(float(shown.volumes.sum()), rel=1e-5)
    explorer.close()


def test_what_is_small_or_long_is_read_whole(archive, demo, explored, monkeypatch):
    monkeypatch.undo()
    explorer, _ = explored()
    assert len(explorer._answers.base) == len(whole(archive))
    with demo.client("unlimited") as client:
        archive.sync(client, "candles", *BOOKS[1:3], "1d", start="2026-01-01", end="2026-02-01")
    explorer, _ = explored("candles", *BOOKS[1:3], "1d", over=())
    assert explorer._answers.about["rows"] == 31


def test_a_static_picture_and_a_file(archive, explored, tmp_path):
    pytest.importorskip("matplotlib")
    archive.build_overviews(*BOOKS, **DEPTH)
    explorer, _ = explored()
    assert explorer.png().startswith(b"\x89PNG")
    assert "1m" in explorer.to_html(tmp_path / "one.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("call", "named", "words"),
    [
        ("explore", DEPTH, r"there are no overviews of it; archive\.build_overviews"),
        ("explore", DEPTH | {"start": "2026-01-01"}, "takes no start"),
        ("build_overviews", DEPTH | {"period": "1d"}, "takes no period"),
        ("build_overviews", DEPTH | {"progress": 7}, "progress: 7 is neither"),
    ],
)
def test_what_cannot_be_right_is_said(archive, call, named, words):
    with pytest.raises(mp.InvalidRequest, match=words):
        getattr(archive, call)(*BOOKS, **named)


def test_what_has_no_overviews_is_said(archive, demo, tmp_path):
    with demo.client("unlimited") as client:
        archive.sync(client, "candles", *BOOKS[1:], start="2026-01-01", end="2026-01-02")
        archive.sync(client, *BOOKS[:2], "ETHUSDT", "1m", start="2026-01-01", end="2026-01-01T00:05", **DEPTH)
    with pytest.raises(mp.InvalidRequest, match="made of heatmaps"):
        archive.build_overviews("candles", *BOOKS[1:])
    with pytest.raises(mp.SelectionError, match="one market; these are 2"):
        archive.build_overviews("orderbook_heatmap", "BINANCE_FUTURES", ["BTCUSDT", "ETHUSDT"], "1m", **DEPTH)
    with pytest.raises(mp.NotArchivedError):
        mp.Archive(tmp_path / "none").build_overviews(*BOOKS, **DEPTH)
    with pytest.raises(mp.NotArchivedError):
        mp.Archive(tmp_path / "none").explore(*BOOKS, **DEPTH)
