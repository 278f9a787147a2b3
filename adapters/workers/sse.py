"""A parser of server-sent events: bytes in, the ``data`` of each event out.

Splits on LF only (a CR before it is dropped). Line splitters made for text also split on U+2028 or
U+0085, which JSON may hold unescaped, and would tear events apart.

Cost             every byte is copied twice, however small the pieces.
Not here         sockets, JSON; ``event``, ``id`` and ``retry`` fields, comments (all skipped).
"""

#: bytes of an event; the longest answer of a model with a 128k context is 2 MB as ids and text
MAX_EVENT_BYTES = 64 << 20


class EventTooLong(ValueError):
    """An event exceeded MAX_EVENT_BYTES."""


class EventDecoder:
    """Takes bytes in any pieces, and returns the payloads of completed events.

    Raises EventTooLong for an event of more than ``max_event_bytes``.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._maximum = max_event_bytes

    def push(self, data: bytes) -> list[bytes]:
        *lines, rest = data.split(b"\n")
        found = []
        for line in lines:
            self._keep(line)
            whole = b"".join(self._parts)
            self._parts, self._size = [], 0
            if whole.startswith(b"data:"):
                found.append(whole[5:].strip(b" \r"))
        self._keep(rest)
        return found

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._maximum:
            raise EventTooLong(f"at most {self._maximum:,} bytes allowed, got {self._size:,}")
        self._parts.append(part)
