"""Results in the shapes that backtest frameworks take. None of them is imported here, and none is needed."""

from .bars import backtesting, closes, nautilus
from .candle_files import freqtrade
from .event_arrays import hftbacktest
from .nautilus_books import nautilus_arrow, nautilus_deltas

__all__ = [
    "backtesting",
    "closes",
    "freqtrade",
    "hftbacktest",
    "nautilus",
    "nautilus_arrow",
    "nautilus_deltas",
]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
