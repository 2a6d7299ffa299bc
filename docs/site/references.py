"""Docstrings name classes and methods by roles (``:class:`~marketpoints.Series```); here they become links."""

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:class|meth|func|attr|mod|data|exc):`(~?)([^`]+)`")


class References(griffe.Extension):
    """Turns roles into references that the builder checks: a name that is in no page breaks the site."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object that is read."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(lambda found: _link(found, obj), obj.docstring.value)


def _link(found: re.Match[str], within: griffe.Object) -> str:
    name = found[2]
    words = name.rpartition(".")[2] if found[1] else name
    if name.split(".")[0] != "marketpoints":
        name = _whole(name, within)
    return f"[`{words}`][{name}]" if name else f"`{words}`"


def _whole(name: str, within: griffe.Object) -> str:
    """The name as users import it: a member of the class at hand, or of the package."""
    public = exported(within)
    first = name.split(".")[0]
    if first in public:
        return f"marketpoints.{name}"
    owner = within if within.is_class else within.parent
    if owner is not None and owner.is_class and owner.name in public:
        return f"marketpoints.{owner.name}.{name}"
    # Methods of clients stand in classes of their own that both clients have.
    return f"marketpoints.Client.{name}" if ".client." in within.path else ""


def exported(within: griffe.Object) -> set[str]:
    """The names that users import."""
    return {str(name) for name in within.package.exports or ()}
