"""The requests of this process that run, and the last ones that ended, for /debug/requests.

Invariants   a request is running or among the last ``MOST_RECENT``, never both.
Threads      the event loop only.
"""

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from .request_record import RequestRecord, milliseconds

if TYPE_CHECKING:
    from .tracing import Tracer

#: finished requests that are kept; each has about 1 KB
MOST_RECENT = 200


class RequestLog:
    """See the file's header.

    ``tracer``: exports their spans; None: traces are off.
    """

    def __init__(self) -> None:
        self.tracer: Tracer | None = None
        self._running: dict[RequestRecord, None] = {}
        self._recent: deque[dict[str, Any]] = deque(maxlen=MOST_RECENT)

    def begin(self, record: RequestRecord, traceparent: str | None = None) -> None:
        """Add a running request; ``traceparent``: the client's header."""
        self._running[record] = None
        if self.tracer is not None:
            record.trace = self.tracer.begin(traceparent)

    def end(self, record: RequestRecord, *, method: str, outcome: dict[str, Any]) -> None:
        """Note how a request ended, if it was begun; ``outcome``: route, status and more facts."""
        if record not in self._running:
            return
        del self._running[record]
        self._recent.append({"id": record.id, **record.facts(), **outcome})
        if self.tracer is not None:
            self.tracer.end(record, method=method, route=outcome["route"], status=outcome["status"])

    def running(self) -> list[dict[str, Any]]:
        """Describe the running requests, the oldest first."""
        now = time.perf_counter()
        return [
            {
                "id": record.id,
                "phase": record.phase,
                "age_ms": milliseconds(now - record.started),
                **record.facts(),
            }
            for record in self._running
        ]

    def recent(self) -> list[dict[str, Any]]:
        """Describe the last requests, the latest first."""
        return list(reversed(self._recent))
