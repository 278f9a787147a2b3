"""Admitted answers: from a request's headers to the last byte of its answer, the same for each API.

ticket = await answering.begin(request)              refusals that need no body
asked, size = await bodies.read(...)
return await answering.answer(request, ticket, ...)  waits for its turn, then answers
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol, TypeVar

import structlog
from fastapi import Request, Response
from fastapi.responses import JSONResponse

from ..admission import Admission, Ticket
from ..errors import client_left
from ..observability import Metrics, RequestLog, RequestRecord
from ..server import Disconnected, EventStream, run_until_disconnect
from ..service import AnswerStream, Completion, ServedModel
from .body import announced_size

Asked = TypeVar("Asked", contravariant=True)
Answer = TypeVar("Answer")


class AnswerService(Protocol[Asked]):
    """The use case of one API: an answer to a request, whole or as a stream."""

    async def complete(self, request: Asked, record: RequestRecord) -> Completion: ...

    async def stream(self, request: Asked, record: RequestRecord) -> AnswerStream: ...


class Answering:
    """See the file's header. ``comment_seconds``: see EventStream."""

    def __init__(
        self,
        admission: Admission,
        metrics: Metrics,
        requests: RequestLog,
        *,
        comment_seconds: float,
    ) -> None:
        self._requests = requests
        self._admission = admission
        self._metrics = metrics
        self._comment_seconds = comment_seconds

    async def begin(self, request: Request) -> Ticket:
        """Return the request's ticket. Raises ApiError.

        It is closed as soon as the work is done, so that the client's next request need not wait,
        and at the end of the request in any case.
        """
        state = request.state
        self._requests.begin(state.record, request.headers.get("traceparent"))
        ticket = self._admission.ticket(state.client, state.record, state.answer_headers)
        request.state.at_end.callback(ticket.close)
        await ticket.charge(announced_size(request))
        return ticket

    async def answer(
        self,
        request: Request,
        ticket: Ticket,
        model: ServedModel,
        service: AnswerService[Asked],
        asked: Asked,
        *,
        size: int,
        choices: int = 1,
        is_stream: bool,
        encode: Callable[[Completion], Response] | None = None,
    ) -> Response:
        """Wait for the request's turn, and return its answer. Raises ApiError.

        Args:
            size: bytes of the body.
            choices: answers that are generated at once.
            encode: makes the response of a whole answer; default: JSON.
        """
        # for the log line of the request
        structlog.contextvars.bind_contextvars(model=model.name)

        record: RequestRecord = request.state.record
        record.model, record.size, record.is_stream = model.name, size, is_stream

        async def admitted(work: Callable[[Asked, RequestRecord], Awaitable[Answer]]) -> Answer:
            await ticket.enter(model.name, choices, size)
            return await work(asked, record)

        try:
            if is_stream:
                stream = await run_until_disconnect(admitted(service.stream), request.receive)
                # for the end of a shutdown, see RequestMiddleware
                request.state.failed = stream.failed
                return EventStream(
                    stream,
                    headers=stream.headers,
                    comment_seconds=self._comment_seconds,
                    on_disconnect=partial(self._leave, record),
                    on_end=ticket.close,
                )
            whole = await run_until_disconnect(admitted(service.complete), request.receive)
            ticket.close()
            return (encode or _json)(whole)
        except Disconnected:
            self._metrics.disconnects.inc()
            raise client_left() from None

    def _leave(self, record: RequestRecord) -> None:
        self._metrics.disconnects.inc()
        record.error = client_left().code


def _json(whole: Completion) -> Response:
    return JSONResponse(whole.body, headers=whole.headers)
