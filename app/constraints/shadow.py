"""Shadow constraints: an answer that nothing constrained is compared with its grammar.

The parser of the enforced grammar takes the answer's tokens. The first token that it refuses is the
first one that a mask would have forbidden: it is counted by its place, and the comparison ends. The
answer itself is not affected.

Places and parts come from closed sets. A log line names the request, the place and the position,
never the text.

Cost   a second parser for each answer. An answer that diverges inside JSON is parsed once more.
       The answer's token ids are kept until it ends.
"""

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, get_args

from adapters.formats import Kind, Role
from engine import Event, LimitExceeded, ParseDivergence, Parser

#: where an answer left its grammar. "call": the marks of a call and the tool's name; "value": JSON
#: of a response format; "grammar": content in a grammar of the client; "marks": other text of the
#: format; "end": the answer ended too early; "limit": the grammar has too many parses to tell
Place = Literal[
    "content", "reasoning", "call", "arguments", "value", "grammar", "marks", "end", "limit"
]
#: the part of JSON that was refused, which points to keywords of the schema
#:   name          a property's name, or the end of an object   properties, required, order
#:   value         the first byte of a value                    type, enum, const
#:   string        inside a string                              pattern, format, maxLength, enum
#:   number        inside a number                              minimum, multipleOf, type
#:   literal       inside true, false or null
#:   punctuation   a comma, a colon or a closing bracket        required, minItems, maxItems
#:   space         white space that the canonical spelling omits
#:   none          the place is no JSON
Part = Literal["name", "value", "string", "number", "literal", "punctuation", "space", "none"]
PLACES: Final[tuple[Place, ...]] = get_args(Place)
PARTS: Final[tuple[Part, ...]] = get_args(Part)

#: tokens of an answer that is parsed again, in the event loop, to find the refused byte; twice as
#: many took 9 ms
MOST_REPLAYED: Final = 2_048

_NUMBER: Final = b"-+.0123456789"
_PLACES: Final[Mapping[Kind, Place]] = {
    Kind.SYNTAX: "marks",
    Kind.CONTENT: "content",
    Kind.VALUE: "value",
    Kind.CONSTRAINED: "grammar",
    Kind.REASONING: "reasoning",
    Kind.ARGUMENTS: "arguments",
    Kind.INPUT: "arguments",
    Kind.CALL: "call",
    Kind.ID: "call",
    Kind.SECTION: "call",
    Kind.THOUGHT: "reasoning",
}
_OUTSIDE: Final = Role(Kind.SYNTAX)


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first token that the grammar refuses.

    ``token``: the number of tokens before it. ``byte``: the number of bytes before the refused one,
    or before the token.
    """

    place: Place
    part: Part
    token: int
    byte: int


class AnswerParser(Protocol):
    """A parser of one answer in its grammar."""

    def feed(self, token: int) -> list[Event]: ...
    def finish(self) -> list[Event]: ...
    def is_whole(self) -> bool: ...


class ShadowParser:
    """Compares one answer with its grammar.

    Args:
        make: returns a new parser of the enforced grammar.
        roles: of its nodes.
        tokens: the bytes of each token.
        report: called at most once, with the divergence.
    """

    def __init__(
        self,
        make: Callable[[], AnswerParser],
        roles: Mapping[str, Role],
        tokens: Sequence[bytes],
        report: Callable[[Divergence], None],
    ) -> None:
        self._make = make
        self._parser = make()
        self._roles = roles
        self._tokens = tokens
        self._report = report
        self._taken = array("Q")
        self._bytes = 0
        self._role = _OUTSIDE
        self._node: str | None = None
        #: the text of the current node
        self._text = bytearray()
        #: bytes fed that are in no event yet
        self._behind = bytearray()
        self._has_calls = any(role.kind is Kind.CALL for role in roles.values())
        self._is_over = False

    def feed(self, token: int) -> None:
        """Take the next token of the answer."""
        if self._is_over:
            return
        data = self._tokens[token]
        try:
            events = self._parser.feed(token)
        except ParseDivergence:
            good = self._good(data) if self._is_json else 0
            self._behind += data[:good]
            self._bytes += good
            self._diverge(*self._here(data[good:]))
        except LimitExceeded:
            self._diverge("limit", "none")
        else:
            self._behind += data
            self._taken.append(token)
            self._bytes += len(data)
            for event in events:
                self._note(event)

    def finish(self) -> None:
        """End the answer, which may have been truncated."""
        if not self._is_over:
            try:
                self._parser.finish()
            except ParseDivergence:  # in bytes that a foreign engine's parser held back
                self._diverge(*self._here(b""))
            except LimitExceeded:
                self._diverge("limit", "none")

    def stopped(self) -> None:
        """Report an answer that ended of itself where its grammar does not allow it."""
        if not self._is_over and not self._parser.is_whole():
            self._diverge("end", "none")

    def _diverge(self, place: Place, part: Part) -> None:
        self._is_over = True
        self._report(Divergence(place, part, len(self._taken), self._bytes))

    def _note(self, event: Event) -> None:
        del self._behind[: len(event.bytes)]
        self._role = _role_of(self._roles, event.node)
        if event.kind != "text" or event.node != self._node:
            self._text.clear()
        self._node = event.node
        if event.kind == "text":
            self._text += event.bytes

    @property
    def _is_json(self) -> bool:
        return self._role.kind in (Kind.ARGUMENTS, Kind.VALUE) and self._role.region is None

    def _good(self, data: bytes) -> int:
        """Return how many bytes of the refused token the grammar takes, if that is quick to
        find.
        """
        parser = self._make()
        if not isinstance(parser, Parser) or len(self._taken) > MOST_REPLAYED:
            return 0
        for token in self._taken:
            parser.feed(token)
        for number in range(len(data)):
            try:
                parser.feed_bytes(data[number : number + 1])
            except (ParseDivergence, LimitExceeded):
                return number
        return 0  # the token is refused as a token

    def _here(self, refused: bytes) -> tuple[Place, Part]:
        """Return the place and the part of the refused bytes."""
        place = _PLACES[self._role.kind]
        if self._is_json:
            return place, json_part(bytes(self._text + self._behind), refused)
        if place in ("content", "marks") and self._behind and self._has_calls:
            return "call", "none"  # the text may have become the begin of a call
        return place, "none"


def _role_of(roles: Mapping[str, Role], node: str) -> Role:
    """Return the role of a node, or of the node around it."""
    while node and node not in roles:
        node = node.rpartition("/")[0]
    return roles.get(node, _OUTSIDE)


def json_part(text: bytes, following: bytes) -> Part:
    """Return the part of JSON that follows ``text``; ``following``: the bytes that were refused."""
    part, closers, is_escaped = "value", bytearray(), False
    for byte in text:
        if part in ("string", "inside name"):
            if is_escaped or byte == 0x5C:
                is_escaped = not is_escaped
            elif byte == 0x22:
                part = "punctuation"
        else:
            part = _after(part, byte, closers)
    if part not in ("string", "inside name") and following[:1].isspace():
        return "space"
    return "name" if part == "inside name" else part  # type: ignore[return-value]


def _after(part: str, byte: int, closers: bytearray) -> str:
    """Return the part behind a byte that is outside strings."""
    if byte == 0x22:
        return "inside name" if part == "name" else "string"
    if byte in b"{[":
        closers.append(byte)
        return "name" if byte == 0x7B else "value"
    if byte in b"}]":
        del closers[-1:]
        return "punctuation"
    if byte == 0x2C:
        return "name" if closers[-1:] == b"{" else "value"
    if byte == 0x3A:
        return "value"
    if byte in b" \t\r\n":
        return "punctuation" if part in ("number", "literal") else part
    if part == "number" or byte in _NUMBER:
        return "number"
    return "literal"
