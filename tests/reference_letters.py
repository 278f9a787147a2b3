"""Nodes that the reference recogniser reads by letters: characters, JSON spellings, free text.

Nothing here refers to other nodes, apart from the arms of a DISPATCH. A letter is 0..255 for a byte
and 256 + id for a token; a machine's ``scan`` gives the next position or None.
"""

import json
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from engine.grammar import ir
from engine.grammar.ir import Node, Pattern, Ranges

Position = Any
TOKEN = 256
DONE = "done"


class Letters:
    """A machine that only reads letters; ``read`` gives the next position or None."""

    def __init__(
        self, start: Position, end: Position, read: Callable[[Position, int], Position | None]
    ) -> None:
        self.start, self.end, self.scan = start, end, read

    def done(self, at: Position) -> bool:
        return bool(at == self.end)

    def reads(self, at: Position) -> bool:
        return bool(at != self.end)

    def waits(self, at: Position) -> Iterable[tuple[Node, Position]]:
        return ()


# -- characters -----------------------------------------------------------------------------------

SHORT_ESCAPES = {
    ord('"'): 0x22, ord("\\"): 0x5C, ord("/"): 0x2F, ord("b"): 0x08,
    ord("f"): 0x0C, ord("n"): 0x0A, ord("r"): 0x0D, ord("t"): 0x09,
}  # fmt: skip
HEX_DIGITS = b"0123456789abcdefABCDEF"
#: first and last lead byte, bytes in all, the lowest code point that needs so many
UTF8_SHAPES = (
    (0x00, 0x7F, 1, 0), (0xC2, 0xDF, 2, 0x80), (0xE0, 0xEF, 3, 0x800), (0xF0, 0xF4, 4, 0x10000),
)  # fmt: skip
#: what a JSON string may hold as it is: all but the quote, the backslash and control characters
RAW_IN_JSON: Ranges = ((0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10FFFF))


def meet(left: Ranges, right: Ranges) -> Ranges:
    """The intersection of two sets of code points."""
    pairs = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
    return tuple(pair for pair in pairs if pair[0] <= pair[1])


def utf8_span(prefix: bytes) -> tuple[int, int, bool] | None:
    """The lowest and highest code point whose UTF-8 starts so, and whether it is whole."""
    lead = prefix[0]
    shape = next((row[2:] for row in UTF8_SHAPES if row[0] <= lead <= row[1]), None)
    if shape is None:
        return None
    length, floor = shape
    bits = lead if length == 1 else lead & (0x7F >> length)
    for byte in prefix[1:]:
        if byte & 0xC0 != 0x80:
            return None
        bits = bits << 6 | byte & 0x3F
    missing = length - len(prefix)
    low = max(bits << 6 * missing, floor)
    high = min(((bits + 1) << 6 * missing) - 1, 0x10FFFF)
    return (low, high, missing == 0) if low <= high else None


def missing_bytes(prefix: bytes) -> int:
    """How many bytes a character lacks that begins so."""
    if not prefix:
        return 0
    return next(row[2] for row in UTF8_SHAPES if row[0] <= prefix[0] <= row[1]) - len(prefix)


def read_char(ranges: Ranges, prefix: bytes) -> bytes | str | None:
    """DONE, the prefix while the character is not whole, or None where no character fits."""
    span = utf8_span(prefix)
    if span is None or not meet(ranges, ((span[0], span[1]),)):
        return None
    return DONE if span[2] else prefix


def hex_span(digits: bytes) -> tuple[int, int] | None:
    """The lowest and highest 16-bit unit whose four hex digits start with these."""
    if len(digits) > 4 or any(digit not in HEX_DIGITS for digit in digits):
        return None
    return int(digits.ljust(4, b"0"), 16), int(digits.ljust(4, b"f"), 16)


def astral_of(high: int, low: int) -> int:
    """The code point of a surrogate pair."""
    return 0x10000 + (high - 0xD800) * 0x400 + (low - 0xDC00)


def read_unicode_escape(ranges: Ranges, prefix: bytes) -> bytes | str | None:
    """As read_char, for ``\\uXXXX`` and for a surrogate pair of two of them."""
    unit = hex_span(prefix[2:6])
    if unit is None:
        return None
    if len(prefix) <= 6:
        if meet(ranges, (unit,)) and meet((unit,), ((0, 0xD7FF), (0xE000, 0xFFFF))):
            return DONE if len(prefix) == 6 else prefix
        heads = meet((unit,), ((0xD800, 0xDBFF),))
        astral = tuple((astral_of(a, 0xDC00), astral_of(b, 0xDFFF)) for a, b in heads)
        return prefix if meet(ranges, astral) else None
    second = prefix[6:]
    tail = hex_span(second[2:])
    if not b"\\u".startswith(second[:2]) or tail is None:
        return None
    tails = meet((tail,), ((0xDC00, 0xDFFF),))
    if not meet(ranges, tuple((astral_of(unit[0], a), astral_of(unit[0], b)) for a, b in tails)):
        return None
    return DONE if len(second) == 6 else prefix


def read_json_char(ranges: Ranges, prefix: bytes) -> bytes | str | None:
    """As read_char, for a character inside a JSON string in any of its spellings."""
    if prefix[0] != ord("\\"):
        return read_char(meet(ranges, RAW_IN_JSON), prefix)
    if len(prefix) == 1:
        return prefix if ranges else None
    if prefix[1] == ord("u"):
        return read_unicode_escape(ranges, prefix)
    meant = SHORT_ESCAPES.get(prefix[1])
    return DONE if meant is not None and meet(ranges, ((meant, meant),)) else None


Read = Callable[[Ranges, bytes], "bytes | str | None"]


def char_machine(ranges: Ranges, read: Read) -> Letters:
    scalars = meet(ranges, ir.ANY_CHAR)

    def scan(at: bytes | str, letter: int) -> Position | None:
        if at == DONE or letter >= TOKEN:
            return None
        assert isinstance(at, bytes)
        return read(scalars, at + bytes([letter]))

    return Letters(b"", DONE, scan)


def text_except_machine(texts: Sequence[str]) -> Letters:
    """Any string's inside but some texts: what was read, as long as one of them starts so (None:
    none does), and the bytes of a character that is not whole.
    """

    class Machine(Letters):
        def done(self, at: tuple[str | None, bytes]) -> bool:
            return not at[1] and at[0] not in texts

    def scan(at: tuple[str | None, bytes], letter: int) -> Position | None:
        if letter >= TOKEN:
            return None
        spelled = at[1] + bytes([letter])
        read = read_json_char(ir.ANY_CHAR, spelled)
        if read is None or read != DONE:
            return None if read is None else (at[0], spelled)
        if at[0] is None:
            return None, b""
        text = at[0] + json.loads(b'"' + spelled + b'"')
        return (text if any(each.startswith(text) for each in texts) else None), b""

    return Machine(("", b""), None, scan)


def text_machine(text: str) -> Letters:
    """The position is (characters read, bytes of the next one)."""
    letters = [char_machine(((ord(char), ord(char)),), read_json_char) for char in text]

    def scan(at: tuple[int, bytes], letter: int) -> tuple[int, bytes] | None:
        index, prefix = at
        if index == len(letters):
            return None
        read = letters[index].scan(prefix, letter)
        if read is None:
            return None
        return (index + 1, b"") if read == DONE else (index, read)

    return Letters((0, b""), (len(letters), b""), scan)


def bytes_machine(data: bytes) -> Letters:
    def scan(at: int, letter: int) -> int | None:
        return at + 1 if at < len(data) and data[at] == letter else None

    return Letters(0, len(data), scan)


def tokens_machine(ids: Container[int], *, others: bool = False) -> Letters:
    def scan(at: str, letter: int) -> str | None:
        if at or letter < TOKEN:
            return None
        return DONE if (letter - TOKEN in ids) != others else None

    return Letters("", DONE, scan)


class AnchoredMachine:
    """One of some patterns, and then its node: the position is the letters read so far, or DONE."""

    start: Position = ()

    def __init__(self, node: tuple, usable: Container[Node]) -> None:
        self.arms = [(pattern, arm) for pattern, arm, _ in node[1] if arm in usable]

    def done(self, at: Position) -> bool:
        return bool(at == DONE)

    def waits(self, at: Position) -> Iterable[tuple[Node, Position]]:
        return [(arm, DONE) for pattern, arm in self.arms if pattern == at]

    def reads(self, at: Position) -> bool:
        return bool(at != DONE)

    def scan(self, at: Position, letter: int) -> Position | None:
        if at == DONE:
            return None
        letters = (*at, letter)
        return letters if any(arm[: len(letters)] == letters for arm, _ in self.arms) else None


class DispatchMachine:
    """Free text with triggers, simulated by looking at its last letters again and again.

    Position   (letters, pending, debt, chars, tokens) in free text: the letters read since it began
               (no more than the longest pattern has), the bytes of a character that is not whole
               yet, how many letters ago the first token came that free text may not hold (1: just
               now; 0: there was none), and how many characters and tokens there were, if they are
               counted. A token counts when it ends.
               ("arm", ((node, next position), ...)) after a pattern; DONE at the end.
    Meaning    A pattern is whole characters and tokens, so it completes between characters only.
               A token that is a letter of a pattern goes on with it; one that is in ``specials``
               may also stand on its own. A token in no pattern ends all patterns under way.
               A token that is not in ``specials`` is legal only inside the pattern that completes
               (the debt). Where patterns complete at the same letter, an exclude wins, then the
               longest arm.
    """

    def __init__(self, node: tuple, usable: Container[Node]) -> None:
        _, self.arms, self.excludes, self.specials, self.open_end, *bounds, _ = node
        self.least, self.most, self.most_tokens = bounds
        self.usable = usable
        self.patterns: list[Pattern] = [*(arm[0] for arm in self.arms), *self.excludes]
        self.longest = max(map(len, self.patterns), default=0)
        self.start: Position = ((), b"", 0, 0, 0)

    def done(self, at: Position) -> bool:
        if at == DONE or at[0] == "arm":
            return bool(at == DONE)
        return bool(self.open_end and at[1:3] == (b"", 0) and at[3] >= self.least)

    def waits(self, at: Position) -> Iterable[tuple[Node, Position]]:
        return at[1] if at[0] == "arm" else ()

    def reads(self, at: Position) -> bool:
        return bool(at != DONE and at[0] != "arm")

    def scan(self, at: Position, letter: int) -> Position | None:
        if at == DONE or at[0] == "arm":
            return None
        letters, pending, debt, chars, tokens = at
        if letter < TOKEN:
            if not pending and chars == self.most:
                return None
            if not pending and (self.least or self.most >= 0):
                chars = chars + 1 if self.most >= 0 else min(chars + 1, self.least)
            read = read_char(ir.ANY_CHAR, pending + bytes([letter]))
            if read is None:
                return None
            pending = b"" if read == DONE else read
            debt = debt + 1 if debt else 0
        elif pending:
            return None
        elif debt or letter - TOKEN not in self.specials:
            debt += 1
        return self._settle((*letters, letter), pending, debt, (chars, tokens))

    def end_token(self, at: Position) -> Position | None:
        """A token that had a part in the text ends; None where the text can't go on."""
        if self.most_tokens < 0 or at == DONE or at[0] == "arm":
            return at
        left = self.most_tokens - at[4] - 1
        return (*at[:4], at[4] + 1) if left >= max(1, missing_bytes(at[1])) else None

    def _settle(
        self, letters: Pattern, pending: bytes, debt: int, counts: tuple[int, int]
    ) -> Position | None:
        whole = [p for p in self.patterns if letters[-len(p) :] == p and not pending]
        if whole:
            return self._trigger(whole, debt)
        if debt and not self._is_payable(letters, debt):
            return None
        return letters[-self.longest :] if self.longest else (), pending, debt, *counts

    def _trigger(self, whole: list[Pattern], debt: int) -> Position | None:
        longest = max(whole, key=len)
        if debt > len(longest) or any(pattern in self.excludes for pattern in whole):
            return None
        ways = [
            (node, self.start if returns else DONE)
            for pattern, node, returns in self.arms
            if pattern == longest and node in self.usable
        ]
        return ("arm", tuple(ways)) if ways else None

    def _is_payable(self, letters: Pattern, debt: int) -> bool:
        """Whether some arm is under way since before the first token that needs one."""
        return any(
            letters[-size:] == pattern[:size]
            for pattern, node, _ in self.arms
            for size in range(debt, len(pattern))
            if node in self.usable
        )
