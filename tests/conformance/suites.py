"""The public suites, through the whole engine, against what is pinned in ratchet.json.

    python -m tests.conformance.suites [--update]

SWITCHYARD_JSTS        the JSON-Schema-Test-Suite's folder of one draft, such as tests/draft2020-12
SWITCHYARD_MASKBENCH   a folder of {"schema": ..., "tests": [{"valid": ..., "data": ...}]}

The repository has no copy of either. Unset variables mean the folders in ../shared/data, beside the
repository; a suite without a folder is not run.

A test of the suite, and a file of MaskBench, comes out in one of four ways:

    right        the verdict on its instance, or on all of them
    refused      the schema, by name
    unsound      an invalid instance was taken
    incomplete   a valid one was not

Numbers may only get better; ``--update`` pins better ones. Instances are written in the order of
keys that they have in the file. MaskBench's labels are not always what ``jsonschema`` says: such
tests are listed under ``disputed`` by their numbers, and do not count.
"""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
from jsonschema import validators

import engine
from tests.engine.frontends.random_schemas import byte_vocabulary

from .oracle import checker
from .walking import takes

RATCHET = Path(__file__).with_name("ratchet.json")
DATA = Path(__file__).parents[3] / "shared" / "data"
#: by variable, the folder that is used where the variable is unset
DEFAULTS = {
    "SWITCHYARD_JSTS": DATA / "json-schema-test-suite" / "draft2020-12",
    "SWITCHYARD_MASKBENCH": DATA / "maskbench",
}
#: by suite, the variable that names its folder
VARIABLES = {
    "test suite": "SWITCHYARD_JSTS",
    "maskbench 0": "SWITCHYARD_MASKBENCH",
    "maskbench 1": "SWITCHYARD_MASKBENCH",
}
OUTCOMES = ("right", "refused", "unsound", "incomplete")
#: files of the suite whose schemas need other documents, or take formats for annotations
OTHER = frozenset(("refRemote.json", "vocabulary.json", "dynamicRef.json", "format.json"))
ORDERS: dict[str, dict[str, Any]] = {"order of keys": {}, "any order": {"any_order": True}}
#: schemas that one compiler meets
SCHEMAS_OF_ONE_COMPILER = 200


@dataclass
class Case:
    """A schema with instances. ``is_one``: they are judged together."""

    name: str
    schema: Any
    tests: list[tuple[str, Any, bool]]
    is_one: bool


@dataclass
class Tally:
    counts: Counter[str] = field(default_factory=Counter)
    #: what is neither right nor refused, by name
    wrong: dict[str, list[str]] = field(default_factory=lambda: {"unsound": [], "incomplete": []})

    def add(self, outcome: str, name: str) -> None:
        self.counts[outcome] += 1
        if outcome in self.wrong:
            self.wrong[outcome].append(name)

    def pinned(self) -> dict[str, Any]:
        named = {key: sorted(names) for key, names in self.wrong.items() if names}
        return {key: self.counts[key] for key in OUTCOMES} | {"names": named}


# -- the suites -----------------------------------------------------------------------------------
def folder_of(variable: str) -> Path | None:
    """Return the folder that the variable names, else its default, or None if there is none."""
    given = os.environ.get(variable)
    if given:
        return Path(given)
    default = DEFAULTS[variable]
    return default if default.is_dir() else None


def of_test_suite(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.json")):
        for group in json.loads(path.read_text()) if path.name not in OTHER else ():
            name = f"{path.stem}: {group['description']}"
            tests = [(test["description"], test["data"], test["valid"]) for test in group["tests"]]
            yield Case(name, group["schema"], tests, is_one=False)


def of_maskbench(folder: Path, half: int, disputed: dict[str, list[int]]) -> Iterator[Case]:
    for path in sorted(folder.glob("*.json"))[half::2]:
        case = json.loads(path.read_text())
        left_out = disputed.get(path.name, ())
        tests = [
            (str(number), test["data"], test["valid"])
            for number, test in enumerate(case["tests"])
            if number not in left_out
        ]
        yield Case(path.name, case["schema"], tests, is_one=True)


def available() -> list[str]:
    """Return the names of the suites whose folders are there."""
    return [name for name, variable in VARIABLES.items() if folder_of(variable)]


def cases_of(name: str, pinned: dict[str, Any]) -> Iterator[Case]:
    """Yield the cases of an available suite. The number in a name of MaskBench is its half."""
    folder = folder_of(VARIABLES[name])
    assert folder is not None
    if name == "test suite":
        return of_test_suite(folder)
    return of_maskbench(folder, int(name.split()[1]), pinned.get("disputed", {}))


# -- verdicts -------------------------------------------------------------------------------------
def compiled_or_none(
    compiler: engine.Compiler, schema: Any, options: dict[str, Any]
) -> engine.Compiled | bool | None:
    """False where nothing is said to fit, None where the schema is refused."""
    try:
        return compiler.compile_json_schema(schema, **options)
    except (engine.UnsupportedSchema, engine.LimitExceeded):
        return None
    except engine.SpecError as error:
        return False if "nothing can satisfy" in error.message else None


def outcome(compiled: engine.Compiled | bool | None, value: Any, valid: bool) -> str:
    if compiled is None:
        return "refused"
    text = json.dumps(value, ensure_ascii=False)
    taken = not isinstance(compiled, bool) and takes(compiled, text)
    return "right" if taken == valid else "unsound" if taken else "incomplete"


def run(cases: Iterator[Case], options: dict[str, Any]) -> Tally:
    tally, compiler = Tally(), engine.Compiler(byte_vocabulary())
    for number, case in enumerate(cases):
        if number % SCHEMAS_OF_ONE_COMPILER == 0:
            compiler = engine.Compiler(byte_vocabulary())
        compiled = compiled_or_none(compiler, case.schema, options)
        found = [(name, outcome(compiled, value, valid)) for name, value, valid in case.tests]
        if case.is_one:
            wrong = [each for each in found if each[1] != "right"]
            tally.add(wrong[0][1] if wrong else "right", case.name)
        else:
            for name, each in found:
                tally.add(each, f"{case.name}: {name}")
    return tally


def disputes(folder: Path) -> dict[str, list[int]]:
    """The tests whose labels are not what ``jsonschema`` says, where it says anything."""
    found: dict[str, list[int]] = {}
    for half in range(2):
        for case in of_maskbench(folder, half, {}):
            validator = validators.validator_for(
                case.schema, default=jsonschema.Draft202012Validator
            )
            judge = validator(case.schema, format_checker=checker())
            numbers = [
                int(name) for name, value, valid in case.tests if differs(judge, value, valid)
            ]
            if numbers:
                found[case.name] = numbers
    return dict(sorted(found.items()))


def differs(judge: Any, value: Any, valid: bool) -> bool:
    try:
        return bool(judge.is_valid(value)) != valid
    except Exception:
        return False


# -- the ratchet ----------------------------------------------------------------------------------
def worse(pinned: dict[str, int], found: dict[str, int]) -> list[str]:
    """Return regressions in words. A refused schema may become incomplete."""
    said = []
    for key in ("right", "refused", "unsound"):
        before, now = pinned.get(key, 0), found[key]
        if now < before if key == "right" else now > before:
            said.append(f"{key}: {before:,} before, {now:,} now")
    return said


def measured(pinned: dict[str, Any], name: str) -> dict[str, Any]:
    return {
        order: run(cases_of(name, pinned), options).pinned() for order, options in ORDERS.items()
    }


def compared(name: str, pinned: dict[str, Any], found: dict[str, Any]) -> list[str]:
    return [
        f"{name}, {order}: {words}"
        for order in ORDERS
        if name in pinned
        for words in worse(pinned[name][order], found[order])
    ]


def main() -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.suites")
    parser.add_argument("--update", action="store_true", help="pin the numbers if none is worse")
    options = parser.parse_args()
    pinned = json.loads(RATCHET.read_text()) if RATCHET.exists() else {}
    folder = folder_of("SWITCHYARD_MASKBENCH")
    if options.update and folder:
        pinned["disputed"] = disputes(folder)
    bad: list[str] = []
    for name in available():
        found = measured(pinned, name)
        bad += compared(name, pinned, found)
        for order in ORDERS:
            print(f"{name}, {order}:", {key: found[order][key] for key in OUTCOMES})
        pinned[name] = found
    print("\n".join(bad))
    if options.update and not bad:
        RATCHET.write_text(json.dumps(pinned, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
