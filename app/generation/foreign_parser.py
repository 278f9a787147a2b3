"""Reading answers that a foreign grammar engine constrained.

Foreign engines accept a special token wherever its text fits, also inside strings, and let broken
UTF-8 pass; Switchyard's grammars accept neither. So the parser is fed text: a special token as its
text, unless the spec names it as a token or it stops the answer, and U+FFFD for bytes that are no
UTF-8.

Cost   one decoding of the text; answers of the own engine are read by token id instead.
"""

import codecs
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from engine import Event, Vocabulary


class TextParser(Protocol):
    """The methods of engine.Parser that read text."""

    def feed(self, token: int) -> list[Event]: ...
    def feed_bytes(self, data: bytes) -> list[Event]: ...
    def finish(self) -> list[Event]: ...
    def is_whole(self) -> bool: ...


class ForeignParser:
    """An engine.Parser for text of a foreign engine. ``token_ids``: tokens that stay tokens.
    ``shift``: bytes that U+FFFD has added to the text so far.
    """

    def __init__(
        self, parser: TextParser, vocabulary: Vocabulary, token_ids: frozenset[int]
    ) -> None:
        self._parser = parser
        self._tokens = vocabulary.tokens
        self._token_ids = token_ids
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.shift = 0

    def feed(self, token: int) -> list[Event]:
        """Like Parser.feed; the bytes of an incomplete character are held back."""
        if token in self._token_ids or not 0 <= token < len(self._tokens):
            return [*self._text(b"", final=True), *self._parser.feed(token)]
        return self._text(self._tokens[token])

    def feed_all(self, token_ids: Iterable[int]) -> list[Event]:
        """Like Parser.feed_all."""
        return [event for token in token_ids for event in self.feed(token)]

    def finish(self) -> list[Event]:
        """Like Parser.finish."""
        return [*self._text(b"", final=True), *self._parser.finish()]

    def is_whole(self) -> bool:
        """Like Parser.is_whole."""
        return self._parser.is_whole()

    def _text(self, data: bytes, *, final: bool = False) -> list[Event]:
        before = len(self._decoder.getstate()[0])
        text = self._decoder.decode(data, final).encode()
        if final:
            self._decoder.reset()
        self.shift += len(text) - before - len(data) + len(self._decoder.getstate()[0])
        return self._parser.feed_bytes(text) if text else []


def token_node_ids(spec: Any, vocabulary: Vocabulary) -> frozenset[int]:
    """Return the tokens that stop an answer, and those that the spec names in token nodes."""
    named = set(_named(spec))
    special = vocabulary.special_token_ids
    ids = {n for n in special if n in named or vocabulary.tokens[n].decode("latin-1") in named}
    return frozenset(ids.union(vocabulary.stop_token_ids))


def _named(node: Any) -> Iterator[str | int]:
    """Yield texts and ids of token nodes; schemas are not searched."""
    if isinstance(node, list):
        for child in node:
            yield from _named(child)
    elif isinstance(node, dict) and node.get("type") != "json_schema":
        if node.get("type") == "token":
            yield node["token"]
        for child in node.values():
            yield from _named(child)
