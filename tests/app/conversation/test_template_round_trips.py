"""Round trips of calls: the model's own chat template writes the calls of an answer in a text that
the grammar accepts, and that is read as the same calls.

A walk draws an answer from the masks. Its calls go into the history of a conversation, the template
renders it, and the part of the prompt behind the question is searched for an answer of calls. The
template shares no code with the formats, so a difference is a syntax that the model was not trained
on. `make conformance` makes more walks.
"""

import os
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from adapters.formats import OutputSpec, Tool, for_own_engine
from app.conversation.profile import shown_answers
from engine import Compiled, Compiler, Matcher
from tests.app.conversation.calls_in_prompts import closers, history, read
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, tokenizer_of
from tests.formats.harness import walk

WALKS = 100 if os.environ.get("EVERY_TEMPLATE") else 16
#: tokens after which a walk is drawn towards its end, and after which it is given up
PATIENCE, LIMIT = 60, 400

_WORDS = {"type": "string", "pattern": "^[a-z]{1,6}( [a-z]{1,6})?$"}
TOOL = Tool(
    "look_up",
    {
        "type": "object",
        "properties": {
            "city": _WORDS,
            "count": {"type": "integer", "minimum": -99, "maximum": 99},
            "ratio": {"enum": [0.5, 1.25, -3]},
            "exact": {"type": "boolean"},
            "unit": {"enum": ["c", "f", None]},
            "names": {"type": "array", "items": _WORDS, "maxItems": 3},
            "place": {
                "type": "object",
                "properties": {"x": {"type": "integer", "minimum": 0, "maximum": 9}, "y": _WORDS},
                "required": ["x"],
                "additionalProperties": False,
            },
        },
        "required": ["city"],
        "additionalProperties": False,
    },
)
#: properties that are left out for a template: Python's repr stands for lists and objects, and null
#: disappears
LOST = {
    "ByteDance-Seed-OSS": ("names", "place"),
    "openbmb-MiniCPM5-1B": ("names", "place"),
    "MiniMax-M3": ("unit",),
}
#: templates that show no calls of a history
SILENT = {
    "HuggingFaceTB-SmolLM3-3B",
    "LFM2-8B-A1B",
    "LFM2.5-Instruct",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "google-gemma-2-2b-it",
    "ibm-granite-granite-3.3-2B-Instruct",
    "llama-cpp-deepseek-r1",
    "llama-cpp-rwkv-world",
    "microsoft-Phi-3.5-mini-instruct",
}
QUESTION = "Which is it?"


def answers_in(grammar: Compiled, ids: list[int]) -> Iterator[list[int]]:
    """Yield the longest answer that begins at each token."""
    for first in range(len(ids)):
        matcher, end = Matcher(grammar), None
        for at in range(first, len(ids)):
            if matcher.can_stop():
                end = at
            if not matcher.accept_token(ids[at]):
                break
        if end:
            yield ids[first:end]


def tool_for(name: str) -> Tool:
    """Return the tool without the properties that the template loses."""
    properties = dict(TOOL.parameters["properties"])
    for lost in LOST.get(name, ()):
        del properties[lost]
    return replace(TOOL, parameters={**TOOL.parameters, "properties": properties})


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", sorted(SILENT))
def test_silent_templates_show_no_calls(name: str) -> None:
    assert tokenizer_of(name).evidence.basis in ("marks", "none")


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", [name for name in TEMPLATES if name not in SILENT])
def test_the_template_writes_calls_as_the_grammar_allows(name: str) -> None:
    tokenizer, tool = tokenizer_of(name), tool_for(name)
    assert tokenizer.evidence.basis in ("call", "derived")
    # also the white space of the answer is that of the template
    output = OutputSpec(
        (tool,),
        "required",
        reasoning="off",
        parallel_tool_calls=False,
        json_rules=shown_answers(tokenizer.wire, tokenizer.profile).json_rules,
    )
    plan = for_own_engine(tokenizer.wire.plan(output, tokenizer.special_texts))
    grammar = Compiler(tokenizer.vocabulary).compile_structural_tag(plan.spec_json)
    ended, ends = 0, closers(tokenizer.vocabulary.tokens)
    for seed in range(WALKS):
        ids = walk(grammar, Random(f"{name} {seed}"), ends, patience=PATIENCE, limit=LIMIT)
        if len(ids) == LIMIT:
            continue
        ended += 1
        calls = read(plan, grammar, ids)
        prompt = tokenizer.render(history(calls, QUESTION), (tool,), OutputSpec((tool,))).prompt
        shown = tokenizer._tokenizer.decode(prompt)
        begin, end = shown.rfind(QUESTION) + len(QUESTION), shown.rfind("wordresult")
        rest = tokenizer._tokenizer.encode(shown[begin:end], add_special_tokens=False)
        found = [read(plan, grammar, answer) for answer in answers_in(grammar, rest)]
        assert calls in found, (calls, found, shown[begin:end])
    assert ended
