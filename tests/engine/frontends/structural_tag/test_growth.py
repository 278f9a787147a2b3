"""Structural tags that grow cost steps in proportion, or are refused by the name of a limit.

Nothing here measures time: the steps of a size are compared with those of a tenth of it.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest

import engine
from engine.errors import Cancelled, LimitExceeded
from engine.frontends.structural_tag.tag_vocabulary import TagVocabulary
from engine.native.resources import WorkBudget

TOKENS = [bytes([byte]) for byte in range(256)] + [b"<|end|>", b"<x>"]
#: sizes that are compared
SMALL, LARGE = 300, 3_000


@pytest.fixture(scope="module")
def compiler() -> engine.Compiler:
    vocabulary = engine.Vocabulary(TOKENS, stop_token_ids=[256], special_token_ids=[256, 257])
    return engine.Compiler(vocabulary)


def const(text: str) -> dict[str, Any]:
    return {"type": "const_string", "value": text}


def text(**more: Any) -> dict[str, Any]:
    return {"type": "any_text", **more}


def tag(begin: str, end: Any, content: Any = None) -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": content or text(), "end": end}


def sequence(elements: list[Any]) -> dict[str, Any]:
    return {"type": "sequence", "elements": elements}


def optional(content: Any) -> dict[str, Any]:
    return {"type": "optional", "content": content}


def triggered(triggers: list[str], tags: list[Any]) -> dict[str, Any]:
    return {"type": "triggered_tags", "triggers": triggers, "tags": tags}


def json_strings(excludes: list[str]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"type": "string"}, "excludes": excludes}


#: name -> a format of a size; all of them are compiled in steps that grow with the size
LINEAR: dict[str, Callable[[int], Any]] = {
    "REGRESSION ends": lambda n: tag("<a>", [f"</e{k}>" for k in range(n)]),
    "REGRESSION ends and excludes": lambda n: tag(
        "<a>", [f"</e{k}>" for k in range(n)], text(excludes=[f"x{k}y" for k in range(3 * n)])
    ),
    "excludes": lambda n: text(excludes=[f"x{k}y" for k in range(n)]),
    "excludes with special tokens": lambda n: text(excludes=[f"{k}<x>" for k in range(n)]),
    "REGRESSION optional elements": lambda n: sequence([optional(const(f"a{k}")) for k in range(n)]),
    "optional equal elements": lambda n: sequence([optional(const("a"))] * n),
    "REGRESSION excludes of JSON strings": lambda n: json_strings([f"<e{k}>" for k in range(n // 10)]),
    "REGRESSION a long exclude of JSON strings": lambda n: json_strings(["x" * (n // 10)]),
    "dispatch rules": lambda n: {
        "type": "dispatch", "rules": [[f"<r{k}>", const(f"a{k}")] for k in range(n)],
    },
    "REGRESSION triggers of all lengths": lambda n: triggered(
        ["x" * k for k in range(1, n // 10)], [tag("x" * k + "y", "e") for k in range(1, n // 10)]
    ),
    "texts": lambda n: {"type": "or", "elements": [const(f"a{k}") for k in range(n)]},
    "tags": lambda n: {"type": "or", "elements": [tag(f"a{k}", "e") for k in range(n)]},
}  # fmt: skip


def steps(compiler: engine.Compiler, form: Any) -> int:
    budget = WorkBudget()
    compiler.compile_structural_tag({"format": form}, budget=budget)
    return budget.spent


@pytest.mark.parametrize("make", LINEAR.values(), ids=LINEAR.keys())
def test_steps_grow_with_the_size(compiler: engine.Compiler, make: Callable[[int], Any]) -> None:
    small, large = steps(compiler, make(SMALL)), steps(compiler, make(LARGE))
    # sums of the sizes of prefixes grow a little faster than their number
    factor = 110 if make is LINEAR["REGRESSION triggers of all lengths"] else 15
    assert LARGE // 20 < large < factor * small


@pytest.mark.parametrize("make", LINEAR.values(), ids=LINEAR.keys())
def test_equal_tags_cost_the_same(compiler: engine.Compiler, make: Callable[[int], Any]) -> None:
    """Cached results cost as many steps as new ones, so replicas refuse the same specs."""
    form = make(SMALL)
    compiler.clear()
    first = steps(compiler, form)
    compiler.clear()
    assert first > 0
    assert steps(compiler, form) == first


#: name -> (format, the limit that it exceeds)
REFUSED: dict[str, tuple[Any, str]] = {
    "REGRESSION many texts with many ends": (
        tag("<a>", [f"</e{k}>" for k in range(1_500)], sequence([text(max_chars=k + 1) for k in range(1_500)])),
        "ir_operands",
    ),
    "REGRESSION long excludes with many first letters": (
        text(excludes=[f"{chr(0x4E00 + k)}" + "x" * 500 for k in range(400)] + [chr(k) + "y" * 500 for k in range(32, 96)]),
        "rule_edges",
    ),
    "excludes of JSON strings": (json_strings([f"<e{k}>" for k in range(9_000)]), "rule_edges"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_larger_tags_are_refused_by_name(compiler: engine.Compiler, case: tuple[Any, str]) -> None:
    form, limit = case
    with pytest.raises(LimitExceeded) as caught:
        compiler.compile_structural_tag({"format": form}, budget=WorkBudget())
    assert caught.value.limit == limit
    assert caught.value.got > caught.value.maximum


@pytest.mark.parametrize("name", ["REGRESSION ends", "REGRESSION optional elements", "tags"])
def test_a_cancelled_compile_ends_in_each_stage(compiler: engine.Compiler, name: str) -> None:
    """REGRESSION: nothing counted in front ends and in the first row could be cancelled."""
    form = LINEAR[name](LARGE)
    whole = steps(compiler, form)
    for limit in range(whole // 20, whole, whole // 5):
        compiler.clear()
        few = WorkBudget(engine.Limits(compile_steps=limit))
        with pytest.raises(LimitExceeded):
            compiler.compile_structural_tag({"format": form}, budget=few)
    budget = WorkBudget()
    budget.cancel()
    compiler.clear()
    with pytest.raises(Cancelled):
        compiler.compile_structural_tag({"format": form}, budget=budget)


# -- ends and excludes ----------------------------------------------------------------------------


def reaches_into(end: str, other: str, size: int) -> bool:
    """Whether ``other`` may complete at one of the first ``size`` letters of ``end``."""
    return any(
        other[max(0, len(other) - taken) :] == end[max(0, taken - len(other)) : taken]
        for taken in range(1, size + 1)
    )


def may_overlap(ends: tuple[str, ...], excludes: tuple[str, ...]) -> bool:
    return any(
        any(reaches_into(end, other, len(end)) for other in excludes if other not in ends)
        or any(reaches_into(end, other, len(end) - 1) for other in ends if other != end)
        for end in ends
    )


@pytest.mark.parametrize("seed", range(20))
def test_overlaps_are_found_as_by_comparing_letters(seed: int) -> None:
    rng, vocabulary = random.Random(seed), TagVocabulary({}, ())

    def some(most: int) -> tuple[str, ...]:
        words = (
            "".join(rng.choices("abcd"[: 2 + seed % 3], k=rng.randint(1, 6))) for _ in range(most)
        )
        return tuple(dict.fromkeys(words))  # fmt: skip

    met = set()
    for _ in range(200):
        ends, excludes = some(rng.randint(1, 3)), some(rng.randint(0, 2))
        made = vocabulary.patterns_of(excludes, ends, (), frozenset(), "", "", WorkBudget())
        is_found = made._content()[4]
        met.add(is_found)
        assert is_found == may_overlap(ends, excludes), (ends, excludes)
    assert met == {True, False}
