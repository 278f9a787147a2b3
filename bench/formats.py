"""Formats of tool calls, with answers around the calls.

llama     <function=NAME>{...}</function> as plain text
hermes    <tool_call> and a JSON object with the name and the arguments; the tags are special tokens
harmony   a message for each call, after one with the thoughts; the marks are special tokens

Each format has the vocabulary of a model that writes it. A mark is a special token if the
vocabulary contains it, otherwise text.
"""

import json
from typing import Any, NamedTuple

from .data import ToolCase
from .vocabularies import Loaded

NAME = "NAME"


class Tag(NamedTuple):
    begin: str
    schema: Any
    end: str


class Format(NamedTuple):
    """A format. ``begin`` contains NAME for the tool's name; ``between``: between two calls."""

    name: str
    vocabulary: str
    trigger: str
    begin: str
    end: str
    before: str
    between: str

    def tags(self, case: ToolCase) -> list[Tag]:
        return [Tag(self._opening(name), schema, self.end) for name, schema in case.tools]

    def answer(self, case: ToolCase) -> str:
        """Return an answer: some text, then the true calls."""
        return self.before + self.between.join(
            self._opening(name) + json.dumps(arguments, ensure_ascii=False) + self.end
            for name, arguments in case.calls
        )

    def wrong_answers(self, case: ToolCase) -> list[str]:
        """Yield wrong answers: with an unknown tool, and with arguments that are not an object."""
        if not case.calls:
            return []
        name = case.calls[0][0]
        true, opening = self.answer(case), self._opening(name)
        return [
            true.replace(opening, self._opening(f"no_such_{name}"), 1),
            true.replace(opening, f"{opening}[1, ", 1),
        ]

    def special(self, loaded: Loaded) -> set[str]:
        """Return the special tokens of the format."""
        marks = self.begin + self.end + self.before + self.between
        return {text for text in loaded.special if text in marks}

    def encode(self, loaded: Loaded, text: str) -> list[int]:
        special = self.special(loaded)
        return loaded.encoding.encode(text, allowed_special=special, disallowed_special=())

    def _opening(self, name: str) -> str:
        return self.begin.replace(NAME, name)


LLAMA = Format(
    name="llama",
    vocabulary="llama3",
    trigger="<function=",
    begin=f"<function={NAME}>",
    end="</function>",
    before="Let me look at what you need. I'll call the right tool for that now.\n",
    between="\n",
)
HERMES = Format(
    name="hermes",
    vocabulary="qwen3",
    trigger="<tool_call>",
    begin=f'<tool_call>\n{{"name": "{NAME}", "arguments": ',
    end="}\n</tool_call>",
    before="I'll check that for you.\n\n",
    between="\n",
)
HARMONY = Format(
    name="harmony",
    vocabulary="o200k_harmony",
    trigger="<|channel|>commentary to=",
    begin=f"<|channel|>commentary to=functions.{NAME} <|constrain|>json<|message|>",
    end="<|call|>",
    before="<|channel|>analysis<|message|>The user wants something done; I have the tools to do "
    "it, so call them.<|end|><|start|>assistant",
    between="<|start|>assistant",
)
FORMATS = {form.name: form for form in (LLAMA, HERMES, HARMONY)}
