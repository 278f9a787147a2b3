"""SGLang's detectors read the calls of random answers as the reader does.

The detectors share no code with this project. Their own faults are in the table DETECTORS, each
with its cause; a long run (`make conformance`, 1,000 walks for each detector) also checks that each
of them still occurs.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from .foreign_detectors import ROOT, detect, detect_stream, detector_classes, foreign_tools
from .foreign_differences import (
    BOOLEAN_TEXT,
    CONTROL_CHARACTERS,
    NO_ARGUMENTS,
    NULL,
    NULL_TEXT,
    STRIPS,
    STRIPS_LINE_FEED,
    UNTYPED,
    UNTYPED_TEXT,
    Difference,
    allows_null,
    argument_is,
    changed,
    content_has,
    has_no_single_type,
    is_literal,
    is_quoted,
    is_reading,
    mark_ends_call,
    python_differences,
    string_has,
    text_has,
    value_is,
)
from .foreign_judging import Calls, Judge, check, specials_of, verdict_of, walker
from .random_schemas import TOOL_SETS

if ROOT is None:
    pytest.skip("needs llm-router-utils (make setup) or SGLang", allow_module_level=True)


class HunyuanTokens:
    """A tokenizer whose tokens end in a suffix; the detector looks them up."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix

    def get_vocab(self) -> dict[str, int]:
        names = ("tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value")
        return {f"<{name}{self._suffix}>": number for number, name in enumerate(names)}


@dataclass(frozen=True, kw_only=True)
class Detector(Judge):
    """A detector by its name in SGLang's option --tool-call-parser.

    ``prepares``  changes a detector. ``options``: of its constructor.
    """

    prepares: Callable[[Any], None] | None = None
    options: Callable[[], dict[str, Any]] = dict

    def new(self) -> Any:
        detector = detector_classes()[self.parser](**self.options())
        if self.prepares is not None:
            self.prepares(detector)
        return detector


def without_exponential_pattern(detector: Any) -> None:
    """Replace the pattern that finds the list of calls: it takes minutes if there are many commas.

    The detector still parses the text that the simpler pattern finds, with Python's parser.
    """
    detector.tool_call_regex = re.compile(r"\[[a-zA-Z]+\w*\(.*\)\s*\]", re.DOTALL)


#: what the mark at the end of a value begins with
VALUE_END_PARTS = tuple("</arg_value>"[:size] for size in range(1, len("</arg_value>")))
GLM_STREAMING = (
    argument_is(
        "writes invalid JSON for an argument without a single declared type",
        lambda schema, _: has_no_single_type(schema),
    ),
    mark_ends_call("<tool_call>", "<arg_key>", "</arg_key>", "<arg_value>"),
    argument_is(
        "misses the end of a value behind a part of its mark",
        lambda _, value: isinstance(value, str) and value.endswith(VALUE_END_PARTS),
    ),
)

GLM_45 = Detector(
    parser="glm45",
    differences=(
        UNTYPED,
        argument_is("evaluates strings that are literals", lambda _, value: is_literal(value)),
        mark_ends_call("</tool_call>"),
    ),
    streaming=GLM_STREAMING,
)

LIST_OF_TYPES = argument_is(
    "fails on a list of types",
    lambda schema, _: isinstance((schema or {}).get("type"), list),
)
QWEN_CODER = Detector(
    parser="qwen3_coder",
    differences=(
        UNTYPED,
        NULL_TEXT,
        mark_ends_call("</tool_call>", "</function>", "<parameter="),
    ),
)
HUNYUAN = Detector(
    parser="hunyuan",
    options=lambda: {"tokenizer": HunyuanTokens(":opensource")},
    differences=(
        LIST_OF_TYPES,
        UNTYPED,
    ),
    streaming=(CONTROL_CHARACTERS,),
)
DETECTORS: dict[str, tuple[Detector, ...]] = {
    "plain": (Detector(parser="hermes"),),
    "hermes": (
        Detector(parser="qwen25"),
        Detector(parser="hermes", differences=(mark_ends_call("</tool_call>"),)),
        Detector(
            parser="trinity",
            differences=(string_has("drops the marks of thoughts", "<think>", "</think>"),),
        ),
    ),
    "qwen_coder": (
        QWEN_CODER,
        replace(QWEN_CODER, parser="step3p5"),
        replace(QWEN_CODER, parser="nanbeige"),
    ),
    "llama3_json": (
        Detector(
            parser="llama3",
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
        Detector(
            parser="pythonic",
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
        Detector(
            parser="lfm2",
            differences=(*python_differences(), mark_ends_call("<|tool_call_end|>")),
        ),
    ),
    "mistral_v3": (
        Detector(
            parser="mistral",
            adapts=lambda text: text.replace("[TOOL_CALLS][", "[TOOL_CALLS] [", 1),
            streaming=(
                Difference("loses calls after the first", lambda answer: len(answer.calls) > 1),
            ),
        ),
    ),
    "mistral_v11": (
        Detector(
            parser="mistral", adapts=lambda text: re.sub(r"\[CALL_ID\].{9}(?=\[ARGS\])", "", text)
        ),
    ),
    "mistral_v13": (Detector(parser="mistral"),),
    "deepseek_v3": (
        Detector(
            parser="deepseekv3",
            differences=(mark_ends_call("<｜tool▁call▁end｜>"),),
        ),
    ),
    "deepseek_v31": (
        Detector(
            parser="deepseekv31",
            differences=(mark_ends_call("<｜tool▁call▁end｜>", "<｜tool▁sep｜>"),),
        ),
    ),
    "deepseek_v32": (Detector(parser="deepseekv32", differences=(STRIPS,)),),
    "deepseek_v4": (Detector(parser="deepseekv4", differences=(STRIPS,)),),
    "kimi_k2": (
        Detector(
            parser="kimi_k2",
            differences=(mark_ends_call("<|tool_call_end|>"),),
        ),
    ),
    "kimi_k3": (Detector(parser="kimi_k3"),),
    "glm_45": (
        GLM_45,
        replace(GLM_45, parser="ling3"),
        Detector(
            parser="poolside_v1",
            differences=(UNTYPED_TEXT, STRIPS_LINE_FEED, mark_ends_call("</tool_call>")),
        ),
    ),
    "glm_47": (
        Detector(
            parser="glm47",
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
        Detector(
            parser="spark25",
            # it knows no white space before a value
            adapts=lambda text: re.sub(r"</arg_key>\s+<arg_value>", "</arg_key><arg_value>", text),
            differences=(UNTYPED, NULL_TEXT, mark_ends_call("</tool_call>")),
        ),
    ),
    "hunyuan": (HUNYUAN,),
    "minimax_m2": (
        Detector(
            parser="minimax-m2",
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
        Detector(
            parser="minimax-m3",
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
    "apertus": (Detector(parser="apertus2509", streaming=(mark_ends_call("<|tools_suffix|>"),)),),
    "command_r7b": (
        Detector(parser="cohere_command4", differences=(mark_ends_call("<|END_ACTION|>"),)),
    ),
    "command_a": (
        Detector(parser="cohere_command4", differences=(mark_ends_call("<|END_ACTION|>"),)),
    ),
    "gigachat_3": (Detector(parser="gigachat3"),),
    "gigachat_31": (Detector(parser="gigachat3"),),
    "minicpm_5": (
        Detector(
            parser="minicpm5",
            differences=(
                UNTYPED,
                UNTYPED_TEXT,
                text_has("reads XML's entities", r"&(lt|gt|amp|quot|apos|#)"),
                STRIPS,
                text_has("misreads the end of CDATA", r"<!\[CDATA\["),
            ),
        ),
    ),
    "gemma_4": (
        Detector(
            parser="gemma4",
            differences=(
                value_is("reads null and None as text", lambda value: value is None),
                mark_ends_call("<tool_call|>"),
                text_has("reads numbers with an exponent as text", r"\d[eE]"),
            ),
        ),
    ),
    "deepseek_v41": (Detector(parser="deepseekv41"),),
    "step_3": (
        Detector(
            parser="step3",
            differences=(UNTYPED, NO_ARGUMENTS, STRIPS, string_has("ends a value at <", "<")),
        ),
    ),
    "inkling": (Detector(parser="inkling", differences=(mark_ends_call("<|end_message|>"),)),),
    "beam": (
        Detector(
            parser="beam",
            # it drops a call without the token that ends it
            adapts=lambda text: f"{text}<|call|>",
            differences=(UNTYPED, mark_ends_call("<|call|>")),
        ),
    ),
    # derived from chat templates
    "dots": (Detector(parser="dots", differences=(UNTYPED, NULL_TEXT, BOOLEAN_TEXT, STRIPS)),),
    "exaone": (Detector(parser="hermes", differences=(mark_ends_call("</tool_call>"),)),),
    "gigachat_35": (Detector(parser="gigachat35"),),
    "hy_3": (replace(HUNYUAN, options=lambda: {"tokenizer": HunyuanTokens("")}),),
    "intern_s1": (Detector(parser="interns1", differences=(mark_ends_call("<|action_end|>"),)),),
    "iquest_q1": (
        Detector(
            parser="iquest_q1",
            differences=(UNTYPED_TEXT, mark_ends_call("</iquest_tool_call>")),
        ),
    ),
    "k2_horizon": (
        Detector(
            parser="k2_horizon",
            differences=(UNTYPED, mark_ends_call("</ifm|tool_call>", "</ifm|tool_calls>")),
        ),
    ),
    "ling_3": (
        Detector(
            parser="ling3",
            differences=(
                UNTYPED,
                UNTYPED_TEXT,
                NULL_TEXT,
                argument_is("takes quotes off strings", lambda _, value: is_quoted(value)),
                mark_ends_call("</tool_call>"),
            ),
            streaming=GLM_STREAMING,
        ),
    ),
    "mimo": (
        Detector(
            parser="mimo",
            differences=(
                UNTYPED,
                LIST_OF_TYPES,
                value_is("reads true with white space as false", lambda v: v is True),
                NULL,
                NULL_TEXT,
                mark_ends_call("</tool_call>"),
                text_has("reads HTML's entities", r"&\w"),
            ),
        ),
    ),
}


CASES = [(name, detector) for name, detectors in DETECTORS.items() for detector in detectors]
IDS = [f"{name}-{detector.parser}" for name, detector in CASES]


@pytest.mark.share
@pytest.mark.parametrize(("name", "detector"), CASES, ids=IDS)
def test_a_foreign_detector_reads_random_answers_as_the_reader_does(
    name: str, detector: Detector
) -> None:
    if detector.parser not in detector_classes():
        pytest.skip(f"this version of SGLang has no detector {detector.parser}")

    def whole(text: str, tools: str) -> Calls:
        return detect(detector.new(), text, offered(tools))

    def stream(pieces: Sequence[str], tools: str) -> Calls:
        return detect_stream(detector.new(), pieces, offered(tools))

    check(verdict_of(name, detector, specials_of(name), whole, stream), detector)


def offered(tools: str) -> list[Any]:
    return foreign_tools(TOOL_SETS[tools])


@pytest.mark.parametrize("name", DETECTORS)
def test_every_style_expresses_the_sets_of_tools(name: str) -> None:
    assert all(walker(name).expresses(tools) for tools in TOOL_SETS)
