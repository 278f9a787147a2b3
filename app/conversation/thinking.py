"""Thinking marks: how a model marks its thoughts, and whether a prompt ends inside one.

Templates of models that think end the prompt in one of three ways: behind the mark that opens a
thought (the answer begins inside), behind the one that closes it (there is none), or before either
(the model decides).
"""

from collections.abc import Collection, Mapping
from typing import Any

from adapters.formats import ThinkingMarks, Thought

#: known marks, with the usual line feeds inside and behind them
MARKS = (
    ThinkingMarks(begin="<think>", end="</think>", inner_newlines=1, outer_newlines=2),
    ThinkingMarks(begin="[THINK]", end="[/THINK]", inner_newlines=0, outer_newlines=0),
    ThinkingMarks(
        begin="<|START_THINKING|>", end="<|END_THINKING|>", inner_newlines=0, outer_newlines=0
    ),
    ThinkingMarks(begin="<seed:think>", end="</seed:think>", inner_newlines=1, outer_newlines=1),
    ThinkingMarks(
        begin="<think:opensource>", end="</think:opensource>", inner_newlines=1, outer_newlines=1
    ),
)


def marks_of(template: str, special_texts: Collection[str]) -> ThinkingMarks | None:
    """Return the marks of a template or a vocabulary; None: no known ones."""
    for marks in MARKS:
        both = (marks.begin, marks.end)
        if all(text in template for text in both) or all(text in special_texts for text in both):
            return marks
    return None


def thought_apart(message: Mapping[str, Any], marks: ThinkingMarks | None) -> Mapping[str, Any]:
    """A past answer whose content begins with a thought, with this as its reasoning.

    Clients of servers that do not separate thoughts replay them so.
    """
    content = message.get("content")
    if marks is None or message["role"] != "assistant" or message.get("reasoning_content"):
        return message
    before, found, rest = (content or "").lstrip().partition(marks.begin)
    thought, ended, answer = rest.partition(marks.end)
    if before or not found or not ended:
        return message
    return {**message, "content": answer.lstrip("\n"), "reasoning_content": thought.strip("\n")}


def thought_at_end(prompt: str, marks: ThinkingMarks | None) -> Thought:
    """Return where the end of a prompt leaves the model."""
    text = prompt.rstrip()
    if marks is None:
        return "free"
    if text.endswith(marks.begin):
        return "open"
    return "closed" if text.endswith(marks.end) else "free"
