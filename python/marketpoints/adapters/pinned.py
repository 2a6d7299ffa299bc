"""Arrays that stay in memory once their address was taken; imported by the function that makes them."""

from typing import Any

import numpy as np

__all__ = ["Events"]

# By address: it may be read as long as the process runs.
_pinned: "dict[int, Events]" = {}


class Events(np.ndarray[Any, np.dtype[np.void]]):
    """Events whose memory is kept once its address was taken.

    hftbacktest takes the address (``array.ctypes.data``) and no reference: an array that only it knew would be freed,
    and the backtest would read what came in its place.
    """

    @property
    def ctypes(self) -> Any:
        """NumPy's own; from now on the array is kept until :meth:`release`, or until the process ends."""
        _pinned[id(self)] = self
        return super().ctypes

    def release(self) -> None:
        """Frees the memory with the last reference to the array; call it when every backtest over it is closed."""
        _pinned.pop(id(self), None)
