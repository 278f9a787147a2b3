"""Thinking marks: the texts around a model's thoughts, and the state at the end of a prompt.

Templates of reasoning models end the prompt in one of three ways: after the mark that opens a
thought (the answer begins inside it), after the mark that closes it (the answer has no thought), or
before both (the model decides).
"""

from collections.abc import Collection, Mapping
from typing import Any

from adapters.formats import ThinkingMarks, Thought

#: known marks, with the usual line feeds inside and after them
MARKS = (
    ThinkingMarks(begin="<think>", end="</think>", inner_newlines=1, outer_newlines=2),
    ThinkingMarks(begin="[THINK]", end="[/THINK]"),
    ThinkingMarks(begin="<|START_THINKING|>", end="<|END_THINKING|>"),
    ThinkingMarks(begin="<|open|>think<|sep|>", end="<|close|>think<|sep|>"),
    ThinkingMarks(
        begin="<|channel>thought\n", end="<channel|>", inner_newlines=1, outer_newlines=1
    ),
    ThinkingMarks(begin="<mm:think>", end="</mm:think>", inner_newlines=1, outer_newlines=2),
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
    """Return a past answer with the thought at the beginning of its content as reasoning.

    Clients of servers that do not separate thoughts send answers in this form.
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
    """Return the state of reasoning at the end of a prompt."""
    text = prompt.rstrip()
    if marks is None:
        return "free"
    if text.endswith(marks.begin):
        return "open"
    return "closed" if text.endswith(marks.end) else "free"
