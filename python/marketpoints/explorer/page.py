"""The explorer as one file that needs neither Python nor a network."""

import json
import zlib
from base64 import b64encode
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from ..plots.palette import THEMES
from .base_layer import View
from .colours import NORMS, palette
from .messages import MILLI, SIDES, Answers, ViewRequest

__all__ = ["page"]

HERE = Path(__file__).parent
#: Limits of a page: pixels across and up, columns of lines, rows of the profile, candles.
WIDEST, HIGHEST = 4096, 2048
COLUMNS, ROWS, CANDLES = 8192, 512, 30_000
# The page may only use its own scripts and styles.
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
body{{margin:0;padding:12px;background:#8881}}
#view>div{{height:calc(100vh - 24px)!important;min-height:320px}}
</style>
</head>
<body>
<div id="view"></div>
<noscript>This page draws its picture with JavaScript.</noscript>
<script type="application/json" id="data">{data}</script>
<script type="module">
{script}
</script>
</body>
</html>
"""


def page(answers: Answers) -> str:
    """The page of the loaded data: every snapshot and level up to 4,096 × 2,048, else the largest of each pixel."""
    about = answers.about
    base = answers.base
    window, prices = _extent(answers)
    asked = ViewRequest(0, (window, prices), (1, 1), "both", "quantile", "dark", 1.0)
    planes = []
    for view in _views(answers) if base.has_levels and len(base) else ():
        size = _size(answers, *view)
        for side in ("bids", "asks") if base.has_sides else ("both",):
            pixels, _ = answers.pixels(replace(asked, view=view, size=size, side=side))
            header = {"side": side, "place": _place(view), "w": size[0], "h": size[1]}
            planes.append(header | {"data": _packed(pixels.tobytes())})
    lists = answers.lists(replace(asked, size=(COLUMNS, ROWS)))
    lists |= _candles(answers)
    if about["profile"]:
        lists |= answers.profile(replace(asked, size=(COLUMNS, ROWS)))
    data = {
        "about": about,
        "place": _place((window, prices)),
        "scale": "quantile",
        "planes": planes,
        "lowers": {norm: [float(f"{value:.6g}") for value in answers.scale(norm).lower] for norm in NORMS}
        if planes
        else {},
        "palettes": {
            f"{name} {side}": b64encode(palette(name, side)).decode("ascii") for name in THEMES for side in SIDES
        },
        "lists": [[name, len(values), _packed(values.tobytes())] for name, values in lists.items()],
    }
    # Inside a script, only the closing tag must be escaped.
    text = json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    script = "\n".join((HERE / name).read_text("utf-8") for name in ("view.js", "still.js"))
    return PAGE.format(policy=escape(POLICY), title=escape(str(about["title"])), data=text, script=script)


def _extent(answers: Answers) -> View:
    """The loaded data."""
    home = answers.base.home()
    found = [part.pixels.prices for part in answers.base.parts if part.pixels and part.pixels.prices]
    if not found:
        return home
    return home[0], (min(low for low, _ in found), max(high for _, high in found))


def _views(answers: Answers) -> list[View]:
    """The pictures of a page, widest first: everything and, if its pixels have several levels, the market.

    A book may hold levels far away, of which the pixels would be taken from those around the market.
    """
    window, prices = _extent(answers)
    near = answers.base.home()[1]
    step = answers.base.step or 1.0
    if (prices[1] - prices[0]) / step <= HIGHEST or not prices[0] <= near[0] < near[1] <= prices[1]:
        return [(window, prices)]
    room = max((HIGHEST * step - (near[1] - near[0])) / 2, 0.0)
    return [(window, prices), (window, (max(prices[0], near[0] - room), min(prices[1], near[1] + room)))]


def _place(view: View) -> dict[str, float]:
    """A view in the page's format."""
    (start, end), (low, high) = view
    return {"t0": start / MILLI, "t1": end / MILLI, "p0": low, "p1": high}


def _size(answers: Answers, window: tuple[int, int], prices: tuple[float, float]) -> tuple[int, int]:
    """One pixel per bucket and level, up to the limits."""
    trace = answers.base.parts[0].trace
    bucket = int((trace.ends - trace.starts).min()) if len(trace.starts) else 1
    step = answers.base.step or 1.0
    across, up = round((window[1] - window[0]) / max(bucket, 1)), round((prices[1] - prices[0]) / step)
    return min(max(across, 1), WIDEST), min(max(up, 1), HIGHEST)


def _candles(answers: Answers) -> dict[str, Any]:
    """Every candle, up to the limit."""
    import numpy as np

    from .downsampling import candles_between

    base = answers.base
    shown = [part.shown for part in base.parts] if not base.has_levels else [answers.over.candles]
    every = [one for one in shown if one is not None]
    if not every or sum(map(len, every)) > CANDLES:
        return {}
    (start, end), _ = _extent(answers)
    # As if the picture were wide enough for each of them.
    found = [candles_between(one, start, end, 10**9) or {} for one in every]
    return {
        f"candles.{name}": np.ascontiguousarray(np.concatenate([each[name] for each in found]), np.float64)
        for name in found[0]
    }


def _packed(data: bytes) -> str:
    return b64encode(zlib.compress(data, 9)).decode("ascii")
