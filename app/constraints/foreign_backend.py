"""Reading text that a stock engine has constrained: its tokens as the text they are.

Stock engines take special tokens for their text, inside of strings too, and let broken UTF-8 pass;
our grammars know neither. So the parser is fed text: special tokens as their text, unless the spec
names them as tokens or they stop the answer, and U+FFFD where bytes are no UTF-8.

Cost   one decoding of the text; our own engine's output is read by token ids and never comes here.
"""

import codecs
from collections.abc import Iterator
from typing import Any

from engine import Event, Parser, Vocabulary


class StockParser:
    """A Parser for what a stock engine's worker sends. ``by_id``: tokens that stay tokens."""

    def __init__(self, parser: Parser, vocabulary: Vocabulary, by_id: frozenset[int]) -> None:
        self._parser = parser
        self._tokens = vocabulary.tokens
        self._by_id = by_id
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, token: int) -> list[Event]:
        """As Parser.feed; a character's bytes are held back until it is whole."""
        if token in self._by_id or not 0 <= token < len(self._tokens):
            return [*self._text(b"", final=True), *self._parser.feed(token)]
        return self._text(self._tokens[token])

    def finish(self) -> list[Event]:
        """As Parser.finish."""
        return [*self._text(b"", final=True), *self._parser.finish()]

    def is_whole(self) -> bool:
        """As Parser.is_whole."""
        return self._parser.is_whole()

    def _text(self, data: bytes, *, final: bool = False) -> list[Event]:
        text = self._decoder.decode(data, final)
        if final:
            self._decoder.reset()
        return self._parser.feed_bytes(text.encode()) if text else []


def tokens_by_id(spec: Any, vocabulary: Vocabulary) -> frozenset[int]:
    """The tokens that stop an answer, and those that the spec names as tokens."""
    named = set(_named(spec))
    special = vocabulary.special_token_ids
    ids = {n for n in special if n in named or vocabulary.tokens[n].decode("latin-1") in named}
    return frozenset(ids.union(vocabulary.stop_token_ids))


def _named(node: Any) -> Iterator[str | int]:
    """Texts and ids of token nodes; schemas are not walked into."""
    if isinstance(node, list):
        for child in node:
            yield from _named(child)
    elif isinstance(node, dict) and node.get("type") != "json_schema":
        if node.get("type") == "token":
            yield node["token"]
        for child in node.values():
            yield from _named(child)
