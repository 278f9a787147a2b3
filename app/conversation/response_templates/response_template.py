"""A family from a checkpoint's ``response_template``: a description of answers for their readers.

``transformers`` (5.13 and later) keeps it in ``tokenizer_config.json`` and reads answers with it
(``parse_response``). It has a field for each key of a message: the marks around its text (literals
or regular expressions), the notation of the text, and how that becomes the message.

    {"fields": {
        "thinking":   {"open": "<think>", "close": "</think>"},
        "tool_calls": {"open": "<tool_call>", "close": "</tool_call>", "repeats": true,
                       "content": "json",
                       "transform": {"type": "function", "function": "{content}"}},
        "content":    {"close": "<|im_end|>"}}}

A reader accepts more than the model writes. The texts that the template leaves open, most of them
white space, come from a call that the chat template renders; without one, from habit, with a note.

Invariants  I1 a rendered call decides: a family that does not write it is refused. I2 a part of the
            template without a meaning here ends the derivation, or is named in a note, except
            ``start_anchor`` and ``defaults``: they are about the prompt and the message.
Bounds      the template is input of unknown origin: any JSON. Only known keys are read, and no
            expression of it is run (patterns).
Not here    which source of a format wins (detection).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adapters.formats import (
    CallIds,
    Elements,
    Notation,
    PastCall,
    Section,
    TagFamily,
    TextMarks,
    ThinkingMarks,
    json_name,
    word_name,
)
from engine import STYLES, Style

from ..made_family import MadeFamily
from ..profile import squeezed
from .call_shape import FilledShape, Junk, filled, usual
from .patterns import Gap, Group, Text
from .readings import Reading, readings_of
from .template_field import (
    MAX_FIELDS,
    TemplateField,
    UnusableTemplate,
    checked_style,
    known_keys,
    named,
    shown,
)

#: ids that a template does not describe, and the most characters of any
_ID_CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
_MAX_ID = 64
#: the keys of reasoning in messages, as transformers knows them
_REASONING = ("reasoning_content", "thinking", "reasoning")
_CALLS, _CONTENT = "tool_calls", "content"
_KEYS = frozenset({"version", "defaults", "fields", "start_anchor", "start_anchor_pattern"})
#: texts that a family takes for placeholders
_PLACEHOLDERS = ("{name}", "{id}", "{key}", "{type}")


def response_template_of(tokenizer: Any) -> Any | None:
    """Return a tokenizer's response template, of any type; None: it has none.

    ``transformers`` before 5.13 keeps unknown keys of tokenizer_config.json in ``init_kwargs``.
    """
    found = getattr(tokenizer, "response_template", None)
    if found is not None:
        return found
    options = getattr(tokenizer, "init_kwargs", None)
    return options.get("response_template") if isinstance(options, Mapping) else None


def thinking_of(template: Any) -> ThinkingMarks | None:
    """Return the marks around thoughts; None: the template has none that are texts.

    Raises:
        UnusableTemplate: the template is none of version 1.
    """
    return _Template(template, ()).thinking()


def family_of(
    template: Any,
    *,
    name: str = "response_template",
    stops: Collection[str] = (),
    rendered: str = "",
    calls: Sequence[PastCall] = (),
) -> MadeFamily:
    """Return the family of a response template.

    ``stops``     texts of the tokens that end answers.
    ``rendered``  these ``calls`` in a conversation, as the chat template writes them; "": it does
                  not show them.

    Raises:
        UnusableTemplate: the template is none of version 1, describes no calls, describes them in
            a way without a grammar, or does not describe the rendered ones.
    """
    return _Template(template, stops).family(name, rendered, calls)


class _Template:
    def __init__(self, template: Any, stops: Collection[str]) -> None:
        if not isinstance(template, Mapping):
            raise UnusableTemplate(f"must be an object, got {shown(template)}")
        version = template.get("version", 1)
        if isinstance(version, bool) or version != 1:
            raise UnusableTemplate(f"version: must be 1, got {shown(version)}")
        known_keys("", template, _KEYS)
        fields = template.get("fields")
        if not isinstance(fields, Mapping) or not 0 < len(fields) <= MAX_FIELDS:
            raise UnusableTemplate(f"fields: must be an object of 1 to {MAX_FIELDS} fields")
        self._fields = {key: TemplateField(f"fields.{named(key)}", fields[key]) for key in fields}
        self._notes: list[str] = []
        self._stops = tuple(stops)

    def family(self, name: str, rendered: str, calls: Sequence[PastCall]) -> MadeFamily:
        if _CALLS not in self._fields:
            raise UnusableTemplate(f"fields.{_CALLS}: missing, so the syntax of calls is unknown")
        text = self._text_marks()
        base = TagFamily(
            name=name,
            begin="",
            end="",
            separator="\n" if text is None else "",
            between=" \n" if text is None else "",
            stop_texts=self._stops,
            text=text,
            thinking=self.thinking(),
        )
        found = self._with_calls(base, rendered, calls)
        for key, each in self._fields.items():
            self._notes += _unused(key, each)
        return MadeFamily(found, tuple(self._notes))

    def thinking(self) -> ThinkingMarks | None:
        each = next((self._fields[key] for key in _REASONING if key in self._fields), None)
        if each is None:
            return None
        begins = [text for text in each.texts("open") if text not in self._stops]
        ends = [text for text in each.texts("close") if text not in self._stops]
        if not begins or not ends or each.content != "text":
            self._notes.append(f"{each.path}: thoughts without a text before and behind them")
            return None
        if each.options({"strip"}).get("strip", True) is False:
            return ThinkingMarks(begin=begins[0], end=ends[0])
        return ThinkingMarks(begin=begins[0], end=ends[0], inner_newlines=1, outer_newlines=2)

    def _text_marks(self) -> TextMarks | None:
        """Return the marks around content. If it has none, the texts behind it end the answer."""
        each = self._fields.get(_CONTENT)
        if each is None:
            self._notes.append(f"fields.{_CONTENT}: missing; text outside of fields is content")
            return None
        if each.content != "text" or "transform" in each.data:
            raise each.fail("content", "must be text, as it is")
        each.options({"strip"})
        begins, ends = each.delimiters("open"), each.texts("close")
        if begins is None:
            self._stops = tuple(dict.fromkeys([*self._stops, *ends]))
            return None
        texts = each.texts("open")
        if not texts:
            raise each.fail("open_pattern", "has no alternative that is fixed text")
        is_last = not ends or any(text in self._stops for text in ends)
        return TextMarks(begin=texts[0], end="" if is_last else ends[0], is_beside_calls=True)

    # -- calls -------------------------------------------------------------------------------------
    def _with_calls(self, base: TagFamily, rendered: str, calls: Sequence[PastCall]) -> TagFamily:
        """Return the family of the first reading that writes the rendered calls."""
        each = self._fields[_CALLS]
        readings, notes = readings_of(each, self._stops, is_marked=base.text is not None)
        self._notes += notes
        if not rendered:
            if _has_gaps(readings[0]):
                self._notes.append(f"{each.path}: the white space in calls is a guess")
            return self._made(base, readings[0], usual(readings[0].shape, readings[0].element))
        for reading in readings:
            texts = filled(reading.shape, reading.element, reading.notation, rendered, calls)
            if texts is None:
                continue
            found = self._made(base, reading, texts)
            if any(squeezed(text) in squeezed(rendered) for text in found.calls_texts(calls)):
                if len(calls) > 1 and texts.separator is None:
                    self._notes.append(f"{each.path}: the chat template writes one call")
                    found = replace(found, is_parallel=False)
                return found
        raise UnusableTemplate(f"{each.path}: the chat template renders another call")

    def _made(self, base: TagFamily, reading: Reading, texts: FilledShape) -> TagFamily:
        each, shape = self._fields[_CALLS], reading.shape
        fixed = [part.text for part in _parts(reading) if isinstance(part, Text)]
        if any(mark in text for mark in _PLACEHOLDERS for text in fixed):
            raise UnusableTemplate(f"{each.path}: its marks contain one of {_PLACEHOLDERS}")
        separator, section = texts.separator, None
        is_parallel = each.flag("repeats") and each.delimiters("close") is not None
        if shape.section is not None and texts.section is not None:
            before, behind = texts.section
            mark = shape.section[0][0]
            assert isinstance(mark, Text)
            section = Section(begin=before, end=behind, trigger=mark.text)
            separator, is_parallel = ", " if separator is None else separator, True
        elif separator is None:
            separator = (*shape.separators, base.separator)[0]
        return replace(
            base,
            begin=texts.begin,
            end=texts.end,
            separator=separator,
            trigger="" if section else _trigger(texts.begin),
            section=section,
            arguments=_notation(each, reading, texts),
            ids=_ids(each, reading.id) if "{id}" in texts.begin + texts.end else None,
            spell=json_name if '"{name}"' in texts.begin else word_name,
            is_parallel=is_parallel,
        )


def _unused(key: str, each: TemplateField) -> list[str]:
    """Return notes about the parts of a field that the grammar does not have."""
    if key not in (_CALLS, _CONTENT, *_REASONING):
        return [f"{each.path}: its text is content"]
    notes = []
    # all texts behind content without marks end the answer
    sides = ("open", "close") if key != _CONTENT or each.delimiters("open") else ()
    for side in sides:
        texts = [pieces for pieces in each.delimiters(side) or [] if pieces]
        if len(texts) > 1:
            notes.append(f"{each.path}.{side}: one of {len(texts)} texts is written")
    if each.data.get("optional") is False:
        notes.append(f"{each.path}: answers need not have it")
    if key != _CALLS and each.data.get("repeats"):
        notes.append(f"{each.path}: is written once")
    return notes


def _notation(each: TemplateField, reading: Reading, texts: FilledShape) -> Notation:
    if reading.element is None:
        return reading.notation
    opened, closed = texts.element
    guard = reading.element.guard or closed.strip() or closed
    for name, style in STYLES.items():
        # a known style may also have the model's other spelling of constants
        glue = _glue(style, opened)
        alike = Style(
            style.open, closed, guard=style.guard, glue=style.glue, constants=style.constants
        )
        if glue is not None and style == alike and guard == (style.guard or closed):
            return Elements(name, after=texts.space, glue=None if glue == style.glue else glue)
    style = Style(opened, closed, guard="" if guard == closed else guard)
    return Elements(checked_style(each, style), after=texts.space)


def _glue(style: Style, opened: str) -> str | None:
    """Return the white space in place of the style's glue; None: an element begins otherwise."""
    if opened == style.open or not style.glue:
        return style.glue if opened == style.open else None
    before, _, behind = style.open.partition(style.glue)
    space = opened.removeprefix(before).removesuffix(behind)
    return space if not space.strip() and before + space + behind == opened else None


def _ids(each: TemplateField, group: Group | None) -> CallIds:
    if group is None:
        return CallIds(pattern=f"[{_ID_CHARACTERS}]{{1,{_MAX_ID}}}")
    pattern = ""
    for run in group.runs:
        characters = "".join(c for c in _ID_CHARACTERS if c in run)
        if not characters or run.least > _MAX_ID:
            raise each.fail("open_pattern", "has an id that letters and digits do not fit")
        pattern += f"[{characters}]{{{run.least},{min(run.most, _MAX_ID)}}}"
    return CallIds(pattern=pattern)


def _trigger(begin: str) -> str:
    """Return the text that opens a call in free text.

    A mark in brackets stands alone. Other texts, such as ``{"name":``, also stand in answers for
    other reasons; they open a call only where the name is complete.
    """
    fixed, found, rest = begin.partition("{id}")[0].partition("{name}")
    bracket = {"<": ">", "[": "]"}.get(fixed[:1])
    if bracket and bracket in fixed:
        return fixed[: fixed.index(bracket) + 1]
    return f"{fixed}{found}{rest[:1]}"


def _parts(reading: Reading) -> list[Any]:
    sides: list[Sequence[Any]] = [*reading.shape.sides]
    if reading.element is not None:
        sides += [reading.element.before, reading.element.between, reading.element.after]
    return [part for side in sides for part in side]


def _has_gaps(reading: Reading) -> bool:
    return any(isinstance(part, Gap | Junk) for part in _parts(reading))
