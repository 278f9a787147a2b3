"""POST /v1/grammars/check: which keywords of a schema are enforced."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import Field

from ..errors import client_left
from ..openapi.operation import operation
from ..protocol.validation import Exact
from ..server.event_stream import Disconnected, run_until_disconnect
from ..service.served_models import ServedModels
from .body import BodyReader

_CHECK = operation(
    "check_grammar",
    "Report which keywords of a schema are enforced",
    tag="Grammars",
    body="CheckRequest",
    answer="GrammarCheck",
    errors=(404, 429),
    example={"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}},
)


class CheckRequest(Exact):
    """A schema to check. ``strict``: check the rules of ``strict: true`` too. ``model``: the one
    whose vocabulary and rules apply; the only model may stay unnamed.
    """

    schema_: bool | dict[str, Any] = Field(alias="schema")
    strict: bool | None = None
    model: str | None = None


def grammars_router(models: ServedModels, bodies: BodyReader) -> APIRouter:
    """Return the route."""
    router = APIRouter()

    @router.post("/v1/grammars/check", **_CHECK)
    async def check(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(CheckRequest, request)
        checked = models.find_or_only(asked.model).checks.check(
            asked.schema_, strict=bool(asked.strict), client=request.state.client.id
        )
        try:
            return JSONResponse(await run_until_disconnect(checked, request.receive))
        except Disconnected:
            raise client_left() from None

    return router
