"""Every structural tag that xgrammar builds for a family of models compiles, whatever its options."""

import itertools
import re

import pytest

import engine

builtin = pytest.importorskip(
    "xgrammar.builtin_structural_tag", reason="xgrammar is not installed (extra: bench)"
)

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1, "maxLength": 40},
        "unit": {"enum": ["celsius", "fahrenheit"]},
        "days": {"type": "array", "items": {"type": "integer", "minimum": 0}, "maxItems": 5},
        "place": {"type": "object", "properties": {"lat": {"type": "number"}}, "required": ["lat"]},
    },
    "required": ["city"],
}
TIME = {"type": "object", "properties": {"zone": {"type": "string", "pattern": "^[A-Z]+$"}}}
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": schema}}
    for name, schema in (("get_weather", WEATHER), ("get_time", TIME))
]
#: tools and the choice among them
CHOICES = {
    "no tools": ([], "auto"),
    "none": (TOOLS, "none"),
    "auto": (TOOLS, "auto"),
    "required": (TOOLS, "required"),
    "forced": (TOOLS, {"type": "function", "function": {"name": "get_weather"}}),
}
FAMILIES = sorted(builtin._structural_tag_registry)
OPTIONS = list(
    itertools.product(CHOICES, ("enabled", "disabled", "auto"), (True, False), (True, False))
)
#: texts of special tokens, in any family's template
SPECIAL = re.compile(r"<[|\uff5c][^<>]*[|\uff5c]>")


def built(family: str, choice: str, reasoning: str, excludes: bool, parallel: bool, **more):
    tools, tool_choice = CHOICES[choice]
    return builtin.get_model_structural_tag(
        family, tools, tool_choice, reasoning, exclude_special_tokens=excludes,
        parallel_tool_calls=parallel, **more,
    ).model_dump()  # fmt: skip


@pytest.fixture(scope="module")
def compilers() -> dict[bool, engine.Compiler]:
    """With the families' special tokens, and with none but the one that stops."""
    found: set[str] = set()
    for family in FAMILIES:
        document = str(built(family, "auto", "enabled", True, True))
        found.update(SPECIAL.findall(document))
    made = {}
    for has_specials, texts in ((True, ["<|eos|>", *sorted(found)]), (False, ["<|eos|>"])):
        tokens = [bytes([byte]) for byte in range(256)] + [text.encode() for text in texts]
        ids = list(range(256, len(tokens)))
        vocabulary = engine.Vocabulary(tokens, stop_token_ids=[256], special_token_ids=ids)
        made[has_specials] = engine.Compiler(vocabulary)
    return made


def test_there_are_1080_tags() -> None:
    assert len(FAMILIES) * len(OPTIONS) == 1080


@pytest.mark.parametrize("family", FAMILIES)
def test_every_tag_of_a_family_compiles(compilers, family: str) -> None:
    refused = []
    for options in OPTIONS:
        for more in ({}, {"any_order": True}, {"max_whitespace_cnt": 2}):
            document = built(family, *options, **more)
            for has_specials, compiler in compilers.items():
                try:
                    compiler.compile_structural_tag(document)
                except engine.SpecError as error:
                    refused.append((options, more, has_specials, str(error)))
    assert refused == []
