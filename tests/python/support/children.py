"""Child processes, and a server that never answers."""

import os
import socket
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager


def run(code, environment=None, timeout=60, **options):
    """Runs Python code in a child process and returns its standard output."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    settings = {"env": environment, "capture_output": True, "text": True, "timeout": timeout, "check": False}
    done = subprocess.run(command, **settings, **options)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def without_certificates(folder):
    """The environment of a process on a machine without the certificates that systems have."""
    missing = folder / "certificates"
    return os.environ | {"SSL_CERT_FILE": str(missing), "SSL_CERT_DIR": str(missing)}


@contextmanager
def started(code, url, **options):
    """A child process that runs Python code and was given the address of a server: what its `input()` returns first."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], **pipes, **options) as child:
        child.stdin.write(f"{url}\n")
        child.stdin.flush()
        yield child


@contextmanager
def silent_server():
    """A server that takes connections and never answers; yields its address and an event set at the first request."""
    asked, connections = threading.Event(), []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                connections.append(connection)
                if connection.recv(1):
                    asked.set()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)
            for connection in connections:
                connection.close()
