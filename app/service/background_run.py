"""One response in the background."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..observability import RequestRecord
from ..state import RunState
from ..writers import ResponseEventWriter, ResponseObject, Save
from .generation_service import AnswerStream


@dataclass(frozen=True, slots=True)
class BegunResponse:
    """A response that is stored, but does not run yet.

    ``save``     stores it at its end.
    ``begin``    starts its answer; its writer is ``events``.
    ``streams``  whether its events are kept.
    ``ignored``  parts of the request that were left out.
    """

    client: str
    response: ResponseObject
    events: ResponseEventWriter
    save: Save
    begin: Callable[[], Awaitable[AnswerStream]]
    streams: bool
    record: RequestRecord
    ignored: list[str]


@dataclass(eq=False, slots=True)
class BackgroundRun:
    """A response that runs in this process."""

    begun: BegunResponse
    state: RunState
    pending: bytearray = field(default_factory=bytearray)
    blocks: int = 0
    #: bytes of all blocks
    kept: int = 0
    renewed: float = 0.0
    done: asyncio.Event = field(default_factory=asyncio.Event)
    is_deleted: bool = False
    is_cancelled: bool = False
    task: asyncio.Task[None] | None = None

    @property
    def number(self) -> str:
        return self.begun.response["id"]

    @property
    def ended(self) -> ResponseObject | None:
        """The response after its end."""
        return self.begun.events.ended

    def add(self, events: bytes) -> None:
        """Add events for those who follow the run."""
        if self.begun.streams:
            self.pending += events

    def end(self, *, delete: bool = False) -> None:
        """End the run for a client; repeat it until the run has ended."""
        self.is_deleted |= delete
        if self.task is not None and self.ended is None:
            self.is_cancelled = True
            self.task.cancel()


def is_open(response: Mapping[str, Any]) -> bool:
    """Whether a stored response has not ended."""
    return response["status"] in ("queued", "in_progress")


def failed(response: Mapping[str, Any], message: str) -> dict[str, Any]:
    """Return a response that has failed outside its run."""
    error = {"code": "server_error", "message": message, "param": None, "type": "server_error"}
    return {**response, "status": "failed", "error": error}
