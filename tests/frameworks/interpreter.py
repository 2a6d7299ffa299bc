"""Prints an interpreter for the environment of a framework, or nothing where none here is new enough.

A file of requirements may begin with `# python>=3.13`; without it the interpreter that runs this is taken.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path


def version(python):
    """(3, 13) of an interpreter that runs; None of what does not, such as pyenv's stand-ins for others."""
    code = "import sys; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def candidates():
    yield sys.executable
    for minor in range(10, 20):
        if found := shutil.which(f"python3.{minor}"):
            yield found
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(home.glob("versions/3.*/bin/python3")))


def main(requirements):
    first = Path(requirements).read_text("utf-8").partition("\n")[0]
    wanted = re.fullmatch(r"# python>=(\d+)\.(\d+)", first)
    least = tuple(map(int, wanted.groups())) if wanted else (0, 0)
    print(next((python for python in candidates() if (version(python) or (0, 0)) >= least), ""))


if __name__ == "__main__":
    main(sys.argv[1])
