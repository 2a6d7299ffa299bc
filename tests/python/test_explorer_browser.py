"""The explorer in Debian's Chromium: it is driven by wheel, mouse and keys, and asks nothing of any network."""

import json
import os
import sys

import numpy as np
import pytest

import marketpoints as mp
from support.bodies import body, heatmap
from support.browser import COUNT, Page, browser, chromium, opened, requests

if "CI" not in os.environ:  # there nothing is skipped
    pytest.importorskip("anywidget")
    pytest.importorskip("selenium")

MARKET = ("BINANCE_FUTURES", "BTCUSDT")
WINDOW = {"start": "2026-01-01", "end": "2026-01-01T06:00"}


@pytest.fixture(scope="module")
def driver():
    chromium()
    with browser() as made:
        yield made


@pytest.fixture(scope="module")
def results(demo):
    with demo.client("unlimited") as client:
        yield {
            "book": client.orderbook_heatmap(*MARKET, "1m", block_size=10, **WINDOW),
            "candles": client.candles(*MARKET, "5m", **WINDOW),
            "liquidations": client.liquidations(*MARKET, "1m", **WINDOW),
            "profile": client.volume_profile(*MARKET, "5m", **WINDOW),
        }


def view(message):
    return tuple(message[name] for name in ("t0", "t1", "p0", "p1"))


def test_it_is_zoomed_dragged_and_goes_back(driver, results):
    explorer = results["book"].explore(over=[results["candles"], results["liquidations"]])
    with opened(driver, explorer) as page:
        home = view(page.last)
        assert home == tuple(explorer._answers.about["home"]) and page.colours() > 100
        page.wheel(-240, 0.25, 0.5)
        zoomed = view(page.settled())
        factor = np.exp(-240 * 0.0016)
        assert zoomed[1] - zoomed[0] == pytest.approx((home[1] - home[0]) * factor, rel=1e-6)
        assert zoomed[3] - zoomed[2] == pytest.approx((home[3] - home[2]) * factor, rel=1e-6)
        # The place under the cursor stays.
        assert zoomed[0] > home[0] and home[1] - zoomed[1] > 2 * (zoomed[0] - home[0])
        page.drag(-100, 50)
        dragged = view(page.settled())
        assert dragged[0] > zoomed[0] and dragged[2] > zoomed[2]
        assert dragged[1] - dragged[0] == pytest.approx(zoomed[1] - zoomed[0])
        page.twice()
        assert view(page.settled()) == pytest.approx(zoomed)
        page.drag(120, 80, shift=True)
        boxed = view(page.settled())
        assert boxed[1] - boxed[0] < 0.3 * (zoomed[1] - zoomed[0]) and zoomed[0] < boxed[0] < boxed[1] < zoomed[1]
        page.twice()
        page.settled()
        page.twice()
        assert view(page.settled()) == pytest.approx(home)
        page.keys("+", "+")
        closer = view(page.settled())
        assert closer[1] - closer[0] == pytest.approx((home[1] - home[0]) * 0.64)
        page.keys("\ue014")  # right
        assert view(page.settled())[0] > closer[0]
        page.press("home")
        assert view(page.settled()) == pytest.approx(home)
        # What was shown last is what Python makes of it.
        last = page.last
        raster = results["book"].raster(last["w"], last["h"], prices=(last["p0"], last["p1"]))
        assert (last["w"], last["h"]) == raster.shape[::-1]
        expected = np.isnan(raster).mean()
        assert expected == 0 and page.colours() > 100


def test_buttons_change_sides_scale_and_colours(driver, results):
    with opened(driver, results["book"].explore()) as page:
        for before, after in [("both sides", "two"), ("bids | asks", "bids"), ("bids", "asks"), ("asks", "both")]:
            page.press(before)
            page.settled()
            assert page.last["side"] == after
        for before, after in [("quantile", "log"), ("log", "linear"), ("linear", "quantile")]:
            page.press(before)
            page.settled()
            assert page.last["scale"] == after and page.colours() > 30
        assert page.run("return getComputedStyle(document.querySelector('.mp-x')).color") == "rgb(255, 255, 255)"
        page.press("dark")
        page.settled()
        assert page.run("return getComputedStyle(document.querySelector('.mp-x')).color") == "rgb(27, 31, 36)"


def test_the_cursor_shows_time_price_and_volume(driver, results):
    with opened(driver, results["book"].explore(over=results["candles"])) as page:
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.by import By

        plot = driver.find_element(By.CSS_SELECTOR, ".mp-plot")
        ActionChains(driver).move_to_element_with_offset(plot, -100, 60).perform()
        words = page.until("return document.querySelector('.mp-x').dataset.readout")
        assert words.startswith("2026-01-01 0") and "volume" in words and "BTC" in words and "O " in words


def test_more_is_loaded_when_the_button_is_pressed(driver, demo, results):
    with demo.client("advanced") as client:
        explorer = results["book"].explore(client=client)
        with opened(driver, explorer) as page:
            spent = demo.spent
            page.wheel(400)
            offer = page.until("return window.heard.filter((one) => one.kind === 'offer' && one.offer).at(-1)")
            page.settled()
            button = "document.querySelector('.mp-buy')"
            assert page.until(f"return {button}.hidden ? '' : {button}.textContent") and demo.spent == spent
            offer = page.run("return window.heard.filter((one) => one.kind === 'offer' && one.offer).at(-1)")
            assert (
                page.run(f"return {button}.textContent") == offer["text"]
                and f"weight {offer['weight']:,}" in offer["text"]
            )
            page.run(f"{button}.click()")
            page.until("return window.heard.some((one) => one.kind === 'loaded')")
            assert demo.spent == spent + offer["weight"] and page.until(f"return {button}.hidden")
            page.settled()
            assert len(explorer._answers.base) > len(results["book"])


def wheel_to_pixels(driver, book, candles, step):
    """Milliseconds from a turn of the wheel to what the screen shows: median, and of 95 in 100."""
    with opened(driver, book.explore(over=candles)) as page:
        page.run("window.drawn.length = 0")
        for at in range(30):
            page.wheel(-step if at % 10 < 5 else step, 0.3 + 0.01 * at, 0.5)
            page.until("return window.drawn.length > arguments[0]", at)
        times = [one["ms"] for one in page.run("return window.drawn")]
    p50, p95 = np.percentile(times, [50, 95])
    sys.stderr.write(f"wheel to pixels, {len(book.levels):,} levels: p50 {p50:.0f} ms, p95 {p95:.0f} ms\n")
    return round(float(p95), 1)


def test_from_the_wheel_to_pixels(driver, results, record_property):
    record_property("wheel_to_pixels_ms_p95", wheel_to_pixels(driver, results["book"], results["candles"], 120))


def test_from_the_wheel_to_pixels_of_three_million_levels(driver, demo, record_property):
    window = {"start": "2026-01-01", "period": 3_200 * 60}
    with demo.client("unlimited") as client:
        book = client.orderbook_heatmap(*MARKET, "1m", block_size=4, max_depth=500, **window).only
        candles = client.candles(*MARKET, "1m", **window).only
    assert len(book.levels) > 3_000_000
    record_property("wheel_to_pixels_ms_p95", wheel_to_pixels(driver, book, candles, 20))


def test_an_archive_changes_over_from_overviews_to_snapshots(driver, demo, tmp_path, monkeypatch):
    monkeypatch.setattr("marketpoints.archive.overviews.of_archive.SMALL", 0)
    # Two days have three times as many.
    monkeypatch.setattr("marketpoints.archive.overviews.detail_levels.MOST_IN_VIEW", 50_000)
    archive = mp.Archive(tmp_path / "archive")
    kept, named = ("orderbook_heatmap", *MARKET, "1m"), {"block_size": 10, "max_depth": 30}
    with demo.client("unlimited") as client:
        archive.sync(client, *kept, start="2026-01-01", end="2026-01-03", **named)
    archive.build_overviews(*kept, **named)
    explorer = archive.explore(*kept, **named)
    base = explorer._answers.base
    with opened(driver, explorer) as page:
        assert page.colours() > 30 and not base._days
        for _ in range(5):
            page.wheel(-400, 0.25)
        page.until("return window.heard.some((one) => one.kind === 'loaded')")
        page.settled()
        assert len(base._days) == 1
        last = page.last
        window = tuple(np.datetime64(round(last[name] * 1e6), "ns") for name in ("t0", "t1"))
        expected = archive.read(*kept, **named).raster(last["w"], last["h"], window, (last["p0"], last["p1"]))
        view = (tuple(int(edge.astype("int64")) for edge in window), (last["p0"], last["p1"]))
        assert np.array_equal(base.raster(view, (last["w"], last["h"]), "both"), expected, equal_nan=True)


@pytest.mark.parametrize("what", ["book", "candles"])
def test_a_file_needs_neither_python_nor_network(driver, results, tmp_path, what):
    over = {"book": ["candles", "liquidations"], "candles": ["liquidations", "profile"]}[what]
    path = results[what].explore(over=[results[name] for name in over]).to_html(tmp_path / "one.html")
    driver.get_log("performance")
    driver.get(path.as_uri())
    page = Page(driver)
    page.run("window.heard = []; window.seen = 0")
    assert page.until(
        f"return document.querySelector('.mp-plot canvas')?.width && ({COUNT}) > {30 if what == 'book' else 5}"
    )
    before = page.colours()
    page.wheel(-600, 0.6, 0.5)
    page.until(f"return ({COUNT}) !== arguments[0]", before)
    if what == "book":
        page.press("both sides")
        page.press("quantile")
        page.press("dark")
        page.until("return getComputedStyle(document.querySelector('.mp-x')).color === 'rgb(27, 31, 36)'")
        assert page.colours() > 20
    assert page.console() == [] and requests(driver) == [path.as_uri()]


def test_a_view_without_a_midnight_tells_its_day(driver, demo, results):
    with demo.client("unlimited") as client:
        days = client.candles(*MARKET, "1h", start="2025-12-30T12:00", end="2026-01-01T12:00")
    for shown, corner in ((results["book"], "1 Jan UTC"), (days, "UTC")):
        with opened(driver, shown.explore()) as page:
            page.run(
                "const kind = CanvasRenderingContext2D.prototype, write = kind.fillText; window.texts = [];"
                "kind.fillText = function (...given) { window.texts.push(given[0]); write.apply(this, given); }"
            )
            page.wheel(-60)
            texts = page.until("return window.texts.some((one) => one.endsWith('UTC')) && window.texts")
        assert {one for one in texts if one.endswith("UTC")} == {corner}
        assert ("31 Dec" in texts) == (corner == "UTC")


def test_a_level_far_away_takes_no_pixels_from_the_market(driver, tmp_path):
    # A pixel of everything has hundreds of levels; around the market each level has its own.
    near = [
        ([(100.0 - 0.01 * at, 1.0 + at) for at in range(1, 100)], [(100.0 + 0.01 * at, 1.0 + at) for at in range(100)])
    ]
    far = [(bids, [*asks, (100_000.0, 7.0)]) for bids, asks in near]
    explorer = mp.decode_points(body(heatmap(far * 5))).only.explore(prices=(99.0, 101.0))
    text = explorer.to_html(tmp_path / "far.html").read_text("utf-8")
    planes = json.loads(text.partition('id="data">')[2].partition("</script>")[0])["planes"]
    assert [(one["side"], one["w"]) for one in planes] == [("bids", 5), ("asks", 5)] * 2
    assert planes[0]["h"] == 2048 and planes[2]["place"]["p1"] < 130
    driver.get((tmp_path / "far.html").as_uri())
    page = Page(driver)
    page.until(f"return document.querySelector('.mp-plot canvas')?.width && ({COUNT}) > 60")
    explorer.close()


def test_a_page_that_ends_leaves_nothing_behind(driver, results):
    with opened(driver, results["book"].explore()) as page:
        page.run("window.end(); window.heard.length = 0")
        assert page.run("return document.querySelector('.mp-x')") is None
        page.run("window.dispatchEvent(new Event('resize'))")
        assert page.run("return window.heard.length") == 0
