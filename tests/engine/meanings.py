"""Meanings of specs, as digests: of the tables that say them, and of masks.

    python -m tests.engine.meanings     writes meanings.json, unless a meaning changed and
                                        SPEC_VERSION did not

Representation   "table:module.NAME", or with ":key" -> digest of the value. "case:name" -> digests
                 of the case, and of its masks before each byte of its samples. Masks are exact, so
                 they depend on the language alone, not on how the engine writes it.
Not here         whether a meaning is right (all other tests).
"""

import json
import sys
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import engine
from tests.engine.cases import CASES, Case
from tests.engine.harness import compile_case, masks_along
from tests.vocabularies import small_vocabulary

PINNED = Path(__file__).with_name("meanings.json")
#: module -> its constants that say what a spec means
TABLES = {
    "engine.frontends.grammar_text.lark": ("COMMON",),
    "engine.frontends.grammar_text.lark_parser": ("ESCAPES",),
    "engine.frontends.json_schema.formats": ("PATTERNS", "SHORT", "EXACT", "WIDE", "MAX_LENGTHS"),
    "engine.frontends.json_schema.layout": ("COMPACT", "MAX_BLANKS"),
    "engine.frontends.structural_tag.tag_styles": ("STYLES",),
    "engine.schema_tools.keywords": ("OF_ONE", "OF_LIST", "OF_NAMES", "ASSERTIONS", "OF_TYPE"),
}
#: files of data that say so
FILES = (
    "engine/frontends/regex/case_folding.json",
    "engine/frontends/regex/unicode_properties.json",
)
ROOT = Path(engine.__file__).parents[1]


class Pins(NamedTuple):
    """The digests of a version."""

    spec_version: int
    digests: dict[str, str]


def pinned() -> Pins:
    said = json.loads(PINNED.read_text())
    return Pins(said["spec_version"], said["digests"])


def present() -> Pins:
    """Return the digests of this engine."""
    return Pins(engine.SPEC_VERSION, dict([*_tables(), *_files(), *_cases()]))


def changed(before: Pins, now: Pins) -> list[str]:
    """Return the names that mean something else. An entry that a table gets or loses does: to an
    engine without it, it is an annotation or an error. A case with another spec is another case.
    """
    names = {**before.digests, **now.digests}
    return [name for name in names if _is_changed(name, before.digests, now.digests)]


def _is_changed(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    old, new = before.get(name), now.get(name)
    if name.startswith("table:"):
        return old != new
    is_one_case = old is not None and new is not None and old.split()[0] == new.split()[0]
    return is_one_case and old != new


def _tables() -> Iterator[tuple[str, str]]:
    for path, names in TABLES.items():
        for name in names:
            value = getattr(import_module(path), name)
            if isinstance(value, Mapping):
                for key, each in value.items():
                    yield f"table:{path}.{name}:{key}", _digest(_plain(each))
            else:
                yield f"table:{path}.{name}", _digest(_plain(value))


def _files() -> Iterator[tuple[str, str]]:
    for path in FILES:
        yield f"table:{path}", _digest((ROOT / path).read_bytes())


def _cases() -> Iterator[tuple[str, str]]:
    compiler = engine.Compiler(small_vocabulary())
    for case in CASES:
        if case.needs:
            continue
        masks = masks_along(compile_case(compiler, case), [text.encode() for text in case.samples])
        yield f"case:{case.name}", f"{_digest(_input(case))} {_digest(b''.join(masks))}"


def _input(case: Case) -> bytes:
    return repr((case.kind, case.spec, case.samples)).encode()


def _plain(value: Any) -> bytes:
    """Return a value as text that depends on nothing else."""
    if isinstance(value, Mapping):
        return repr(sorted((repr(key), _plain(each)) for key, each in value.items())).encode()
    if isinstance(value, set | frozenset):
        return repr(sorted(map(_plain, value))).encode()
    if isinstance(value, list | tuple):
        return repr([_plain(each) for each in value]).encode()
    return repr(value).encode()


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def main() -> None:
    now = present()
    if PINNED.exists():
        before = pinned()
        others = changed(before, now)
        if others and before.spec_version == now.spec_version:
            sys.exit(
                f"these mean something else than in version {now.spec_version}: "
                f"{', '.join(others)}; increase SPEC_VERSION in engine/versions.py first"
            )
    PINNED.write_text(json.dumps(now._asdict(), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
