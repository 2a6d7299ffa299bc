"""No function of a shipped engine for x86 leaves the upper halves of vector registers in use.

On Intel processors since Ice Lake a thread where they are takes some 70 ns more for each step between SSE and AVX
code. A compiler that optimises for size may turn a last call into a conditional jump, and forget to clear them before.
MARKETPOINTS_WHEELS names the folder with the wheels. Needs objdump, which comes with every C compiler.
"""

import bisect
import os
import re
import subprocess
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).resolve().parents[2]
BUILT = Path(os.environ.get("MARKETPOINTS_WHEELS", ROOT / "target" / "wheels"))
WHEELS = sorted(BUILT.glob("*x86_64*.whl"))
#: Registers whose upper halves count; those from 16 on do not.
WIDE = re.compile(r"%[yz]mm(1[0-5]|[0-9])(?![0-9])")
LINE = re.compile(r" *([0-9a-f]+):\t(\S+) *(.*)")


def functions(engine):
    """Start and end of each function, as the tables for unwinding the stack have them; assembly may have none."""
    entries = ELFFile(BytesIO(engine)).get_dwarf_info().EH_CFI_entries()
    ranges = [(entry["initial_location"], entry["address_range"]) for entry in entries if isinstance(entry, FDE)]
    return sorted((start, start + length) for start, length in ranges)


def left_in_use(path):
    """Addresses of the jumps out of functions that used wide registers and did not clear them."""
    ranges = functions(path.read_bytes())
    starts = [start for start, _ in ranges]
    command = ["objdump", "--disassemble", "--no-show-raw-insn", str(path)]
    found, used, wide, (start, end) = [], False, 0, (0, 0)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if not (parsed := LINE.match(line)):
                continue
            at, name, operands = int(parsed[1], 16), parsed[2], parsed[3]
            if not start <= at < end:
                (start, end), used = ranges[max(0, bisect.bisect_right(starts, at) - 1)], False
            if name == "vzeroupper" or name == "vzeroall":
                used = False
            elif WIDE.search(operands):
                used, wide = True, wide + 1
            elif used and start <= at < end and name.startswith("j"):
                target = re.match("[0-9a-f]+ ", operands)
                if target and not start <= int(target[0], 16) < end:
                    found.append(hex(at))
    assert process.returncode == 0
    return found, wide


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda path: path.stem.rpartition("-")[2])
def test_upper_halves_of_registers_are_cleared_before_a_function_is_left(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as opened:
        engine = Path(opened.extract("marketpoints/_engine.abi3.so", tmp_path))
    found, wide = left_in_use(engine)
    assert wide > 1_000, "wide registers were looked for"
    assert found == [], "optimise the crates of these functions for speed in [profile.shipped]"
