"""The committed notebooks can be read where they lie: outputs and pictures are there, and none is an error.

That they still run is shown by `make test`: `pytest --nbmake notebooks`, and `tests/frameworks/test_one_strategy.py` of
the one that needs frameworks. `make notebooks` makes their outputs anew.
"""

import base64
import io
import json
import re
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
#: What shows nothing but numbers and tables.
WITHOUT_PICTURES = {"study_cost"}


def test_every_story_is_there():
    names = {path.stem for path in NOTEBOOKS}
    assert names >= {
        "quickstart",
        "study_cost",
        "order_book",
        "funding_carry",
        "market_profile",
        "prediction_traders",
        "one_strategy",
        "stream_to_bars",
        "own_dumps",
        "live_deployment",
    }


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_kept_and_none_is_an_error(path):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    # Run once, from top to bottom.
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert len(outputs) >= 3
    assert [output for output in outputs if output["output_type"] == "error"] == []
    assert [output["text"] for output in outputs if output.get("name") == "stderr"] == []
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert bool(pictures) == (path.stem not in WITHOUT_PICTURES)
    # A story needs words.
    assert sum(cell["cell_type"] == "markdown" for cell in cells) >= 4


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_picture_shows_something(path):
    """Data is drawn in colours, everything else in greys: bars beside the axes once left an empty frame."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    outputs = [output.get("data", {}) for cell in cells for output in cell.get("outputs", [])]
    for place, picture in enumerate(data["image/png"] for data in outputs if "image/png" in data):
        image = PIL.Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
        pixels = np.asarray(image).astype(int)
        coloured = (pixels.max(axis=2) - pixels.min(axis=2) > 40).mean()
        assert coloured > 0.01, f"picture {place}: {coloured:.2%} of it is coloured"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_need_nothing_from_elsewhere_and_show_no_key(path):
    cells = json.loads(path.read_text("utf-8"))["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    text = re.sub(r'"image/png": "[^"]*"', "", json.dumps(outputs))
    assert "widgets" not in json.loads(path.read_text("utf-8"))["metadata"]
    assert not re.search(r"<(script|link|iframe)\b|(src|href)=.{0,2}https?:", text)
    assert not re.search(r"127\.0\.0\.1|/tmp/|/home/|/root/|mp-(free|basic|standard|advanced)-", text)


def test_they_stay_small():
    sizes = {path.stem: path.stat().st_size for path in NOTEBOOKS}
    assert max(sizes.values()) < 400_000, sizes
    assert sum(sizes.values()) < 2_000_000, sizes
