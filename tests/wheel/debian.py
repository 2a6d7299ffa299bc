"""Runs the quick tests from an installed wheel under a Python of Debian, in a folder of its own under target/debian.

    debian.py WHEELS SUITE VERSION [ARCHITECTURE]     (such as: target/wheels bookworm 3.11 arm64)

Nothing of the machine's own packages is touched, and it needs no root: the packages are unpacked, not installed.
Programs of another processor run in qemu-user (Debian: `qemu-user`).
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from environments import EXTRAS, HERE, ROOT, outside, wheel_for

#: What Debian, wheels and the emulator call a processor, and its loader.
MACHINES = {
    "amd64": ("x86_64", "ld-linux-x86-64.so.2"),
    "arm64": ("aarch64", "ld-linux-aarch64.so.1"),
}


def run(*command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


def mirror():
    """Where this machine has its packages from; the suite that is wanted may be another."""
    asked = ["apt-get", "indextargets", "--format", "$(REPO_URI) $(SUITE)", "Created-By: Packages"]
    listed = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split("\n")
    targets = [line.split() for line in listed if line]
    return next(address for address, suite in targets if "-" not in suite)


def unpacked(suite, version, architecture):
    """A folder with that Python and all it needs, made where there is none."""
    base = ROOT / "target" / "debian" / f"{suite}-{architecture}-{version}"
    tree, done = base / "tree", base / "ready"
    if done.exists():
        return tree
    shutil.rmtree(base, ignore_errors=True)
    for part in ("lists/partial", "cache/archives/partial", "tree/usr/lib", "tree/usr/lib64", "tree/usr/bin"):
        (base / part).mkdir(parents=True)
    (base / "status").touch()
    (base / "sources.list").write_text(f"deb {mirror()} {suite} main\n")
    (base / "apt.conf").write_text(
        f'APT::Architecture "{architecture}"; APT::Architectures {{ "{architecture}"; }};\n'
        f'Dir::Etc::sourcelist "{base}/sources.list"; Dir::Etc::sourceparts "-"; Dir::State::lists "{base}/lists";\n'
        f'Dir::State::status "{base}/status"; Dir::Cache "{base}/cache"; APT::Sandbox::User "";\n'
        'APT::Install-Recommends "false"; Debug::NoLocking "true"; Acquire::Languages "none";\n'
    )
    settings = os.environ | {"APT_CONFIG": str(base / "apt.conf")}
    run("apt-get", "update", "-qq", env=settings)
    run(
        "apt-get",
        "install",
        "-qq",
        "-y",
        "--download-only",
        f"python{version}",
        "libstdc++6",  # of NumPy's wheel
        env=settings,
        stdout=subprocess.DEVNULL,
    )
    for name in ("lib", "lib64", "bin"):
        (tree / name).symlink_to(f"usr/{name}")
    for package in sorted((base / "cache" / "archives").glob("*.deb")):
        run("dpkg-deb", "-x", package, tree)
    shutil.rmtree(base / "cache")
    shutil.rmtree(base / "lists")
    done.touch()
    return tree


def install(wheel, own, python, extras):
    """Puts the wheel that fits, and what it needs, into a folder, by a pip that runs there."""
    run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", own, "pip", env=outside())
    pip = [*python, next(own.glob("pip-*.whl")) / "pip", "install", "--quiet", "--root-user-action=ignore"]
    wanted = ["pytest>=8.3", "pytest-timeout>=2.3", f"{wheel}{extras}"]
    run(*pip, "--only-binary=:all:", "--target", own / "site", *wanted, cwd=own, env=outside())


def main(wheels, suite, version, architecture="amd64"):
    machine, loader = MACHINES[architecture]
    tree = unpacked(suite, version, architecture)
    emulated = machine != os.uname().machine
    # The loader of that C library starts its programs, or else the emulator looks for all files in that tree first.
    runner = f"qemu-{machine} -L {tree}"
    if not emulated:
        libraries = tree / "usr" / "lib" / f"{machine}-linux-gnu"
        runner = f"{next(tree.glob(f'usr/lib*/**/{loader}'))} --library-path {libraries}"
    python = [*runner.split(), tree / "usr" / "bin" / f"python{version}"]
    with tempfile.TemporaryDirectory(prefix="marketpoints-wheel-") as folder:
        own = Path(folder).resolve()
        # In an emulator all tests but those of frames and pictures, which other packages make.
        install(wheel_for(machine, wheels), own, python, "" if emulated else f"[{EXTRAS}]")
        for name in ("test_installed.py", "pytest.ini"):
            shutil.copy(HERE / name, own)
        settings = outside() | {"MARKETPOINTS_RUNNER": runner, "PYTHONPATH": str(own / "site")}
        tests = ["-m", "pytest", "--quiet", "-c", own / "pytest.ini", own / "test_installed.py"]
        run(*python, *tests, cwd=own, env=settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
