"""Collects the kit: everything that a machine with a GPU lacks and cannot download.

    python -m bench.gpu kit [--python 3.12] [--out .data/gpu-kit]

Representation   a folder: ``run-kit``; ``project.tar.gz`` (sources, tool sets, SGLang's kernel of
                 masks); ``wheels``; ``manifest.json``: bytes and SHA-256 of each file.
Not here         torch, Triton and transformers, which the machine has; SGLang, whose kernels take
                 gigabytes.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from adapters.sglang_plugin.versions import TESTED

from ..device_kernel import CARRIED, ROOT

#: bytes of all files
MAX_BYTES = 60_000_000
OUT = ROOT / ".data" / "gpu-kit"
#: versions of glibc whose wheels are taken, the machine's own being later
GLIBC = (*range(17, 36), 38, 39)
#: of BFCL's data, the parts that bench.data and tests.real_input read
TOOLS = ("multiple", "parallel_multiple", "live_multiple", "live_parallel_multiple")
BITMASK_OPS = "sglang/kernels/ops/grammar/bitmask_ops.py"


class KitError(RuntimeError):
    """The kit cannot be collected, or is too large."""


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.gpu kit",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--python", default="3.12", help="version of the machine's Python")
    parser.add_argument("--out", type=Path, default=OUT)
    asked = parser.parse_args(given)
    try:
        total = collect(asked.out, asked.python)
    except KitError as error:
        sys.exit(str(error))
    print(f"{asked.out}: {total / 1e6:.1f} MB; on the machine: {asked.out.name}/run-kit --out OUT")


def collect(out: Path, python: str) -> int:
    """Write the kit; return its bytes.

    Raises:
        KitError
    """
    if out.is_dir() and any(out.iterdir()) and not (out / "run-kit").is_file():
        raise KitError(f"{out} is no kit: not replaced")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    # first, so that a kit that failed to collect is replaced
    shutil.copy2(Path(__file__).parents[1] / "run-kit", out)
    download(out / "wheels", python, "--requirement", str(Path(__file__).with_name("wheels.txt")))
    with TemporaryDirectory() as folder:
        kernel = sglang_kernel(Path(folder), python)
        pack(out / "project.tar.gz", kernel)
    return write_manifest(out, python)


def download(folder: Path, python: str, *wanted: str) -> None:
    """Download wheels for that Python, without what they require."""
    platforms = [f"--platform=manylinux_2_{minor}_x86_64" for minor in GLIBC]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check",
               "--no-deps", "--only-binary=:all:", "--implementation=cp", "--platform=any",
               f"--python-version={python}", *platforms, "--platform=manylinux2014_x86_64",
               "--platform=manylinux1_x86_64", "--dest", str(folder), *wanted]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise KitError(f"pip download failed:\n{done.stderr[-3000:]}")


def sglang_kernel(folder: Path, python: str) -> Path:
    """Return SGLang's file with the kernel that applies masks, of the tested version."""
    download(folder, python, f"sglang=={TESTED[-1]}")
    (wheel,) = folder.glob("sglang-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract(BITMASK_OPS, folder))


def pack(path: Path, kernel: Path) -> None:
    """Write the archive of the project as it is here, changes that are not committed included."""
    with tarfile.open(path, "w:gz") as archive:
        for name in sources():
            archive.add(ROOT / name, name)
        for file in tools():
            archive.add(file, file.relative_to(ROOT))
        archive.add(kernel, CARRIED.relative_to(ROOT))


def sources() -> Iterator[str]:
    """Yield the files that git does not ignore, relative to the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    yield from (name for name in listed.split("\0") if name and (ROOT / name).is_file())


def tools() -> Iterator[Path]:
    """Yield the files of BFCL's data.

    Raises:
        KitError: they are not there.
    """
    data = ROOT / ".data" / "bfcl_eval" / "data"
    for name in (f"BFCL_v4_{kind}.json" for kind in TOOLS):
        for file in (data / name, data / "possible_answer" / name):
            if not file.is_file():
                raise KitError(f"{file} is missing: `make data` downloads it")
            yield file


def write_manifest(out: Path, python: str, most: int = MAX_BYTES) -> int:
    """Write the manifest; return the bytes of all files.

    Raises:
        KitError: more than ``most`` bytes; the message lists the largest files.
    """
    files = {str(file.relative_to(out)): file.read_bytes() for file in sorted(out.rglob("*"))
             if file.is_file()}  # fmt: skip
    total = sum(map(len, files.values()))
    if total > most:
        largest = sorted(files, key=lambda name: -len(files[name]))[:10]
        listed = "".join(f"\n{len(files[name]):>12,} {name}" for name in largest)
        raise KitError(f"the kit must have at most {most:,} bytes, got {total:,}:{listed}")
    described = {name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                 for name, data in files.items()}  # fmt: skip
    manifest = {"python": python, "commit": _commit(), "bytes": total, "files": described}
    (out / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
    return total


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
