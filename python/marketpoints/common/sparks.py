"""Small inline pictures of cards: a line without axes, a meter. SVG in the text's own colour, on any background."""

from html import escape
from typing import Any

__all__ = ["meter", "spark"]

#: Size of a line in pixels, and into how many columns its values go.
WIDE, HIGH, COLUMNS = 220, 36, 110
STYLE = "vertical-align:middle;overflow:visible;margin:.2em 0"


def spark(values: Any, places: Any = None, name: str = "") -> str:
    """A line of values as inline SVG; empty where fewer than two are known.

    With more values than columns, each column has its lowest and highest, so that no peak is lost.

    Args:
        values: Numbers, shape (count,); NaN breaks the line.
        places: Where each lies, ascending numbers; None is one after the other. Far gaps break the line as well.
        name: Their name, for a tooltip and for screen readers.
    """
    import numpy as np

    numbers = np.asarray(values, dtype=np.float64)
    known = np.isfinite(numbers)
    if numbers.ndim != 1 or known.sum() < 2:
        return ""
    at = np.arange(len(numbers), dtype=np.float64) if places is None else np.asarray(places, dtype=np.float64)
    numbers, at = numbers[known], at[known]
    low, high = float(numbers.min()), float(numbers.max())
    span, reach = float(at[-1] - at[0]) or 1.0, (high - low) or 1.0
    column = np.minimum(((at - at[0]) / span * COLUMNS).astype(np.int64), COLUMNS - 1)
    first = np.flatnonzero(np.append(True, column[1:] != column[:-1]))
    x = (column[first] + 0.5) * (WIDE / COLUMNS)
    least, most = (reduce.reduceat(numbers, first) for reduce in (np.minimum, np.maximum))
    top, bottom = (1 + (HIGH - 2) * (1 - (each / reach - low / reach)) for each in (most, least))
    # Half of the columns may be without a value, as of rows at night; of more the line breaks.
    apart = max(2.5, 3.0 * float(np.median(np.diff(column[first]))) if len(first) > 1 else 2.5)
    breaks = np.flatnonzero(np.diff(column[first]) > apart) + 1
    lines = []
    for part in np.split(np.arange(len(first)), breaks):
        there = [f"{x[i]:.1f} {top[i]:.1f}" for i in part]
        back = [f"{x[i]:.1f} {bottom[i]:.1f}" for i in reversed(part)]
        flat = bool(np.allclose(top[part], bottom[part], atol=0.05))
        dot = [f"{x[part[0]] + 1:.1f} {top[part[0]]:.1f}"] if len(part) == 1 else []
        lines.append(f"M{'L'.join(there + dot)}" if flat else f"M{'L'.join(there + back)}Z")
    label = escape(f"{name} {low:,.6g} to {high:,.6g}".strip())
    return (
        f'<svg width="{WIDE}" height="{HIGH}" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{label}" '
        f'style="{STYLE}"><title>{label}</title><path d="{"".join(lines)}" fill="currentColor" fill-opacity=".3" '
        'stroke="currentColor" stroke-opacity=".75" stroke-width="1" stroke-linejoin="round"/></svg>'
    )


def meter(share: float, name: str) -> str:
    """A bar that is filled by a share, 0 to 1, as inline SVG."""
    filled = 160 * min(1.0, max(0.0, share)) if share == share else 0.0
    label = escape(name)
    return (
        f'<svg width="160" height="8" role="img" aria-label="{label}" style="{STYLE}"><title>{label}</title>'
        '<rect width="160" height="8" rx="4" fill="currentColor" fill-opacity=".15"/>'
        f'<rect width="{filled:.1f}" height="8" rx="4" fill="currentColor" fill-opacity=".55"/></svg>'
    )
