"""Arguments in the styles of families as JSON text, while they stream.

    elements  <parameter=city>Oslo</parameter>, and other styles like XML
    Python    keyword arguments: city="Oslo", tags=['a', "b"], ok=True
    Gemma     an object without braces: city:<|"|>Oslo<|"|>,tags:[<|"|>a<|"|>],ok:true
    code      source code, which becomes the argument "code"

The grammar has constrained the text, so a reader only translates.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping

from engine import Style, StyleRegion, style_of

from ..parts import CODE_STYLE

_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
#: escapes that JSON lacks, as the characters they stand for
_PYTHON_ESCAPES = {"'": "'", "a": "\a", "v": "\v", "0": "\0", "\n": ""}
_HEX_DIGITS = {"x": 2, "U": 8}
_SPACE = " \t\n\r"
_BRACKETS = {StyleRegion.OBJECT: ("{", "}"), StyleRegion.ARRAY: ("[", "]")}


class ArgumentReader(ABC):
    """Translates the text of one call's arguments to JSON; by default, text without regions."""

    def begin(self) -> str:
        """Return the beginning of the arguments."""
        return "{"

    def open(self, region: StyleRegion) -> str:
        """Return the JSON before the value of a region."""
        return ""

    @abstractmethod
    def text(self, region: StyleRegion | None, text: str) -> str:
        """Return the JSON of more text; an incomplete token is held back."""

    def close(self, region: StyleRegion) -> str:
        """Return the JSON behind the value of a region."""
        return ""

    def end(self) -> str:
        """Return the end of complete arguments."""
        return "}"


def argument_reader(style: str | Style) -> ArgumentReader:
    """Return a reader of arguments in a style of the engine, or of source code."""
    if style == CODE_STYLE:
        return CodeReader()
    chosen = style_of(style)
    if chosen.values == "python":
        return PythonReader()
    return GemmaReader(chosen.quote) if chosen.quote else ElementReader(chosen.escapes)


class ElementReader(ArgumentReader):
    """Elements, which the engine's parser reports as regions (engine.StyleRegion).

    The regions say which values are raw strings, so nothing is guessed. ``escapes``: the style's
    escapes in keys, by character.
    """

    def __init__(self, escapes: Mapping[str, str]) -> None:
        self._escapes = escapes
        self._key: str | None = None
        self._constant = ""
        #: by open container: whether it has a member
        self._has_member = [False]

    def open(self, region: StyleRegion) -> str:
        before = ", " if self._has_member[-1] else ""
        self._has_member[-1] = True
        if self._key is not None:
            before += f"{json.dumps(self._unescaped(self._key), ensure_ascii=False)}: "
            self._key = None
        if region is StyleRegion.STRING:
            return before + '"'
        if region in _BRACKETS:
            self._has_member.append(False)
            return before + _BRACKETS[region][0]
        return before

    def text(self, region: StyleRegion | None, text: str) -> str:
        # text of an object outside of the regions inside it is a key
        if region is None or region is StyleRegion.OBJECT:
            self._key = (self._key or "") + text
        elif region is StyleRegion.TEXT:
            return json.dumps(text, ensure_ascii=False)[1:-1]
        elif region is StyleRegion.VALUE:
            return text
        elif region is StyleRegion.CONSTANT:
            self._constant += text
        return ""

    def close(self, region: StyleRegion) -> str:
        if region is StyleRegion.STRING:
            return '"'
        if region is StyleRegion.JSON:
            constant, self._constant = self._constant, ""
            return _CONSTANTS.get(constant, "")
        if region in _BRACKETS:
            self._has_member.pop()
            return _BRACKETS[region][1]
        return ""

    def _unescaped(self, key: str) -> str:
        for character, escape in reversed(list(self._escapes.items())):
            key = key.replace(escape, character)
        return key


class CodeReader(ArgumentReader):
    """Source code, unchanged."""

    def begin(self) -> str:
        return '{"code": "'

    def text(self, region: StyleRegion | None, text: str) -> str:
        return json.dumps(text, ensure_ascii=False)[1:-1]

    def end(self) -> str:
        return '"}'


class PythonReader(ArgumentReader):
    """Python's keyword arguments.

    ``_quote`` is the quote of the open string, ``_held`` an incomplete key, word or escape.
    ``_depth`` counts open brackets: at depth 0, a key follows each comma, up to ``=``. Keys need
    not be identifiers.
    """

    def __init__(self) -> None:
        self._quote = ""
        self._held = ""
        self._depth = 0
        self._in_key = True

    def text(self, region: StyleRegion | None, text: str) -> str:
        out = []
        for character in text:
            if self._in_key:
                out.append(self._key(character))
            else:
                out.append(self._inside(character) if self._quote else self._outside(character))
        return "".join(out)

    def end(self) -> str:
        return self._word() + "}"

    def _key(self, character: str) -> str:
        if character == "=":
            key, self._held, self._in_key = self._held, "", False
            return f"{json.dumps(key, ensure_ascii=False)}: "
        if not self._held and character in _SPACE:
            return character
        self._held += character
        return ""

    def _outside(self, character: str) -> str:
        if character.isalnum() or character in "_.+-":
            self._held += character
            return ""
        before = self._word()
        if character in "\"'":
            self._quote = character
            return before + '"'
        self._depth += (character in "([{") - (character in ")]}")
        self._in_key = character == "," and not self._depth
        return before + {"(": "[", ")": "]"}.get(character, character)

    def _word(self) -> str:
        word, self._held = self._held, ""
        return _CONSTANTS.get(word, word)

    def _inside(self, character: str) -> str:
        if self._held:
            return self._escape(character)
        if character == "\\":
            self._held = character
            return ""
        if character == self._quote:
            self._quote = ""
            return '"'
        return json.dumps(character, ensure_ascii=False)[1:-1]

    def _escape(self, character: str) -> str:
        self._held += character
        kind = self._held[1]
        if kind in _HEX_DIGITS and len(self._held) < 2 + _HEX_DIGITS[kind]:
            return ""
        escape, self._held = self._held, ""
        if kind in _HEX_DIGITS:
            return json.dumps(chr(int(escape[2:], 16)), ensure_ascii=False)[1:-1]
        if kind in _PYTHON_ESCAPES:
            return json.dumps(_PYTHON_ESCAPES[kind], ensure_ascii=False)[1:-1]
        return escape


class GemmaReader(ArgumentReader):
    """An object without braces, whose keys are bare and whose strings stand between ``quote``.

    ``_held`` is an incomplete key or quote; ``_open`` has the open brackets. In an object, a key
    follows the bracket and each comma, up to ``:``. Keys need not be identifiers. ``_skipped`` is
    the rest of a None, which was read as null.
    """

    def __init__(self, quote: str) -> None:
        self._mark = quote
        self._held = ""
        self._in_string = False
        self._in_key = True
        self._open = ["{"]
        self._skipped = ""

    def text(self, region: StyleRegion | None, text: str) -> str:
        text, self._held = self._held + text, ""
        out: list[str] = []
        at = 0
        while at < len(text):
            if self._in_key and text[at] not in _SPACE and text[at] != "}":
                end = text.find(":", at)
                if end < 0:
                    break  # a key that goes on
                out.append(f"{json.dumps(text[at:end], ensure_ascii=False)}:")
                at, self._in_key = end + 1, False
            elif text.startswith(self._mark, at):
                at += len(self._mark)
                self._in_string = not self._in_string
                out.append('"')
            elif self._mark.startswith(text[at:]):
                break  # a mark that may go on
            else:
                out.append(self._character(text[at]))
                at += 1
        self._held = text[at:]
        return "".join(out)

    def end(self) -> str:
        rest, self._held = self._held, ""
        return rest + "}"

    def _character(self, character: str) -> str:
        if self._in_string:
            return json.dumps(character, ensure_ascii=False)[1:-1]
        if self._skipped.startswith(character):
            self._skipped = self._skipped[1:]
            return ""
        if character == "N":
            self._skipped = "one"
            return _CONSTANTS["None"]
        if character in "{[":
            self._open.append(character)
        elif character in "}]":
            self._open.pop()
        if character not in _SPACE:
            self._in_key = self._open[-1] == "{" and character in "{,"
        return character
