"""The explorer as a widget of Jupyter's. The one module that imports anywidget: import it within a function."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

__all__ = ["View"]

VIEW = Path(__file__).with_name("view.js")


class View(anywidget.AnyWidget):
    """The widget in JupyterLab, Notebook and VS Code. Pixels are messages, because traits are saved with a notebook.

    Args:
        about: What the page knows from the start.
        handle: Takes the page's messages.
        closed: Called when the page closes the widget's channel.
    """

    _esm = VIEW.read_text("utf-8")
    about = traitlets.Dict().tag(sync=True)

    def __init__(self, about: dict[str, Any], handle: Callable[[object], None], closed: Callable[[], None]) -> None:
        super().__init__(about=about)
        self.on_msg(lambda _widget, content, _buffers: handle(content))
        self._closed = closed
        on_close = getattr(self.comm, "on_close", None)
        if on_close is not None:
            on_close(lambda _message: self.close())

    def close(self) -> None:
        """Closes the channel to the page, and stops answering."""
        layout = None if self.comm is None else self.layout
        super().close()
        if layout is not None:  # a widget of its own, with a channel of its own
            layout.close()
        # Also called by ipywidgets when a constructor failed.
        getattr(self, "_closed", lambda: None)()
