"""A prefix of a JSON text (RFC 8259) as a tree.

Every node that ends before the prefix does is a ``Whole`` with its value; numbers are ints and
Decimals. At most one node of each depth is open, and only the last of its parent. A number at the
end of the prefix is open, because digits may follow it.
"""

import codecs
import json
import re
from dataclasses import dataclass, field
from typing import Any

from .document import number

_SPACE = re.compile(rb"[ \t\n\r]*")
_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
_NUMBER = re.compile(rb"[-+.0-9eE]+")
_WHOLE_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_PART_OF_NUMBER = re.compile(
    rb"-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|(?:0|[1-9][0-9]*)(?:\.[0-9]+)?[eE][-+]?[0-9]*)?"
)
_ESCAPE = re.compile(rb'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_PART_OF_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?")
_LITERALS = {b"true": True, b"false": False, b"null": None}
_SHORT = dict(zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True))


class NotJson(ValueError):
    """No JSON text begins like this."""


class LoneSurrogate(ValueError):
    """A string has half of a pair of surrogates, which the grammar allows and Unicode does not."""


@dataclass
class Nothing:
    """No value begins here yet."""


@dataclass
class Whole:
    value: Any


@dataclass
class OpenString:
    """``tail``: bytes of an unfinished escape or character, behind the decoded text. A first half
    of a pair of surrogates is there, too.
    """

    text: str
    tail: bytes = b""


@dataclass
class OpenNumber:
    text: str


@dataclass
class OpenLiteral:
    text: str


@dataclass
class OpenArray:
    """``last``: an open item; ``comma``: another item must follow."""

    items: list[Any] = field(default_factory=list)
    last: Any = None
    comma: bool = False


@dataclass
class OpenObject:
    """``members``: whole ones. ``key``: of the open member, a text if it is whole; ``value``: None
    before the colon. ``repeats``: a key occurs twice, here or in a whole value inside.
    """

    members: dict[str, Any] = field(default_factory=dict)
    key: "str | OpenString | None" = None
    value: Any = None
    comma: bool = False


Node = Nothing | Whole | OpenString | OpenNumber | OpenLiteral | OpenArray | OpenObject


@dataclass
class Prefix:
    """``root``, and whether some object has a key twice."""

    root: Node
    repeats: bool


def read(data: bytes) -> Prefix:
    """Raises:
    NotJson: no JSON text begins with the data.
    LoneSurrogate: see there.
    """
    reader = _Reader(data)
    reader.space()
    root = reader.value()
    reader.space()
    if reader.at < len(data):
        raise NotJson("text behind the value")
    return Prefix(root, reader.repeats)


def number_of(node: OpenNumber) -> Any:
    """Return the value of an open number that may end here, else None."""
    return _number(node.text) if _WHOLE_NUMBER.fullmatch(node.text.encode()) else None


def spelled(tail: bytes, c: str) -> str | bytes | None:
    """Return the rest of a character's spelling behind a tail, None where there is none."""
    if tail[:1] != b"\\":
        encoded = c.encode()
        return encoded[len(tail) :] if encoded.startswith(tail) else None
    code = ord(c)
    if code > 0xFFFF:
        code -= 0x10000
        spellings = [f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"]
    else:
        spellings = [f"\\u{code:04x}"]
        if (short := json.dumps(c)[1:-1])[0] == "\\" and len(short) == 2:
            spellings.append(short)
        if c == "/":
            spellings.append("\\/")
    written = tail.decode()
    for spelling in spellings:
        if spelling.lower().startswith(written.lower()):
            return spelling[len(written) :]
    return None


def _number(text: str) -> Any:
    return int(text) if text.lstrip("-").isdigit() else number(text)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at, self.repeats = data, 0, False

    def space(self) -> None:
        self.at = _SPACE.match(self.data, self.at).end()  # type: ignore[union-attr]

    def byte(self) -> bytes:
        return self.data[self.at : self.at + 1]

    def value(self) -> Node:
        match self.byte():
            case b"":
                return Nothing()
            case b'"':
                return self.string()
            case b"{":
                return self.object()
            case b"[":
                return self.array()
            case b"t" | b"f" | b"n":
                return self.literal()
        return self.number()

    def literal(self) -> Node:
        for word, value in _LITERALS.items():
            found = self.data[self.at : self.at + len(word)]
            if word.startswith(found):
                self.at += len(found)
                return Whole(value) if found == word else OpenLiteral(found.decode())
        raise NotJson("no literal")

    def number(self) -> Node:
        found = _NUMBER.match(self.data, self.at)
        if not found:
            raise NotJson("no value")
        ends = found.end() == len(self.data)
        if not (_PART_OF_NUMBER if ends else _WHOLE_NUMBER).fullmatch(found[0]):
            raise NotJson("no number")
        self.at = found.end()
        text = found[0].decode()
        return OpenNumber(text) if ends else Whole(_number(text))

    def string(self) -> Whole | OpenString:
        self.at += 1
        text: list[str] = []
        first_half = ""
        decoder = codecs.getincrementaldecoder("utf-8")()
        while True:
            plain = _PLAIN.match(self.data, self.at)
            assert plain is not None
            if first_half and (plain[0] or plain.end() < len(self.data)) and not self._escapes():
                raise LoneSurrogate(first_half)
            self.at = plain.end()
            try:
                text.append(decoder.decode(plain[0], self.at < len(self.data)))
            except UnicodeDecodeError as error:
                raise NotJson("no UTF-8") from error
            if self.at == len(self.data):
                return OpenString("".join(text), first_half.encode() + decoder.getstate()[0])
            if self.byte() == b'"':
                self.at += 1
                return Whole("".join(text))
            if self.byte() != b"\\":
                raise NotJson("a control character in a string")
            escape = _ESCAPE.match(self.data, self.at)
            if escape is None:
                if not _PART_OF_ESCAPE.fullmatch(self.data, self.at):
                    raise NotJson("no escape")
                tail = first_half.encode() + self.data[self.at :]
                self.at = len(self.data)
                return OpenString("".join(text), tail)
            self.at = escape.end()
            first_half = self._unescaped(escape[0].decode(), first_half, text)

    def _escapes(self) -> bool:
        return self.byte() == b"\\"

    def _unescaped(self, escape: str, first_half: str, text: list[str]) -> str:
        """Return the escape if it is the first half of a pair."""
        code = int(escape[2:], 16) if escape[1] == "u" else ord(_SHORT[escape[1]])
        if first_half:
            if not 0xDC00 <= code < 0xE000:
                raise LoneSurrogate(first_half)
            high = int(first_half[2:], 16)
            text.append(chr(0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)))
        elif 0xD800 <= code < 0xDC00:
            return escape
        elif 0xDC00 <= code < 0xE000:
            raise LoneSurrogate(escape)
        else:
            text.append(chr(code))
        return ""

    def array(self) -> Node:
        self.at += 1
        node = OpenArray()
        self.space()
        if self.byte() == b"]":
            self.at += 1
            return Whole([])
        while True:
            item = self.value()
            if not isinstance(item, Whole):
                node.last = None if isinstance(item, Nothing) else item
                return node
            node.items.append(item.value)
            node.comma = False
            match self._next():
                case b"]":
                    return Whole(node.items)
                case b"":
                    return node
                case other if other != b",":
                    raise NotJson("no comma in an array")
            node.comma = True
            self.space()

    def _next(self) -> bytes:
        """Return the next byte behind white space, and step over it."""
        self.space()
        found = self.byte()
        self.at += len(found)
        return found

    def object(self) -> Node:
        self.at += 1
        node = OpenObject()
        self.space()
        if self.byte() == b"}":
            self.at += 1
            return Whole({})
        while self._member(node):
            match self._next():
                case b"}":
                    return Whole(node.members)
                case b"":
                    return node
                case other if other != b",":
                    raise NotJson("no comma in an object")
            node.comma = True
            self.space()
        return node

    def _member(self, node: OpenObject) -> bool:
        """Read a member; return whether it is whole."""
        match self.byte():
            case b"":
                return False
            case other if other != b'"':
                raise NotJson("no key")
        key = self.string()
        node.comma = False
        if isinstance(key, OpenString):
            node.key = key
            return False
        node.key = key.value
        self.repeats = self.repeats or key.value in node.members
        match self._next():
            case b"":
                return False
            case other if other != b":":
                raise NotJson("no colon")
        self.space()
        node.value = self.value()
        if not isinstance(node.value, Whole):
            return False
        node.members[key.value] = node.value.value
        node.key = node.value = None
        return True
