"""The explorer that users get."""

import os
from io import BytesIO
from pathlib import Path
from typing import Any

from ..common.display import safe_repr
from ..common.files import write_atomically
from ..common.optional import load, load_if_there
from ..errors import InvalidRequest
from .base_layer import BaseLayer, View
from .loading import Loader
from .messages import Answers, Overlays

__all__ = ["Explorer"]


class Explorer:
    """The result of ``explore()``: a notebook shows it as the last expression of a cell, or by ``display``.

    Beside the view stands a static picture, which is what programs show that run no code, such as GitHub.

    Attributes:
        widget: The widget, for layouts of ipywidgets.
    """

    def __init__(self, base: BaseLayer, over: Overlays, beyond: Loader | None, home: View, results: list[Any]) -> None:
        from .widget import View as Widget

        self._results, self._home = results, home
        self._answers = Answers(base, over, beyond, self._send, home)
        self.widget: Any = Widget(self._answers.about, self._answers.handle, self._answers.close)

    def _send(self, content: dict[str, Any], buffers: list[bytes]) -> None:
        self.widget.send(content, buffers)

    def png(self) -> bytes:
        """The static picture: a PNG file as :func:`marketpoints.plot` draws it.

        Raises:
            MissingDependencyError: matplotlib is not installed.
        """
        from .. import plots

        ax = plots.together(self._results, ax=None, volume=True)
        raw, small = BytesIO(), BytesIO()
        try:
            ax.figure.savefig(raw, format="png", dpi=100)
        finally:
            load("matplotlib.pyplot").close(ax.figure)
        # In 256 colours, a quarter of the size: it is saved with each output. Pillow comes with matplotlib.
        image = load("PIL.Image")
        with image.open(raw) as picture:
            picture.convert("RGB").quantize(256, dither=image.Dither.NONE).save(small, format="PNG", optimize=True)
        return small.getvalue()

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Writes one self-contained file that needs no network, and can be zoomed as far as it has pixels.

        Args:
            path: The file; one that is there is replaced, one that a link leads to as well.

        Returns:
            The path.

        Raises:
            InvalidRequest: There is no such folder, a pipe, a device or a folder stands there, or it cannot be written.
        """
        from .page import page

        if not isinstance(path, (str, os.PathLike)):
            raise InvalidRequest(f"path: a {type(path).__name__} is no path; give that of a file, such as 'book.html'")
        place = Path(path)
        write_atomically(place, page(self._answers).encode())
        return place

    def close(self) -> None:
        """Closes the view in all outputs that show it, and frees its memory."""
        self.widget.close()

    @safe_repr
    def __repr__(self) -> str:
        return f"<Explorer {self._answers.about['title']}>"

    def _repr_mimebundle_(self, **_: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The view, and the static picture for programs that cannot show it (where matplotlib is installed)."""
        bundle, metadata = self.widget._repr_mimebundle_() or ({}, {})
        bundle = dict(bundle) | {"text/plain": repr(self)}
        if load_if_there("matplotlib") is not None:
            from base64 import b64encode

            bundle["image/png"] = b64encode(self.png()).decode("ascii")
        return bundle, dict(metadata)
