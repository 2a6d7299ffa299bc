"""Runs every notebook, or those named, and keeps what they print and draw: `make notebooks`."""

import base64
import io
import sys
import time
from pathlib import Path

import nbformat
import PIL.Image
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"


def small(picture: str) -> str:
    """A PNG of 256 colours: a third of the size, and nobody sees it."""
    made = io.BytesIO()
    image = PIL.Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(256, dither=PIL.Image.Dither.NONE).save(made, "png", optimize=True)
    return base64.b64encode(made.getvalue()).decode()


def run(path: Path) -> None:
    """Runs a notebook and writes it back, without what differs from run to run by itself."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", record_timing=False, resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    # Of progress bars that were swallowed; what is shown has a picture beside it.
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                data["image/png"] = small(data["image/png"])
    nbformat.write(notebook, path)


if __name__ == "__main__":
    named = [FOLDER / f"{name}.ipynb" for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb"))
    for path in named:
        start = time.monotonic()
        run(path)
        print(f"{path.name}: {time.monotonic() - start:.1f} s, {path.stat().st_size // 1000} kB")
