"""The requests of this process that run, and the last ones that ended, for /debug/requests.

Invariants   a request is running or among the last ``MAX_RECENT``, never both.
Threads      the event loop only.
"""

import time
from collections import deque
from typing import TYPE_CHECKING, Literal

from typing_extensions import TypedDict

from .request_record import Phase, RequestFacts, RequestRecord

if TYPE_CHECKING:
    from .tracing import Tracer

#: finished requests that are kept; each has about 1 KB
MAX_RECENT = 200


class RunningRequest(RequestFacts):
    id: str
    phase: Phase
    age_ms: float


class Outcome(TypedDict):
    route: str
    status: int
    ms: float


class EndedRequest(RequestFacts, Outcome):
    id: str


class Requests(TypedDict):
    """Requests for answers; of one process, if there are several."""

    object: Literal["requests"]
    process: int
    running: list[RunningRequest]
    recent: list[EndedRequest]


class RequestLog:
    """See the file's header.

    ``tracer``: exports their spans; None: traces are off.
    """

    def __init__(self) -> None:
        self.tracer: Tracer | None = None
        self._running: dict[RequestRecord, None] = {}
        self._recent: deque[tuple[str, RequestFacts, Outcome]] = deque(maxlen=MAX_RECENT)

    def begin(self, record: RequestRecord, traceparent: str | None = None) -> None:
        """Add a running request; ``traceparent``: the client's header."""
        self._running[record] = None
        if self.tracer is not None:
            record.trace = self.tracer.begin(traceparent)

    def end(self, record: RequestRecord, *, method: str, outcome: Outcome) -> RequestFacts:
        """Note how a request ended, if it was begun. Return its facts, for its log line."""
        facts = record.facts()
        if record not in self._running:
            return facts
        del self._running[record]
        # the record may list thousands of ignored parts, and attempts
        self._recent.append((record.id, facts, outcome))
        if self.tracer is not None:
            self.tracer.end(record, method=method, route=outcome["route"], status=outcome["status"])
        return facts

    def running(self) -> list[RunningRequest]:
        """Describe the running requests, the oldest first."""
        now = time.perf_counter()
        return [
            {
                "id": record.id,
                "phase": record.phase,
                "age_ms": round(1000 * (now - record.started), 1),
                **record.facts(),
            }
            for record in self._running
        ]

    def recent(self) -> list[EndedRequest]:
        """Describe the last requests, the latest first."""
        return [
            {"id": number, **facts, **outcome} for number, facts, outcome in reversed(self._recent)
        ]
