"""vLLM's parsers read the calls of random answers as the reader does.

They run on vLLM's sources, of which nothing is compiled (`make judge-vllm`). Their own faults are
in the table PARSERS, each with its cause; a long run (1,000 walks for each parser) also checks that
each of them still occurs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from .cases import HARMONY
from .foreign_differences import (
    BOOLEAN_TEXT,
    CONTROL_CHARACTERS,
    NULL,
    NULL_TEXT,
    STRIPS,
    STRIPS_LINE_FEED,
    UNTYPED,
    UNTYPED_INSIDE,
    UNTYPED_TEXT,
    Difference,
    argument_is,
    content_has,
    has_no_single_type,
    is_literal,
    mark_ends_call,
    python_differences,
    string_has,
    text_has,
    value_is,
)
from .foreign_judging import Calls, Judge, check, specials_of, verdict_of
from .random_answers import RandomAnswer
from .random_schemas import TOOL_SETS
from .vllm_parsers import IS_THERE, CharacterTokenizer, parse, parse_stream

if not IS_THERE:
    pytest.skip("needs vLLM's sources (make judge-vllm)", allow_module_level=True)


@dataclass(frozen=True, kw_only=True)
class Parser(Judge):
    """A parser by its name in vLLM's option --tool-call-parser.

    ``tokens``    the marks that it looks up in the vocabulary. No others are tokens: where the
                  parser does not expect a special token, it drops its text.
    ``options``   of the tokenizer.
    """

    tokens: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def tokenizer(self) -> CharacterTokenizer:
        return CharacterTokenizer((*self.tokens, "<think>", "</think>"), self.options)


def _hunyuan(parser: str, suffix: str, *marks: str) -> Parser:
    names = ("tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value", "think")
    return Parser(
        parser=parser,
        tokens=tuple(f"<{end}{name}{suffix}>" for name in names for end in ("", "/")),
        options={"token_suffix": suffix},
        differences=(UNTYPED, *map(mark_ends_call, marks)),
        streaming=(string_has("drops the text of a mark in a value", f"<tool_calls{suffix}>"),),
    )


def _hy_3(suffix: str) -> Parser:
    parser = _hunyuan("hy_v3", suffix)
    return replace(parser, streaming=(*parser.streaming, CONTROL_CHARACTERS))


_MINIMAX_3 = re.compile(
    r"\]<\]minimax\[>\[<(?!/|invoke|tool_call)([^>]*)>((?s:.)*?)\]<\]minimax\[>\[</([^>]*)>"
)


def names_differ(answer: RandomAnswer) -> bool:
    """Whether an argument that no schema lists ends with another name than it begins with."""
    return any(found[1] != found[3] for found in _MINIMAX_3.finditer(answer.text))


#: nothing of the stream is compared
UNRELIABLE = Difference("loses characters and calls of streams", lambda _: True)
MISTRAL_STREAM = Difference(
    "reads the tokens of Mistral's own tokenizer in streams", lambda _: True
)
CONTENT_BEFORE = content_has("streams no calls behind other text")
CUTS_NUMBERS = text_has("cuts numbers with a fraction or an exponent", r"\d[.eE]")
ENDS_AT_MARK = mark_ends_call("</tool_call>")
HERMES = Parser(parser="hermes", differences=(ENDS_AT_MARK,))
QWEN_CODER = Parser(parser="qwen3_coder", differences=(UNTYPED, NULL))
PYTHONIC = Parser(parser="pythonic", differences=python_differences())
GLM = Parser(parser="glm45", differences=(UNTYPED, ENDS_AT_MARK))
HUNYUAN_A13B = Parser(
    parser="hunyuan_a13b", differences=(mark_ends_call("</tool_calls>"),), streaming=(UNRELIABLE,)
)
DEEPSEEK = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁call▁end｜>",
)

PARSERS: dict[str, tuple[Parser, ...]] = {
    "hermes": (
        HERMES,
        replace(HERMES, parser="qwen3_json"),
        Parser(parser="granite4", differences=(mark_ends_call("<tool_call>", "</tool_call>"),)),
        replace(HERMES, parser="ernie45"),
    ),
    "qwen_coder": (
        QWEN_CODER,
        replace(QWEN_CODER, parser="qwen3_xml"),
        replace(QWEN_CODER, parser="step3p5"),
        replace(QWEN_CODER, parser="step5"),
    ),
    "seed_oss": (Parser(parser="seed_oss", differences=(UNTYPED, NULL, STRIPS_LINE_FEED)),),
    "llama3_json": (
        Parser(
            parser="llama3_json",
            tokens=("<|python_tag|>",),
            differences=(
                content_has("takes a brace of the text for a call", "{", "}"),
                text_has("loses a call directly behind another", r'\}\{"name"'),
                mark_ends_call("<|python_tag|>"),
            ),
            streaming=(CONTENT_BEFORE, string_has("counts braces inside of strings", "{", "}")),
        ),
    ),
    "llama4_pythonic": (PYTHONIC, replace(PYTHONIC, parser="llama4_pythonic")),
    "lfm2": (
        Parser(
            parser="lfm2",
            tokens=("<|tool_call_start|>", "<|tool_call_end|>"),
            differences=(
                *python_differences(),
                mark_ends_call("<|tool_call_start|>", "<|tool_call_end|>"),
            ),
        ),
    ),
    "gemma_4": (
        Parser(
            parser="gemma4",
            differences=(
                UNTYPED,
                value_is("reads null and None as text", lambda value: value is None),
                UNTYPED_INSIDE,
                mark_ends_call("<tool_call|>"),
            ),
        ),
    ),
    "functiongemma": (
        Parser(
            parser="functiongemma",
            differences=(
                argument_is(
                    "reads only values between <escape>", lambda _, v: not isinstance(v, str)
                ),
                argument_is("evaluates strings that are literals", lambda _, v: is_literal(v)),
                Difference(
                    "reads names of letters, digits and underscores only",
                    lambda answer: any(
                        not name.isidentifier()
                        for called, arguments in answer.calls
                        for name in (called, *arguments)
                    ),
                ),
                mark_ends_call("<start_function_call>", "<end_function_call>"),
            ),
            streaming=(
                string_has("takes a brace of a string for the end of the call", "}"),
                Difference(
                    "closes the arguments of a stream behind each of them",
                    lambda answer: any(len(arguments) > 1 for _, arguments in answer.calls),
                ),
            ),
        ),
    ),
    "mistral_v3": (
        Parser(
            parser="mistral",
            tokens=("[TOOL_CALLS]",),
            differences=(mark_ends_call("[TOOL_CALLS]"),),
            streaming=(MISTRAL_STREAM,),
        ),
    ),
    "mistral_v13": (
        Parser(
            parser="mistral",
            tokens=("[TOOL_CALLS]", "[ARGS]"),
            differences=(UNTYPED, UNTYPED_INSIDE, mark_ends_call("[TOOL_CALLS]")),
            streaming=(MISTRAL_STREAM,),
        ),
    ),
    "deepseek_v3": (
        Parser(
            parser="deepseek_v3",
            tokens=DEEPSEEK,
            streaming=(mark_ends_call("<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>"),),
        ),
    ),
    "deepseek_v31": (
        Parser(
            parser="deepseek_v31",
            tokens=DEEPSEEK,
            differences=(mark_ends_call("<｜tool▁call▁end｜>"),),
            streaming=(
                string_has(
                    "drops the text of a mark in a value",
                    "<｜tool▁sep｜>",
                    "<｜tool▁call▁begin｜>",
                ),
            ),
        ),
    ),
    "deepseek_v32": (Parser(parser="deepseek_v32", differences=(UNTYPED, UNTYPED_INSIDE)),),
    "deepseek_v4": (Parser(parser="deepseek_v4", differences=(UNTYPED, UNTYPED_INSIDE)),),
    "deepseek_v41": (
        Parser(
            parser="deepseek_v41",
            differences=(UNTYPED, UNTYPED_INSIDE),
            streaming=(
                text_has("cuts an argument that comes twice", r'name="(\w+)" s(?s:.)*name="\1" s'),
            ),
        ),
    ),
    "kimi_k2": (
        Parser(
            parser="kimi_k2",
            differences=(
                UNTYPED,
                UNTYPED_TEXT,
                UNTYPED_INSIDE,
                mark_ends_call("<|tool_call_end|>", "<|tool_calls_section_end|>"),
            ),
        ),
    ),
    "kimi_k3": (Parser(parser="kimi_k3"),),
    "glm_45": (
        GLM,
        replace(GLM, parser="ling3"),
        Parser(
            parser="poolside_v1",
            differences=(
                argument_is(
                    "strips strings without a single declared type",
                    lambda schema, value: (
                        isinstance(value, str)
                        and value != value.strip()
                        and has_no_single_type(schema)
                    ),
                ),
                UNTYPED_TEXT,
                ENDS_AT_MARK,
            ),
        ),
    ),
    "glm_47": (replace(GLM, parser="glm47"),),
    "hunyuan": (_hy_3(":opensource"),),
    "minimax_m2": (Parser(parser="minimax_m2", differences=(UNTYPED,)),),
    "minimax_m3": (
        Parser(
            parser="minimax_m3",
            differences=(
                UNTYPED,
                Difference(
                    "needs one name at both ends of an argument", names_differ
                ),
            ),
        ),
    ),
    "granite_3": (
        Parser(
            parser="granite",
            differences=(UNTYPED, UNTYPED_TEXT, UNTYPED_INSIDE),
            streaming=(CUTS_NUMBERS,),
        ),
    ),
    "apertus": (
        Parser(
            parser="apertus",
            differences=(mark_ends_call("<|tools_suffix|>"),),
            streaming=(
                mark_ends_call("<|tools_prefix|>"),
                text_has("cuts characters of two escapes", r"\\u[dD]"),
            ),
        ),
    ),
    "apriel": (HUNYUAN_A13B,),
    "internlm": (
        Parser(
            parser="internlm",
            differences=(mark_ends_call("<|action_start|>", "<|action_end|>", "<|plugin|>"),),
        ),
    ),
    "minicpm_5": (
        Parser(
            parser="minicpm5",
            differences=(
                UNTYPED_TEXT,
                argument_is(
                    "strips some strings",
                    lambda _, v: isinstance(v, str) and v != v.strip(),
                ),
                text_has("misreads the end of CDATA", r"<!\[CDATA\["),
            ),
            streaming=(mark_ends_call("<function"),),
        ),
    ),
    "gigachat_3": (Parser(parser="gigachat3"),),
    "gigachat_31": (Parser(parser="gigachat3"),),
    "step_3": (
        Parser(
            parser="step3",
            differences=(
                UNTYPED,
                argument_is(
                    "reads lists and objects as text", lambda _, v: isinstance(v, list | dict)
                ),
                STRIPS,
                mark_ends_call(
                    "<｜tool_call_begin｜>", "<｜tool_call_end｜>", "<｜tool_calls_end｜>"
                ),
            ),
        ),
    ),
    "inkling": (
        Parser(
            parser="inkling",
            differences=(
                UNTYPED,
                UNTYPED_TEXT,
                UNTYPED_INSIDE,
                mark_ends_call("<|end_message|>", "<|content_model_end_sampling|>"),
            ),
            streaming=(CUTS_NUMBERS,),
        ),
    ),
    "beam": (
        Parser(
            parser="beam",
            tokens=HARMONY,
            # it drops a call without the token that ends it
            adapts=lambda text: f"{text}<|call|>",
            differences=(UNTYPED, mark_ends_call("<|call|>")),
        ),
    ),
    # derived from chat templates
    "dots": (Parser(parser="dots", differences=(UNTYPED, NULL_TEXT, BOOLEAN_TEXT, STRIPS)),),
    "exaone": (HERMES,),
    "granite_20b": (
        Parser(
            parser="granite-20b-fc",
            differences=(mark_ends_call("<function_call>"),),
            streaming=(CONTENT_BEFORE,),
        ),
    ),
    "hunyuan_a13b": (HUNYUAN_A13B,),
    "hy_3": (_hy_3(""),),
    "hy_4": (_hunyuan("hy_v4", ":a1", "</tool_calls:a1>"),),
    "jamba": (
        Parser(
            parser="jamba",
            tokens=("<tool_calls>", "</tool_calls>"),
            differences=(mark_ends_call("</tool_calls>"),),
            streaming=(UNRELIABLE,),
        ),
    ),
    "k2_horizon": (
        Parser(
            parser="k2_horizon",
            differences=(UNTYPED, mark_ends_call("</ifm|tool_call>", "</ifm|tool_calls>")),
        ),
    ),
    "ling_3": (replace(GLM, parser="ling3"),),
    "longcat": (
        Parser(parser="longcat", differences=(mark_ends_call("</longcat_tool_call>"),)),
    ),
    "mimo": (Parser(parser="mimo", differences=(UNTYPED,)),),
    "olmo_3": (
        Parser(
            parser="olmo3",
            differences=(
                *python_differences(),
                text_has("takes a line feed inside of a call for its end", r"[^)]\n|\n\s"),
                string_has("splits strings at Unicode's line separators", "\u2028"),
            ),
            streaming=(CONTENT_BEFORE, mark_ends_call("<function_calls>")),
        ),
    ),
    "plamo_3": (Parser(parser="plamo3", differences=(UNTYPED_INSIDE,)),),
    "xlam_2": (Parser(parser="xlam", streaming=(UNRELIABLE,)),),
}  # fmt: skip

CASES = [(name, parser) for name, parsers in PARSERS.items() for parser in parsers]
IDS = [f"{name}-{parser.parser}" for name, parser in CASES]


@pytest.mark.parametrize(("name", "parser"), CASES, ids=IDS)
def test_a_parser_of_vllm_reads_random_answers_as_the_reader_does(
    name: str, parser: Parser
) -> None:
    tokenizer = parser.tokenizer()

    def whole(text: str, tools: str) -> Calls:
        return parse(parser.parser, tokenizer, text, TOOL_SETS[tools])

    def stream(pieces: Sequence[str], tools: str) -> Calls:
        return parse_stream(parser.parser, tokenizer, pieces, TOOL_SETS[tools])

    specials = (*specials_of(name), *parser.tokens)
    check(verdict_of(name, parser, specials, whole, stream), parser)
