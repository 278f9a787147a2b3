"""Strings of a call's arguments, decoded while they stream.

The arguments of a custom tool are ``{"input": "..."}``. The grammar has constrained them, so the
reader skips the text up to the value, decodes the value's escapes and ignores what follows it.
"""

import re
from typing import Literal

_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_PLAIN = re.compile(r'[^"\\]+')
#: a complete escape; a high surrogate needs the escape behind it
_ESCAPE = re.compile(
    r"\\(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[0-9a-fA-F]{4})"
    r"|u(?![dD][89abAB])(?P<code>[0-9a-fA-F]{4})|(?P<short>[^u]))",
    re.DOTALL,
)


class StringReader:
    """Decodes the inside of one JSON string; an incomplete escape is held back.

    ``behind``: the text behind the end of the string; None: the string goes on.
    """

    def __init__(self) -> None:
        self.behind: str | None = None
        self._held = ""

    def text(self, text: str) -> str:
        """Return more of the string, given more of the JSON text."""
        text, self._held = self._held + text, ""
        out, at = [], 0
        while at < len(text):
            if plain := _PLAIN.match(text, at):
                out.append(plain.group())
                at = plain.end()
            elif text[at] == '"':
                self.behind = text[at + 1 :]
                break
            elif escape := _ESCAPE.match(text, at):
                out.append(_decoded(escape))
                at = escape.end()
            else:
                self._held = text[at:]
                break
        return "".join(out)


class InputReader:
    """Decodes the input of a custom tool's call."""

    def __init__(self) -> None:
        self._at: Literal["key", "value", "inside"] = "key"
        self._string = StringReader()

    def text(self, text: str) -> str:
        """Return more of the input, given more of the arguments."""
        if self._at == "key":
            text = self._skipped(text, ":", "value")
        if self._at == "value":
            text = self._skipped(text, '"', "inside")
        is_inside = self._at == "inside" and self._string.behind is None
        return self._string.text(text) if is_inside else ""

    def _skipped(self, text: str, mark: str, then: Literal["value", "inside"]) -> str:
        """Return the text behind the mark, if it occurs."""
        _, found, behind = text.partition(mark)
        if found:
            self._at = then
        return behind


def _decoded(escape: "re.Match[str]") -> str:
    high, low, code, short = escape.group("high", "low", "code", "short")
    if high is None:
        return chr(int(code, 16)) if code is not None else _SHORT.get(short, short)
    data = int(high, 16).to_bytes(2) + int(low, 16).to_bytes(2)
    return data.decode("utf-16-be", "replace")
