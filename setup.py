"""Builds the extension modules; everything else about the project stands in pyproject.toml.

Every engine/**/*.pyx becomes one C++17 module beside its source. Three kinds of build:

    release     -O3, no bounds checks
    debug       ENGINE_DEBUG=1: -O1 -g, -DENGINE_DEBUG and assert (invariants), bounds and
                initialisation checks
    threads     ENGINE_SANITIZE=thread: -O1 -g and ThreadSanitizer, whose library must be loaded
                before the interpreter (LD_PRELOAD; see `make debug`)

Changing the kind rebuilds everything; otherwise only what is older than its sources. BUILD_JOBS
says how many compilers may run at once (default: the processors, at most 4, since each may take a
gigabyte).
"""

import os
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
DEBUG = os.environ.get("ENGINE_DEBUG", "0") not in ("", "0")
THREADS = os.environ.get("ENGINE_SANITIZE", "") == "thread"
KIND = "threads" if THREADS else "debug" if DEBUG else "release"
JOBS = int(os.environ.get("BUILD_JOBS") or min(os.cpu_count() or 1, 4))

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": DEBUG,
    "initializedcheck": DEBUG,
    "wraparound": True,
    "cdivision": True,
}
SANITIZE_ARGS = ["-fsanitize=thread"] if THREADS else []
COMPILE_ARGS = [
    "-std=c++17",
    *(["-O1", "-g", "-UNDEBUG"] if DEBUG or THREADS else ["-O3", "-g0"]),
    *SANITIZE_ARGS,
]
MACROS: list[tuple[str, str | None]] = [("ENGINE_DEBUG", "1")] if DEBUG else []


class BuildExtensions(build_ext):
    """Translates to C++ first, all files side by side, then compiles, all modules side by side.

    In place it uses one fixed folder for what lies between, so that an editable install and a later
    `build_ext --inplace` share their work.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or JOBS

    def run(self) -> None:
        if self.inplace or getattr(self, "editable_mode", False):
            self.build_temp = str(ROOT / "build" / "objects")
            self.build_lib = str(ROOT / "build" / f"modules-{sys.implementation.cache_tag}")
        stamp = ROOT / "build" / "kind"
        changed = not stamp.is_file() or stamp.read_text() != KIND
        self._translate(force=bool(self.force) or changed)
        super().run()
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(KIND)

    def _translate(self, *, force: bool) -> None:
        """Put the generated C++ in place of each extension's .pyx."""
        if not self.extensions:
            return
        from Cython.Build import cythonize

        translated = cythonize(
            self.extensions,
            # Other systems start helpers anew, which would run this file again.
            nthreads=JOBS if sys.platform == "linux" else 0,
            compiler_directives=DIRECTIVES,
            force=force,
        )
        by_name = {extension.name: extension for extension in translated}
        for extension in self.extensions:
            made = by_name[extension.name]
            extension.sources, extension.depends = made.sources, made.depends


def extensions() -> list[Extension]:
    """One extension for each .pyx below engine/."""
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            language="c++",
            include_dirs=["engine"],
            extra_compile_args=COMPILE_ARGS,
            extra_link_args=SANITIZE_ARGS,
            define_macros=MACROS,
        )
        for source in sorted(path.relative_to(ROOT) for path in (ROOT / "engine").rglob("*.pyx"))
    ]


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildExtensions})
