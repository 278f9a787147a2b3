"""Who may import whom: every import and cimport line of the packages stands in the table below.

A source is read as text, not executed, so that modules with missing extras and .pyx files are
covered too. Relative imports are resolved first; `importlib.import_module("...")` with a plain
string counts as an import.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUFFIXES = (".py", ".pyx", ".pxd", ".pyi", ".pxi")
OURS = ("app", "adapters", "cache", "engine")
C_LIBRARIES = frozenset({"libc", "libcpp", "cython", "cpython"})
STDLIB = sys.stdlib_module_names | {"__future__"}


@dataclass(frozen=True)
class Rule:
    """What a part of the tree may import beside itself and the standard library."""

    part: str
    may: frozenset[str]
    #: our own packages of which only the face (the package itself, no module of it) may be
    #: imported; a module that stands here itself belongs to the face
    faces: frozenset[str] = frozenset()


GATEWAY = frozenset(
    [
        "fastapi",
        "starlette",
        "pydantic",
        "pydantic_core",
        "pydantic_settings",
        "uvicorn",
        "h11",
        "httpx",
        "prometheus_client",
        "structlog",
        "jinja2",
        "tokenizers",
        "tqdm",
        "transformers",
        "opentelemetry",
        "anyio",
        "redis",
    ]
)
APP_FACES = frozenset(
    [
        "engine",
        "cache",
        "adapters.formats",
        "adapters.shadowing",
        "adapters.workers",
        "adapters.workers.noise_vocabulary",
    ]
)
PLUGIN_FACES = frozenset({"engine", "cache", "adapters.shadowing"})
IN_PROCESS = frozenset({"numpy", "torch", "tokenizers", "transformers"})

#: the most particular part that contains a file decides
RULES = (
    Rule("engine", C_LIBRARIES),
    Rule("cache", frozenset({"redis"})),
    Rule("adapters", frozenset()),
    Rule("adapters/formats", frozenset(), frozenset({"engine"})),
    Rule("adapters/workers", frozenset({"httpx"})),
    Rule("adapters/workers/inprocess", frozenset(), frozenset({"engine"})),
    Rule("adapters/workers/noise", IN_PROCESS, frozenset({"engine"})),
    Rule("adapters/workers/sampling", IN_PROCESS, frozenset({"engine"})),
    Rule("adapters/workers/tools", IN_PROCESS, frozenset({"engine"})),
    Rule("adapters/workers/transformers", IN_PROCESS, frozenset({"engine"})),
    Rule("adapters/sglang_plugin", frozenset({"torch", "sglang"}), PLUGIN_FACES),
    Rule("app", GATEWAY, APP_FACES),
)


@dataclass(frozen=True)
class Import:
    """One imported module, absolute: ``a.b`` for `import a.b` and for `from a.b import c`."""

    module: str
    names: tuple[str, ...] = ()


_WORD = r"[A-Za-z_][\w.]*"
_PLAIN = re.compile(rf"^\s*c?import\s+({_WORD}(?:\s+as\s+\w+)?(?:\s*,\s*{_WORD}(?:\s+as\s+\w+)?)*)")
_FROM = re.compile(rf"^\s*from\s+(\.*)({_WORD})?\s+c?import\s*(.*)", re.DOTALL)
_DYNAMIC = re.compile(r"""\b(?:import_module|__import__)\(\s*["']([\w.]+)["']""")
_EXTERN = re.compile(r"^\s*cdef extern from|^\s*include ")


def logical_lines(text: str) -> Iterator[str]:
    """Lines without comments and strings in triple quotes, with brackets and backslashes joined."""
    text = re.sub(r'[rbf]*("""|\'\'\').*?\1', '""', text, flags=re.DOTALL | re.IGNORECASE)
    joined = ""
    for line in text.splitlines():
        joined += line.split("#", 1)[0].rstrip()
        if joined.endswith("\\"):
            joined = joined[:-1] + " "
        elif re.match(r"\s*from\b.*\bc?import\s*\([^)]*$", joined):
            joined += " "
        else:
            yield joined
            joined = ""
    yield joined


def imports_of(path: str, text: str) -> Iterator[Import]:
    """Every import of the source at ``path``, which is relative to the root."""
    package = path.split("/")[:-1]
    for line in logical_lines(text):
        for statement in line.split(";"):
            yield from _statement(package, statement)


def _statement(package: list[str], statement: str) -> Iterator[Import]:
    for name in _DYNAMIC.findall(statement):
        yield Import(name)
    plain, origin = _PLAIN.match(statement), _FROM.match(statement)
    if plain:
        for part in plain[1].split(","):
            yield Import(part.split()[0])
    elif origin:
        dots, module, names = origin.groups()
        base = package[: len(package) + 1 - len(dots)] if dots else []
        found = re.findall(r"(\w+|\*)(?:\s+as\s+\w+)?", names)
        yield Import(".".join([*base, *([module] if module else [])]), tuple(found))


def rule_for(path: str) -> Rule:
    """The rule of the most particular part: a folder, or the files whose names begin with it."""
    fitting = [
        rule
        for rule in RULES
        if path.startswith((rule.part + "/", rule.part + ".", rule.part + "_"))
    ]
    return max(fitting, key=lambda rule: len(rule.part))


def complaint(path: str, imported: Import) -> str | None:
    """Why this import must not be, or None."""
    rule, top = rule_for(path), imported.module.split(".")[0]
    if top in STDLIB or top in rule.may:
        return None
    if top not in OURS:
        return f"{path}: {rule.part} may not import {imported.module}"
    if within_own_part(path, imported):
        return None
    target = imported.module
    if target == "adapters" and imported.names:
        target = f"adapters.{imported.names[0]}"
    if target in rule.faces:
        private = [name for name in imported.names if is_private(target, name, rule.faces)]
        return f"{path}: {private} of {target} is not part of its face" if private else None
    return f"{path}: {rule.part} may not import {target}"


def within_own_part(path: str, imported: Import) -> bool:
    """Whether both ends lie in one package: app, cache, engine, or one folder of adapters."""
    depth = 2 if path.startswith("adapters/") and path.count("/") > 1 else 1
    own, target = path.split("/")[:depth], imported.module.split(".")
    return target[:depth] == own


def is_private(package: str, name: str, faces: frozenset[str]) -> bool:
    """Whether the name begins with an underscore, or is a module that is no face of its own."""
    module = ROOT / package.replace(".", "/") / name
    exists = module.is_dir() or any(module.with_suffix(suffix).is_file() for suffix in SUFFIXES)
    return name.startswith("_") or (exists and f"{package}.{name}" not in faces)


def sources() -> list[str]:
    """Every source of the packages, relative to the root."""
    found = [
        path for package in OURS for path in (ROOT / package).rglob("*") if path.suffix in SUFFIXES
    ]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def test_every_import_stands_in_the_table() -> None:
    complaints = [
        text
        for path in sources()
        for imported in imports_of(path, (ROOT / path).read_text("utf-8"))
        if (text := complaint(path, imported))
    ]
    assert complaints == []


def test_every_package_has_sources_and_imports_were_found() -> None:
    """Otherwise the test above proves nothing."""
    paths = sources()
    assert {path.split("/")[0] for path in paths} == set(OURS)
    for package in OURS:
        inside = [path for path in paths if path.startswith(package + "/")]
        assert any(
            True for path in inside for _ in imports_of(path, (ROOT / path).read_text("utf-8"))
        ), package


BAD = [
    ("engine/rows.pyx", "import numpy as np"),
    ("engine/rows.pyx", "cimport numpy as cnp"),
    ("engine/rows.pyx", "from numpy cimport ndarray"),
    ("engine/rows.pyx", "    from cache import MemoryStore  # inside a function"),
    ("engine/rows.pxd", "from cache.memory cimport X"),
    ("engine/rows.py", "import json, redis"),
    ("engine/rows.py", "import json; import torch"),
    ("engine/rows.py", "from .. import app"),
    ("engine/rows.py", "from ..cache import MemoryStore"),
    ("engine/rows.py", "importlib.import_module('fastapi')"),
    ("cache/memory.py", "from engine import Vocabulary"),
    ("cache/memory.py", "import adapters.formats"),
    ("adapters/formats/families/plain.py", "import httpx"),
    ("adapters/formats/families/plain.py", "from cache import MemoryStore"),
    ("adapters/formats/families/plain.py", "from ...workers import base"),
    ("adapters/formats/families/plain.py", "from adapters.workers.base import Worker"),
    ("adapters/formats/families/plain.py", "from adapters import workers"),
    ("adapters/formats/families/plain.py", "from engine.rows import Row"),
    ("adapters/workers/sglang.py", "import torch"),
    ("adapters/workers/sglang.py", "from engine import Compiler"),
    ("adapters/workers/noise.py", "from cache import RedisStore"),
    ("adapters/workers/transformers.py", "import app.settings"),
    ("adapters/sglang_plugin/backend.py", "from adapters.formats import get_format"),
    ("adapters/sglang_plugin/backend.py", "import fastapi"),
    ("app/main.py", "from engine.rows import Row"),
    ("app/main.py", "from engine import errors"),
    ("app/main.py", "from engine import (\n    Compiler,\n    errors,\n)"),
    ("app/main.py", "from adapters.workers.noise import NoiseWorker"),
    ("app/main.py", "from adapters.workers \\\n    import noise"),
    ("app/main.py", "import engine.rows"),
    ("app/main.py", "import adapters"),
    ("app/main.py", "import torch"),
    ("app/main.py", "import leftpad"),
]


@pytest.mark.parametrize(("path", "text"), BAD, ids=[f"{path}: {text}" for path, text in BAD])
def test_a_forbidden_import_is_found(path: str, text: str) -> None:
    assert [imported for imported in imports_of(path, text) if complaint(path, imported)]


GOOD = [
    ("engine/rows.pyx", "from libcpp.vector cimport vector"),
    ("engine/rows.pyx", "from .automata cimport (\n    Automaton,  # comment\n    State,\n)"),
    ("engine/frontends/json.py", "from ..ir import Grammar"),
    ("engine/rows.py", "import json, re as regex"),
    ("engine/rows.py", '"""\nimport redis\n"""'),
    ("engine/rows.py", "# import redis"),
    ("cache/redis_store.py", "from redis.connection import Connection"),
    ("adapters/formats/families/plain.py", "from engine import Event"),
    ("adapters/formats/dialects.py", "from .format_plan import FormatPlan"),
    ("adapters/workers/sglang.py", "import httpx"),
    ("adapters/workers/transformers.py", "import torch"),
    ("adapters/sglang_plugin/backend.py", "from cache import RedisStore"),
    ("app/main.py", "from adapters.workers import NoiseWorker"),
    ("app/main.py", "from adapters.formats import get_format"),
    ("app/main.py", "import engine"),
    ("app/conversation/tokenizer.py", "from adapters.workers import noise_vocabulary"),
    ("app/api/chat_routes.py", "from ..settings import Settings"),
]


@pytest.mark.parametrize(("path", "text"), GOOD, ids=[f"{path}: {text}" for path, text in GOOD])
def test_an_allowed_import_is_not_complained_about(path: str, text: str) -> None:
    assert [
        text for imported in imports_of(path, text) if (text := complaint(path, imported))
    ] == []
