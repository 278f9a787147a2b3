"""Detection of a model's format by evidence: the tool call that its chat template renders.

    call     the template renders a past call in the format's syntax. This is the model's syntax.
    marks    the template renders no calls, but it or the vocabulary contains the format's marks
    none     neither; the model has no syntax of its own, so the prompt teaches one
    unknown  the template renders calls in a syntax that no format has
    setting  the setting names the format

Not here    how a template is called (template), the formats (adapters.formats).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from adapters.formats import FORMATS, Format, PastCall

from .profile import CALL_IDS, CALLED, TOOL, TOOL_NAME, TemplateError, loop_of, squeezed
from .template import ChatTemplate

Basis = Literal["call", "marks", "none", "unknown", "setting"]
#: characters of a shown text
MAX_SHOWN = 300
#: formats that are no model's own
_TAUGHT = "plain"


class FormatEvidence(TypedDict):
    basis: Annotated[str, Field(description="The source of the detected format.")]
    shown: str
    failure: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The format of a model and its basis; ``shown``: the rendered call or the found marks;
    ``failure``: the error of a template that has the marks, but fails at calls.
    """

    format: str
    basis: Basis
    shown: str = ""
    failure: str = ""

    def described(self) -> FormatEvidence:
        """Return the fields for the log and for /v1/models."""
        shown: FormatEvidence = {"basis": self.basis, "shown": self.shown}
        if self.failure:
            shown["failure"] = self.failure
        return shown


def detect(template: ChatTemplate | None, source: str, special_texts: Collection[str]) -> Evidence:
    """Return the format of a model. ``source``: the template's text."""
    shown, failure = "", ""
    if template is not None:
        for loop, calls in _loops():
            try:
                rendered = _rendered(template, loop)
            except TemplateError as error:
                failure = failure or _cut(str(error) or str(error.__cause__))
                continue
            if rendered is None:
                continue
            found = _syntax_of(rendered, calls, source, special_texts)
            if found is not None:
                return Evidence(found, "call", _cut(rendered))
            shown = shown or rendered
    if shown:
        return Evidence(_TAUGHT, "unknown", _cut(shown))
    marked = _marked(source, special_texts)
    return replace(marked, failure=failure) if marked else Evidence(_TAUGHT, "none")


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


def _syntax_of(
    rendered: str, calls: Sequence[PastCall], source: str, special_texts: Collection[str]
) -> str | None:
    """Return the format that writes these calls so. The longest exact match is preferred, and of
    formats with equal calls the one whose marks are there.
    """
    best: tuple[bool, int, bool, str] | None = None
    for name, wire in FORMATS.items():
        if wire.name != name or name == _TAUGHT:
            continue
        for text in wire.calls_texts(calls):
            is_exact = text in rendered
            if is_exact or squeezed(text) in squeezed(rendered):
                marked = _is_marked(wire, source, special_texts)
                found = (is_exact, len(squeezed(text)), marked, name)
                if best is None or found[:3] > best[:3]:
                    best = found
    return best[3] if best else None


def _marked(source: str, special_texts: Collection[str]) -> Evidence | None:
    """Return the format with the most characters of marks in a template or a vocabulary."""
    found = None
    for name, wire in FORMATS.items():
        if wire.name != name or name == _TAUGHT or not wire.marks:
            continue
        shown = " ".join(wire.marks)
        is_marked = _is_marked(wire, source, special_texts)
        if is_marked and (found is None or len(shown) > len(found.shown)):
            found = Evidence(name, "marks", shown)
    return found


def _is_marked(wire: Format, source: str, special_texts: Collection[str]) -> bool:
    return all(mark in source or mark in special_texts for mark in wire.marks)


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
