"""Literals of other notations as JSON text, while they stream.

    Python   keyword arguments: city="Oslo", tags=['a', "b"], ok=True
    Gemma    an object without braces: city:<|"|>Oslo<|"|>,tags:[<|"|>a<|"|>],ok:true

The grammar has constrained the text, so a reader only translates: it finds strings by their quotes,
and keys by their places.
"""

import json
import re
from typing import Protocol

_CONSTANTS = {"True": "true", "False": "false", "None": "null"}
_WORD = re.compile(r"\w+")
#: escapes that JSON lacks, as the characters they stand for
_PYTHON_ESCAPES = {"'": "'", "a": "\a", "v": "\v", "0": "\0", "\n": ""}
_HEX_DIGITS = {"x": 2, "U": 8}


class ArgumentReader(Protocol):
    """Translates the text of one call's arguments to JSON."""

    def begin(self) -> str:
        """Return the beginning of the arguments."""
        ...

    def text(self, text: str) -> str:
        """Return the JSON of more text; an incomplete token is held back."""
        ...

    def end(self) -> str:
        """Return the end of complete arguments."""
        ...


class PythonReader:
    """Python's keyword arguments.

    ``_quote`` is the quote of the open string, ``_held`` an incomplete word or escape. ``_depth``
    counts open brackets: at depth 0, a word before ``=`` is a key.
    """

    def __init__(self) -> None:
        self._quote = ""
        self._held = ""
        self._depth = 0

    def begin(self) -> str:
        """See ArgumentReader."""
        return "{"

    def text(self, text: str) -> str:
        """See ArgumentReader."""
        out = []
        for character in text:
            out.append(self._inside(character) if self._quote else self._outside(character))
        return "".join(out)

    def end(self) -> str:
        """See ArgumentReader."""
        return self._word() + "}"

    def _outside(self, character: str) -> str:
        if character.isalnum() or character in "_.+-":
            self._held += character
            return ""
        if character == "=" and not self._depth:
            key, self._held = self._held, ""
            return f"{json.dumps(key)}: "
        before = self._word()
        if character in "\"'":
            self._quote = character
            return before + '"'
        self._depth += (character in "([{") - (character in ")]}")
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


class GemmaReader:
    """An object without braces, whose keys are bare and whose strings stand between ``quote``.

    ``_brackets`` holds the open brackets; a word behind ``{`` or a comma in an object is a key.
    """

    def __init__(self, quote: str) -> None:
        self._mark = quote
        self._held = ""
        self._in_string = False
        self._brackets = ["{"]

    def begin(self) -> str:
        """See ArgumentReader."""
        return "{"

    def text(self, text: str) -> str:
        """See ArgumentReader."""
        text, self._held = self._held + text, ""
        out, at = [], 0
        while at < len(text):
            if text.startswith(self._mark, at):
                at += len(self._mark)
                self._in_string = not self._in_string
                out.append('"')
            elif self._mark.startswith(text[at:]):
                break  # a mark that may go on
            elif self._in_string:
                out.append(json.dumps(text[at], ensure_ascii=False)[1:-1])
                at += 1
            else:
                word = _WORD.match(text, at)
                if word is not None and word.end() == len(text):
                    break  # a word that may go on
                at = self._token(text, at, word, out)
        self._held = text[at:]
        return "".join(out)

    def _token(self, text: str, at: int, word: re.Match[str] | None, out: list[str]) -> int:
        """Append the JSON of a word or a character outside of strings; return the place behind."""
        if word is not None:
            is_key = text.startswith(":", word.end())
            out.append(f'"{word[0]}"' if is_key else word[0])
            return word.end()
        character = text[at]
        if character in "[{":
            self._brackets.append(character)
        elif character in "]}":
            self._brackets.pop()
        out.append(character)
        return at + 1

    def end(self) -> str:
        """See ArgumentReader."""
        rest, self._held = self._held, ""
        return rest + "}"
