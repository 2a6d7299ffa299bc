"""Installs a wheel into a clean environment of each Python that is to be had here, and runs the quick tests from it.

    environments.py WHEELS [PYTHON ...]

WHEELS is a folder with one wheel for this machine, or with several for different ones. Without a PYTHON it takes every
version from 3.10 on that the PATH or pyenv has.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "frameworks"))

from interpreter import candidates, version  # noqa: E402 - after the path above

OLDEST = (3, 10)
EXTRAS = "arrow,pandas,plot,polars"


def found():
    """One interpreter of each version, oldest first."""
    by_version = {}
    for python in candidates():
        by_version.setdefault(version(python) or (0, 0), python)
    return [python for number, python in sorted(by_version.items()) if number >= OLDEST]


def wheel_for(machine, folder):
    """The wheel by its file: by its name pip might take somebody else's package from the index."""
    (wheel,) = Path(folder).resolve().glob(f"marketpoints-*_{machine}.whl")
    return wheel


def outside():
    """The environment of a user who never saw the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MARKETPOINTS_"))}
    return kept | {"MARKETPOINTS_CHECKOUT": str(ROOT), "PIP_DISABLE_PIP_VERSION_CHECK": "1", "MPLBACKEND": "Agg"}


def try_in(python, wheel, folder):
    """Makes the environment in the folder, installs the wheel there and runs the tests; whether all went well."""
    own = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", own, "install", "--quiet"]
    shutil.copy(HERE / "test_installed.py", folder)
    shutil.copy(HERE / "pytest.ini", folder)
    for command in (
        [python, "-m", "venv", "--without-pip", folder],
        [*pip, "pytest>=8.3", "pytest-timeout>=2.3"],
        [*pip, "--only-binary=:all:", f"{wheel}[{EXTRAS}]"],
        [own, "-I", "-m", "pytest", "--quiet", "-c", folder / "pytest.ini", folder / "test_installed.py"],
    ):
        done = subprocess.run(command, cwd=folder, env=outside(), check=False)
        if done.returncode != 0:
            print(f"failed: {' '.join(map(str, command))}", file=sys.stderr)
            return False
    return True


def main(wheels, *pythons):
    failed, wheel = [], wheel_for(platform.machine(), wheels)
    for python in pythons or found():
        began = time.monotonic()
        name = ".".join(map(str, version(python) or ("none",)))
        print(f"Python {name} ({python})", flush=True)
        with tempfile.TemporaryDirectory(prefix="marketpoints-wheel-") as folder:
            good = try_in(python, wheel, Path(folder).resolve())
        print(f"Python {name}: {'passed' if good else 'FAILED'} in {time.monotonic() - began:.0f} s", flush=True)
        failed += [] if good else [name]
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
