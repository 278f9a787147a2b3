"""The server's own venv: SGLang pins what it runs on, so it gets no place in the project's.

    python -m tests.sglang.environment        makes it, or brings it up to date, and prints its
                                              interpreter
    python -m tests.sglang.environment older 17    prints the older version of SGLang whose turn it
                                              is at the 17th commit; without a turn, all of them

    SWITCHYARD_SGLANG_VERSION   of SGLang (the newest tested one)
    SWITCHYARD_SGLANG_VENV      where it is (.data/sglang); those of older versions are next to it,
                                with the version behind the name
    SWITCHYARD_SGLANG_PYTHON    the interpreter of a venv that has SGLang already; only this project
                                is installed there

Representation   two stamps in the venv hold digests of what it was made from: .requirements (the
                 list beside this file, with the pins of older.toml) and .switchyard (what an
                 editable install reads).
Invariants       I1 a changed list makes the venv anew; a changed pyproject.toml installs the
                 project again. I2 only a folder that carries our stamp, or none at all, is ever
                 removed. I3 it is made by the running interpreter, and the project is installed
                 with that one's Cython, so the engine that was built in place serves both.
Cost             minutes and 2 GB the first time, then two digests.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory

from adapters.sglang_plugin.versions import TESTED

ROOT = Path(__file__).parents[2]
REQUIREMENTS = Path(__file__).with_name("requirements.txt")
#: pins of older versions that differ
OLDER = Path(__file__).with_name("older.toml")
NEWEST = TESTED[-1]
#: what an editable install reads: names and entry points; the sources stay where they are
PROJECT = (ROOT / "pyproject.toml", ROOT / "setup.py")
LIST_STAMP, PROJECT_STAMP = ".requirements", ".switchyard"


def ensure_python() -> Path:
    """The interpreter that the server runs on, with everything in place.

    Raises:
        RuntimeError: it can't be made; the words are pip's or venv's own.
    """
    given = os.environ.get("SWITCHYARD_SGLANG_PYTHON")
    python = Path(given).absolute() if given else _own_venv()
    _ensure_project(python)
    return python


def version() -> str:
    """The version of SGLang that these tests run."""
    return os.environ.get("SWITCHYARD_SGLANG_VERSION") or NEWEST


def is_before(other: str) -> bool:
    """Return whether these tests run a version of SGLang older than ``other``."""
    return _numbers(version()) < _numbers(other)


def _numbers(version: str) -> list[int]:
    return list(map(int, version.split(".")))


def requirements(wanted: str) -> str:
    """The list that a version of SGLang runs on.

    Raises:
        RuntimeError: it was not tested, so there is no list.
    """
    if wanted == NEWEST:
        return REQUIREMENTS.read_text()
    pins = tomllib.loads(OLDER.read_text())
    if wanted not in pins:
        known = ", ".join(TESTED)
        raise RuntimeError(f"SWITCHYARD_SGLANG_VERSION must be one of {known}, got {wanted!r}")
    others = {"sglang": wanted, **pins[wanted]}
    lines = REQUIREMENTS.read_text().splitlines(keepends=True)
    return "".join(
        f"{name}=={others.pop(name)}\n" if (name := line.partition("==")[0]) in others else line
        for line in lines
    )


def _own_venv() -> Path:
    """The interpreter of our own venv, made anew where the list has changed."""
    folder = Path(os.environ.get("SWITCHYARD_SGLANG_VENV") or ROOT / ".data" / "sglang").absolute()
    if version() != NEWEST:
        folder = folder.with_name(f"{folder.name}-{version()}")
    listed = requirements(version())
    python, stamp, wanted = folder / "bin" / "python", folder / LIST_STAMP, _digest(listed.encode())
    if _read(stamp) != wanted:
        _remove(folder)
        _run(sys.executable, "-m", "venv", str(folder))
        stamp.write_text("unfinished")
        with NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(listed)
            file.flush()
            # most of its 17,000 modules are never imported: Python compiles those that are
            _pip(python, "--no-compile", "--no-deps", "--requirement", file.name)
        stamp.write_text(wanted)
    return python


def _ensure_project(python: Path) -> None:
    """This project in that venv, so that the server finds its entry points."""
    stamp, wanted = python.parents[1] / PROJECT_STAMP, _digest(*map(Path.read_bytes, PROJECT))
    if _read(stamp) == wanted:
        return
    with TemporaryDirectory(prefix="cython-") as folder:
        _lend_cython(Path(folder))
        options = ("--no-deps", "--no-build-isolation", "--editable", str(ROOT))
        _pip(python, *options, search=folder)
    _run(str(python), "-c", "import engine, cache, adapters")
    stamp.write_text(wanted)


def _lend_cython(folder: Path) -> None:
    """Link the running interpreter's Cython into a folder of its own.

    A Cython installed later would be newer than all files that this one has generated, so the whole
    engine would be rebuilt: two minutes, while other processes use it.
    """
    import cython

    module = Path(cython.__file__)
    for source in (module, module.with_name("Cython")):
        (folder / source.name).symlink_to(source)


def _remove(folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()) and not (folder / LIST_STAMP).is_file():
        raise RuntimeError(f"{folder} was not made by these tests: not replaced")
    shutil.rmtree(folder, ignore_errors=True)


def _pip(python: Path, *arguments: str, search: str = "") -> None:
    options = ("--quiet", "--disable-pip-version-check")
    _run(str(python), "-m", "pip", "install", *options, *arguments, search=search)


def _run(*command: str, search: str = "") -> None:
    """``search``: where packages are looked for beside the venv: never in the repository itself."""
    done = subprocess.run(
        command, cwd="/", env={**os.environ, "PYTHONPATH": search}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} left with {done.returncode}:\n{done.stdout}")


def _digest(*contents: bytes) -> str:
    """Of what was read and of the project's place, to which an editable install points."""
    digest = hashlib.sha256(f"{ROOT}\n{sys.version_info[:2]}\n".encode())
    for content in contents:
        digest.update(content)
    return digest.hexdigest()


def _read(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def older(turn: int | None) -> tuple[str, ...]:
    """The older version of SGLang whose turn it is; all of them without a turn."""
    versions = TESTED[:-1]
    return versions if turn is None else (versions[turn % len(versions)],)


def main(asked: list[str]) -> str:
    """Return the output of the command in the file's header."""
    if not asked:
        return str(ensure_python())
    return " ".join(older(int(asked[1]) if asked[1:] else None))


if __name__ == "__main__":
    sys.stdout.write(f"{main(sys.argv[1:])}\n")
