"""The place of a request in a distributed trace: ids that travel in ``traceparent``.

Source       W3C Trace Context, level 1. ``tracestate`` is not passed on: it is text of the client.
Not here     spans and their export (tracing).
"""

import random
import re
from dataclasses import dataclass

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 0x01


def new_span_id() -> int:
    """Return a random span id, which is never 0."""
    return random.getrandbits(64) or 1


@dataclass(frozen=True, slots=True)
class TraceContext:
    """The span of a request. ``parent_id``: the client's span, None if the trace begins here."""

    trace_id: int
    span_id: int
    parent_id: int | None
    is_sampled: bool

    @classmethod
    def begin(cls, traceparent: str | None, share: float) -> "TraceContext":
        """Return a span of the client's trace, or of a new one, which is sampled with the
        probability ``share``.
        """
        if (ids := _parse(traceparent or "")) is not None:
            trace_id, parent_id, is_sampled = ids
            return cls(trace_id, new_span_id(), parent_id, is_sampled)
        trace_id = random.getrandbits(128) or 1
        return cls(trace_id, new_span_id(), None, random.random() < share)

    @property
    def shown_id(self) -> str:
        """Return the trace's id as people and headers write it."""
        return f"{self.trace_id:032x}"

    def traceparent(self, span_id: int) -> str:
        """Return the header for what ``span_id``, a span of this trace, calls."""
        return f"00-{self.shown_id}-{span_id:016x}-{int(self.is_sampled):02x}"


def _parse(traceparent: str) -> tuple[int, int, bool] | None:
    """Return trace id, span id and the sampled flag; None: not a valid header."""
    match = _TRACEPARENT.fullmatch(traceparent)
    if match is None:
        return None
    version, trace_id, span_id, flags, more = match.groups()
    if version == "ff" or (version == "00" and more) or not int(trace_id, 16):
        return None
    if not int(span_id, 16):
        return None
    return int(trace_id, 16), int(span_id, 16), bool(int(flags, 16) & _SAMPLED)
