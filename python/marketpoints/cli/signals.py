"""Ctrl-C and SIGTERM, for a command that runs until one of them comes."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["stop_signals"]

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_signals() -> Iterator[Callable[[], None]]:
    """Yields a function that waits for Ctrl-C or SIGTERM; one that came before, but within this, ends the wait at once.

    A second one ends the process. The interpreter writes a byte to a socket when a signal comes, at whatever moment.
    An event that the handler sets would not do: the handler runs in the midst of the main thread's own code, which may
    hold the event's lock, and would wait for it forever.
    """
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            for number in SIGNALS:
                signal.signal(number, _leave_the_next_to_the_system)

            def wait() -> None:
                reader.recv(1)

            yield wait
        finally:
            signal.set_wakeup_fd(-1)


def _leave_the_next_to_the_system(_: int, __: object) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)
