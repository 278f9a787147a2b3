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

    @property
    def is_between_events(self) -> bool:
        """Return whether the next byte begins a line."""
        return not self._parts

    def push(self, data: bytes) -> list[bytes]:
        lines = data.split(b"\n")
        rest = lines.pop()
        if len(data) > self._maximum:
            self._check(max(map(len, lines), default=0))
        if lines and self._parts:
            self._keep(lines[0])
            lines[0] = b"".join(self._parts)
            self._parts, self._size = [], 0
        if rest:
            self._keep(rest)
        found = []
        for line in lines:
            if line[:5] == b"data:":
                found.append(line[5:].strip(b" \r"))
        return found

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        self._check(self._size)
        self._parts.append(part)

    def _check(self, size: int) -> None:
        if size > self._maximum:
            raise EventTooLong(f"at most {self._maximum:,} bytes allowed, got {size:,}")
