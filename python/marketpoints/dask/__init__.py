"""A universe on a Dask cluster: every worker writes what it downloads, and all of them share one budget."""

from .running import sync

__all__ = ["sync"]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
