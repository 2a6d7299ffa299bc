"""What the reference shows: links where docstrings have roles, arguments where signatures have typed dictionaries."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import griffe

MODULES = {
    "SeriesMethods": "series",
    "DiscoveryMethods": "discovery",
    "AnalyticsMethods": "analytics",
    "StreamMethods": "streaming",
}
ROLE = re.compile(r":(?:class|meth|func|attr|mod|data|exc):`(~?)([^`]+)`")


class References(griffe.Extension):
    """Turns roles into references that the builder checks: a name that is in no page breaks the site."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for each object that is read."""
        if obj.docstring is not None:
            obj.docstring.value = ROLE.sub(lambda found: _link(found, obj), obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Called when the whole package was read."""
        for function in _functions(pkg):
            _spell_out(function, pkg)
        _name_answers(pkg["client.clients.Client"], pkg)


def _functions(within: griffe.Object) -> Iterator[griffe.Function]:
    for member in within.members.values():
        if isinstance(member, griffe.Function):
            yield from [member, *(member.overloads or [])]
        elif not isinstance(member, griffe.Alias) and not member.is_attribute:
            yield from _functions(member)


def _spell_out(function: griffe.Function, pkg: griffe.Module) -> None:
    """`**arguments: Unpack[…]` becomes the arguments that the typed dictionary and its bases hold."""
    shown, rest = list(function.parameters), []
    last = shown[-1] if shown else None
    found = re.fullmatch(r"Unpack\[(\w+)\]", str(last.annotation)) if last is not None else None
    if last is None or found is None:
        return
    taken = {parameter.name for parameter in shown}
    for name, annotation in _entries(found[1], function.module, pkg).items():
        if name not in taken:
            default = "False" if str(annotation) == "bool" else "None"
            kind = griffe.ParameterKind.keyword_only
            rest.append(griffe.Parameter(name, annotation=annotation, kind=kind, default=default))
    function.parameters = griffe.Parameters(*shown[:-1], *rest)


def _entries(name: str, module: griffe.Module, pkg: griffe.Module) -> dict[str, Any]:
    """Names and annotations of a typed dictionary, those of its bases first."""
    if name == "TypedDict":
        return {}
    home = next(one for one in (module, pkg["common.queries"]) if name in one.members and one[name].is_class)
    dictionary = home[name]
    made: dict[str, Any] = {}
    for base in dictionary.bases:
        made |= _entries(str(base), home, pkg)
    return made | {key: one.annotation for key, one in dictionary.members.items() if one.is_attribute}


def _name_answers(client: griffe.Class, pkg: griffe.Module) -> None:
    """Methods that both clients share answer a type variable: what it is in the blocking one."""
    for base in client.bases:
        generic = pkg[f"client.{MODULES[str(base.left)]}.{base.left}"]
        (variables,) = [one.slice for one in generic.bases if str(one).startswith("Generic[")]
        names, answers = (getattr(one, "elements", [one]) for one in (variables, base.slice))
        known = {str(name): answer for name, answer in zip(names, answers, strict=True)}
        for function in _functions(generic):
            function.returns = known.get(str(function.returns), function.returns)


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
    """The names that users import: the package's stub holds them."""
    return _named_in(Path(str(within.package.filepath)).with_suffix(".pyi"))


@cache
def _named_in(stub: Path) -> frozenset[str]:
    imports = [node for node in ast.parse(stub.read_text("utf-8")).body if isinstance(node, ast.ImportFrom)]
    return frozenset(one.asname or one.name for node in imports for one in node.names)
