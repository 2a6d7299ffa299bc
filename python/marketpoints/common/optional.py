"""Optional packages: a table of their names and of the extras that install them."""

import importlib
from typing import Any

from ..errors import MissingDependencyError

__all__ = ["load", "load_if_there"]

# The package, and the extra of this one that installs it.
EXTRAS = {
    "PIL": "plot",
    "anywidget": "notebook",
    "dask": "dask",
    "distributed": "dask",
    "matplotlib": "plot",
    "mpl_toolkits": "plot",
    "pandas": "pandas",
    "polars": "polars",
    "pyarrow": "arrow",
    "tqdm": "notebook",
}


def load(module: str) -> Any:
    """The optional module.

    Raises:
        MissingDependencyError: It is not installed; the message names the command that installs it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as problem:
        package = module.partition(".")[0]
        if problem.name is None or problem.name.partition(".")[0] != package:
            raise  # it is installed, but something that it needs is not
        hint = f"this needs {package}, which is not installed: pip install 'marketpoints[{EXTRAS[package]}]'"
        raise MissingDependencyError(hint) from None


def load_if_there(module: str) -> Any | None:
    """The optional module, or None when it is not installed."""
    try:
        return load(module)
    except MissingDependencyError:
        return None
