"""The client's records in Python's ``logging``: the logger ``marketpoints``, one record for each attempt.

DEBUG is an attempt that succeeded or was refused for good (the caller learns that anyway), WARNING one that is made
again, and notices such as a budget that is not shared for now. INFO says why an answer may hold no rows. Records of
attempts carry the attributes ``url`` (never the key), ``weight``, ``status`` (None without an answer), ``seconds``,
``attempt`` (from 1), ``error`` (None when there was none) and ``again_in`` (seconds until the next attempt, or None).
They are logged on the thread that called, or on that of the event loop. Nothing is printed unless the program sets up
logging.
"""

import logging
import sys
import traceback
import warnings
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ..printable import printable

__all__ = ["LOGGER", "emit", "note", "threshold", "warn"]

LOGGER = logging.getLogger("marketpoints")
LOGGER.addHandler(logging.NullHandler())

PACKAGE = __name__.partition(".")[0]
FIELDS = ("url", "weight", "status", "seconds", "attempt", "error", "again_in")


def threshold() -> int:
    """The lowest level that the logger takes now."""
    if LOGGER.isEnabledFor(logging.DEBUG):
        return logging.DEBUG
    return logging.WARNING if LOGGER.isEnabledFor(logging.WARNING) else logging.CRITICAL


def emit(level: int, message: str, fields: Mapping[str, Any]) -> None:
    """Logs one record of the engine. A notice has no attempt's attributes: they are None."""
    LOGGER.log(level, "%s", printable(message), extra={name: fields.get(name) for name in FIELDS})


def note(message: str) -> None:
    """Logs a sentence about an answer: INFO, without an attempt's attributes."""
    try:
        LOGGER.info("%s", printable(message), extra=dict.fromkeys(FIELDS))
    except Exception:  # of the program's own handler: the answer was paid
        if logging.raiseExceptions and sys.stderr is not None:
            with suppress(Exception):
                traceback.print_exc()


def warn(message: str, category: type[Warning]) -> None:
    """Warns with the line of the caller outside of the package."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE:
        level, frame = level + 1, frame.f_back
    warnings.warn(printable(message), category, stacklevel=level)
