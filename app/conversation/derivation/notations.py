"""The notation of arguments, found in the texts of calls: JSON, Python, Gemma's, or elements.

Not here    the texts around arguments (calls), how templates show answers (answers).
"""

import json
import re
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

from adapters.formats import JSON, Elements, GemmaArguments, JsonLayout, Notation, PythonArguments
from engine import STYLES, Style

from ..call_layout import layouts
from .answers import Answers, Call, NotDerived
from .texts import Borders, common_prefix, common_suffix

#: one argument of each type, by JSON type; the keys of probes
TYPED: Mapping[str, Any] = {
    "string": "wordstring",
    "integer": 7,
    "number": 2.5,
    "boolean": True,
    "null": None,
    "array": ["worditem", "wordsecond"],
    "object": {"wordinner": "wordinside"},
}
FIRST, SECOND = "wordkey", "wordnext"
#: two arguments in the order of a template that keeps it
TWO = {FIRST: "wordvalue", SECOND: "wordlast"}
#: text with the characters that are special in JSON, XML or Python
_SPECIAL = "word<a> & \"b\" 'c' \\ end"
_JSON = ("true", "false", "null")
_PYTHON = ("True", "False", "None")
_LETTERS = string.ascii_letters


def key_of(kind: str) -> str:
    """Return the key of the argument of a type."""
    return f"wordof{kind}"


@dataclass(frozen=True)
class Found:
    """The notation of a template's arguments.

    ``written``  writes arguments as the template does.
    """

    notation: Notation
    written: Callable[[Mapping[str, Any]], str]


def notation_of(answers: Answers) -> Found:
    """Return the notation. Raises NotDerived."""
    shown = answers.of([Call("wordtool", TWO)])
    found = _json(shown) or _python(shown, answers) or _gemma(shown)
    if found is not None:
        return found
    return _ElementProbe(answers).found()


def named(style: Style) -> str | Style:
    """Return the name of a style if the engine has it under one."""
    return next((name for name, known in STYLES.items() if known == style), style)


def _json(shown: str) -> Found | None:
    for layout in layouts():
        if layout.written(TWO) in shown:
            return Found(JSON, partial(_written_in, layout))
    return None


def _written_in(layout: JsonLayout, values: Mapping[str, Any]) -> str:
    return layout.written(dict(values))


def _python(shown: str, answers: Answers) -> Found | None:
    found = re.search(rf"{FIRST}=(['\"])wordvalue\1(, ?){SECOND}=\1wordlast\1", shown)
    if found is None:
        return None
    key = key_of("boolean")
    is_json = f"{key}=true" in answers.of([Call("wordtool", {key: True})])
    style = STYLES["python"]._replace(constants=_JSON) if is_json else "python"
    notation = PythonArguments(style, quote=found[1], separator=found[2])
    return Found(notation, lambda values: notation.written(json.dumps(values)))


def _gemma(shown: str) -> Found | None:
    found = re.search(rf"{FIRST}:([^\w\s]\S*?)wordvalue\1,{SECOND}:\1wordlast\1", shown)
    if found is None:
        return None
    style = Style("{key}:", "", values="gemma", separator=",", quote=found[1], any_order=True)
    notation = GemmaArguments(style=named(style))
    return Found(notation, lambda values: notation.written(json.dumps(values)))


class _ElementProbe:
    """Elements: one for each argument, with its key in the text that opens it.

    ``_before``, ``_behind``  the texts around all elements of a call of ``wordtool``.
    """

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._borders: Borders = answers.borders

    def found(self) -> Found:
        self._find_texts(self._shown(TWO))
        values = {kind: self._of_type(kind, value) for kind, value in TYPED.items()}
        shown = {kind: value for kind, value in values.items() if value is not None}
        if "string" not in shown:
            raise NotDerived("elements do not show strings")
        types = self._types({kind: mid for kind, (mid, _) in shown.items()})
        written = {kind: text for kind, (_, text) in shown.items()}
        nested, item = self._nested(written)
        style = Style(
            self._pre + "{key}" + self._mid,
            self._close,
            types,
            nested=nested,
            item=item.replace(types["string"], "{type}") if types else item,
            guard=self._guard(nested),
            constants=_PYTHON if {"True", "None"} & {*written.values()} else (),
            wrap=self._wrap(types.get("string", "")),
        )
        notation = Elements(named(style), after=self._after)
        return Found(notation, lambda values: notation.written(json.dumps(values)))

    def _shown(self, arguments: Mapping[str, Any]) -> str:
        return self._answers.of([Call("wordtool", arguments)])

    def _find_texts(self, shown: str) -> None:
        before, mid, rest = _parted(shown, FIRST, TWO[FIRST])
        between, same, behind = _parted(rest, SECOND, TWO[SECOND])
        if mid != same:
            raise NotDerived("two arguments are written in different ways")
        # some repeat the key at the end
        between = between.replace(FIRST, "{key}")
        behind = behind.replace(SECOND, "{key}")
        least = len(between) - len(self._borders.suffix(between, before))
        most = len(self._borders.prefix(between, behind))
        ends = [at for at in range(least, most + 1) if not self._borders.is_cut(between, at)]
        if not ends:
            raise NotDerived("arguments are neither JSON nor elements")
        # the mark that begins the close of a family may begin the open, too
        mark = self._borders.first_mark(between)
        begun = [at for at in ends if mark and between.startswith(mark[0], at)]
        end = begun[0] if begun else ends[-1]
        closing, self._pre = between[:end], between[end:]
        self._close = closing.rstrip()
        self._after = closing[len(self._close) :]
        if not self._close or not self._pre.strip():
            raise NotDerived("the elements of arguments have no marks")
        self._before, self._behind = before.removesuffix(self._pre), behind.removeprefix(closing)
        self._mid = mid

    def _of_type(self, kind: str, value: Any) -> tuple[str, str] | None:
        """Return the text between a key and a value of this type, and the value's text; None: the
        template shows no such argument.
        """
        key = key_of(kind)
        close = self._close.replace("{key}", key) + self._after
        try:
            shown = self._shown({key: value})
        except NotDerived:
            return None
        opened, end = self._before + self._pre + key, close + self._behind
        if not shown.startswith(opened) or not shown.endswith(end):
            return None
        text = shown[len(opened) : len(shown) - len(end)]
        if text.startswith(self._mid):
            return self._mid, text.removeprefix(self._mid)
        # the text names the type
        for written in _texts(value):
            if text.endswith(written):
                return text.removesuffix(written), written
        return None

    def _types(self, mids: Mapping[str, str]) -> Mapping[str, str]:
        """Return the names of types between key and value, and put "{type}" in their place."""
        if len({*mids.values()}) == 1:
            return {}
        texts = [*mids.values()]
        begin = reduce(common_prefix, texts).rstrip(_LETTERS)
        end = reduce(common_suffix, texts).lstrip(_LETTERS)
        names = {kind: mid[len(begin) : len(mid) - len(end)] for kind, mid in mids.items()}
        if not all(map(str.isalnum, names.values())):
            raise NotDerived("elements of different types are written in different ways")
        self._mid = f"{begin}{{type}}{end}"
        # a type that no probe showed is written like a number, or like a string
        return {kind: names.get(kind, names.get("number", names["string"])) for kind in TYPED}

    def _nested(self, written: Mapping[str, str]) -> tuple[bool, str]:
        """Return whether lists and objects are elements, too, and the text that opens an item."""
        shown, inner = written.get("object"), next(iter(TYPED["object"].items()))
        if shown is None or not shown.startswith(self._pre + inner[0]):
            return False, ""
        opened, found, _ = written.get("array", "").partition(TYPED["array"][0])
        if not found:
            raise NotDerived("objects are elements, but lists are not")
        return True, opened

    def _guard(self, nested: bool) -> str:
        """Return the text that ends raw strings."""
        if nested:
            return self._borders.prefix(self._pre, self._close)
        guard = self._close.strip()
        return "" if guard == self._close else guard

    def _wrap(self, string_type: str) -> tuple[str, str]:
        """Return the texts around strings with special characters. Raises NotDerived if strings are
        not written as they are.
        """
        self._mid, mid = self._mid.replace("{type}", string_type), self._mid
        shown = self._of_type("string", _SPECIAL)
        self._mid = mid
        if shown is None or _SPECIAL not in shown[1]:
            raise NotDerived("strings in elements are not written as they are")
        before, _, after = shown[1].partition(_SPECIAL)
        return (before, after) if before and after else ("", "")


def _parted(text: str, key: str, value: str) -> tuple[str, str, str]:
    """Return the texts before a key, between it and its value, and behind that."""
    before, found, rest = text.partition(key)
    mid, also, behind = rest.partition(value)
    if not found or not also:
        raise NotDerived("the arguments of calls are in no known notation")
    return before, mid, behind


def _json_texts(value: Any) -> list[str]:
    return [layout.written(value) for layout in layouts()]


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts that templates write for a value."""
    yield from _json_texts(value)
    yield str(value)
