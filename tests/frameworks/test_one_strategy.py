"""The notebook of one strategy in three frameworks runs, and what it prints is what was committed."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[2] / "notebooks" / "one_strategy.ipynb"


def printed(notebook):
    return [
        output.get("text") or output["data"]["text/plain"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output["output_type"] in ("stream", "execute_result")
    ]


def test_the_notebook_runs_and_its_frameworks_agree():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    committed = printed(notebook)
    NotebookClient(notebook, timeout=500, kernel_name="python3").execute()  # a cell that raises ends it
    assert printed(notebook) == committed
    assert any("the same in all three" in text for text in committed)
