"""Bounds on numbers hold exactly, as written and after a reader has rounded to doubles."""

import json
import random
from decimal import Decimal, localcontext
from typing import Any

import pytest

from tests.engine.frontends.recognise import accepts, schema_language

EDGES = [
    0, 1, -1, 9, 10, 99, 100, -100, 999, 0.1, 0.3, 0.30000000000000004, 1.05, 99.99, 1e-7, -1e-7, 1e-300,
    -(10**30) - 7, 10**40 + 3, 1e22, 5e-324,
    2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 10**15, -(10**15), 10**16, 1e16, 1e23, 1.5e300, 123456789012345.67,
]  # fmt: skip
ZEROS = [
    "0",
    "-0",
    "-0.0",
    "0.000",
    "-0." + "0" * 30 + "1",
    "1e-400",
    "1E5",
    "1e+5",
    "0e5",
    "-1e400",
]


def random_bound(rng: random.Random) -> int | float:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(EDGES)
    if kind == 1:
        return rng.randrange(-1200, 1200)
    return round(rng.uniform(-20, 20), rng.randrange(4)) if kind == 2 else rng.uniform(-2, 2)


def text_near(rng: random.Random, bound: float) -> str:
    exact = Decimal(repr(bound))
    kind = rng.randrange(6)
    with localcontext(prec=340):
        if kind == 0:
            return format(exact, "f")
        if kind == 1:
            step = Decimal(rng.choice([1, -1, 3, -7])) * Decimal(10) ** rng.randrange(-25, 3)
            return format(exact + step, "f")
    if kind == 2:
        return format(Decimal(repr(float(bound) * (1 + rng.choice([1, -1]) * 2**-52))), "f")
    if kind == 3:
        return f"{rng.randrange(10)}.{rng.randrange(10)}e{rng.randrange(-20, 20)}"
    return rng.choice(ZEROS) if kind == 4 else str(int(exact) + rng.choice([0, 1, -1]))


def holds(schema: dict[str, Any], value: int | float) -> bool:
    return (
        value >= schema.get("minimum", value)
        and value <= schema.get("maximum", value)
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_no_text_near_a_bound_steps_over_it(kind: str, seed: int) -> None:
    rng = random.Random(f"{kind}{seed}")
    for _ in range(25):
        keys = rng.sample(
            ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"], rng.choice([1, 1, 2])
        )
        bounds = {key: random_bound(rng) for key in keys}
        probes = [text_near(rng, rng.choice(list(bounds.values()))) for _ in range(12)]
        found = schema_language({"anyOf": [{"type": kind, **bounds}, {"type": "null"}]})
        for text in probes:
            value = json.loads(text)
            if accepts(found, text):
                assert holds(bounds, value), (bounds, text)
                assert kind == "number" or value == int(value)
            elif text.lstrip("-").isdigit() and abs(value) < 10**14:
                assert not holds(bounds, value), (bounds, text)


# (bounds, accepted texts, refused texts)
TEXTS = [
    ({"minimum": 0, "maximum": 1}, ["0", "-0", "1", "1.0", "0.5", "0.00001", "1e-05", "2.5E-3", "-0.00", "0." + "1" * 40], ["1.1", "-1", "-0.1", "1e1", "1e0", "01", "1.", "2"]),
    ({"exclusiveMinimum": 0, "exclusiveMaximum": 1}, ["0.5", "0.999999999999999", "0.00001", "1e-05"], ["0", "1", "-0", "0.0", "1.0", "0." + "9" * 30, "0." + "0" * 400 + "1"]),
    ({"minimum": 0}, ["0", "1e400", "12.5e-3", "-0", "-0.0"], ["-1", "-1e-400", "-0.1"]),
    ({"maximum": 0}, ["0", "-1e400", "-12.5", "-0"], ["1", "0.1", "1e-400"]),
    ({"minimum": 5, "maximum": 1000}, ["5", "5.0", "1000", "999.99", "1e1", "9.99e2", "1E+2", "1e01"], ["4.9", "1e3", "9e0", "1e-1", "1000.01"]),
    ({"minimum": -90, "maximum": 90}, ["-90", "90.0", "45.123456789012345678", "-0.5", "1e-7", "-1e-7"], ["90.0000000001", "-90.1", "1e2"]),
    ({"minimum": 0.25, "maximum": 0.25}, ["0.25", "0.250"], ["0.2", "0.251", "0"]),
    ({"minimum": -1.5, "maximum": -1.25}, ["-1.5", "-1.25", "-1.3", "-1.50"], ["-1.2", "-1.51", "1.3", "-1"]),
    ({"minimum": 10**15}, [str(10**15), str(10**20)], [str(10**15 - 1), "999999999999999.9999999999"]),
    ({"exclusiveMinimum": True, "minimum": 3}, ["3.5", "4"], ["3", "3.0"]),
    ({"exclusiveMinimum": False, "minimum": 3}, ["3.0", "4"], ["2.9"]),
]  # fmt: skip


@pytest.mark.parametrize(("bounds", "good", "bad"), TEXTS)
def test_numbers_between_bounds(bounds: dict, good: list[str], bad: list[str]) -> None:
    found = schema_language({"type": "number", **bounds})
    assert [text for text in good if not accepts(found, text)] == []
    assert [text for text in bad if accepts(found, text)] == []


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 0), (0, 9), (7, 12), (1, 99), (95, 1005), (-12, 7), (-120, -95), (10, 10), (1, 1000)],
)
def test_small_ranges_of_integers_are_complete(low: int, high: int) -> None:
    found = schema_language({"type": "integer", "minimum": low, "maximum": high})
    taken = [n for n in range(-130, 1100) if accepts(found, str(n))]
    assert taken == list(range(low, high + 1))
    assert accepts(found, "-0") == (low <= 0 <= high)
    assert not accepts(found, f"0{high}")
