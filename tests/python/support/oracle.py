"""The rule of the rasterizer (docs/results.md) in NumPy, a cell at a time."""

from fractions import Fraction

import numpy as np

PARTS = 65_536


def time_pixels(start, end, window, width):
    """Pixels that a stretch of time takes: those whose centre it holds, or else the one around its middle. Exact."""
    left, right = (Fraction((edge - window[0]) * width, window[1] - window[0]) for edge in (start, end))
    inside = [pixel for pixel in range(width) if left <= pixel + Fraction(1, 2) < right]
    return inside or ([int((left + right) // 2)] if right - left < 1 else [])


def price_pixels(price, step, prices, height):
    """The same along the prices, where edges are rounded to 65,536ths of a pixel unless cells are lower than one."""
    scale = height / (prices[1] - prices[0])
    if step * scale < 1 - 1 / PARTS:
        return [int(np.floor((price + step / 2 - prices[0]) * scale))]
    edges = [np.clip((edge - prices[0]) * scale, -1.0, height + 1.0) for edge in (price, price + step)]
    low, high = (np.floor((edge + 1.0) * PARTS + 0.5) / PARTS - 1.0 for edge in edges)
    inside = [pixel for pixel in range(height) if low <= pixel + 0.5 < high]
    return inside or ([int(np.floor((low + high) / 2))] if high - low < 1 else [])


def shares(low, high, count):
    """What part of a stretch lies in each pixel of the picture, its edges rounded to 65,536ths."""
    low, high = (np.floor(edge * PARTS + 0.5) / PARTS for edge in (low, high))
    first, last = int(np.floor(low)), max(int(np.ceil(high)) - 1, int(np.floor(low)))
    if first == last:
        return {first: 1.0}
    seen = range(max(first, 0), min(last, count - 1) + 1)
    return {pixel: (min(high, pixel + 1) - max(low, pixel)) / (high - low) for pixel in seen}


def raster(snapshots, window, prices, size, step, reduce):
    """float32 (height, width) of (start, end, [(price, volume), …]): NaN without a snapshot, 0 without a level."""
    width, height = size
    picture = np.full((height, width), np.nan)
    scale = height / (prices[1] - prices[0])
    for start, end, levels in snapshots:
        if reduce == "sum":
            columns = shares(*((edge - window[0]) * width / (window[1] - window[0]) for edge in (start, end)), width)
        else:
            columns = dict.fromkeys(time_pixels(start, end, window, width), 1.0)
        for column in columns:
            if not 0 <= column < width:
                continue
            line = picture[:, column]
            line[:] = 0.0 if reduce == "last" else np.nan_to_num(line)
            for price, volume in levels:
                if reduce == "sum":
                    rows = shares((price - prices[0]) * scale, (price + step - prices[0]) * scale, height)
                else:
                    rows = dict.fromkeys(price_pixels(price, step, prices, height), 1.0)
                for row in rows:
                    if 0 <= row < height and reduce in ("max", "last"):
                        line[row] = max(line[row], volume)
                    elif 0 <= row < height:
                        line[row] += volume * columns[column] * rows[row]
    return picture.astype(np.float32)
