"""Drawn schemas with awkward names and numbers, in every way of writing: ``jsonschema`` judges values,
``json.dumps`` texts, and the masks what is said to be forced.
"""

import json
from functools import cache
from random import Random
from typing import Any

import pytest

import engine
from tests.conformance import instances
from tests.conformance.oracle import Oracle, parsed
from tests.conformance.schemas import SchemaMaker, Words
from tests.conformance.walking import takes, vocabulary, walk
from tests.engine.frontends.json_schema.json_texts import LAYOUTS, laid_out

SEEDS, GROUPS = 900, 6
#: keys, listed values and bounds that are awkward to write
AWKWARD = Words(
    names=("a", "é", 'q"x', "s/t", "\\", "😀", "\n", ""),
    bounds=(0, 1, -1, 3, 0.5, -2.5, 12.25, 1e16, 1e-5, 9007199254740993),
    scalars=(
        *("", "a", "é", 'q"x', "s/t", "\\", "😀", "a\n\x01", "\x7f", True, False, None),
        *(0, 1, -1, 2, 1.0, -0.0, 0.1, 2.5, -2.5, 100, 1e23, 1e-7, 9007199254740993, 5e-324),
    ),
)


@cache
def compiler() -> engine.Compiler:
    return engine.Compiler(vocabulary())


def ways(schema: Any, layout: dict[str, Any]) -> dict[str, engine.Compiled]:
    """The schema in each way of writing; none where it is refused, which is so in all of them."""
    options = {"any": {}, "canonical": {"spelling": "canonical"}, "fixed": layout}
    options["both"] = {"spelling": "canonical", **layout}
    made, refused = {}, []
    for name, more in options.items():
        try:
            made[name] = compiler().compile_json_schema(schema, **more)
        except engine.EngineError as error:
            assert not isinstance(error, engine.InternalError)
            refused.append(name)
    assert not made or not refused, refused
    return made


def check_forced(compiled: engine.Compiled, text: str) -> None:
    """Forced bytes along a text are those that follow in it."""
    data, matcher = text.encode(), engine.Matcher(compiled)
    for at in range(len(data)):
        assert data[at:].startswith(matcher.forced_bytes()), data[:at]
        assert matcher.accept_bytes(data[at : at + 1])


def values(near: list[Any], rng: Random) -> list[Any]:
    """Some that are drawn, and some close to valid ones; none with numbers beyond a double."""
    found = [*near, *(instances.drawn(rng) for _ in range(6)), *rng.sample(instances.pool(), 6)]
    found += [instances.changed(rng.choice(near), rng) for _ in range(6) if near]
    infinite = (float("inf"), float("-inf"))
    return [
        value
        for value in found
        if instances.orders(value) <= 24
        and not any(
            isinstance(part, float) and (part in infinite or part >= 1e308)
            for part in instances.parts(value)
        )
    ]


@pytest.mark.parametrize("group", range(GROUPS))
def test_all_ways_of_writing_mean_the_same_values(group: int) -> None:
    asked = 0
    for seed in range(group, SEEDS, GROUPS):
        rng = Random(seed)
        schema = SchemaMaker(rng, depth=rng.choice((1, 2, 2, 3)), words=AWKWARD).document()
        layout = rng.choice(LAYOUTS)
        made = ways(schema, layout)
        if not made:
            continue
        oracle, near = Oracle(schema), []
        for name, compiled in made.items():
            text = (walk(compiled, rng) or b"").decode()
            if not text:
                continue
            assert oracle.accepts(parsed(text)), (seed, name, text)
            check_forced(compiled, text)
            assert takes(made["any"], laid_out(text)), (seed, name, text)
            if name in ("any", "canonical"):
                fixed = made["fixed" if name == "any" else "both"]
                assert takes(fixed, laid_out(text, **layout)), (seed, name, text)
            near.append(json.loads(text))
        for value in values(near, rng):
            for each in instances.in_all_orders(value):
                text = json.dumps(each, ensure_ascii=False)
                told = takes(made["any"], text)
                assert not told or oracle.accepts(parsed(text)), (seed, text)
                fixed_text = laid_out(text, **layout)
                assert takes(made["fixed"], fixed_text) == told, (seed, text)
                if ".0" not in text:
                    # a whole number is written without a point
                    assert takes(made["canonical"], text) == told, (seed, text)
                    assert takes(made["both"], fixed_text) == told, (seed, text)
                asked += 1
    assert asked > 500
