"""Control tokens in client text: whatever a chat template deletes, they never become tokens.

    python -m tests.campaigns.control_tokens [--renderings 137000] [--seed 0]

Texts are made of control tokens, of their parts, and of the strings that a template deletes, splits
at or compares with, which are read from its source. Each stands in every field that a client
controls. A second conversation has harmless letters in place of the parts of control tokens; both
must get the same control tokens. Needs `make data`. Exits with 1 on a finding.
"""

import json
import re
import sys
from collections.abc import Sequence
from functools import cache
from random import Random
from typing import Any

from jinja2 import Environment

from adapters.formats import OutputSpec, Tool
from app.conversation.tokenizer import HuggingFaceTokenizer
from app.errors import ApiError
from tests.app.conversation.chat_templates import FOLDER, TEMPLATES, tokenizer_of
from tests.campaigns.template_command import Report, main

#: parts of a text: what it says, and whether it is made of a control token
Parts = list[tuple[str, bool]]


@cache
def deleted_by(source: str) -> tuple[str, ...]:
    """Return the short string constants of a template's expressions."""
    found = {text[1:-1] for _, kind, text in Environment().lex(source) if kind == "string"}
    return tuple(sorted(text for text in found if 0 < len(text) <= 40)) or (" ",)


def hostile(draws: Random, control: Sequence[str], deleted: Sequence[str]) -> Parts:
    """Return a text that becomes control tokens if some of its parts disappear."""
    parts: Parts = []
    for _ in range(draws.randint(1, 3)):
        text = draws.choice(control)
        cuts = sorted(draws.randint(0, len(text)) for _ in range(draws.randint(0, 2)))
        for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
            if begin or draws.random() < 0.8:
                parts.append((text[begin:end], True))
            if draws.random() < 0.7:
                parts.append((draws.choice(deleted), False))
    return parts


def text_of(parts: Parts, deleted: Sequence[str], is_harmless: bool) -> str:
    """Return the text; the harmless one keeps only the words that a template may know, such as
    ``/think``, which is a switch also inside of ``</think>``.
    """
    text = "".join(part for part, _ in parts)
    if not is_harmless:
        return text
    kept = [not made for part, made in parts for _ in part]
    for word in (word for word in deleted if word.strip("/").isalnum() and len(word) > 1):
        for found in re.finditer(re.escape(word), text):
            kept[found.start() : found.end()] = [True] * len(word)
    # a letter that no control token has
    return "".join(letter if keep else "ø" for letter, keep in zip(text, kept, strict=True))


class Conversation:
    """One conversation with texts in all fields of a client, written hostile or harmless."""

    def __init__(self, seed: str, control: Sequence[str], deleted: Sequence[str]) -> None:
        self._seed, self._control, self._deleted = seed, control, deleted

    def prompt(self, tokenizer: HuggingFaceTokenizer, is_harmless: bool) -> list[int] | str:
        """Return the ids; the error of a refusal."""
        draws = Random(self._seed)

        def text(label: str = "x") -> str:
            if draws.random() < 0.4:
                return label
            parts = hostile(draws, self._control, self._deleted)
            made = text_of(parts, self._deleted, is_harmless)
            return made if draws.random() < 0.5 else f"{label} {made} {label}"

        parameters = {
            "type": "object",
            "description": text(),
            "properties": {
                text("city"): {"type": "string", "description": text(), "enum": [text()]}
            },
        }
        tool = Tool(text("wordtool"), parameters, text("described"))
        output = OutputSpec((tool,))
        if draws.random() < 0.2:
            schema = {"type": "object", "properties": {text("key"): {"title": text()}}}
            output = OutputSpec(
                (tool,),
                response_schema=schema,
                response_name=text("answer"),
                response_description=text(),
            )
        arguments = json.dumps(
            {text("key"): text(), "b": {text("c"): [text()]}}, ensure_ascii=False
        )
        call = {"name": text("wordtool"), "arguments": arguments}
        identity = text("call_a")
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": text("system")},
            {"role": "user", "content": text("user")},
            {
                "role": "assistant",
                "content": draws.choice([None, text("beside")]),
                "reasoning_content": text("thought"),
                "tool_calls": [{"id": identity, "type": "function", "function": call}],
            },
            {"role": "tool", "tool_call_id": identity, "content": text("result")},
            {"role": "assistant", "content": text("answer"), "reasoning_content": text()},
            {"role": "user", "content": text("again")},
        ]
        messages = messages[: draws.choice([2, 4, 6])]
        names = (
            "custom_instructions",
            "documents",
            "system_message",
            "date_string",
        )
        variables: dict[str, Any] = {name: text() for name in names if draws.random() < 0.1}
        tools = (tool,) if draws.random() < 0.7 else ()
        try:
            ids = tokenizer.render(messages, tools, output, variables).prompt
        except ApiError as error:
            return error.message
        assert isinstance(ids, list)
        return ids


def examined(name: str, seed: str) -> str:
    """Render one conversation twice with a model's template, and compare the control tokens.
    Returns what is wrong; "": nothing.
    """
    tokenizer = tokenizer_of(name)
    source = (FOLDER / f"{name}.jinja").read_text("utf-8")
    control = [text for text in tokenizer.special_texts if len(text) > 1]
    made = Conversation(seed, control, deleted_by(source))
    known = set(tokenizer.vocabulary.special_token_ids)
    prompts = [made.prompt(tokenizer, is_harmless) for is_harmless in (False, True)]
    if any(isinstance(prompt, str) for prompt in prompts):
        refused = [prompt for prompt in prompts if isinstance(prompt, str)]
        return "" if len(refused) == 2 else f"one is refused: {refused[0]}"
    shown = [[number for number in prompt if number in known] for prompt in prompts]
    if shown[0] == shown[1]:
        return ""
    return f"{len(shown[0])} control tokens instead of {len(shown[1])}"


def run(renderings: int, seed: int, names: Sequence[str] = TEMPLATES) -> Report:
    """Render so many conversations in turn with these templates."""
    cases = ((names[n % len(names)], f"{seed} {n}") for n in range(renderings))
    findings = [f"{name} {each} {found}" for name, each in cases if (found := examined(name, each))]
    return Report({"templates": len(names), "renderings": renderings}, findings)


if __name__ == "__main__":
    sys.exit(main("control_tokens", __doc__, unit="renderings", number=137_000, run=run))
