"""Thinking marks: the texts around a model's thoughts, and the state at the end of a prompt.

Templates of reasoning models end the prompt in one of three ways: after the mark that opens a
thought (the answer begins inside it), after the mark that closes it (the answer has no thought), or
before both (the model decides).

A mark is known, or it is a tag or a token that names thoughts and has a counterpart: ``<x_think>``
and ``</x_think>``, ``<|thought_start|>`` and ``<|thought_end|>``. A model may have several such
pairs, one for each effort; the prompt opens one of them.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from adapters.formats import TextMarks, ThinkingMarks, Thought

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
    ThinkingMarks(begin="<|inner_prefix|>", end="<|inner_suffix|>"),
)
#: tags around what follows a thought
_ANSWERS = ("answer", "response")
#: a tag or a token that names thoughts; braces and quotes are code of a template
_NAMED = re.compile(
    r"<[^<>\s{}'\"]{0,40}th(?:ink|ought)[^<>\s{}'\"]{0,40}>|◁/?think▷", re.IGNORECASE
)
#: words by which opening and closing marks differ
_COUNTERPARTS = (("begin", "end"), ("start", "end"), ("open", "close"))
#: pairs of marks of one model
_MAX_PAIRS = 8


def marks_of(template: str, special_texts: Collection[str]) -> ThinkingMarks | None:
    """Return the marks of a template or a vocabulary; None: there are none."""
    for marks in MARKS:
        both = (marks.begin, marks.end)
        if all(text in template for text in both) or all(text in special_texts for text in both):
            return marks
    texts = {*special_texts, *_NAMED.findall(template)}
    pairs = [pair for begin in sorted(texts, key=len) for pair in _pairs(begin) if pair[1] in texts]
    if not pairs:
        return None
    return replace(_marks(*pairs[0]), others=tuple(pairs[1:_MAX_PAIRS]))


def marks_at_end(prompt: str) -> ThinkingMarks | None:
    """Return the known marks that a prompt opens; None: it opens none.

    Some templates write the mark that begins thoughts, and leave the other one to the model.
    """
    text = prompt.rstrip()
    return next((marks for marks in MARKS if text.endswith(marks.begin.rstrip())), None)


def answer_marks_of(template: str, special_texts: Collection[str]) -> TextMarks | None:
    """Return the marks that a model may write around the text behind a thought; None: there are
    none.
    """
    for name in _ANSWERS:
        both = (f"<{name}>", f"</{name}>")
        # results of tools stand between the other tags in some templates
        is_shown = name == _ANSWERS[0] and all(text in template for text in both)
        if is_shown or all(text in special_texts for text in both):
            begin, end = f"{both[0]}\n", f"\n{both[1]}"
            return TextMarks(begin=begin, end=end, is_beside_calls=True, is_optional=True)
    return None


def named_marks(text: str) -> Iterator[ThinkingMarks]:
    """Yield the marks to which the one at the beginning of a text may belong. ``begin`` is "" where
    it ends thoughts.
    """
    found = _NAMED.match(text)
    if found is None:
        return
    if "/" in found[0] or any(other in found[0] for _, other in _COUNTERPARTS):
        yield _marks("", found[0])
    else:
        yield from (_marks(*pair) for pair in _pairs(found[0]))


def _marks(begin: str, end: str) -> ThinkingMarks:
    return ThinkingMarks(begin=begin, end=end, inner_newlines=1, outer_newlines=2)


def _pairs(begin: str) -> Iterator[tuple[str, str]]:
    """Yield a mark that begins thoughts with each mark that may end them."""
    if _NAMED.fullmatch(begin) is None or "/" in begin:
        return
    for one, other in _COUNTERPARTS:
        if one in begin:
            yield begin, begin.replace(one, other)
            return
    yield begin, f"{begin[0]}/{begin[1:]}"
    if begin.startswith("<|"):
        yield begin, f"<|/{begin[2:]}"


def thought_apart(message: Mapping[str, Any], marks: ThinkingMarks | None) -> Mapping[str, Any]:
    """Return a past answer with the thought at the beginning of its content as reasoning.

    Clients of servers that do not separate thoughts send answers in this form.
    """
    content = message.get("content")
    if marks is None or message["role"] != "assistant" or message.get("reasoning_content"):
        return message
    text = (content or "").lstrip()
    for begin, end in marks.pairs:
        before, found, rest = text.partition(begin)
        thought, ended, answer = rest.partition(end)
        if found and ended and not before:
            return {
                **message,
                "content": answer.lstrip("\n"),
                "reasoning_content": thought.strip("\n"),
            }
    return message


def thought_at_end(prompt: str, marks: ThinkingMarks | None) -> Thought:
    """Return the state of reasoning at the end of a prompt."""
    if marks is None:
        return "free"
    text = prompt.rstrip()
    for begin, end in marks.pairs:
        if text.endswith(begin):
            return "open"
        if text.endswith(f"{begin}{end}" if marks.ends_turn else end):
            return "closed"
    return "free"
