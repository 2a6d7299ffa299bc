"""Debian's Chromium without a window, driven by selenium; and a page in which the explorer's view talks to Python."""

import json
import os
import shutil
import threading
import time
from contextlib import contextmanager
from http import HTTPStatus

import pytest
from websockets.datastructures import Headers
from websockets.http11 import Response
from websockets.sync.server import serve

PAGE = """<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<body style="margin:0"><div id="view"></div>
<script type="module">
import view from "./view.js";
const socket = new WebSocket(location.href.replace("http", "ws") + "socket");
socket.binaryType = "arraybuffer";
const hearers = new Set();
window.heard = [];
window.drawn = [];
document.addEventListener("drawn", (event) => window.drawn.push(event.detail));
let told = null, buffers = [];
const deliver = () => {
  window.heard.push(told);
  hearers.forEach((hear) => hear(told, buffers));
};
socket.onmessage = ({ data }) => {
  if (typeof data === "string") {
    const message = JSON.parse(data);
    if (message.about) {
      const model = {
        get: (name) => message[name],
        on: (_, hear) => hearers.add(hear),
        off: (_, hear) => hearers.delete(hear),
        send: (content) => socket.send(JSON.stringify(content)),
      };
      window.end = view.render({ model, el: document.getElementById("view") });
      return;
    }
    told = message.content;
    told.buffers = message.buffers;
    buffers = [];
    if (!message.buffers) deliver();
    return;
  }
  // As a notebook hands them over: views into a buffer, at any offset.
  const padded = new Uint8Array(data.byteLength + 3);
  padded.set(new Uint8Array(data), 3);
  buffers.push(new DataView(padded.buffer, 3));
  if (buffers.length === told.buffers) deliver();
};
</script>"""

#: How many colours the picture has, as an expression; read from a copy, for the page's own canvas is never read.
COUNT = (
    "(() => { const shown = document.querySelector('.mp-plot canvas'), copy = document.createElement('canvas');"
    "copy.width = shown.width; copy.height = shown.height;"
    "const context = copy.getContext('2d', {willReadFrequently: true}), found = new Set();"
    "context.drawImage(shown, 0, 0);"
    "const data = context.getImageData(0, 0, copy.width - 90, copy.height - 30).data;"
    "for (let at = 0; at < data.length; at += 28) found.add(data[at] << 16 | data[at + 1] << 8 | data[at + 2]);"
    "return found.size })()"
)


def chromium():
    """Paths of the browser and its driver; a test without them is skipped, but not under CI."""
    found = shutil.which("chromium"), shutil.which("chromedriver")
    if None in found:
        missing = "chromium and chromedriver are not installed (apt-get install chromium chromium-driver)"
        pytest.fail(missing) if "CI" in os.environ else pytest.skip(missing)
    return found


@contextmanager
def browser(size=(1280, 800)):
    """A browser that logs its console and every request."""
    from selenium.webdriver import Chrome
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    program, driver = chromium()
    options = Options()
    options.binary_location = program
    flags = ["headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run"]
    flags += ["disable-background-networking", "disable-component-update", "disable-sync", "mute-audio"]
    for flag in (*flags, f"window-size={size[0]},{size[1]}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    made = Chrome(options=options, service=Service(driver))
    try:
        yield made
    finally:
        made.quit()


def requests(driver):
    """The addresses that the page asked for."""
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    found = [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]
    found += [one["params"]["url"] for one in events if one["method"] == "Network.webSocketCreated"]
    return [url for url in found if not url.startswith(("data:", "blob:", "chrome"))]


@contextmanager
def hosted(explorer):
    """The address of a page on loopback that shows an explorer's view and hands messages to and fro."""
    answers = explorer._answers
    script = explorer.widget._esm.encode()
    files = {"/": ("text/html", PAGE.encode()), "/view.js": ("text/javascript", script)}

    def process(connection, request):
        if request.path not in files:
            return None
        kind, text = files[request.path]
        headers = Headers({"Content-Type": kind, "Content-Length": str(len(text)), "Connection": "close"})
        return Response(HTTPStatus.OK.value, "OK", headers, text)

    def talk(socket):
        lock = threading.Lock()

        def send(content, buffers):
            with lock:
                socket.send(json.dumps({"content": content, "buffers": len(buffers)}))
                for buffer in buffers:
                    socket.send(buffer)

        answers._send = send
        socket.send(json.dumps({"about": answers.about}))
        for message in socket:
            answers.handle(json.loads(message))

    with serve(talk, "127.0.0.1", 0, process_request=process, compression=None, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.socket.getsockname()[1]}/"
        finally:
            server.shutdown()
            thread.join()


class Page:
    """What stands in the page, and what a user does to it."""

    def __init__(self, driver):
        self.driver = driver

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments):
        """Waits for what a script returns to be true, and returns it."""
        end = time.monotonic() + 60
        while not (found := self.run(script, *arguments)):
            assert time.monotonic() < end, script
            threading.Event().wait(0.02)
        return found

    @property
    def last(self):
        """The last message of a picture."""
        return self.run("return window.heard.filter((one) => one.kind === 'view').at(-1)")

    def settled(self):
        """The last picture, when nothing is under way."""
        self.until(
            "const {asked, shown} = document.querySelector('.mp-x')?.dataset || {}; return asked && asked === shown"
        )
        return self.run("return window.heard.filter((one) => one.kind === 'over').at(-1)")

    def wheel(self, amount, x=0.5, y=0.5):
        self.run(
            "const plot = document.querySelector('.mp-plot'), box = plot.getBoundingClientRect();"
            "plot.dispatchEvent(new WheelEvent('wheel', {deltaY: arguments[0], bubbles: true, cancelable: true,"
            "clientX: box.left + box.width * arguments[1], clientY: box.top + box.height * arguments[2]}))",
            amount,
            x,
            y,
        )

    def drag(self, across, up, shift=False):
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        plot = self.driver.find_element(By.CSS_SELECTOR, ".mp-plot")
        chain = ActionChains(self.driver, duration=50)
        if shift:
            chain = chain.key_down(Keys.SHIFT)
        chain = chain.move_to_element_with_offset(plot, -60, 40).click_and_hold()
        chain = chain.move_by_offset(across // 2, up // 2).move_by_offset(across - across // 2, up - up // 2).release()
        (chain.key_up(Keys.SHIFT) if shift else chain).perform()

    def press(self, text):
        self.run(
            "[...document.querySelectorAll('.mp-bar button')].find((one) => one.textContent === arguments[0]).click()",
            text,
        )

    def keys(self, *keys):
        from selenium.webdriver.common.by import By

        self.driver.find_element(By.CSS_SELECTOR, ".mp-x").send_keys(*keys)

    def twice(self):
        event = "new MouseEvent('dblclick', {bubbles: true, cancelable: true})"
        self.run(f"document.querySelector('.mp-plot').dispatchEvent({event})")

    def colours(self):
        """How many colours the picture has."""
        return self.run(f"return {COUNT}")

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextmanager
def opened(driver, explorer):
    with hosted(explorer) as url:
        driver.get_log("performance")
        driver.get(url)
        page = Page(driver)
        page.settled()
        yield page
        assert page.console() == []
        asked = requests(driver)
        assert {one.removeprefix("http").removeprefix("ws").partition("/view")[0] for one in asked} <= {
            url[4:],
            url[4:-1],
            f"{url[4:]}socket",
        }, asked
        driver.get("about:blank")
    explorer.close()
