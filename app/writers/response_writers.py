"""The writers of responses: a whole response, or the events of a stream.

    response.created, response.in_progress
    the events of each output item (response_items)
    response.completed, or response.incomplete at the output limit, or response.failed

One in the background also has response.queued, and response.incomplete when it was cancelled.

Events are numbered from 0. A response is stored before its last event, so that a client that has
seen the end can continue it.
"""

import time
from collections.abc import Awaitable, Callable

from pydantic_core import to_json

from ..errors import ApiError
from ..generation import ChoiceDeltas, ChoiceEnd
from .events import named_event, one_line
from .response_items import Named, OutputItems, SealText
from .response_object import failure, usage
from .response_types import EndedName, Event, ResponseObject, Status
from .writer import Batch, EventWriter

#: stores a response, and returns whether it did
Save = Callable[[ResponseObject], Awaitable[bool]]
#: the last event of a response, by its status
ENDED: dict[Status, EndedName] = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
    "cancelled": "response.incomplete",
}


class ResponseWriter:
    """Writes a whole response. ``begun``: its object without output. ``save``: stores it; None: it
    is not to be stored. ``named``, ``seal``: see OutputItems. ``ended``: the response at its end.
    """

    def __init__(
        self,
        begun: ResponseObject,
        save: Save | None,
        named: Named = lambda name: {"name": name},
        seal: SealText | None = None,
    ) -> None:
        self.begun = begun
        self.ended: ResponseObject | None = None
        self.save = save
        self._items = OutputItems(begun["id"], named, seal)
        self._end: ChoiceEnd | None = None

    def write(self, batch: Batch) -> list[Event]:
        """Add items and return their events."""
        events: list[Event] = []
        for _, item in batch:
            if isinstance(item, ChoiceDeltas):
                events += self._items.add(item.deltas, item.logprobs)
            else:
                self._end = item
                events += self._items.end("incomplete" if item.finish == "length" else "completed")
        return events

    async def whole(self) -> ResponseObject:
        """Store the response and return it; ``store`` says whether it was stored."""
        assert self._end is not None
        if self._end.finish == "length":
            response = self._response("incomplete")
            response["incomplete_details"] = {"reason": "max_output_tokens"}
        else:
            response = self._response("completed")
            response["completed_at"] = int(time.time())
        response["usage"] = usage(self._end)
        if self.save is not None:
            response["store"] = await self.save(response)
        self.ended = response
        return response

    def fail(self, error: ApiError) -> tuple[list[Event], ResponseObject]:
        """Return the events of the item that was cut off, and the failed response."""
        events = list(self._items.cut())
        response = self.ended = self._response("failed")
        response["error"] = failure(error)
        response["store"] = response["background"]
        return events, response

    def cancel(self) -> tuple[list[Event], ResponseObject]:
        """Return the events of the item that was cut off, and the cancelled response."""
        events = list(self._items.cut())
        self.ended = self._response("cancelled")
        return events, self.ended

    def _response(self, status: Status) -> ResponseObject:
        return {**self.begun, "status": status, "output": self._items.items}


class ResponseEventWriter(EventWriter):
    """Writes the events of a response that ``response`` makes."""

    def __init__(self, response: ResponseWriter) -> None:
        self._response = response
        self._number = 0

    @property
    def ended(self) -> ResponseObject | None:
        """The response after its end."""
        return self._response.ended

    def queued(self) -> bytes:
        """Return the events of a response that waits."""
        queued: ResponseObject = {**self._response.begun, "status": "queued"}
        return self._states(queued, b"response.created", b"response.queued")

    def begin(self) -> bytes:
        """Return the events before the output."""
        created = () if self._number else (b"response.created",)
        return self._states(self._response.begun, *created, b"response.in_progress")

    def _states(self, response: ResponseObject, *kinds: bytes) -> bytes:
        # all have the same response, which may be as large as the request
        text, first = one_line(to_json(response)), self._number
        self._number += len(kinds)
        return b"".join(
            b'event: %s\ndata: {"type":"%s","response":%s,"sequence_number":%d}\n\n'
            % (kind, kind, text, number)
            for number, kind in enumerate(kinds, first)
        )

    def write(self, batch: Batch) -> bytes:
        """Return the events of these items."""
        return self._encode(self._response.write(batch))

    async def end(self) -> bytes:
        """Return the last event."""
        response = await self._response.whole()
        return self._encode([{"type": ENDED[response["status"]], "response": response}])

    def failed(self, error: ApiError) -> bytes:
        """Return the last events of a response that failed."""
        events, response = self._response.fail(error)
        return self._encode([*events, {"type": "response.failed", "response": response}])

    def cancelled(self) -> bytes:
        """Return the last events of a response that was cancelled."""
        events, response = self._response.cancel()
        return self._encode([*events, {"type": ENDED["cancelled"], "response": response}])

    def _encode(self, events: list[Event]) -> bytes:
        first = self._number
        self._number += len(events)
        return b"".join(
            named_event({**each, "sequence_number": number})
            for number, each in enumerate(events, first)
        )
