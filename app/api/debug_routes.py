"""GET /debug/requests: the requests that run, and the last ones that ended, for operators.

Not here   the operator's key (the caller guards the route); the requests of the gateway's other
           processes.
"""

import os

from fastapi import APIRouter

from ..observability import RequestLog, Requests
from ..openapi import operation

_REQUESTS = operation(
    "list_requests",
    "List running and ended requests",
    tag="Operation",
    key="operator",
    answer=Requests,
)


def debug_router(requests: RequestLog) -> APIRouter:
    """Return the route; the caller must guard it with an operator's key."""
    router = APIRouter()

    @router.get("/debug/requests", **_REQUESTS)
    async def all_requests() -> Requests:
        return {
            "object": "requests",
            "process": os.getpid(),
            "running": requests.running(),
            "recent": requests.recent(),
        }

    return router
