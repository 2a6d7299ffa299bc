"""What stands in a picture, pixel by pixel."""

import matplotlib as mpl
import numpy as np

mpl.use("agg")

UP, DOWN, NIGHT = "#0e8f9e", "#e4572e", "#000004"
DAY = 86_400


class Picture:
    """The figure of some axes, drawn for real: colours by pixel, and where a moment or a value lies."""

    def __init__(self, ax):
        self.figure = ax.figure
        self.figure.canvas.draw()
        self.pixels = np.asarray(self.figure.canvas.buffer_rgba())[..., :3].astype(int)

    @property
    def texts(self):
        found = self.figure.findobj(mpl.text.Text)
        return [text.get_text() for text in found if text.get_visible() and text.get_text()]

    def column(self, ax, second):
        """Pixel column, a fraction, at which a Unix second lies."""
        return ax.transData.transform((second / DAY, ax.get_ylim()[0]))[0]

    def row(self, ax, value):
        """Pixel row, from the top, at which a value lies."""
        return len(self.pixels) - ax.transData.transform((ax.get_xlim()[0], value))[1]

    def within(self, ax, start=None, end=None, low=None, high=None):
        """The pixels of the axes between two Unix seconds and two values, those that lie wholly inside."""
        box = ax.bbox
        left = box.x0 if start is None else max(box.x0, self.column(ax, start))
        right = box.x1 if end is None else min(box.x1, self.column(ax, end))
        roof, floor = len(self.pixels) - box.y1, len(self.pixels) - box.y0
        top = roof if high is None else max(roof, self.row(ax, high))
        bottom = floor if low is None else min(floor, self.row(ax, low))
        rows = slice(int(np.ceil(top - 1e-6)), int(np.floor(bottom + 1e-6)))
        return self.pixels[rows, int(np.ceil(left - 1e-6)) : int(np.floor(right + 1e-6))]


def is_colour(pixels, colour, tolerance=12):
    """Which pixels have a colour, nearly."""
    wanted = np.round(np.array(mpl.colors.to_rgb(colour)) * 255)
    return (np.abs(pixels - wanted) <= tolerance).all(axis=-1)
