"""SGLang's detectors read the calls of random answers as the reader does.

A walk draws tokens from the masks of a family's grammar until the answer ends. The detectors share
no code with this project. Their own faults are in the table JUDGES, each with its cause; a long run
(`make conformance`, 1,000 walks for each detector) also checks that each of them still occurs.
"""

import keyword
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Any

import pytest

from .cases import SPECIALS
from .foreign_detectors import (
    ROOT,
    Calls,
    detect,
    detect_stream,
    detector_classes,
    foreign_tools,
    is_same,
)
from .foreign_differences import (
    NULL_TEXT,
    UNTYPED,
    UNTYPED_TEXT,
    Difference,
    allows_null,
    argument_is,
    changed,
    content_has,
    has_no_single_type,
    is_literal,
    is_reading,
    string_has,
    stripped,
    text_has,
    value_is,
)
from .random_answers import RandomAnswer, Walker
from .random_schemas import TOOL_SETS

if ROOT is None:
    pytest.skip("needs llm-router-utils (make setup) or SGLang", allow_module_level=True)

IS_LONG = bool(os.environ.get("EVERY_TEMPLATE"))
WALKS = 1000 if IS_LONG else 42
CHOICES = ("required", "auto")


class HunyuanTokens:
    """A tokenizer whose tokens end in ":opensource"; the detector looks them up."""

    def get_vocab(self) -> dict[str, int]:
        names = ("tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value")
        return {f"<{name}:opensource>": number for number, name in enumerate(names)}


@dataclass(frozen=True, kw_only=True)
class Judge:
    """A detector by its name in SGLang, and the differences that are its own.

    ``adapts``    changes the answer's text to a spelling that the detector knows.
    ``prepares``  changes a detector. ``options``: of its constructor.
    ``streaming`` differences of streams only; ``reads`` has no meaning there.
    """

    detector: str
    differences: tuple[Difference, ...] = ()
    streaming: tuple[Difference, ...] = ()
    adapts: Callable[[str], str] | None = None
    prepares: Callable[[Any], None] | None = None
    options: Callable[[], dict[str, Any]] = dict

    def new(self) -> Any:
        detector = detector_classes()[self.detector](**self.options())
        if self.prepares is not None:
            self.prepares(detector)
        return detector


def without_exponential_pattern(detector: Any) -> None:
    """Replace the pattern that finds the list of calls: it takes minutes if there are many commas.

    The detector still parses the text that the simpler pattern finds, with Python's parser.
    """
    detector.tool_call_regex = re.compile(r"\[[a-zA-Z]+\w*\(.*\)\s*\]", re.DOTALL)


def python_differences() -> tuple[Difference, ...]:
    return (
        Difference(
            "reads Python only: names of tools and keys are identifiers",
            lambda answer: any(
                not text.isidentifier() or keyword.iskeyword(text)
                for name, args in answer.calls
                for text in (name, *args)
            ),
        ),
        text_has(
            r"reads Python's escapes, not JSON's: \/ keeps its backslash, and two escapes do not "
            "form one character",
            r"\\/|\\u[dD][89a-fA-F]",
        ),
    )


STRIPS = is_reading("strips strings", stripped)


def mark_ends_call(*marks: str) -> Difference:
    return string_has("takes the text of a mark in a value for the mark", *marks)


GLM_STREAMING = (
    argument_is(
        "writes invalid JSON for an argument without a single declared type",
        lambda schema, _: has_no_single_type(schema),
    ),
    mark_ends_call("<tool_call>", "<arg_key>", "</arg_key>", "<arg_value>"),
    argument_is(
        "misses the end of a value behind a part of its mark",
        lambda _, value: isinstance(value, str) and value.endswith(("<", "</")),
    ),
)

GLM_45 = Judge(
    detector="glm45",
    differences=(
        UNTYPED,
        argument_is("evaluates strings that are literals", lambda _, value: is_literal(value)),
        mark_ends_call("</tool_call>"),
    ),
    streaming=GLM_STREAMING,
)

JUDGES: dict[str, tuple[Judge, ...]] = {
    "plain": (Judge(detector="hermes"),),
    "hermes": (
        Judge(detector="qwen25"),
        Judge(detector="hermes", differences=(mark_ends_call("</tool_call>"),)),
    ),
    "qwen_coder": (
        Judge(
            detector="qwen3_coder",
            differences=(
                UNTYPED,
                NULL_TEXT,
                mark_ends_call("</tool_call>", "</function>", "<parameter="),
            ),
        ),
    ),
    "llama3_json": (
        Judge(
            detector="llama3",
            differences=(
                content_has(
                    "finds calls only at the start or behind <|python_tag|>, without text between"
                ),
                mark_ends_call("<|python_tag|>"),
            ),
            streaming=(string_has("rewrites apostrophes", "'"),),
        ),
    ),
    "llama4_pythonic": (
        Judge(
            detector="pythonic",
            prepares=without_exponential_pattern,
            differences=(
                *python_differences(),
                value_is(
                    "reads no negative number", lambda v: isinstance(v, int | float) and v < 0
                ),
                content_has("begins at the first bracket of the text", "["),
            ),
            streaming=(string_has("counts brackets inside of strings", "[", "]"),),
        ),
    ),
    "lfm2": (
        Judge(
            detector="lfm2",
            differences=(*python_differences(), mark_ends_call("<|tool_call_end|>")),
        ),
    ),
    "mistral_v3": (
        Judge(
            detector="mistral",
            adapts=lambda text: text.replace("[TOOL_CALLS][", "[TOOL_CALLS] [", 1),
            streaming=(
                Difference("loses calls after the first", lambda answer: len(answer.calls) > 1),
            ),
        ),
    ),
    "mistral_v11": (
        Judge(
            detector="mistral", adapts=lambda text: re.sub(r"\[CALL_ID\].{9}(?=\[ARGS\])", "", text)
        ),
    ),
    "mistral_v13": (Judge(detector="mistral"),),
    "deepseek_v3": (
        Judge(
            detector="deepseekv3",
            differences=(mark_ends_call("<｜tool▁call▁end｜>"),),
        ),
    ),
    "deepseek_v31": (
        Judge(
            detector="deepseekv31",
            differences=(mark_ends_call("<｜tool▁call▁end｜>", "<｜tool▁sep｜>"),),
        ),
    ),
    "deepseek_v32": (Judge(detector="deepseekv32", differences=(STRIPS,)),),
    "deepseek_v4": (Judge(detector="deepseekv4", differences=(STRIPS,)),),
    "kimi_k2": (
        Judge(
            detector="kimi_k2",
            differences=(mark_ends_call("<|tool_call_end|>"),),
        ),
    ),
    "kimi_k3": (Judge(detector="kimi_k3"),),
    "glm_45": (GLM_45, replace(GLM_45, detector="ling3")),
    "glm_47": (
        Judge(
            detector="glm47",
            # it does not strip the name of a tool
            adapts=lambda text: re.sub(r"(<tool_call>[^<\s]+)\s+", r"\1", text),
            differences=(
                argument_is(
                    "evaluates strings that are literals", lambda _, value: is_literal(value)
                ),
                UNTYPED,
                mark_ends_call("</tool_call>", "<tool_call>"),
            ),
            streaming=GLM_STREAMING,
        ),
    ),
    "hunyuan": (
        Judge(
            detector="hunyuan",
            options=lambda: {"tokenizer": HunyuanTokens()},
            differences=(
                argument_is(
                    "fails on a list of types",
                    lambda schema, _: isinstance((schema or {}).get("type"), list),
                ),
                UNTYPED,
            ),
            streaming=(
                value_is(
                    "does not escape control characters",
                    lambda v: isinstance(v, str) and re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", v),
                ),
            ),
        ),
    ),
    "minimax_m2": (
        Judge(
            detector="minimax-m2",
            differences=(
                UNTYPED,
                UNTYPED_TEXT,
                NULL_TEXT,
                argument_is(
                    "reads any text as null where null is allowed",
                    lambda schema, value: isinstance(value, str) and allows_null(schema),
                ),
                mark_ends_call("</minimax:tool_call>"),
                is_reading(
                    "drops line feeds around strings",
                    lambda v: v.strip("\n") if isinstance(v, str) else v,
                ),
            ),
            streaming=(
                string_has("counts braces inside of strings", "{", "}"),
                argument_is(
                    "keeps line feeds around strings",
                    lambda _, value: isinstance(value, str) and value != value.strip("\n"),
                ),
            ),
        ),
    ),
    "minimax_m3": (
        Judge(
            detector="minimax-m3",
            differences=(
                # a grammar cannot repeat an additional key at the end of its element
                text_has(
                    "drops a call if the end of an element has another name",
                    r"<(\w+)>(?:(?!\]<\]minimax).)*\]<\]minimax\[>\[</(?!\1>)",
                ),
                UNTYPED,
                argument_is(
                    "reads an empty string without a single declared type as an empty object",
                    lambda schema, value: (
                        isinstance(value, str) and not value.strip() and has_no_single_type(schema)
                    ),
                ),
                is_reading("drops white space behind strings", changed(str.rstrip)),
            ),
            streaming=(
                value_is("writes {} for an empty list", lambda value: value == []),
                value_is(
                    "keeps white space behind strings",
                    lambda value: isinstance(value, str) and value != value.rstrip(),
                ),
            ),
        ),
    ),
    "apertus": (Judge(detector="apertus2509", streaming=(mark_ends_call("<|tools_suffix|>"),)),),
    "command_r7b": (
        Judge(detector="cohere_command4", differences=(mark_ends_call("<|END_ACTION|>"),)),
    ),
    "command_a": (
        Judge(detector="cohere_command4", differences=(mark_ends_call("<|END_ACTION|>"),)),
    ),
    "gigachat_3": (Judge(detector="gigachat3"),),
    "gigachat_31": (Judge(detector="gigachat3"),),
    "minicpm_5": (
        Judge(
            detector="minicpm5",
            differences=(
                UNTYPED,
                UNTYPED_TEXT,
                text_has("reads XML's entities", r"&(lt|gt|amp|quot|apos|#)"),
                STRIPS,
            ),
        ),
    ),
    "gemma_4": (
        Judge(
            detector="gemma4",
            differences=(
                value_is("reads null and None as text", lambda value: value is None),
                mark_ends_call("<tool_call|>"),
                text_has("reads numbers with an exponent as text", r"\d[eE]"),
            ),
        ),
    ),
}


@cache
def walker(name: str) -> Walker:
    return Walker(name)


def answers(name: str, walks: int) -> Iterator[tuple[int, str, RandomAnswer]]:
    """Yield seed, set of tools and answer of the walks that end."""
    walk = walker(name)
    sets = [tools for tools in TOOL_SETS if walk.expresses(tools)]
    pairs = [(tools, choice) for tools in sets for choice in CHOICES]
    for seed in range(walks):
        tools, choice = pairs[seed % len(pairs)]
        answer = walk.answer(tools, choice, Random(f"{name} {seed}"))
        if answer is not None:
            yield seed, tools, answer


def expected(answer: RandomAnswer, differences: list[Difference]) -> Calls:
    """Return the calls as the detector reads them."""
    calls = answer.calls
    for difference in differences:
        reads = difference.reads
        assert reads is not None
        calls = [(name, {key: reads(value) for key, value in args.items()}) for name, args in calls]
    return calls


def pieces_of(name: str, text: str, chance: Random) -> Iterator[str]:
    """Yield a text in pieces. Special tokens are pieces of their own, as in real streams."""
    marks = "|".join(map(re.escape, SPECIALS[name]))
    for part in re.split(f"({marks})", text):
        at = 0
        while at < len(part):
            size = len(part) if part in SPECIALS[name] else chance.randint(1, 8)
            yield part[at : at + size]
            at += size


CASES = [(name, judge) for name, judges in JUDGES.items() for judge in judges]
IDS = [f"{name}-{judge.detector}" for name, judge in CASES]


@pytest.mark.share
@pytest.mark.parametrize(("name", "judge"), CASES, ids=IDS)
def test_a_foreign_detector_reads_random_answers_as_the_reader_does(
    name: str, judge: Judge
) -> None:
    if judge.detector not in detector_classes():
        pytest.skip(f"this version of SGLang has no detector {judge.detector}")
    judged, occurred, ended = Counter(), Counter(), 0
    for seed, tools, answer in answers(name, WALKS):
        ended += 1
        text = answer.text if judge.adapts is None else judge.adapts(answer.text)
        found = [d for d in judge.differences if d.seen(answer)]
        occurred.update(difference.cause for difference in found)
        if any(difference.reads is None for difference in found):
            continue
        calls, offered = expected(answer, found), foreign_tools(TOOL_SETS[tools])
        theirs = detect(judge.new(), text, offered)
        assert is_same(calls, theirs), (seed, text, calls, theirs)
        judged["whole"] += 1
        found = [d for d in judge.streaming if d.seen(answer)]
        occurred.update(difference.cause for difference in found)
        if found:
            continue
        pieces = [*pieces_of(name, text, Random(seed))]
        theirs = detect_stream(judge.new(), pieces, offered)
        assert is_same(calls, theirs), (seed, pieces, calls, theirs)
        judged["stream"] += 1
    assert ended >= 0.6 * WALKS
    assert judged["whole"] >= WALKS / 5
    if IS_LONG:
        known = {difference.cause for difference in (*judge.differences, *judge.streaming)}
        assert occurred.keys() == known


@pytest.mark.parametrize("name", JUDGES)
def test_every_style_expresses_the_sets_of_tools(name: str) -> None:
    assert all(walker(name).expresses(tools) for tools in TOOL_SETS)
