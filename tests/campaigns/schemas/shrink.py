"""A smaller schema with the same finding: greedy deletion, one part after the other."""

import copy
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jsonschema

from tests.conformance.schemas import Schema

from . import instances
from .cases import Case
from .watched import Workers

#: seconds for one finding, and of one phase while it is shrunk
MAX_SECONDS, DEADLINE = 60.0, 3.0
#: names under which a smaller schema is tried: walks and instances are drawn from them
TRIES, WALKS = 3, 20


def shrunk(
    workers: Workers, case: Case, category: str, seconds: float = MAX_SECONDS
) -> tuple[Case, str] | None:
    """The case with the smallest schema found, and the finding's words; None: it does not recur."""
    end = time.monotonic() + seconds
    words = recurs(workers, case, category)
    is_smaller = words is not None
    while is_smaller:
        is_smaller = False
        for schema in smaller(case.schema):
            if time.monotonic() > end:
                break
            found = recurs(workers, replace(case, schema=schema), category)
            if found is not None:
                case, words, is_smaller = replace(case, schema=schema), found, True
                break
    return None if words is None else (case, words)


def recurs(workers: Workers, case: Case, category: str) -> str | None:
    """The words of the finding, if one of the category comes out again."""
    for n in range(TRIES):
        again = replace(case, name=f"{case.name}.{n}" if n else case.name, walks=WALKS)
        for _, outcome in workers.outcomes([again], DEADLINE):
            for found, words in outcome.findings:
                if found == category:
                    return words
    return None


def smaller(schema: Schema) -> Iterator[Schema]:
    """Schemas with one part less: the large steps first. All of them are well-formed."""
    if not isinstance(schema, dict):
        return
    for path in paths(schema):
        for made in steps(schema, path):
            if made != schema and is_well_formed(made):
                yield made


def steps(schema: dict[str, Any], path: tuple[Any, ...]) -> Iterator[Schema]:
    """The part alone; without the part; `true` in its place; half of it."""
    part = at(schema, path)
    if isinstance(part, dict) and path:
        yield {**part, **{key: schema[key] for key in ("$defs",) if key in schema}}
    if not path:
        return
    for change in ("leave out", "allow", "halve"):
        made = copy.deepcopy(schema)
        inside = at(made, path[:-1])
        if change == "leave out":
            del inside[path[-1]]
        elif change == "allow":
            inside[path[-1]] = True
        elif type(part) is int and part > 3:
            inside[path[-1]] = part // 2
        yield made


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    keys = value if isinstance(value, dict) else range(len(value)) if type(value) is list else ()
    for key in keys:
        yield from paths(value[key], (*path, key))


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def is_well_formed(schema: Schema) -> bool:
    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError:
        return False
    definitions = schema.get("$defs", {})
    for path in paths(schema):
        part = at(schema, path)
        is_reference = path[-1:] == ("$ref",)
        if is_reference and part != "#" and part.rpartition("/")[2] not in definitions:
            return False
        if part == [] and path[-1] == "enum":
            return False
    return not leads_back(schema)


def leads_back(schema: Schema) -> bool:
    """Whether it refers to itself without a value between: drawn schemas don't."""
    try:
        for part in instances.parts(schema):
            if isinstance(part, dict):
                judged(schema, part)
    except RecursionError:
        return True
    return False


def judged(document: Schema, schema: Schema) -> None:
    """Follows what judges the same value."""
    if not isinstance(schema, dict):
        return
    inside = [schema[word] for word in ("not", "if", "then", "else") if word in schema]
    inside += [each for word in ("allOf", "anyOf", "oneOf") for each in schema.get(word, ())]
    inside += schema.get("dependentSchemas", {}).values()
    if "$ref" in schema:
        inside.append(instances.target_of(document, schema["$ref"]))
    for each in inside:
        judged(document, each)
