"""Times rivals side by side: a bench prints ratios within one run, because a machine's mood changes by the hour."""

import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path


def clock(work: Callable[[], object]) -> float:
    """Seconds that one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def paired(works: Mapping[str, Callable[[], object]], runs: int = 7) -> dict[str, float]:
    """Seconds of each work's fastest run; the works take turns, so that each meets the same conditions."""
    return paired_seconds({name: lambda work=work: clock(work) for name, work in works.items()}, runs)


def paired_seconds(works: Mapping[str, Callable[[], float]], runs: int = 7) -> dict[str, float]:
    """As ``paired``, of works that return their seconds themselves."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(runs):
        for name, work in works.items():
            best[name] = min(best[name], work())
    return best


def machine() -> str:
    """One line about where this ran."""
    model = "unknown processor"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    told = [(name.strip(), value.strip()) for name, found, value in (line.partition(":") for line in lines) if found]
    names = [value for name, value in told if name == "model name"]
    if names:
        numbers = dict(told)
        kind = design(numbers.get("vendor_id", ""), numbers.get("cpu family", ""), numbers.get("model", ""))
        model = f"{len(names)} × {names[0]}{f' ({kind})' if kind else ''}"
    return f"{model}, {platform.system()} {platform.machine()}, Python {platform.python_version()}"


def design(vendor: str, family: str, model: str) -> str:
    """What a processor's design is called, by its family and model: a virtual machine names neither Zen 4 nor Zen 5."""
    if vendor == "AuthenticAMD" and family == "25":
        return "Zen 4" if int(model) // 16 in (1, 6, 7, 10) else "Zen 3"
    if vendor == "AuthenticAMD":
        return {"23": "Zen or Zen 2", "26": "Zen 5"}.get(family, "")
    intel = {"106": "Ice Lake", "143": "Sapphire Rapids", "173": "Granite Rapids", "207": "Emerald Rapids"}
    return intel.get(model, "") if vendor == "GenuineIntel" else ""


def write(page: Path, mark: str, lines: list[str]) -> None:
    """Puts lines between the marks ``<!-- mark: begin -->`` and ``<!-- mark: end -->`` of a page."""
    begin, end = (f"<!-- {mark}: {side} -->" for side in ("begin", "end"))
    before, rest = page.read_text("utf-8").split(begin)
    page.write_text("\n".join([f"{before}{begin}", *lines, f"{end}{rest.split(end)[1]}"]), "utf-8")
