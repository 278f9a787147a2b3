"""A grammar's text: where its places are, and the escapes of its literals."""

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ...limits import Limits

#: hexadecimal digits behind the letter of an escape
HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
HEX = frozenset("0123456789abcdefABCDEF")
#: counts of repetitions; the engine's registers hold 32 bits
MOST = 2**31 - 1


class Source:
    """A text with a position, ``at``."""

    def __init__(self, text: str, limits: Limits, pointer: str) -> None:
        self.text, self.limits, self.pointer = text, limits, pointer
        self.at = 0
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self.error("half of a surrogate pair", error.start) from None

    # -- errors -----------------------------------------------------------------------------------
    def place(self, at: int | None = None) -> str:
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        return f"line {line}, column {at - self.text.rfind(chr(10), 0, at)}"

    def error(self, message: str, at: int | None = None) -> SpecError:
        return SpecError(f"{self.place(at)}: {message}", self.pointer)

    def refuse(self, construct: str, at: int | None = None, why: str = "") -> UnsupportedSchema:
        message = f"{self.place(at)}: {construct} can't be enforced{why and ': ' + why}"
        return UnsupportedSchema(self.pointer, construct, message)

    def within(self, error: SpecError, at: int) -> SpecError:
        """An error of an embedded pattern or schema, with its place in this text."""
        message = f"{self.place(at)}: {error.message}"
        if isinstance(error, UnsupportedSchema):
            return UnsupportedSchema(self.pointer, error.keyword, message)
        return SpecError(message, self.pointer)

    def check_token(self, token: int, size: int, at: int) -> None:
        if token >= size:
            raise self.error(f"token id {token} is not in a vocabulary of {size}", at)

    def check_depth(self, depth: int) -> None:
        if depth > self.limits.spec_depth:
            raise LimitExceeded("spec_depth", self.limits.spec_depth, depth, self.pointer)

    # -- characters -------------------------------------------------------------------------------
    def peek(self, n: int = 1) -> str:
        return self.text[self.at : self.at + n]

    def take(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def want(self, text: str) -> None:
        if not self.take(text):
            raise self.error(f"{text!r} is missing")

    def count(self) -> int:
        """A whole number."""
        start = self.at
        while self.peek().isascii() and self.peek().isdigit():
            self.at += 1
        if start == self.at:
            raise self.error("a number is missing")
        return self.checked_count(self.text[start : self.at], start)

    def checked_count(self, number: str, at: int | None = None) -> int:
        digits = number.lstrip("0")
        if len(digits) > len(str(MOST)) or int(digits or "0") > MOST:
            raise self.error(f"a count must not be above {MOST:,}", at)
        return int(digits or "0")

    def escape(self, short: dict[str, str]) -> str:
        """The character of an escape whose backslash was taken."""
        start = self.at - 1
        letter = self.peek()
        self.at += 1
        if letter in short:
            return short[letter]
        if letter not in HEX_ESCAPES:
            raise self.error(f"the escape {chr(92) + letter!r} does not exist", start)
        digits = self.peek(HEX_ESCAPES[letter])
        if len(digits) < HEX_ESCAPES[letter] or not HEX.issuperset(digits):
            message = f"\\{letter} needs {HEX_ESCAPES[letter]} hexadecimal digits"
            raise self.error(message, start)
        self.at += len(digits)
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise self.error(f"U+{code:04X} is no character", start)
        return chr(code)
