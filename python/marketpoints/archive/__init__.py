"""The archive: what was downloaded once is not downloaded again."""

from .archive import Archive

__all__ = ["Archive"]
