"""The command line as a child process, and what most of its tests ask it for."""

import os
import pty
import subprocess
import sys

COMMAND = [sys.executable, "-m", "marketpoints"]
MARKET = ("BINANCE_FUTURES", "BTCUSDT")
WINDOW = ("--start", "2026-01-01", "--end", "2026-01-02T00:00:00Z")


def good(done):
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def command(url, *words):
    """A command to a service that is not this package's, and its environment."""
    environment = os.environ | {"MARKETPOINTS_API_KEY": "key", "MARKETPOINTS_BASE_URL": url}
    environment |= {"MARKETPOINTS_CLOCK_OFFSET": "0", "MARKETPOINTS_BUDGET": "process"}
    return [*COMMAND, *words], environment


def on_a_terminal(command, environment, errors=True):
    """Status of a command, and what it writes on a terminal; without ``errors`` its standard error stays ours."""
    above, below = pty.openpty()
    more = {"stderr": below} if errors else {}
    with subprocess.Popen(command, env=environment, stdin=below, stdout=below, **more) as child:
        os.close(below)
        written = bytearray()
        while True:
            try:
                part = os.read(above, 65_536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
        status = child.wait(60)
    os.close(above)
    return status, written.decode().replace("\r\n", "\n")
