"""transformers reads the calls of random answers as the reader does.

A walk draws tokens from the masks of a derived family's grammar until the answer ends.
``parse_response`` reads it with the response template that the family was derived from; it shares
no code with this project. Its own losses are in ``is_loss``, each with its cause. A long run
(`make conformance`) draws more.
"""

import json
import os
import re
from collections import Counter
from functools import cache
from random import Random
from typing import Any

import pytest

from adapters.formats import SPACED, JsonRules
from tests.formats.random_answers import Walker
from tests.formats.random_schemas import TOOL_SETS

from .response_templates import CASES

parsing = pytest.importorskip(
    "transformers.utils.chat_parsing", reason="response templates need transformers 5.13"
)

#: random answers for each set of tools
WALKS = 60 if os.environ.get("EVERY_TEMPLATE") else 2
#: white space as the chat template writes it, which is the rule when a gateway runs
RULES = JsonRules(layout=SPACED, element_space=True)
Calls = list[tuple[str, Any]]


@cache
def walker(name: str) -> Walker:
    return Walker(name, CASES[name].family, CASES[name].specials, RULES)


def parsed(name: str, text: str, tools: str) -> dict[str, Any] | None:
    """Return the message of an answer; None: transformers cannot parse it."""
    case = CASES[name]
    offered = [
        {"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}}
        for tool in TOOL_SETS[tools]
    ]
    try:
        whole = text + case.specials[-1]
        message: dict[str, Any] = parsing.parse_response(
            whole, case.template, prefix="", tools=offered
        )
    except ValueError:
        return None
    return message


def calls_of(message: dict[str, Any] | None) -> Calls | None:
    if message is None:
        return None
    functions = [call["function"] for call in message.get("tool_calls", [])]
    return [(function["name"], function["arguments"]) for function in functions]


def is_loss(name: str, ours: Calls, theirs: Calls | None) -> bool:
    """Whether transformers loses a part of these calls by the template's own rules."""
    content = CASES[name].template["fields"]["tool_calls"]["content"]
    words = [text for tool, arguments in ours for text in (tool, *arguments)]
    if content != "json" and not all(re.fullmatch(r"[A-Za-z_]\w*", word) for word in words):
        return True  # names and keys of other characters, which the patterns do not match
    shown = json.dumps(ours, ensure_ascii=False)
    if any(mark in shown for mark in CASES[name].specials):
        return True  # the text that ends a call, inside of a string
    if name == "gemma" and ("null" in shown or not _has_plain_keys(ours)):
        return True  # null in another spelling, keys of other characters
    if name in ("gemma", "id"):
        return not all(re.fullmatch(r"\w+", tool) for tool, _ in ours)
    if content not in ("xml-inline", "kv-lines") or theirs is None or len(ours) != len(theirs):
        return False
    return all(_is_same_call(*pair) for pair in zip(ours, theirs, strict=True))


def _has_plain_keys(value: Any) -> bool:
    if isinstance(value, dict):
        return all(re.fullmatch(r"\w+", k) and _has_plain_keys(v) for k, v in value.items())
    return not isinstance(value, list | tuple) or all(map(_has_plain_keys, value))


def _is_same_call(ours: tuple[str, Any], theirs: tuple[str, Any]) -> bool:
    same_keys = ours[0] == theirs[0] and ours[1].keys() == theirs[1].keys()
    return same_keys and all(_is_same_value(v, theirs[1][k]) for k, v in ours[1].items())


def _is_same_value(ours: Any, theirs: Any) -> bool:
    """Whether a value of an element differs only in its type, or in white space around it."""
    if isinstance(ours, str) and isinstance(theirs, str):
        return ours.strip() == theirs.strip()
    if isinstance(ours, str) or isinstance(theirs, str):
        text, value = (ours, theirs) if isinstance(ours, str) else (theirs, ours)
        spelled = {"True": "true", "False": "false", "None": "null"}.get(text.strip(), text)
        try:
            return bool(json.loads(spelled) == value)
        except ValueError:
            return False
    return bool(ours == theirs)


@pytest.mark.parametrize("name", CASES)
def test_transformers_reads_the_same_calls(name: str) -> None:
    written = Counter[str]()
    for tools in filter(walker(name).expresses, TOOL_SETS):
        for seed in range(WALKS):
            # behind a call without an end, text is a part of the call to transformers
            choice = ("required", "auto")[seed % 2] if name != "mistral" else "required"
            answer = walker(name).answer(tools, choice, Random(f"{name} {tools} {seed}"))
            if answer is None:
                continue
            theirs = calls_of(parsed(name, answer.text, tools))
            is_same = theirs == answer.calls
            assert is_same or is_loss(name, answer.calls, theirs), answer.text
            written["same" if is_same else "loss"] += 1
    assert written["same"] > written["loss"], written


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if "content" in c.template["fields"]])
def test_transformers_reads_the_same_content(name: str) -> None:
    for seed in range(5 * WALKS):
        answer = walker(name).answer("strings", "none", Random(f"{name} {seed}"))
        if answer is not None:
            message = parsed(name, answer.text, "strings")
            assert message is not None
            assert message.get("content", "") == answer.content.strip(), answer.text
