"""Messages of the package in the words of the command line."""

import re
from collections.abc import Container

from ..printable import printable

__all__ = ["in_words", "one_line"]

# An argument's name as messages spell it, before a space or a comma; a name of several words stands for itself. Behind
# a dot stands a key of a file.
ARGUMENT = re.compile(r"(?<!\.)\b([a-z]+(?:_[a-z]+)*)=(?:True)?(?=[\s,;.)]|$)|(?<!\.)\b([a-z]+(?:_[a-z]+)+)\b")
# Settings that only a call in Python takes: what stands in the environment is all that a command line has.
SETTING = re.compile(r"\bgive [a-z_]+= or (?=set [A-Z])")
# Settings that are switches here.
SWITCHES = {"check_symbols=False": "--no-check-symbols", "any_block_size=True": "--any-block-size"}
# What only Python has, and what stands in its place here.
PYTHON = (
    ("give seconds, a timedelta, or a text such as 90d", "give seconds, or a number with a unit such as 90d"),
    ("give a datetime, an ISO 8601 text such as", "give an ISO 8601 text such as"),
    (" (client.markets: available_since)", ""),
    (" (client.symbols, client.coins)", ""),
    (", or clock=", ""),
    ("base_url= or MARKETPOINTS_BASE_URL", "MARKETPOINTS_BASE_URL"),
    ("api_key= or MARKETPOINTS_API_KEY", "MARKETPOINTS_API_KEY"),
    ("client.plan(…)", "`marketpoints plan`"),
)
# A service made in Python at a time.
SERVICE = re.compile(r"LocalService\(…, now=('[^']*')\)")
# Arguments that are not options.
PLACES = ("type", "exchange", "symbol")


def one_line(error: BaseException, given: Container[str]) -> str:
    """The error's text on one line, in the words of a command line that takes the arguments ``given``."""
    return in_words(str(error), given) or type(error).__name__


def in_words(text: str, given: Container[str]) -> str:
    """A message on one line, in the words of a command line that takes the arguments ``given``."""

    def spelled(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in given:
            return found[0]
        # `block_size=` is `--block-size`, and `symbol=` the argument SYMBOL.
        return name.upper() if name in PLACES else "--" + name.replace("_", "-")

    for python, here in (*SWITCHES.items(), *PYTHON):
        text = text.replace(python, here)
    text = SERVICE.sub(r"`marketpoints serve --now \1`", ARGUMENT.sub(spelled, SETTING.sub("", text)))
    return printable(" ".join(text.split()))
