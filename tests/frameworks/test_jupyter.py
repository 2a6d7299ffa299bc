"""The explorer in JupyterLab, Notebook 7 and the classic notebook, in Debian's Chromium: run, zoomed.

VS Code itself is not run here. It asks of a kernel what these ask, and loads the widget as the classic notebook does:
as an AMD module, where the other two have it in a bundle.
"""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from support.browser import COUNT, browser, chromium, requests

HERE = Path(__file__).resolve().parent
CELL = """\
import marketpoints as mp
from support.bodies import BOOK, body, heatmap

book = mp.decode_points(body(heatmap(BOOK * 40)))
book.explore()
"""


def until(work, seconds=60):
    """Waits for what a function returns to be true, and returns it."""
    end = time.monotonic() + seconds
    while not (found := work()):
        assert time.monotonic() < end, "it never came"
        threading.Event().wait(0.05)
    return found


def clicked(driver, selector):
    """Clicks what a selector finds; False where it is not there yet, or not any more."""
    try:
        driver.find_element(By.CSS_SELECTOR, selector).click()
    except WebDriverException:
        return False
    return True


#: Of each front end: the path of a notebook, where its cell is clicked, and where the cell shows that it ran.
FRONT_ENDS = {
    "lab": ("lab/tree", ".jp-Notebook .jp-CodeCell .cm-content", ".jp-Notebook .jp-InputPrompt"),
    "notebook": ("notebooks", ".jp-Notebook .jp-CodeCell .cm-content", ".jp-Notebook .jp-InputPrompt"),
    "classic": ("nbclassic/notebooks", ".code_cell .CodeMirror-lines", ".code_cell .input_prompt"),
}


def ran(driver, kind):
    """Runs the cell; False where it did not begin to run: what is run before the kernel stands is dropped."""
    _, cell, prompt = FRONT_ENDS[kind]
    if not clicked(driver, cell):
        return False
    ActionChains(driver).key_down(Keys.SHIFT).send_keys(Keys.ENTER).key_up(Keys.SHIFT).perform()
    script = f"return document.querySelector('{prompt}').textContent"
    try:
        return until(lambda: any(one in "*123456789" for one in driver.execute_script(script)), 2)
    except AssertionError:
        return False


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A Jupyter server on loopback, without a token, with folders of its own; it has all front ends."""
    chromium()
    folder = tmp_path_factory.mktemp("jupyter")
    places = {f"JUPYTER_{name}_DIR": str(folder / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    settings = folder / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True)
    # Nothing is asked of the network: neither news nor newer versions.
    quiet = {"fetchNews": "false", "checkForUpdates": False}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
    # The tests' bodies are imported by the cell.
    path = os.pathsep.join([str(HERE.parent / "python"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, **places, "HOME": str(folder), "IPYTHONDIR": str(folder), "PYTHONPATH": path}
    environment |= {"JUPYTER_PREFER_ENV_PATH": "1", "MPLBACKEND": "agg"}
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1", "--port=0"]
    command += ["--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={folder / 'notebooks'}"]
    command += ["--LabApp.extension_manager=readonly", "--ServerApp.terminals_enabled=False"]
    (folder / "notebooks").mkdir()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    try:

        def started():
            assert process.poll() is None, (folder / "log").read_text()
            return [json.loads(one.read_text() or "{}") for one in (folder / "runtime").glob("jpserver-*.json")]

        yield until(lambda: (started() or [{}])[0].get("url")), folder / "notebooks"
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            # Of a kernel that was still starting; kernels end with their server.
            process.kill()
            process.wait()


@contextmanager
def opened(server, kind):
    """A page with a notebook of one cell."""
    url, folder = server
    cell = {"cell_type": "code", "id": "one", "metadata": {}, "source": CELL, "outputs": [], "execution_count": None}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": [cell], "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    (folder / f"{kind}.ipynb").write_text(json.dumps(notebook))
    with browser((1400, 1000)) as driver:
        driver.get(f"{url}{FRONT_ENDS[kind][0]}/{kind}.ipynb")
        yield driver


@pytest.mark.parametrize("kind", FRONT_ENDS)
def test_the_explorer_is_drawn_and_zoomed(server, kind):
    with opened(server, kind) as driver:

        def settled():
            asked = (
                "const {asked, shown} = document.querySelector('.mp-x')?.dataset || {}; return asked === shown && asked"
            )
            return driver.execute_script(asked)

        def drawn():
            until(lambda: ran(driver, kind))
            try:
                return until(settled, 10)
            except AssertionError:
                return None

        # The classic notebook shows no widget, whosever it is, of the first cell after a kernel's start: run it again.
        first = until(drawn)
        plot = driver.find_element(By.CSS_SELECTOR, ".mp-plot")
        before = plot.screenshot_as_png
        assert driver.execute_script(f"return {COUNT}") > 8  # volumes of the book, and more for its marks
        driver.execute_script(
            "const plot = document.querySelector('.mp-plot'), box = plot.getBoundingClientRect();"
            "plot.dispatchEvent(new WheelEvent('wheel', {deltaY: -400, bubbles: true, cancelable: true,"
            "clientX: box.left + box.width / 2, clientY: box.top + box.height / 2}))"
        )
        until(lambda: (found := settled()) and found != first)
        until(lambda: plot.screenshot_as_png != before)
        messages = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
        # Its own scripts log errors too, of files and commands that it looks for.
        own = (f"{server[0]}static/", f"{server[0]}api/", f"{server[0]}lab/", f"{server[0]}favicon")
        # The classic notebook refuses a widget that arrives after its cell, run again, has cleared its output.
        cleared = f"{server[0]}nbextensions/jupyter-js-widgets/extension.js"
        messages = [
            one for one in messages if not (one.startswith(cleared) and one.endswith("Error: Host is not attached."))
        ]
        assert [one for one in messages if not one.startswith(own) or "widget" in one] == []
        hosts = {urlsplit(one).hostname for one in requests(driver)}
        assert hosts == {"127.0.0.1"}, hosts
