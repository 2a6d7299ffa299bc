"""A real Redis in a process of its own, at a socket in a folder."""

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager

import pytest


@contextmanager
def running(folder):
    """Its address. Where there is no redis-server the test is skipped, but not where nothing may be."""
    program = shutil.which("redis-server")
    if program is None:
        advice = "there is no redis-server: install Debian's package redis-server"
        if os.environ.get("CI"):
            pytest.fail(advice)
        pytest.skip(advice)
    path = folder / "redis.sock"
    command = [program, "--port", "0", "--save", "", "--dir", str(folder), "--unixsocket", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as server:
        try:
            deadline = time.monotonic() + 30
            while not listens(path):
                assert server.poll() is None
                assert time.monotonic() < deadline
            yield f"unix://{path}"
        finally:
            server.terminate()


def listens(path):
    """Whether a server takes connections there: it makes the file a little earlier."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0
