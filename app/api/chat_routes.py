"""POST /v1/chat/completions."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse

from ..admission.admission import Admission
from ..errors import client_left
from ..observability.metrics import Metrics
from ..protocol.chat_request import ChatRequest
from ..server.event_stream import Disconnected, EventStream, run_until_disconnect
from ..service.chat_service import ChatService
from .body import BodyReader, announced_size

Answer = TypeVar("Answer")


def chat_router(
    service: ChatService,
    admission: Admission,
    metrics: Metrics,
    bodies: BodyReader,
    *,
    comment_seconds: float,
) -> APIRouter:
    """Return the route. ``comment_seconds``: see EventStream."""
    router = APIRouter()

    @router.post("/v1/chat/completions")
    async def create(request: Request) -> Response:
        # closed as soon as the work is done, so that the client's next request need not wait, and
        # at the end of the request in any case
        ticket = admission.ticket(request.state.client, request.state.answer_headers)
        request.state.at_end.callback(ticket.close)
        await ticket.charge(announced_size(request))
        chat, size = await bodies.read(ChatRequest, request)

        async def admitted(work: Callable[..., Awaitable[Answer]]) -> Answer:
            await ticket.enter(chat.model, chat.n or 1, size)
            return await work(
                chat,
                request.state.request_id,
                ticket.client.id,
                size=size,
                on_chunk=ticket.count,
            )

        try:
            if chat.stream:
                stream = await run_until_disconnect(admitted(service.stream), request.receive)
                return EventStream(
                    stream,
                    headers=stream.headers,
                    comment_seconds=comment_seconds,
                    on_disconnect=metrics.disconnects.inc,
                    on_end=ticket.close,
                )
            answer = await run_until_disconnect(admitted(service.complete), request.receive)
            ticket.close()
            return JSONResponse(answer.body, headers=answer.headers)
        except Disconnected:
            metrics.disconnects.inc()
            raise client_left() from None

    return router
