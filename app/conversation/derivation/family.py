"""A family made from the texts that a chat template shows."""

import re
from collections.abc import Collection
from dataclasses import replace

from adapters.formats import Section, TagFamily, TextMarks, json_name, word_name

from ..made_family import MadeFamily
from ..profile import Render, Tools
from .answers import Answers, NotDerived
from .calls import CallTexts, call_texts
from .notations import FIRST, SECOND, TYPED, Found, key_of, notation_of
from .texts import Borders
from .trial import Trial

NAME = "derived"
#: the name of a tool as a value of JSON, or as its key
_IN_JSON = re.compile(r'[{,]\s*("[^"]*"\s*:\s*)?"$')
_NOTES = {
    kind: f"answers do not write {name} as the chat template does"
    for kind, name in {"array": "lists", "object": "objects", "null": "null"}.items()
}
_FENCE = "```"
_WORD = re.compile(r"[A-Za-z]{3}")
_KEYS = {FIRST: "string", SECOND: "string"} | {key_of(kind): kind for kind in TYPED}


def _tools(kinds: Collection[str]) -> Tools:
    """Return tools whose properties have types of these kinds, others that of a string."""
    properties = {
        key: {"type": kind if kind in kinds else "string", "description": "worddescription"}
        for key, kind in _KEYS.items()
    }
    parameters = {"type": "object", "properties": properties, "required": [FIRST]}
    functions = (
        {"name": name, "description": "worddescription", "parameters": parameters}
        for name in ("wordtool", "wordother")
    )
    return [{"type": "function", "function": function} for function in functions]


#: some templates fail at types that they do not know
_OFFERS = (_tools(TYPED), _tools(("integer", "number", "boolean")))


def answers_of(render: Render, special: Collection[str], ends: Collection[str]) -> Answers:
    """Return the answers of a template that takes the tools of the probes. Raises NotDerived."""
    reason = None
    for tools in _OFFERS:
        try:
            return Answers(render, tools, special, ends)
        except NotDerived as error:
            reason = reason or error
    assert reason is not None
    raise reason


class Derivation:
    """The derivation of a family from a template.

    ``family``: before its trial. Raises NotDerived: calls have a form that no family has.
    """

    def __init__(self, render: Render, special: Collection[str], ends: Collection[str]) -> None:
        """``special``: the texts of special tokens; ``ends``: of those that end an answer."""
        self._special = special
        self._answers = answers_of(render, special, ends)
        found = notation_of(self._answers)
        self._texts = call_texts(self._answers, found)
        self.family = family_of(self._answers, found, self._texts)

    def tried(self, count: int, seed: str = "", family: TagFamily | None = None) -> MadeFamily:
        """Return the family, or another one, after that many random answers. Raises NotDerived with
        the first that the family reads in another way.
        """
        tried = family or self.family
        trial = Trial(self._answers, tried, self._special, self._texts.space)
        lost = trial.lost()
        trial.run(seed, count, lost)
        notes = [_NOTES[kind] for kind in sorted(lost)]
        if tried.thinking is not None and not trial.reads_thoughts():
            tried = replace(tried, thinking=None)
            notes.append("the marks of thoughts are unknown, so thoughts are content")
        return MadeFamily(tried, tuple(notes))


def family_of(answers: Answers, found: Found, texts: CallTexts) -> TagFamily:
    """Return the family that writes a template's answers. Raises NotDerived."""
    before, _, _ = texts.begin.partition("{name}")
    trigger = _trigger(texts.section[0] if texts.section else "", texts.begin, answers.borders)
    # ids differ from call to call
    trigger, _, _ = trigger.partition("{id}")
    if not trigger.replace("{name}", "").strip():
        raise NotDerived("in free text, calls begin with nothing but a name or an id")
    section = None
    if texts.section:
        section = Section(begin=texts.section[0], end=texts.section[1], trigger=trigger)
    opened = (texts.section[0] if texts.section else "") + texts.begin
    text = _text_marks(answers, opened, trigger)
    thinking = answers.thinking
    if thinking and any(each.startswith(thinking.begin) for each in (opened, answers.text[0])):
        raise NotDerived("thoughts begin with the same marks as calls or texts")
    has_trigger = section is None
    return TagFamily(
        name=NAME,
        begin=texts.begin,
        end=texts.end,
        separator=texts.separator,
        trigger=trigger if has_trigger else "",
        between=" \n" if has_trigger else "",
        section=section,
        text=text,
        tail=answers.tail,
        arguments=found.notation,
        ids=texts.ids,
        spell=json_name if _IN_JSON.search(before) else word_name,
        thinking=thinking,
        stop_texts=_stops(answers, texts),
        is_parallel=texts.is_parallel,
    )


def _text_marks(answers: Answers, opened: str, trigger: str) -> TextMarks | None:
    """Return the marks of content. ``opened``: the text that opens the first call."""
    begin, end = answers.text
    if not begin:
        return None
    if not answers.borders.has_mark(begin) and "{name}" in trigger:
        raise NotDerived("a text and a call begin with no marks that distinguish them")
    if opened.strip().startswith(begin.strip()):
        raise NotDerived("texts and calls begin with the same marks")
    return TextMarks(
        begin=begin,
        end=end,
        is_beside_calls=answers.is_text_beside_calls,
        only_with_tools=answers.is_text_bare_without_tools,
    )


def _stops(answers: Answers, texts: CallTexts) -> tuple[str, ...]:
    """Return the tokens that end answers, without those that stand inside of them."""
    marks = answers.thinking
    inside = [texts.begin, texts.end, texts.separator, *(texts.section or ()), *answers.text]
    inside += [marks.begin, marks.end] if marks else []
    return tuple(stop for stop in answers.stops if not any(stop in text for text in inside))


def _trigger(section: str, begin: str, borders: Borders) -> str:
    """Return the text that opens calls in free text: their first mark, or a section that begins
    with a word; else the text up to the name of a tool and the punctuation behind it. Answers have
    fences of code for other reasons.
    """
    before, _, behind = f"{section}{begin}".partition("{name}")
    first = borders.first_mark(before)
    if first is not None and not before[: first.start()].strip():
        return before[: first.end()]
    if section and _WORD.search(section) and _FENCE not in section:
        return section
    closed = re.match(r"[^\w\s,:]*", behind)
    return f"{before}{{name}}{closed[0] if closed else ''}"
