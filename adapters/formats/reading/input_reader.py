"""The input of a custom tool's call, read from its arguments while they stream.

The arguments are ``{"input": "..."}``. The grammar has constrained them, so the reader skips the
text up to the value, decodes the value's escapes and ignores what follows it.
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


class InputReader:
    """Decodes one input; an incomplete escape is held back."""

    def __init__(self) -> None:
        self._held = ""
        self._at: Literal["key", "value", "inside", "behind"] = "key"

    def text(self, text: str) -> str:
        """Return more of the input, given more of the arguments."""
        text, self._held = self._held + text, ""
        if self._at == "key":
            text = self._skipped(text, ":", "value")
        if self._at == "value":
            text = self._skipped(text, '"', "inside")
        return self._inside(text) if self._at == "inside" else ""

    def _skipped(self, text: str, mark: str, then: Literal["value", "inside"]) -> str:
        """Return the text behind the mark, if it occurs."""
        _, found, behind = text.partition(mark)
        if found:
            self._at = then
        return behind

    def _inside(self, text: str) -> str:
        out, at = [], 0
        while at < len(text):
            if plain := _PLAIN.match(text, at):
                out.append(plain.group())
                at = plain.end()
            elif text[at] == '"':
                self._at = "behind"
                break
            elif escape := _ESCAPE.match(text, at):
                out.append(_decoded(escape))
                at = escape.end()
            else:
                self._held = text[at:]
                break
        return "".join(out)


def _decoded(escape: "re.Match[str]") -> str:
    high, low, code, short = escape.group("high", "low", "code", "short")
    if high is None:
        return chr(int(code, 16)) if code is not None else _SHORT.get(short, short)
    data = int(high, 16).to_bytes(2) + int(low, 16).to_bytes(2)
    return data.decode("utf-16-be", "replace")
