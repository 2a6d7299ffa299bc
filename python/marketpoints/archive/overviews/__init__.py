"""Levels of detail of an archived heatmap: coarser ones beside it, and an explorer that switches between them."""

from .of_archive import ExploreMethods

__all__ = ["ExploreMethods"]
