from collections.abc import Iterable
from typing import NamedTuple

class Event(NamedTuple):
    """A part of a parsed text.

    ``kind``   "open": a tag's begin is complete; "text": content of a leaf; "close": a tag's end is
               complete.
    ``node``   the JSON pointer of the tag or leaf in its structural tag; "" outside all regions.
    ``bytes``  the text of the begin, the content, or the end. The concatenated bytes of all events
               are the text.
    """

    kind: str
    node: str
    bytes: bytes

class Parser:
    """The events of one text, made by ``Compiled.parser``."""

    def feed(self, token: int) -> list[Event]: ...
    def feed_all(self, ids: Iterable[int]) -> list[Event]: ...
    def text_node(self) -> str | None: ...
    def feed_text(self, ids: Iterable[int]) -> bool: ...
    def feed_held(self, ids: Iterable[int]) -> bool: ...
    def feed_bytes(self, data: bytes | bytearray | memoryview) -> list[Event]: ...
    def finish(self) -> list[Event]: ...
    def is_whole(self) -> bool: ...
