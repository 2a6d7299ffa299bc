"""Every kernel gives Python's bits: each runs in a process of its own, because the choice is made once.

``MARKETPOINTS_SPELLINGS=10000000`` checks ten million numbers for each kernel instead of some thousands.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

ARM = platform.machine() in ("aarch64", "arm64")
KERNELS = ("scalar", "neon") if ARM else ("scalar", "sse4", "avx2", "avx512")
SPELLINGS = int(os.environ.get("MARKETPOINTS_SPELLINGS", "20000"))
CHILD = [sys.executable, "-m", "support.kernel_child"]


def run(kernel, *arguments):
    environment = os.environ | {"MARKETPOINTS_KERNEL": kernel}
    command, here = [*CHILD, *map(str, arguments)], Path(__file__).parent
    return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(params=KERNELS)
def kernel(request):
    """A kernel that this processor can run."""
    probe = run(request.param, "bodies", 1, 0)
    if "needs instructions that this processor lacks" in probe.stderr:
        pytest.skip(f"no {request.param} here")
    return request.param


@pytest.mark.timeout(120 + SPELLINGS // 2_000)
def test_numbers_are_those_of_pythons_float(kernel):
    child = run(kernel, "numbers", SPELLINGS, 1)
    assert child.stdout == "same\n", child.stderr[-2000:]


def test_bodies_are_those_of_the_slow_decoder(kernel):
    child = run(kernel, "bodies", 150, 2)
    assert child.stdout == "same\n", child.stderr[-2000:]


def test_an_unknown_kernel_is_refused_with_those_there_are():
    child = run("mmx", "bodies", 1, 0)
    assert "MARKETPOINTS_KERNEL=mmx is no kernel; unset it or choose one of: scalar" in child.stderr


def test_a_kernel_of_another_kind_of_processor_is_refused_as_such():
    other = "avx2" if ARM else "neon"
    child = run(other, "bodies", 1, 0)
    assert f"MARKETPOINTS_KERNEL={other} needs instructions that this processor lacks" in child.stderr


def test_a_client_refuses_an_unknown_kernel_before_it_pays():
    make = "import marketpoints as mp; mp.Client('key', 'http://127.0.0.1:9'); print('made')"
    for kernel, said in (("mmx", "InvalidRequest: MARKETPOINTS_KERNEL=mmx is no kernel"), ("", "made")):
        environment = os.environ | {"MARKETPOINTS_KERNEL": kernel}
        child = subprocess.run(
            [sys.executable, "-c", make], env=environment, capture_output=True, text=True, timeout=60
        )
        assert said in child.stdout + child.stderr
