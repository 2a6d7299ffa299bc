"""Estimates the decoder's speed on 64-bit ARM where there is no such machine, and writes docs/performance.md.

Run by ``make bench-arm``, which needs qemu-user, LLVM (``llvm-mca``, ``llvm-objdump``) and what tests/arm/run needs.

An emulator decodes each body with each contender and lists every instruction in the order in which it was executed.
Their number is exact. The instructions of the whole decode then go, as one straight line, through LLVM's models of
processors, which tell how many cycles they would take at least: the models know what each instruction needs and waits
for, but no caches and no branches that are guessed wrong.
"""

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import bodies

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- arm estimated: begin -->", "<!-- arm estimated: end -->"
TARGET = "aarch64-unknown-linux-gnu"
BINARY = ROOT / "target" / "arm-bench" / TARGET / "release" / "decode-once"
CONTENDERS = ("neon", "scalar", "sonic-rs")
PROCESSORS = ("apple-m1", "neoverse-v2")
#: Small, because every instruction is looked at; large enough that what is done once does not count.
BODIES: dict[str, Callable[[], str]] = {
    "flat": functools.partial(bodies.flat, "flat", 2),
    "flat17": functools.partial(bodies.flat, "flat17", 2),
    "flatusd": functools.partial(bodies.flat, "flatusd", 2),
    "nested": functools.partial(bodies.nested, 2),
    "candles": functools.partial(bodies.candles, 150),
    "tpo": functools.partial(bodies.tpo, 2, 150),
}
#: No SVE: the C library would take it, and Apple's processors have none.
EMULATOR = "qemu-aarch64 -cpu max,sve=off"


def tool(name: str) -> str:
    """The newest LLVM program of that name."""
    versions = [f"{name}-{version}" for version in range(30, 13, -1)]
    found = next(filter(None, map(shutil.which, [*versions, name])), None)
    if found is None:
        sys.exit(f"no {name}: install LLVM (Debian: llvm-22)")
    return found


def build() -> None:
    """Compiles ``decode-once``, at fixed addresses."""
    flags = "-C relocation-model=static -C target-feature=+crt-static"
    environment = os.environ | {
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": "aarch64-linux-gnu-gcc",
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS": flags,
    }
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], check=True, capture_output=True, text=True).stdout.strip()
    if not Path(sysroot, "lib", "rustlib", TARGET).exists():
        environment["RUSTC"] = "/usr/bin/rustc"  # Debian's, as in tests/arm/run
    folder = ROOT / "benches" / "arm"
    shutil.copy(ROOT / "Cargo.lock", folder)  # the versions of the crate itself
    command = [
        "cargo",
        "build",
        "--quiet",
        "--release",
        "--target",
        TARGET,
        "--target-dir",
        ROOT / "target" / "arm-bench",
    ]
    subprocess.run(command, check=True, cwd=folder, env=environment)


def disassemble() -> tuple[dict[int, str], dict[int, str]]:
    """What stands at each address, as an assembler takes it, and the function that it is of."""
    command = [tool("llvm-objdump"), "-d", "-C", "--no-show-raw-insn", "--mcpu=neoverse-v2", str(BINARY)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    texts, functions, function = {}, {}, ""
    for line in lines:
        if heading := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            function = heading[1]
        elif instruction := re.match(r"\s*([0-9a-f]+):\s+([^/<]*)", line):
            address, text = int(instruction[1], 16), instruction[2].strip()
            # Addresses that are not in the piece: where to does not matter.
            text = (
                re.sub(r"\b0x[0-9a-f]+$", "#8", text) if re.match(r"(b|bl|cb|tb|adr|b\..+|ldr\s+\w+,)", text) else text
            )
            texts[address] = re.sub(r",.*", ", #0", text) if text.startswith("adrp") else text
            functions[address] = function
    return texts, functions


def marks() -> tuple[int, int]:
    """The addresses between which it counts."""
    lines = subprocess.run(
        [tool("llvm-nm"), str(BINARY)], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    symbols = {line.split()[-1]: line.split()[0] for line in lines}
    return int(symbols["mark_begin"], 16), int(symbols["mark_end"], 16)


def executed(contender: str, body: Path) -> list[int]:
    """The addresses of the instructions of one decode, in order."""
    begin, end = marks()
    # `exec` logs each block that is entered; of one instruction, and found anew each time.
    command = [*EMULATOR.split(), "-singlestep", "-d", "exec,nochain", str(BINARY), contender, str(body)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stderr is not None
        addresses: list[int] = []
        counts = False
        for line in process.stderr:
            place = line.find(b"/")
            if not line.startswith(b"Trace") or place < 0:
                continue
            address = int(line[place + 1 : place + 17], 16)
            if address in (begin, end):
                counts = address == begin
            elif counts:
                addresses.append(address)
    if process.returncode or not addresses:
        sys.exit(f"{contender} of {body.name}: the emulator ended with {process.returncode}")
    return addresses


def cycles(instructions: str, processor: str) -> int:
    """Cycles that a processor's model needs for them."""
    command = [tool("llvm-mca"), "-mtriple=aarch64", f"-mcpu={processor}", "-iterations=1"]
    command += ["-instruction-info=0", "-resource-pressure=0", "-skip-unsupported-instructions=any"]
    run = subprocess.run(command, input=instructions, capture_output=True, text=True, check=False)
    total = re.search(r"Total Cycles:\s+(\d+)", run.stdout)
    if total is None:
        sys.exit(f"{command[0]}: {run.stderr[:2000]}")
    return int(total[1])


def table(profile: int, names: Sequence[str], contenders: Sequence[str]) -> str:
    """A line for each body."""
    texts, functions = disassemble()
    rows = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.write_text(BODIES[name]())
            size = path.stat().st_size
            counted: dict[str, tuple[float, ...]] = {}
            for contender in contenders:
                addresses = executed(contender, path)
                lines = "\n".join(texts[address] for address in addresses)
                counted[contender] = (len(addresses) / size, *(cycles(lines, one) / size for one in PROCESSORS))
                print(name, contender, *(f"{figure:.2f}" for figure in counted[contender]), flush=True)
                for function, count in Counter(map(functions.get, addresses)).most_common(profile):
                    print(f"    {count / size:6.2f} {function}")
        ours = counted[contenders[0]]
        parts = [f"{ours[0]:.1f}", *(f"{counted[other][0]:.1f}" for other in contenders[1:])]
        for number in range(1, len(PROCESSORS) + 1):
            parts.append(f"{ours[number]:.2f}")
            parts += [
                f"{counted[other][number]:.2f}, {counted[other][number] / ours[number]:.1f} ×"
                for other in contenders[1:]
            ]
        rows.append(f"| {name} | {' | '.join(parts)} |")
    columns = [f"{what}: {one}" for what in ("instructions", *PROCESSORS) for one in contenders]
    return "\n".join([f"| | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns), *rows])


def main() -> None:
    """Writes the page, or with names of bodies only shows them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bodies", nargs="*", choices=[*BODIES, []], help="only these, and the page stays as it is")
    parser.add_argument("--contender", action="append", choices=CONTENDERS, help="only these")
    parser.add_argument(
        "--profile", type=int, default=0, help="shows so many functions that execute the most instructions"
    )
    arguments = parser.parse_args()
    build()
    text = table(arguments.profile, arguments.bodies or list(BODIES), arguments.contender or CONTENDERS)
    version = subprocess.run([tool("llvm-mca"), "--version"], check=True, capture_output=True, text=True).stdout
    number = re.search(r"LLVM version (\S+)", version)
    emulator = subprocess.run([EMULATOR.split()[0], "--version"], check=True, capture_output=True, text=True).stdout
    facts = (
        f"- Instructions counted by {emulator.splitlines()[0].partition(' (')[0]}; cycles **estimated** by llvm-mca "
    )
    facts += (
        f"{number[1] if number else ''}\n- Each per byte of the body, from bytes to columns of doubles; × of `neon`"
    )
    print(text)
    if not arguments.bodies and not arguments.contender:
        page = PAGE.read_text()
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(f"{before}{BEGIN}\n{facts}\n\n{text}\n{END}{after}")


if __name__ == "__main__":
    main()
