"""The composition table: choice x response format x parallel calls x thought, for one family.

A Wire holds the wire texts of a family as its models write them. They are literals: no code of the
family makes them. ``transcripts_of`` puts them together as each choice demands.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from adapters.formats import FORMATS, OutputSpec, ThinkingMarks

from ..cases import BARRED, OSLO, OUTPUTS, SPECIALS, TWO

#: the requirements of a transcript, by name
CHOICES: dict[str, OutputSpec] = {
    **OUTPUTS,
    "barred": BARRED,
    "required, barred": replace(BARRED, tool_choice="required"),
}
#: the reasoning of a transcript, by name: changes of the requirements
THINKING: dict[str, dict[str, Any]] = {
    "free": {},
    "off": {"reasoning": "off"},
    "open": {"thought": "open"},
    "closed": {"thought": "closed"},
    "open, off": {"thought": "open", "reasoning": "off"},
}

#: choices that the schema of a JSON value belongs to
VALUE_CHOICES = ("value", "value or call", "value, none")
MUST_CALL = ("required", "required, one", "named", "required with a value", "required, barred")
ONE_CALL = ("auto, one", "required, one", "named")
#: choices of families that have marks of thoughts only in some models
LENT_CHOICES = ("free", "auto", "none", "required", "value or call")
NO_CALLS = ("none", "value", "value, none", "free")

VALUE = '{"name": "x"}'
TEXT = "Let me see."
HARD_TEXT = "a < b && c > d; {x} [1, 2] \"q\" 'p' \\n\n\nZażółć 漢字 😀 </b>\n"


@dataclass(frozen=True)
class Means:
    """The message of an answer; ``calls``: names and arguments."""

    content: str = ""
    calls: tuple[tuple[str, Any], ...] = ()
    reasoning: str = ""


@dataclass(frozen=True)
class Transcript:
    """An answer in one format. ``means``: None if the grammar must reject it, because of ``why``.

    ``marks``       the marks of thoughts, if they are not the format's own.
    ``only_tokens`` whether ``why`` needs the text's special tokens to be tokens.
    """

    format: str
    choice: str
    text: str
    means: Means | None
    why: str = ""
    thinking: str = "free"
    marks: ThinkingMarks | None = None
    only_tokens: bool = False


@dataclass(frozen=True, kw_only=True)
class Thinking:
    """The wire texts of a thought: ``begin``, ``inner``, its text, ``inner``, ``end``, ``outer``.

    ``newlines``    line feeds that are dropped inside the marks and behind them; the next is text.
    ``marks``       for with_thinking; None: the family's own.
    ``states``      those that the family distinguishes.
    ``repeats``     whether an answer may contain several thoughts.
    ``holds_calls`` whether the text of a call is reasoning inside of a thought; if not, it contains
                    special tokens.
    """

    begin: str
    end: str
    inner: str = "\n"
    outer: str = "\n\n"
    newlines: tuple[int, int] = (1, 2)
    is_own: bool = False
    states: tuple[str, ...] = ("free", "off", "open", "closed", "open, off")
    repeats: bool = False
    holds_calls: bool = False

    @property
    def marks(self) -> ThinkingMarks | None:
        if self.is_own:
            return None
        inner, outer = self.newlines
        return ThinkingMarks(
            begin=self.begin, end=self.end, inner_newlines=inner, outer_newlines=outer
        )


@dataclass(frozen=True, kw_only=True)
class Wire:
    """The wire texts of one family.

    ``f``, ``g``, ``ff``  calls of f with the city Oslo, of g with n = 2, and of ff. "{#}" stands
                          for the number of a call in its answer, ``first`` for that of the first.
    ``city``, ``n``       the arguments inside of them: JSON objects or elements.
    ``wrong_n``           an argument n that is no integer; "": made from the JSON.
    ``country``           an argument that f does not have.
    ``section``           the texts around all calls.
    ``separator``         between two calls in a section, or where only calls are allowed.
    ``lead``              a mark before the calls; ``lead_required``: if a value is possible, too.
    ``gaps``              white space between calls in text that is no content.
    ``mark``              a text after which a call must follow.
    ``text``              the texts around content. ``beside``: around content before calls; None:
                          there is none.
    ``is_open``           whether text may follow calls.
    ``is_parallel``       whether an answer may contain several calls.
    ``call_is_text``      whether calls contain no special token, so that they are text if there are
                          no tools. ``named_only``: a call of an unknown tool is text, too.
    ``ids``               a written id, and wrong ones.
    ``tail``              ends every answer.
    ``free_special``      a special token that text with calls may contain: a call begins with it
                          and one more character, so the grammar cannot exclude it.
    ``ends_loosely``      whether calls end with an element, which white space may follow.
    ``is_tokens``         whether the marks must be special tokens.
    """

    formats: tuple[str, ...]
    f: str
    g: str
    ff: str
    mark: str
    city: str = OSLO
    n: str = TWO
    wrong_n: str = '{"n": "two"}'
    country: str = '{"city": "Oslo", "country": "NO"}'
    section: tuple[str, str] = ("", "")
    separator: str = ""
    lead: str = ""
    gaps: tuple[str, ...] = ()
    text: tuple[str, str] = ("", "")
    beside: tuple[str, str] | None = ("", "")
    is_open: bool = False
    is_parallel: bool = True
    call_is_text: bool = False
    named_only: bool = False
    ids: tuple[str, tuple[str, ...]] = ("", ())
    first: int = 0
    tail: str = ""
    free_special: str = ""
    thinking: Thinking | None = None
    ends_loosely: bool = False
    is_tokens: bool = False

    def calls(self, *calls: str, lead: str = "") -> str:
        begin, end = self.section
        return f"{lead}{begin}{self.separator.join(calls)}{end}{self.tail}"

    def said(self, text: str) -> str:
        return f"{self.text[0]}{text}{self.text[1]}{self.tail}"

    def before(self, text: str) -> str:
        assert self.beside is not None
        return f"{self.beside[0]}{text}{self.beside[1]}"

    @property
    def is_sectioned(self) -> bool:
        return self.section != ("", "")

    @property
    def is_text_free(self) -> bool:
        return self.text == ("", "")


F = ("f", {"city": "Oslo"})
G = ("g", {"n": 2})
FF = ("ff", {})
#: an answer that is accepted, and its meaning
Accepted = tuple[str, Means]
#: an answer that is rejected, and the reason
Rejected = tuple[str, str]


def transcripts_of(wire: Wire) -> Iterator[Transcript]:
    """Yield the transcripts of a family for every choice, then those with thoughts."""
    for each in _unnumbered(wire):
        head, *rests = each.text.split("{#}")
        text = head + "".join(f"{wire.first + n}{rest}" for n, rest in enumerate(rests))
        yield replace(each, text=text)


def _unnumbered(wire: Wire) -> Iterator[Transcript]:
    for name in wire.formats:
        own = wire.thinking is not None and wire.thinking.is_own
        state = "closed" if own and "closed" in wire.thinking.states else "free"
        for choice in CHOICES:
            for text, means in _accepted(wire, choice):
                yield Transcript(name, choice, text, means, thinking=state)
            for text, why in _rejected(wire, choice):
                yield Transcript(name, choice, text, None, why, state)
            if choice in ("free", "auto", "none", "value"):
                yield from _specials(wire, name, choice, state)
        if wire.thinking is not None:
            yield from _thoughts(wire, wire.thinking, name)


# -- accepted answers ------------------------------------------------------------------------------


def _accepted(wire: Wire, choice: str) -> Iterator[Accepted]:
    if choice in VALUE_CHOICES:
        for value in (VALUE, '{"name":"é 😀"}', '{"name": "\\"<b>{}"}', '{"name": ""}'):
            yield wire.said(value), Means(value)
    elif choice not in MUST_CALL:
        for text in (TEXT, HARD_TEXT, "", VALUE, " \n"):
            yield wire.said(text), Means(text)
    if choice == "free" and wire.call_is_text:
        yield wire.said(wire.calls(wire.f)), Means(wire.calls(wire.f))
    if choice not in NO_CALLS:
        yield from _calls(wire, choice)
    if choice in ("auto", "auto, one", "barred") and wire.beside is not None:
        yield from _text_and_calls(wire, choice)


def _leads(wire: Wire, choice: str) -> tuple[str, ...]:
    if not wire.lead:
        return ("",)
    return (wire.lead,) if choice in VALUE_CHOICES else (wire.lead, "")


def _calls(wire: Wire, choice: str) -> Iterator[Accepted]:
    empty_g = wire.g.replace(wire.n, "{}" if wire.n == TWO else "")
    for lead in _leads(wire, choice):
        yield wire.calls(wire.f, lead=lead), Means(calls=(F,))
        if choice == "named":
            continue
        yield wire.calls(wire.ff, lead=lead), Means(calls=(FF,))
        if "barred" not in choice:
            yield wire.calls(wire.g, lead=lead), Means(calls=(G,))
            yield wire.calls(empty_g, lead=lead), Means(calls=(("g", {}),))
        if choice in ONE_CALL or not wire.is_parallel:
            continue
        if _may_trail(wire, choice):
            begin, end = wire.section
            for texts, calls in (([wire.f], (F,)), ([wire.ff, wire.f], (FF, F))):
                written = wire.separator.join([*texts, ""])
                yield f"{lead}{begin}{written}{end}{wire.tail}", Means(calls=calls)
        yield wire.calls(wire.f, wire.f, lead=lead), Means(calls=(F, F))
        yield wire.calls(wire.ff, wire.f, lead=lead), Means(calls=(FF, F))
        if "barred" not in choice:
            yield wire.calls(wire.f, wire.g, lead=lead), Means(calls=(F, G))
            yield wire.calls(wire.g, wire.ff, wire.f, lead=lead), Means(calls=(G, FF, F))


def _text_and_calls(wire: Wire, choice: str) -> Iterator[Accepted]:
    for text in (TEXT, HARD_TEXT, "\n\n"):
        yield wire.before(text) + wire.calls(wire.f), Means(text, (F,))
    if wire.named_only:
        unknown = wire.ff.replace("ff", "fff")
        yield wire.said(unknown), Means(unknown)
        yield wire.before(f"{unknown}\n") + wire.calls(wire.f), Means(f"{unknown}\n", (F,))
    if choice in ONE_CALL or not wire.is_parallel:
        return
    yield wire.before(TEXT) + wire.calls(wire.f, wire.ff), Means(TEXT, (F, FF))
    if wire.is_open:
        yield f"{wire.f}\nDone.", Means("\nDone.", (F,))
        yield f"{wire.f} and {wire.ff} so", Means(" and  so", (F, FF))
        yield f"{TEXT}{wire.f}{TEXT}{wire.ff}", Means(TEXT + TEXT, (F, FF))
        for gap in wire.gaps:
            yield f"{wire.f}{gap}{wire.ff}{gap}", Means(calls=(F, FF))
    if wire.is_open and not wire.gaps:
        yield f"{wire.f}\n{wire.ff}", Means("\n", (F, FF))


# -- rejected answers ------------------------------------------------------------------------------


def _rejected(wire: Wire, choice: str) -> Iterator[Rejected]:
    lead = _leads(wire, choice)[0]
    if choice in VALUE_CHOICES:
        yield from _no_values(wire)
    if choice in MUST_CALL:
        yield from _no_calls(wire, choice)
    if choice in NO_CALLS:
        yield from _calls_where_none_may_be(wire, choice)
        return
    for call, why in _wrong_calls(wire, choice):
        yield wire.calls(call, lead=lead), why
    if choice == "named":
        yield wire.calls(wire.g), "another tool than the named one"
        yield wire.calls(wire.ff), "a tool whose name begins like that of the named one"
    if "barred" in choice:
        yield wire.calls(wire.g), "a barred tool"
        yield wire.calls(wire.f, wire.g), "a barred tool after another"
    if choice in ONE_CALL or not wire.is_parallel:
        yield wire.calls(wire.f, wire.f, lead=lead), "a second call"
        yield wire.calls(wire.f, wire.ff, lead=lead), "a second call of another tool"
    if choice in ONE_CALL or not wire.is_open or choice not in ("auto", "barred"):
        yield from _after(wire, choice, lead)
    if wire.is_sectioned:
        yield from _sections(wire, choice, lead)
    if choice in ("auto", "auto, one", "barred"):
        yield wire.said(TEXT + wire.mark), "the mark of a call at the end of text"
        yield wire.said(f"{TEXT}{wire.mark} {TEXT}"), "the mark of a call in text"
        if wire.beside is None:
            yield wire.text[0] + TEXT + wire.text[1] + wire.calls(wire.f), "text and a call"
    elif not wire.is_sectioned:
        yield from _separators(wire, choice, lead)
    if choice in VALUE_CHOICES:
        yield wire.said(VALUE) + wire.calls(wire.f, lead=lead), "a value before a call"
        yield wire.calls(wire.f, lead=lead) + wire.said(VALUE), "a value after a call"
        if not wire.is_text_free:
            yield VALUE + wire.calls(wire.f, lead=lead), "a value without marks before a call"
        if wire.lead:
            yield wire.calls(wire.f), "a call without the mark that distinguishes it from a value"


def _wrong_calls(wire: Wire, choice: str) -> Iterator[Rejected]:
    """Yield calls that are wrong whatever the choice allows."""
    is_json = wire.city == OSLO
    none = "{}" if is_json else ""
    if not wire.named_only or choice not in ("auto", "auto, one", "barred"):
        yield wire.ff.replace("ff", "h"), "an unknown tool"
        yield wire.ff.replace("ff", "fff"), "a tool whose name begins like that of another"
        yield wire.ff.replace("ff", "FF"), "a tool whose name has other letters"
        yield wire.ff.replace("ff", ""), "no name"
    yield wire.f.replace(wire.city, none), "a missing argument"
    yield wire.f.replace(wire.city, wire.country), "an additional argument"
    if choice not in ("auto", "barred") or not wire.f.endswith(wire.city):  # otherwise it is text
        yield wire.f.replace(wire.city, f"{wire.city}{wire.city}"), "the arguments twice"
    if choice != "named":
        yield wire.g.replace(wire.n, wire.wrong_n), "an argument of another type"
    if is_json:
        yield wire.f.replace(wire.city, '{"city": 1}'), "a number for a string"
        yield wire.f.replace(wire.city, '{"city": null}'), "null for a string"
        yield wire.f.replace(wire.city, '["Oslo"]'), "a list of arguments"
        yield wire.f.replace(wire.city, '"Oslo"'), "a string of arguments"
        yield wire.f.replace(wire.city, ""), "no arguments"
        yield wire.f.replace(wire.city, '{"city": "Oslo"'), "arguments without an end"
    for wrong in wire.ids[1]:
        yield wire.f.replace(wire.ids[0], wrong), f"the id {wrong!r}"


def _no_values(wire: Wire) -> Iterator[Rejected]:
    for text, why in (
        (TEXT, "text where a value is asked"),
        ("", "no value"),
        ('{"name": 1}', "a value of another type"),
        ("{}", "a value without its key"),
        ('{"name": "x", "n": 1}', "a value with another key"),
        ('["x"]', "a list"),
        (VALUE[:-1], "a value without its end"),
        (VALUE + VALUE, "two values"),
        (f"{VALUE} {TEXT}", "text after a value"),
        (f"{TEXT} {VALUE}", "text before a value"),
        (f"```json\n{VALUE}\n```", "a value in a fence"),
    ):
        yield wire.said(text), why


def _no_calls(wire: Wire, choice: str) -> Iterator[Rejected]:
    yield "", "no call"
    yield wire.said(TEXT), "text where a call is required"
    yield wire.said(VALUE), "a value where a call is required"
    yield wire.mark, "the mark of a call without the call"
    if wire.lead:
        yield wire.lead, "a mark before calls without a call"
        yield wire.calls(wire.f, lead=wire.lead * 2), "a mark before calls twice"
    if wire.beside is not None:
        yield wire.before(TEXT) + wire.calls(wire.f), "text before a required call"


def _calls_where_none_may_be(wire: Wire, choice: str) -> Iterator[Rejected]:
    if choice == "free" and wire.call_is_text:
        return
    yield wire.calls(wire.f), "a call where there are no tools or the choice is none"
    yield wire.calls(wire.ff), "a call without arguments where none may be"
    if wire.beside is not None:
        yield wire.before(TEXT) + wire.calls(wire.f), "text and a call where none may be"
    yield wire.said(TEXT + wire.mark), "the mark of a call where none may be"
    if wire.lead:
        yield wire.calls(wire.f, lead=wire.lead), "a call with its mark where none may be"


def _may_trail(wire: Wire, choice: str) -> bool:
    """Whether a separator may follow the last call: a model cannot know yet that it is the last."""
    return wire.separator.isspace() and wire.is_parallel and choice not in ONE_CALL


def _after(wire: Wire, choice: str, lead: str) -> Iterator[Rejected]:
    """Yield calls that are followed by something, where nothing may follow."""
    whole = wire.calls(wire.f, lead=lead)
    yield f"{whole}\nDone.", "text after the calls"
    if wire.is_sectioned or not (wire.ends_loosely or _may_trail(wire, choice)):
        yield f"{whole}\n", "a line feed after the calls"
    if not wire.ends_loosely:
        yield f"{whole}\n\n", "two line feeds after the calls"
    yield whole + wire.said(TEXT), "content after the calls"
    if wire.is_sectioned or wire.separator != wire.tail:
        yield whole + whole, "the calls twice"


def _sections(wire: Wire, choice: str, lead: str) -> Iterator[Rejected]:
    begin, end = wire.section
    if end:
        yield lead + begin + wire.f + wire.tail, "a section without its end"
    if choice not in ("auto", "auto, one", "barred"):  # otherwise it may be text
        yield lead + wire.f + end + wire.tail, "a section without its begin"
        yield lead + wire.f + wire.tail, "a call without its section"
    yield lead + begin + end + wire.tail, "a section without a call"
    yield lead + begin + TEXT + wire.f + end + wire.tail, "text in a section before a call"
    yield lead + begin + wire.f + TEXT + end + wire.tail, "text in a section after a call"
    yield lead + begin + wire.f[: len(wire.f) // 2] + end + wire.tail, "half a call in a section"
    yield lead + begin + begin + wire.f + end + end + wire.tail, "a section in a section"
    if wire.tail:
        yield lead + begin + wire.f + end, "an answer without its end"
    yield from _separators(wire, choice, lead)


def _separators(wire: Wire, choice: str, lead: str) -> Iterator[Rejected]:
    begin, end = wire.section
    if wire.separator:
        yield f"{lead}{begin}{wire.separator}{wire.f}{end}{wire.tail}", "a separator before a call"
    if wire.separator and not _may_trail(wire, choice):
        yield f"{lead}{begin}{wire.f}{wire.separator}{end}{wire.tail}", "a separator at the end"
    if choice in ONE_CALL or not wire.is_parallel:
        return
    if wire.separator:
        yield f"{lead}{begin}{wire.f}{wire.f}{end}{wire.tail}", "calls without a separator"
    two = (wire.separator * 2).join((wire.f, wire.f)) if wire.separator else ""
    if two:
        yield f"{lead}{begin}{two}{end}{wire.tail}", "two separators"
    yield f"{lead}{begin}{wire.f}\n\n,{wire.f}{end}{wire.tail}", "an unknown separator"


def _specials(wire: Wire, name: str, choice: str, state: str) -> Iterator[Transcript]:
    """Yield text that contains a special token of the format."""
    for special in SPECIALS[FORMATS[name].name]:
        if choice == "auto" and special == wire.free_special:
            continue
        text = '{"name": "a' + special + 'b"}' if choice == "value" else f"a{special}b"
        why = f"the special token {special} in content"
        is_value = choice == "value"
        yield Transcript(name, choice, wire.said(text), None, why, state, only_tokens=is_value)


# -- thoughts --------------------------------------------------------------------------------------


def _bases(wire: Wire, choice: str) -> Iterator[tuple[str, Means]]:
    """Yield some answers that may follow a thought."""
    if choice in VALUE_CHOICES:
        yield wire.said(VALUE), Means(VALUE)
    elif choice not in MUST_CALL:
        yield wire.said(TEXT), Means(TEXT)
    if choice not in NO_CALLS:
        lead = _leads(wire, choice)[0]
        yield wire.calls(wire.f, lead=lead), Means(calls=(F,))
        if choice not in ONE_CALL and wire.is_parallel:
            yield wire.calls(wire.f, wire.ff, lead=lead), Means(calls=(F, FF))
    if choice == "auto" and wire.beside is not None:
        yield wire.before(TEXT) + wire.calls(wire.f), Means(TEXT, (F,))


WHICH = "Which city?"


def _thoughts(wire: Wire, marks: Thinking, name: str) -> Iterator[Transcript]:
    closing = f"{marks.inner}{marks.end}{marks.outer}"
    inside = f"{marks.inner}{WHICH}{closing}"
    thought = f"{marks.begin}{inside}"
    for choice in CHOICES if marks.is_own else LENT_CHOICES:
        made: list[tuple[str, str, Means | None, str]] = []
        for base, means in _bases(wire, choice):
            thinks = replace(means, reasoning=WHICH)
            bare = f"{WHICH}{marks.end}{base}"
            made += [
                ("free", base, means, ""),
                ("free", thought + base, thinks, ""),
                ("free", marks.begin + bare, thinks, ""),
                ("free", f"{marks.begin}{WHICH}{base}", None, "a thought without its end"),
                ("free", f"{inside}{base}", None, "a thought without its begin"),
                ("free", f"{TEXT}{thought}{base}", None, "text before a thought"),
                ("off", base, means, ""),
                ("off", thought + base, None, "a thought that is off"),
                ("closed", base, means, ""),
                ("closed", thought + base, None, "a thought after a closed one"),
                ("closed", inside + base, None, "the end of a thought that is closed"),
                ("open", inside + base, thinks, ""),
                ("open", bare, thinks, ""),
                ("open", f"{marks.end}{base}", means, ""),
                ("open", base, None, "an answer inside of a thought"),
                ("open", WHICH + base, None, "an open thought without its end"),
                ("open", thought + base, None, "a thought that begins twice"),
                ("open, off", f"{marks.end}{marks.outer}{base}", means, ""),
                ("open, off", base, None, "an answer inside of a thought that is off"),
                ("open, off", inside + base, None, "a text in a thought that is off"),
            ]
            again = replace(means, reasoning=WHICH * 2) if marks.repeats else None
            made.append(("free", thought + thought + base, again, "" if again else "two thoughts"))
            made.append(("free", base + thought, None, "a thought after the answer"))
        made += _texts_of_thoughts(wire, marks, choice)
        for state, text, wanted, why in made:
            if state in marks.states:
                yield Transcript(name, choice, text, wanted, why, state, marks.marks)


def _texts_of_thoughts(
    wire: Wire, marks: Thinking, choice: str
) -> Iterable[tuple[str, str, Means | None, str]]:
    """Yield thoughts with special texts before the first answer of a choice."""
    base, means = next(iter(_bases(wire, choice)))
    for state, begin in (("free", marks.begin), ("open", "")):
        for text in (HARD_TEXT.strip("\n"), "a\n\nb", VALUE, ""):
            said = f"{begin}{marks.inner}{text}{marks.inner}{marks.end}{marks.outer}"
            yield state, said + base, replace(means, reasoning=text), ""
        call = f"{begin}{wire.calls(wire.f)}{marks.end}{marks.outer}{base}"
        if marks.holds_calls:
            yield state, call, replace(means, reasoning=wire.calls(wire.f)), ""
        else:
            yield state, call, None, "the marks of a call in a thought"
        is_text = wire.is_text_free and choice not in (*MUST_CALL, *VALUE_CHOICES)
        alone = Means(reasoning=WHICH) if is_text else None
        why = "" if alone else "a thought without an answer"
        yield state, f"{begin}{WHICH}{marks.end}", alone, why
        yield state, f"{begin}{WHICH}", None, "a thought that never ends"
        more = "\n" * marks.newlines[0]
        said = f"{begin}\n{more}{WHICH}{more}\n{marks.end}{base}"
        yield state, said, replace(means, reasoning=f"\n{WHICH}\n"), ""
        behind = "\n" * marks.newlines[1]
        said = f"{begin}{WHICH}{marks.end}\n{behind}{base}"
        if is_text:
            yield state, said, Means("\n" + means.content, means.calls, WHICH), ""
        else:
            yield state, said, None, "a line feed too many behind a thought"
