"""Levels of detail of an archived heatmap: coarser ones that are kept beside it, and an explorer that changes over."""

from .of_archive import Explorable

__all__ = ["Explorable"]
