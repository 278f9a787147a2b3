"""Shadow constraints: an answer that nothing constrained is compared with its grammar.

The parser of the enforced grammar takes the answer's tokens. The first token that it refuses is the
first one that a mask would have forbidden: it is counted by its place, and the comparison ends. The
answer itself is not affected.

Places come from a closed set. A log line names the request, the place and the position, never the
text.

Cost   a second parser for each answer.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from adapters.formats import Kind, Role
from engine import LimitExceeded, ParseDivergence, Parser

from ..generation import ForeignParser

#: where an answer left its grammar. "call": the marks of a call and the tool's name; "value": JSON
#: of a response format; "grammar": content in a grammar of the client; "marks": other text of the
#: format; "end": the answer ended too early; "limit": the grammar has too many parses to tell
Place = Literal[
    "content", "reasoning", "call", "arguments", "value", "grammar", "marks", "end", "limit"
]
PLACES: Final[tuple[Place, ...]] = get_args(Place)

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
    """The first token that the grammar refuses. ``token``: the number of tokens before it."""

    place: Place
    token: int


class ShadowParser:
    """Compares one answer with its grammar.

    Args:
        parser: a new parser of the enforced grammar.
        roles: of its nodes.
        tokens: the bytes of each token.
        report: called at most once, with the divergence.
    """

    def __init__(
        self,
        parser: Parser | ForeignParser,
        roles: Mapping[str, Role],
        tokens: Sequence[bytes],
        report: Callable[[Divergence], None],
    ) -> None:
        self._parser = parser
        self._roles = roles
        self._tokens = tokens
        self._report = report
        self._taken = 0
        self._role = _OUTSIDE
        #: the number of bytes fed that are in no event yet
        self._behind = 0
        self._has_calls = any(role.kind is Kind.CALL for role in roles.values())
        self._is_over = False

    def feed(self, token: int) -> None:
        """Take the next token of the answer."""
        if self._is_over:
            return
        try:
            events = self._parser.feed(token)
        except ParseDivergence:
            self._diverge(self._here())
        except LimitExceeded:
            self._diverge("limit")
        else:
            self._taken += 1
            self._behind += len(self._tokens[token])
            for event in events:
                self._behind = max(0, self._behind - len(event.bytes))
                self._role = _role_of(self._roles, event.node)

    def finish(self) -> None:
        """End the answer, which may have been truncated."""
        if not self._is_over:
            try:
                self._parser.finish()
            except ParseDivergence:  # in bytes that a foreign engine's parser held back
                self._diverge(self._here())
            except LimitExceeded:
                self._diverge("limit")

    def stopped(self) -> None:
        """Report an answer that ended of itself where its grammar does not allow it."""
        if not self._is_over and not self._parser.is_whole():
            self._diverge("end")

    def _diverge(self, place: Place) -> None:
        self._is_over = True
        self._report(Divergence(place, self._taken))

    def _here(self) -> Place:
        place = _PLACES[self._role.kind]
        if place in ("content", "marks") and self._behind and self._has_calls:
            return "call"  # the text may have become the begin of a call
        return place


def _role_of(roles: Mapping[str, Role], node: str) -> Role:
    """Return the role of a node, or of the node around it."""
    while node and node not in roles:
        node = node.rpartition("/")[0]
    return roles.get(node, _OUTSIDE)
