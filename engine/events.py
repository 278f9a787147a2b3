"""What the event parser reports."""

from typing import NamedTuple


class Event(NamedTuple):
    """One step of reading.

    ``kind``   "open": a tag's begin was read whole; "text": content of a leaf;
               "close": a tag's end was read whole.
    ``node``   JSON pointer of the tag or leaf in its structural tag; "" outside every region.
    ``bytes``  the text of the begin, the content, or the end. All events' bytes together are
               the text.
    """

    kind: str
    node: str
    bytes: bytes
