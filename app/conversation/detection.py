"""Detection of a model's format by evidence: the tool call that its chat template renders.

    call     the template renders a past call in the format's syntax. This is the model's syntax.
    marks    the template renders no calls, but it or the vocabulary contains the format's marks
    response_template  the checkpoint describes its answers, and the template renders calls so
    derived  the template renders a past call in a syntax that no format has, but from which a
             format can be made
    none     neither; the model has no syntax of its own, so the prompt teaches one
    taught   the template renders calls in a syntax from which no format can be made, so prompts
             teach another one, and the template gets no tools and no calls
    unknown  the same, but requests with tools are refused
    setting  the setting names the format

Not here    how a template is called (template), the formats (adapters.formats).
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any, Literal, NamedTuple, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from adapters.formats import (
    FORMATS,
    Format,
    PastCall,
    TagFamily,
    ThinkingMarks,
)

from .derivation import Derivation, NotDerived
from .profile import CALL_IDS, CALLED, TOOL, TOOL_NAME, TemplateError, loop_of, squeezed
from .response_templates import UnusableTemplate, family_of
from .template import ChatTemplate

Basis = Literal[
    "call", "marks", "response_template", "derived", "none", "unknown", "taught", "setting"
]
#: what a format was made of, by the basis
_SOURCES: Mapping[str, str] = {
    "response_template": "response template",
    "derived": "chat template",
}
#: characters of a shown text
MAX_SHOWN = 300
#: random answers with which a derived format is tried; they take about 0.3 s
TRIALS = 60
#: formats that are no model's own
_TAUGHT = "plain"


class FormatEvidence(TypedDict):
    basis: Annotated[str, Field(description="The source of the detected format.")]
    shown: str
    failure: NotRequired[str]
    notes: NotRequired[list[str]]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The format of a model and its basis; ``shown``: the rendered call or the found marks;
    ``failure``: the error of a template that has the marks, but fails at calls, or the reason why
    no format can be made. ``family``: the made format; ``notes``: where it is not what the template
    says. ``thinking``: the marks of thoughts that the template shows; None: none are known.
    """

    format: str
    basis: Basis
    shown: str = ""
    failure: str = ""
    family: TagFamily | None = None
    notes: tuple[str, ...] = ()
    thinking: ThinkingMarks | None = None

    @property
    def source(self) -> str:
        """The source of a made format."""
        return _SOURCES[self.basis]

    @property
    def taught(self) -> str | None:
        """The format that prompts teach in place of the template's syntax; None: they do not."""
        return self.format if self.basis == "taught" else None

    def described(self) -> FormatEvidence:
        """Return the fields for the log and for /v1/models."""
        shown: FormatEvidence = {"basis": self.basis, "shown": self.shown}
        if self.failure:
            shown["failure"] = self.failure
        if self.notes:
            shown["notes"] = [*self.notes]
        return shown


@dataclass(frozen=True, kw_only=True, slots=True)
class Signs:
    """The signs of the format of a model.

    ``source``: the chat template's text. ``special_texts``: of special tokens; ``ends``: of those
    that end an answer. ``response_template``: as the checkpoint has it, of any type; None: it has
    none.
    """

    template: ChatTemplate | None = None
    source: str = ""
    special_texts: Collection[str] = ()
    ends: Collection[str] = ()
    response_template: Any = None


def detect(signs: Signs, *, teaches: bool = True) -> Evidence:
    """Return the format of a model. ``teaches``: what becomes of an unknown syntax: "taught", or
    "unknown".
    """
    shown, failure = _Shown(), ""
    if signs.template is not None:
        for loop, calls in _loops():
            try:
                rendered = _rendered(signs.template, loop)
            except TemplateError as error:
                failure = failure or _cut(str(error) or str(error.__cause__))
                continue
            if rendered is None:
                continue
            shown = _Shown(shown.text or rendered, (*shown.all, (rendered, calls)))
            found = _syntax_of(rendered, calls, signs)
            if found is not None:
                wire, known = FORMATS[found], Evidence(found, "call", _cut(rendered))
                right = wire.corrected(rendered)
                shows = _Shown(right, ((right, calls),))
                return _made(_corrected(signs, wire), shows, known)
    if shown.text:
        unknown = Evidence(_TAUGHT, "taught" if teaches else "unknown", _cut(shown.text))
        return _made(signs, shown, unknown)
    marked = _marked(signs)
    if marked is not None:
        return replace(marked, failure=failure)
    return _from_response_template(signs, _Shown(), Evidence(_TAUGHT, "none"))


def _corrected(signs: Signs, wire: Format) -> Signs:
    """Return the signs of a template without the errors that the format corrects."""
    if signs.template is None or not wire.corrections:
        return signs
    return replace(signs, template=signs.template.rewritten(wire.corrected))


class _Shown(NamedTuple):
    """Rendered calls: the text of the first, and each with the calls that it shows."""

    text: str = ""
    all: tuple[tuple[str, list[PastCall]], ...] = ()


def _made(signs: Signs, shown: _Shown, other: Evidence) -> Evidence:
    """Return the evidence of a format made from what the model shows; the other evidence if none
    can be made, or if the other format writes the same answers.

    A known format may write a part of an unknown call: JSON between marks of another family. A
    format of messages writes whole calls, and none like it can be made.
    """
    assert signs.template is not None
    known = FORMATS[other.format] if other.basis == "call" else None
    if known is not None and not isinstance(known, TagFamily):
        return other
    derivation, reason = None, ""
    try:
        derivation = Derivation(signs.template, signs.special_texts, signs.ends)
    except NotDerived as error:
        reason = str(error)
    if known is not None and (derivation is None or _same_answers(known, derivation.family)):
        return replace(other, thinking=derivation.family.thinking if derivation else None)
    told = _from_response_template(signs, shown, other)
    if derivation is None:
        return told if told.family is not None or known else replace(told, failure=reason)
    for family in filter(None, (told.family, derivation.family)):
        try:
            made = derivation.tried(TRIALS, family=family)
        except NotDerived as error:
            reason = str(error)
            continue
        basis: Basis = "derived" if family is derivation.family else "response_template"
        notes = (*told.notes, *made.notes)
        return replace(other, format=family.name, basis=basis, family=made.family, notes=notes)
    return other if known else replace(other, failure=reason)


def _from_response_template(signs: Signs, shown: _Shown, other: Evidence) -> Evidence:
    """Return the evidence of the checkpoint's response template; the other evidence, with the
    reason as a note, if it has none that describes the rendered calls.
    """
    if signs.response_template is None:
        return other
    reason = ""
    for rendered, calls in shown.all or [("", [])]:
        try:
            made = family_of(
                signs.response_template, stops=signs.ends, rendered=rendered, calls=calls
            )
        except UnusableTemplate as error:
            reason = reason or str(error)
            continue
        return replace(
            other,
            format=made.family.name,
            basis="response_template",
            family=made.family,
            notes=made.notes,
        )
    return replace(other, notes=(f"the response template is not used: {reason}",))


def _same_answers(wire: TagFamily, family: TagFamily) -> bool:
    """Whether two formats write calls alike, and the known one knows of marks around text."""
    has_marks = family.text is None or wire.text is not None
    return has_marks and _same_calls(wire, family)


def _same_calls(wire: TagFamily, family: TagFamily) -> bool:
    """Whether two formats write calls alike, but for the marks at their end: those of a turn may be
    unknown.
    """
    calls = [
        PastCall(CALL_IDS["nine"][number], TOOL_NAME, json.dumps(arguments))
        for number, arguments in enumerate(({"city": "wordargument0", "n": 1}, {"n": 2}))
    ]
    if not (wire.is_parallel and family.is_parallel):
        del calls[1:]
    first, second = (each.calls_texts(calls)[0].strip() for each in (wire, family))
    return first.startswith(second) or second.startswith(first)


def _loops() -> Iterator[tuple[Sequence[Mapping[str, Any]], list[PastCall]]]:
    """Yield conversations with calls in all forms that templates accept, and their calls."""
    for count, kind, ids in product((2, 1), ("object", "text"), dict.fromkeys(CALL_IDS.values())):
        loop = loop_of(ids[:count], kind)
        calls = [
            PastCall(call, TOOL_NAME, f'{{"city": "wordargument{number}"}}')
            for number, call in enumerate(ids[:count])
        ]
        yield loop, calls


def _rendered(template: ChatTemplate, loop: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the prompt between the question and the last result; None: it shows not all of it."""
    prompt = template(loop, [TOOL], {})
    question, first = loop[0]["content"], prompt.find(CALLED[0])
    begin, end = prompt.rfind(question, 0, max(first, 0)), prompt.rfind("wordresult")
    if first < 0 or begin < 0 or end < first:
        return None
    return prompt[begin + len(question) : end]


def _syntax_of(rendered: str, calls: Sequence[PastCall], signs: Signs) -> str | None:
    """Return the format that writes these calls so. The longest exact match is preferred, and of
    formats with equal calls the one whose marks are there.
    """
    best: tuple[bool, int, bool, str] | None = None
    for name, wire in FORMATS.items():
        if wire.name != name or name == _TAUGHT:
            continue
        shown = wire.corrected(rendered)
        for text in wire.calls_texts(calls):
            is_exact = text in shown
            if is_exact or squeezed(text) in squeezed(shown):
                marked = _is_marked(wire, signs)
                found = (is_exact, len(squeezed(text)), marked, name)
                if best is None or found[:3] > best[:3]:
                    best = found
    return best[3] if best else None


def _marked(signs: Signs) -> Evidence | None:
    """Return the format with the most characters of marks in a template or a vocabulary."""
    found = None
    for name, wire in FORMATS.items():
        if wire.name != name or name == _TAUGHT or not wire.marks:
            continue
        shown = " ".join(wire.marks)
        is_marked = _is_marked(wire, signs)
        if is_marked and (found is None or len(shown) > len(found.shown)):
            found = Evidence(name, "marks", shown)
    return found


def _is_marked(wire: Format, signs: Signs) -> bool:
    return all(mark in signs.source or mark in signs.special_texts for mark in wire.marks)


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
