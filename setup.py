"""Builds the engine's shared library; everything else about the project stands in pyproject.toml.

Every engine/**/*.pyx becomes one module. All of them are linked into one library,
engine/_library*.so, from which engine/_modules.py imports them: what they share is in it once, and
calls between them need no detour. Three kinds of build:

    release     -O2, no bounds checks
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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

ROOT = Path(__file__).parent
LIBRARY = "engine._library"
#: Cython's own helpers (memoryviews, coroutines), which all modules share
HELPERS = "engine._cython_helpers"
#: made by the build: which modules the library has
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
#: masks are copied and united in loops over words, which -O2 alone does not vectorise
RELEASE_ARGS = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic", "-g0"]
COMPILE_ARGS = [
    "-std=c++17",
    "-fvisibility=hidden",
    *(["-O1", "-g", "-UNDEBUG"] if DEBUG or THREADS else RELEASE_ARGS),
    *SANITIZE_ARGS,
]
#: modules that call into Python most of the time: -O2 makes them no faster, and takes half as long
#: again to compile; the automata of patterns (regex.char_*) would be 4 % slower
PLAIN_MODULES = (
    "engine.frontends.json_schema.",
    "engine.frontends.structural_tag.",
    "engine.frontends.regex.charset",
    "engine.frontends.regex.regex_syntax",
    "engine.inspection.",
)
PLAIN_ARGS = ["-O1"]
MACROS: list[tuple[str, str | None]] = [("ENGINE_DEBUG", "1")] if DEBUG else []


class BuildLibrary(build_ext):
    """Translates all modules to C++, side by side, then compiles them, side by side, and links.

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
        if not stamp.is_file() or stamp.read_text() != KIND:
            self.force = True
        self._modules = translate(force=bool(self.force))
        super().run()
        stamp.write_text(KIND)

    def build_extension(self, ext: Extension) -> None:
        target = self.get_ext_fullpath(ext.name)
        with ThreadPoolExecutor(int(self.parallel)) as pool:
            objects = list(pool.map(self._compile, self._modules))
        if self.force or newer_group(objects, target):
            self.compiler.link_shared_object(
                objects, target, extra_postargs=ext.extra_link_args, target_lang="c++"
            )

    def _compile(self, module: Extension) -> str:
        """The object file of a module, made anew where it is older than what it is made of."""
        (made,) = self.compiler.object_filenames(module.sources, output_dir=self.build_temp)
        plain = module.name.startswith(PLAIN_MODULES)
        if self.force or newer_group([*module.sources, *module.depends], made):
            sys.stderr.write(f"compiling {module.name}\n")
            self.compiler.compile(
                module.sources,
                output_dir=self.build_temp,
                include_dirs=[*self.compiler.include_dirs, "engine"],
                macros=MACROS,
                extra_postargs=[*COMPILE_ARGS, *(PLAIN_ARGS if plain else [])],
                depends=module.depends,
            )
        return str(made)


def translate(*, force: bool) -> list[Extension]:
    """Each module with its C++ file as its source."""
    from Cython.Build import cythonize

    modules = [
        *(Extension(name, [str(source)], language="c++") for name, source in sources().items()),
        Extension(HELPERS, ["build/_cython_helpers.cpp"]),
        Extension(LIBRARY, [str(listing().relative_to(ROOT))], language="c++"),
    ]
    translated: list[Extension] = cythonize(
        modules,
        # Other systems start helpers anew, which would run this file again.
        nthreads=JOBS if sys.platform == "linux" else 0,
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=HELPERS,
        force=force,
    )
    return translated


def sources() -> dict[str, Path]:
    """The .pyx file of each module.

    Raises:
        ValueError: two modules of the library would have one name.
    """
    found: dict[str, Path] = {}
    for path in sorted(path.relative_to(ROOT) for path in (ROOT / "engine").rglob("*.pyx")):
        found[".".join(path.with_suffix("").parts)] = path
    names = [name.rpartition(".")[2] for name in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"modules of the engine need different names: {', '.join(sorted(twice))}")
    return found


def listing() -> Path:
    """The source of the library's own module, which lists the others."""
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
