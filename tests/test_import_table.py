"""Tables list the allowed imports: RULES between packages, ENGINE and APP inside of two of them.

The test reads sources as text and does not execute them, so it covers .pyx files and modules whose
dependencies are not installed. It resolves relative imports first, and counts
`importlib.import_module("...")` with a literal string as an import.
"""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SUFFIXES = (".py", ".pyx", ".pxd", ".pyi", ".pxi")
OURS = ("app", "adapters", "cache", "engine")
C_LIBRARIES = frozenset({"libc", "libcpp", "cython", "cpython"})
STDLIB = sys.stdlib_module_names | {"__future__"}


@dataclass(frozen=True)
class Rule:
    """The allowed imports of a part of the tree, besides itself and the standard library."""

    part: str
    may: frozenset[str]
    #: our own packages and modules that may be imported, but not the modules inside them
    faces: frozenset[str] = frozenset()


GATEWAY = frozenset(
    [
        "fastapi",
        "starlette",
        "pydantic",
        "pydantic_core",
        "pydantic_settings",
        "typing_extensions",
        "uvicorn",
        "h11",
        "httpx",
        "prometheus_client",
        "structlog",
        "jinja2",
        "orjson",
        "tokenizers",
        "tqdm",
        "transformers",
        "opentelemetry",
        "requests",
        "anyio",
        "redis",
        "jwt",
        "cryptography",
    ]
)
APP_FACES = frozenset(
    [
        "engine",
        "cache",
        "adapters.formats",
        "adapters.shadowing",
        "adapters.text_path",
        "adapters.whitespace_pattern",
        "adapters.workers",
        "adapters.workers.noise_vocabulary",
    ]
)
#: compiled code calls the engine's compiled code directly
NATIVE_FACES = frozenset(
    ["engine", "engine.native.pool", "engine.runtime.parser", "engine.vocabulary.vocabulary"]
)
PLUGIN_FACES = frozenset({"engine", "cache", "adapters.shadowing", "adapters.whitespace_pattern"})
IN_PROCESS = frozenset({"numpy", "torch", "tokenizers", "transformers"})

#: the longest part that contains a file applies
RULES = (
    Rule("engine", C_LIBRARIES),
    Rule("cache", frozenset({"redis"})),
    Rule("adapters", frozenset()),
    Rule("adapters/formats", frozenset(), frozenset({"engine"})),
    Rule("adapters/text_path", C_LIBRARIES, NATIVE_FACES),
    Rule("adapters/workers", frozenset({"httptools", "orjson"})),
    Rule("adapters/workers/inprocess", frozenset(), frozenset({"engine"})),
    Rule("adapters/workers/noise", IN_PROCESS, frozenset({"engine"})),
    Rule("adapters/workers/sampling", IN_PROCESS, frozenset({"engine"})),
    Rule("adapters/workers/sglang_wire", frozenset({"orjson"}), frozenset({"adapters.text_path"})),
    Rule("adapters/workers/tools", IN_PROCESS, frozenset({"engine"})),
    Rule("adapters/workers/transformers", IN_PROCESS, frozenset({"engine"})),
    Rule("adapters/workers/vision", frozenset({"PIL", "torch", "transformers"})),
    Rule("adapters/sglang_plugin", frozenset({"torch", "sglang"}), PLUGIN_FACES),
    Rule("app", GATEWAY, APP_FACES),
    Rule("app/images", GATEWAY | {"aiohttp", "yarl", "PIL"}, APP_FACES),
    Rule("app/cli", GATEWAY | {"aiohttp", "jsonschema"}, APP_FACES | {"engine.check"}),
)


@dataclass(frozen=True)
class Rooms:
    """The rooms of a package: folders, and modules outside a folder, each with the rooms or single
    modules that it may import besides those of ``base``, which import nothing of the package.
    """

    package: str
    base: frozenset[str]
    allowed: dict[str, tuple[str, ...]]
    #: the document that shows the table
    document: str

    def room_of(self, module: str) -> str:
        """Return the room of a module: the longest name in the table or in ``base``, or ``""``."""
        inner = module.removeprefix(self.package).removeprefix(".") + "."
        names = {*self.allowed, *self.base}
        return max((name for name in names if inner.startswith(name + ".")), default="", key=len)


_ENGINE_ROOMS: dict[str, tuple[str, ...]] = {
    "native": (),
    "vocabulary": ("native",),
    "grammar": ("native", "vocabulary"),
    "automata": ("native", "vocabulary", "grammar"),
    "earley": ("native", "vocabulary", "grammar", "automata"),
    "masks": ("native", "vocabulary", "grammar", "automata", "earley"),
    "unique_items": ("native", "vocabulary", "earley"),
    "runtime": (
        *("native", "vocabulary", "grammar", "automata", "earley", "masks"),
        "unique_items",
    ),
    "sharing": ("native", "vocabulary", "grammar", "masks", "runtime"),
    "frontends": ("native", "grammar"),
    "frontends.regex": ("native", "grammar", "automata.determinize"),
    "frontends.json_schema": (
        *("native", "grammar", "frontends.regex", "frontends.json_schema.values"),
    ),
    "frontends.json_schema.values": (
        *("native", "grammar", "frontends.regex", "frontends.json_schema"),
    ),
    "frontends.structural_tag": (
        *("native", "vocabulary", "grammar", "frontends.regex", "frontends.json_schema"),
    ),
    "frontends.grammar_text": (
        *("native", "grammar", "frontends.regex"),
        "frontends.structural_tag",
    ),
    "inspection": (*("native", "vocabulary", "grammar", "automata", "earley", "masks", "runtime"),),
    "schema_tools": (
        *("native", "grammar", "runtime", "sharing", "frontends.json_schema"),
        *("frontends.structural_tag", "inspection", "compiler"),
    ),
    "compiler": (
        *("native", "vocabulary", "grammar", "automata", "masks", "runtime", "sharing"),
        *("frontends", "frontends.regex", "frontends.json_schema"),
        *("frontends.structural_tag", "frontends.grammar_text"),
    ),
    "check": ("vocabulary", "compiler", "schema_tools"),
}
ENGINE = Rooms(
    "engine",
    frozenset({"errors", "features", "json_pointer", "limits", "versions"}),
    _ENGINE_ROOMS,
    "engine/DESIGN.md",
)

#: from the ground up: a room imports only rooms above its line
_APP_ROOMS: dict[str, tuple[str, ...]] = {
    "settings": (),
    "observability": (),
    "concurrency": (),
    "access": ("observability", "concurrency"),
    "admission": ("observability", "concurrency", "access"),
    "pool": ("settings", "observability", "concurrency"),
    "protocol": ("settings",),
    "state": ("observability", "concurrency", "protocol"),
    "generation": ("settings", "concurrency"),
    "images": ("concurrency", "generation"),
    "common_form": ("protocol", "generation"),
    "conversation": ("concurrency", "protocol", "generation", "images"),
    "constraints": ("settings", "observability", "protocol", "generation"),
    "writers": ("protocol", "generation"),
    "service": (
        "settings",
        "observability",
        "concurrency",
        "access",
        "pool",
        "protocol",
        "state",
        "generation",
        "images",
        "common_form",
        "conversation",
        "constraints",
        "writers",
    ),
    "server": ("settings", "observability", "concurrency"),
    "openapi": ("protocol",),
    "api": (
        "settings",
        "observability",
        "concurrency",
        "access",
        "admission",
        "pool",
        "protocol",
        "writers",
        "service",
        "server",
        "openapi",
    ),
    "ui": ("server",),
    "composition": (
        "settings",
        "observability",
        "concurrency",
        "access",
        "admission",
        "pool",
        "state",
        "images",
        "conversation",
        "constraints",
        "service",
    ),
    "routes": (
        "settings",
        "observability",
        "access",
        "service",
        "server",
        "openapi",
        "api",
        "ui",
        "composition",
    ),
    "main": (
        "settings",
        "observability",
        "conversation",
        "constraints",
        "service",
        "server",
        "api",
        "composition",
        "routes",
    ),
    "doctor": ("settings", "observability", "access", "pool", "protocol", "service", "composition"),
    "cli": (
        "settings",
        "observability",
        "access",
        "protocol",
        "conversation",
        "service",
        "server",
        "api",
        "composition",
        "main",
        "doctor",
    ),
    "__main__": ("cli",),
}
APP = Rooms("app", frozenset({"errors", "files", "sealing", "version"}), _APP_ROOMS, "README.md")
#: (module, imported module): a method of the first makes an object of the second, which holds it
FACTORIES = frozenset({("engine.runtime.compiled", "engine.runtime.parser")})
#: modules of app that a function imports when it needs them, because their imports take long
LATE = frozenset(
    {
        "app.access.token_verifier",
        "app.images.fetching",
        "app.observability.tracing",
        "app.openapi.document",
    }
)


@dataclass(frozen=True)
class Import:
    """One imported module, absolute: ``a.b`` for `import a.b` and for `from a.b import c`."""

    module: str
    names: tuple[str, ...] = ()
    #: whether it reads the .pxd file of a compiled module, and not the module
    is_cimport: bool = False


_WORD = r"[A-Za-z_][\w.]*"
_PLAIN = re.compile(rf"^\s*c?import\s+({_WORD}(?:\s+as\s+\w+)?(?:\s*,\s*{_WORD}(?:\s+as\s+\w+)?)*)")
_FROM = re.compile(rf"^\s*from\s+(\.*)({_WORD})?\s+(c?)import\s*(.*)", re.DOTALL)
_DYNAMIC = re.compile(r"""\b(?:import_module|__import__)\(\s*["']([\w.]+)["']""")
_EXTERN = re.compile(r"^\s*cdef extern from|^\s*include ")


def logical_lines(text: str) -> Iterator[str]:
    """Yield lines without comments and triple-quoted strings; join continued import lines."""
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
    """Yield every import of the source at ``path``, which is relative to the root."""
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
        dots, module, cimport, names = origin.groups()
        base = package[: len(package) + 1 - len(dots)] if dots else []
        found = re.findall(r"(\w+|\*)(?:\s+as\s+\w+)?", names)
        path = ".".join([*base, *([module] if module else [])])
        yield Import(path, tuple(found), is_cimport=bool(cimport))


def rule_for(path: str) -> Rule:
    """Return the rule of the longest part: a folder, or a prefix of file names."""
    fitting = [
        rule
        for rule in RULES
        if path.startswith((rule.part + "/", rule.part + ".", rule.part + "_"))
    ]
    return max(fitting, key=lambda rule: len(rule.part))


def complaint(path: str, imported: Import) -> str | None:
    """Return why the import is forbidden, or None."""
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
    """Whether both ends are in one package: app, cache, engine, or one folder of adapters."""
    depth = 2 if path.startswith("adapters/") and path.count("/") > 1 else 1
    own, target = path.split("/")[:depth], imported.module.split(".")
    return target[:depth] == own


def is_private(package: str, name: str, faces: frozenset[str]) -> bool:
    """Whether the name begins with an underscore, or is a module that is not itself a face."""
    module = ROOT / package.replace(".", "/") / name
    exists = module.is_dir() or any(module.with_suffix(suffix).is_file() for suffix in SUFFIXES)
    return name.startswith("_") or (exists and f"{package}.{name}" not in faces)


def sources() -> list[str]:
    """Return the paths of all sources of the packages, relative to the root."""
    found = [
        path for package in OURS for path in (ROOT / package).rglob("*") if path.suffix in SUFFIXES
    ]
    return sorted(str(path.relative_to(ROOT)) for path in found)


def modules_of(imported: Import) -> list[str]:
    """Return the imported modules: names that are modules of the imported package, or itself."""
    folder = ROOT / imported.module.replace(".", "/")
    inside = [
        f"{imported.module}.{name}"
        for name in imported.names
        if (folder / name).is_dir() or any((folder / (name + s)).is_file() for s in SUFFIXES)
    ]
    return inside or [imported.module]


def room_complaints(path: str, imported: Import) -> list[str]:
    """Return why an import between two rooms of a package is forbidden, once per module."""
    source = module_at(path)
    rooms = next((each for each in (ENGINE, APP) if source.startswith(each.package + ".")), None)
    if rooms is None or imported.module.split(".")[0] != rooms.package:
        return []
    room = rooms.room_of(source)
    complaints = []
    # the package itself and its loader import any room
    for module in modules_of(imported) if room else ():
        target, allowed = rooms.room_of(module), rooms.allowed.get(room, ())
        inner = module.removeprefix(rooms.package + ".")
        if not (target in {room, *allowed} or inner in allowed or target in rooms.base):
            complaints.append(f"{path}: {room} may not import {module}")
    return complaints


def door_complaint(path: str, imported: Import) -> str | None:
    """Return why an import of another room of app goes past the names that it shows."""
    source, module = module_at(path), imported.module
    target = APP.room_of(module)
    if not source.startswith("app") or target in {"", APP.room_of(source), *APP.base}:
        return None
    if module in LATE or (module == f"app.{target}" and set(imported.names) <= door_of(target)):
        return None
    return f"{path}: {module} is behind the door of {target}; import from app.{target}"


@cache
def door_of(room: str) -> frozenset[str]:
    """Return the names that a room of app shows: what its `__init__` imports from its modules."""
    file = ROOT / "app" / room / "__init__.py"
    body = ast.parse((file if file.is_file() else file.parent.with_suffix(".py")).read_text()).body
    shown = {
        name.asname or name.name
        for node in body
        if isinstance(node, ast.ImportFrom) and node.level
        for name in node.names
    }
    return frozenset(shown | {node.name for node in body if isinstance(node, ast.FunctionDef)})


def module_at(path: str) -> str:
    """Return the dotted name of the module at ``path``."""
    return path.rsplit(".", 1)[0].removesuffix("/__init__").replace("/", ".")


def imports() -> Iterator[tuple[str, Import]]:
    """Yield every import of the packages, with the path of its source."""
    for path in sources():
        for imported in imports_of(path, (ROOT / path).read_text("utf-8")):
            yield path, imported


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of two or more nodes that reach each other, sorted."""
    sorter = TopologicalSorter(edges)
    found = []
    while True:
        try:
            sorter.prepare()
        except CycleError as error:
            nodes = error.args[1]
            found.append(sorted(set(nodes)))
            edges = {
                node: {target for target in targets if not {node, target} <= set(nodes)}
                for node, targets in edges.items()
            }
            sorter = TopologicalSorter(edges)
        else:
            return found


def test_no_files_import_each_other_in_a_circle() -> None:
    edges: dict[str, set[str]] = defaultdict(set)
    for path, imported in imports():
        source = f"{module_at(path)}.pxd" if path.endswith(".pxd") else module_at(path)
        suffix = ".pxd" if imported.is_cimport else ""
        edges[source] |= {f"{each}{suffix}" for each in modules_of(imported)} - {source}
    for source, target in FACTORIES:
        edges[source].remove(target)
    assert circles(edges) == []


@pytest.mark.parametrize("rooms", [ENGINE, APP], ids=["engine", "app"])
def test_no_rooms_import_each_other_in_a_circle(rooms: Rooms) -> None:
    edges: dict[str, set[str]] = defaultdict(set)
    for path, imported in imports():
        room = rooms.room_of(module_at(path))
        if path.startswith(rooms.package + "/") and room:
            targets = {rooms.room_of(each) for each in modules_of(imported)} - {""}
            # a folder inside of a room is a part of it
            edges[room] |= {each for each in targets if not f"{room}.".startswith(f"{each}.")}
    assert circles(edges) == []


def test_the_table_allows_every_import() -> None:
    assert [text for each in imports() if (text := complaint(*each))] == []


def test_the_tables_of_rooms_allow_every_import() -> None:
    assert [text for each in imports() for text in room_complaints(*each)] == []


def test_a_room_of_the_app_is_imported_through_its_door() -> None:
    assert [text for each in imports() if (text := door_complaint(*each))] == []


def test_every_folder_of_the_engine_is_a_room() -> None:
    folders = {
        ".".join(path.split("/")[1:-1])
        for path in sources()
        if path.startswith("engine/") and path.count("/") > 1
    }
    assert folders == {
        room for room in ENGINE.allowed if (ROOT / "engine" / room.replace(".", "/")).is_dir()
    }


def test_every_folder_and_file_of_the_app_is_a_room() -> None:
    inside = {path.split("/")[1].removesuffix(".py") for path in sources() if path[:4] == "app/"}
    assert inside == {*APP.allowed, *APP.base, "__init__"}


@pytest.mark.parametrize("rooms", [ENGINE, APP], ids=["engine", "app"])
def test_a_document_shows_the_table_of_rooms(rooms: Rooms) -> None:
    text = (ROOT / rooms.document).read_text("utf-8")
    rows = re.findall(r"(?m)^\| `([\w.]+)` \|[^|]+\| ([^|]*?) \|$", text)
    shown = {room: tuple(re.findall(r"`([\w.]+)`", allowed)) for room, allowed in rows}
    assert shown == rooms.allowed


def test_every_package_has_sources_and_imports_were_found() -> None:
    """Verify that the tests above have something to read."""
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
def test_a_forbidden_import_is_reported(path: str, text: str) -> None:
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
    ("adapters/workers/sglang.py", "import orjson"),
    ("adapters/workers/transformers.py", "import torch"),
    ("adapters/sglang_plugin/backend.py", "from cache import RedisStore"),
    ("app/main.py", "from adapters.workers import NoiseWorker"),
    ("app/main.py", "from adapters.formats import get_format"),
    ("app/main.py", "import engine"),
    ("app/conversation/tokenizer.py", "from adapters.workers import noise_vocabulary"),
    ("app/api/chat_routes.py", "from ..settings import Settings"),
]


@pytest.mark.parametrize(("path", "text"), GOOD, ids=[f"{path}: {text}" for path, text in GOOD])
def test_an_allowed_import_is_not_reported(path: str, text: str) -> None:
    assert [
        text for imported in imports_of(path, text) if (text := complaint(path, imported))
    ] == []


ROOM_CASES = [
    ("engine/grammar/ir.pyx", "from ..native.pool cimport vector", True),
    ("engine/grammar/ir.pyx", "from ..errors import SpecError", True),
    ("engine/grammar/ir.pyx", "from ..sharing.mask_codec import load", False),
    ("engine/native/pool.pxd", "from ..grammar.ir cimport NodeC", False),
    ("engine/automata/determinize.pyx", "from ..grammar.rule_digest cimport RuleDigests", True),
    ("engine/automata/determinize.pyx", "from ..sharing.mask_codec import load", False),
    ("engine/automata/determinize.pyx", "from ..sharing import grammar_cache, mask_codec", False),
    ("engine/frontends/choice.py", "from .regex.char_classes import union", False),
    ("engine/frontends/regex/char_nfa.pyx", "from ..json_schema import build_json_schema", False),
    ("engine/runtime/matcher.pyx", "from ..compiler import Compiler", False),
    ("engine/runtime/matcher.pyx", "from .. import Compiler", False),
    ("engine/check.py", "from .compiler import Compiler", True),
    ("engine/errors.py", "from .limits import Limits", True),
    ("engine/errors.py", "from .grammar import ir", False),
    ("engine/__init__.py", "from .masks.row_masks import Bitmask", True),
    ("app/generation/sampling.py", "from ..errors import ApiError", True),
    ("app/generation/sampling.py", "from ..constraints import ConstraintPlan", False),
    ("app/settings/model.py", "from ..pool import Pool", False),
    ("app/writers/events.py", "from ..service import ChatService", False),
]


@pytest.mark.parametrize(("path", "text", "allowed"), ROOM_CASES)
def test_imports_between_rooms(path: str, text: str, allowed: bool) -> None:
    found = [each for one in imports_of(path, text) for each in room_complaints(path, one)]
    assert (found == []) is allowed


DOOR_CASES = [
    ("app/service/chat_service.py", "from ..writers import ChunkWriter", True),
    ("app/service/chat_service.py", "from ..writers.chat_writers import ChunkWriter", False),
    ("app/service/chat_service.py", "from ..writers import chat_writers", False),
    ("app/service/chat_service.py", "from ..writers import event", False),
    ("app/service/chat_service.py", "from .writers import Batch", True),
    ("app/service/chat_service.py", "from ..errors import ApiError", True),
    ("app/main.py", "    from .openapi.document import build_document", True),
    ("app/main.py", "import app.service.chat_service", False),
]


@pytest.mark.parametrize(("path", "text", "allowed"), DOOR_CASES)
def test_imports_through_doors(path: str, text: str, allowed: bool) -> None:
    found = [why for one in imports_of(path, text) if (why := door_complaint(path, one))]
    assert (found == []) is allowed


def test_circles_are_found() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert sorted(circles(edges)) == [["a", "b", "c"], ["d", "e"]]
