"""Build of the engine's shared library. pyproject.toml declares the rest of the project.

Every .pyx of ROOMS becomes one module. All modules are linked into one library,
engine/_library*.so, from which engine/_modules.py imports them. The library contains shared code
once, and calls between modules are direct. There are three kinds of build:

    release     -O2, no bounds checks
    debug       ENGINE_DEBUG=1: -O1 -g, -DENGINE_DEBUG and assert (invariants), bounds and
                initialisation checks
    threads     ENGINE_SANITIZE=thread: -O1 -g and ThreadSanitizer, whose library must be loaded
                before the interpreter (LD_PRELOAD; see `make debug`)

A build of another kind rebuilds everything; otherwise only outdated files are rebuilt. BUILD_JOBS
limits the compilers that run in parallel (default: the number of processors, at most 4, because
each may need a gigabyte of memory). The build prints a line for each module to standard error.
"""

import io
import multiprocessing
import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

ROOT = Path(__file__).parent
LIBRARY = "engine._library"
#: folders with compiled modules
ROOMS = ("engine", "adapters/text_path")
#: Cython's own helpers (memoryviews, coroutines), shared by all modules
HELPERS = "engine._cython_helpers"
#: generated: the names of the library's modules
LISTING = ROOT / "build" / "_library.pyx"
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
    # compiled objects cannot be pickled; without that code a build takes a fifth less time
    "auto_pickle": False,
}
SANITIZE_ARGS = ["-fsanitize=thread"] if THREADS else []
#: -O2 alone does not vectorise the loops over words that copy and unite masks
RELEASE_ARGS = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-g0"]
COMPILE_ARGS = [
    "-std=c++17",
    "-fvisibility=hidden",
    *(["-O1", "-g", "-UNDEBUG"] if DEBUG or THREADS else RELEASE_ARGS),
    # false alarms in generated code
    *["-Wno-sign-compare", "-Wno-unused-function", "-Wno-maybe-uninitialized"],
    *SANITIZE_ARGS,
]
#: modules that call into Python most of the time: -O2 makes them no faster, and takes half as long
#: again to compile; the automata of patterns (regex.char_automaton, char_nfa) would be 4 % slower
PLAIN_MODULES = (
    "engine.frontends.json_schema.",
    "engine.frontends.structural_tag.",
    "engine.frontends.regex.char_classes",
    "engine.frontends.regex.regex_syntax",
    "engine.inspection.",
)
PLAIN_ARGS = ["-O1"]
MACROS: list[tuple[str, str | None]] = [("ENGINE_DEBUG", "1")] if DEBUG else []


class BuildLibrary(build_ext):
    """Translate all modules to C++ in parallel, compile them in parallel, and link them.

    A build in place keeps its intermediate files in one fixed folder, so that an editable install
    and a later `build_ext --inplace` share them.
    """

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or JOBS

    def run(self) -> None:
        if self.inplace or getattr(self, "editable_mode", False):
            self.build_temp = str(ROOT / "build" / "objects")
            self.build_lib = str(ROOT / "build" / f"modules-{sys.implementation.cache_tag}")
        stamp = ROOT / "build" / "kind"
        if not stamp.is_file() or stamp.read_text() != KIND:
            self.force = True
        self._modules = translate(force=bool(self.force))
        super().run()
        stamp.write_text(KIND)

    def build_extension(self, ext: Extension) -> None:
        outdated = [module for module in self._modules if self._is_outdated(module)]
        with ThreadPoolExecutor(int(self.parallel)) as pool:
            numbers = range(1, len(outdated) + 1)
            list(pool.map(self._compile, outdated, numbers, [len(outdated)] * len(outdated)))
        objects = [self._object_file(module) for module in self._modules]
        target = self.get_ext_fullpath(ext.name)
        if self.force or newer_group(objects, target):
            report(f"linking {ext.name}")
            self.compiler.link_shared_object(
                objects, target, extra_postargs=ext.extra_link_args, target_lang="c++"
            )

    def _object_file(self, module: Extension) -> str:
        (file,) = self.compiler.object_filenames(module.sources, output_dir=self.build_temp)
        return str(file)

    def _is_outdated(self, module: Extension) -> bool:
        sources = [*module.sources, *module.depends]
        return bool(self.force or newer_group(sources, self._object_file(module)))

    def _compile(self, module: Extension, number: int, total: int) -> None:
        report(f"compiling {module.name} ({number} of {total})")
        plain = module.name.startswith(PLAIN_MODULES)
        self.compiler.compile(
            module.sources,
            output_dir=self.build_temp,
            include_dirs=[*self.compiler.include_dirs, "engine"],
            macros=MACROS,
            extra_postargs=[*COMPILE_ARGS, *(PLAIN_ARGS if plain else [])],
            depends=module.depends,
        )


class TranslationProgress(io.TextIOBase):
    """Replaces Cython's standard output: reports each translated module, drops other lines."""

    def write(self, text: str) -> int:
        if match := re.match(r"\[ *(\d+)/(\d+)\] Cythonizing (.+)\.pyx", text):
            number, total, path = match.groups()
            report(f"translating {path.replace('/', '.')} ({number} of {total})")
        return len(text)


def report(line: str) -> None:
    """Print a line of progress in one call, so that parallel jobs do not mix their lines."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def translate(*, force: bool) -> list[Extension]:
    """Translate outdated modules; return every module with its C++ file as its source."""
    from Cython.Build import cythonize

    modules = [
        *(Extension(name, [str(source)], language="c++") for name, source in sources().items()),
        Extension(HELPERS, ["build/_cython_helpers.cpp"]),
        Extension(LIBRARY, [str(listing().relative_to(ROOT))], language="c++"),
    ]
    # A forked process has the redirected output; one started anew would run this file again.
    forks = sys.platform == "linux"
    if forks:
        multiprocessing.set_start_method("fork", force=True)
    with redirect_stdout(TranslationProgress()):
        translated: list[Extension] = cythonize(
            modules,
            nthreads=JOBS if forks else 0,
            compiler_directives=DIRECTIVES,
            shared_utility_qualified_name=HELPERS,
            force=force,
        )
    return translated


def sources() -> dict[str, Path]:
    """Return the .pyx file of each module by the module's name.

    Raises:
        ValueError: two modules have the same last name, which the linker would not distinguish.
    """
    found: dict[str, Path] = {}
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.pyx")]
    for path in sorted(path.relative_to(ROOT) for path in paths):
        found[".".join(path.with_suffix("").parts)] = path
    names = [name.rpartition(".")[2] for name in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two modules of the library have one name: {', '.join(sorted(twice))}")
    return found


def listing() -> Path:
    """Write the source of the library's own module, which lists the others; return its path."""
    text = f"MODULES = frozenset({sorted([HELPERS, *sources()])!r})\n"
    if not LISTING.is_file() or LISTING.read_text() != text:
        LISTING.parent.mkdir(exist_ok=True)
        LISTING.write_text(text)
    return LISTING


setup(
    ext_modules=[
        Extension(
            LIBRARY,
            [str(path) for path in sources().values()],
            language="c++",
            extra_link_args=SANITIZE_ARGS,
        )
    ],
    cmdclass={"build_ext": BuildLibrary},
)
