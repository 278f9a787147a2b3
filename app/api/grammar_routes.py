"""POST /v1/grammars/check: which keywords of a schema are enforced. POST /v1/grammars/explain: the
grammar of a request, and what it does to an output.
"""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from ..openapi import operation
from ..protocol import CheckRequest, ExplainRequest
from ..service import GrammarCheck, GrammarExplanation, ServedModels
from .body import BodyReader
from .exchange import exchange_of, until_client_leaves

_CHECK = operation(
    "check_grammar",
    "Report which keywords of a schema are enforced",
    tag="Grammars",
    body=CheckRequest,
    answer=GrammarCheck,
    errors=(404, 429),
    example={"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}},
)
_EXPLAIN = operation(
    "explain_grammar",
    "Show a request's grammar, and where it rejects an output",
    description="The rules and a drawing of a request's grammar, the keywords that are not "
    "enforced, and token by token what the grammar does to an output. A refused constraint is a "
    "part of the answer. The page `/ui` shows it.",
    tag="Grammars",
    body=ExplainRequest,
    answer=GrammarExplanation,
    errors=(404, 429),
    example={
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "integer"}},
        },
        "output": "12x",
    },
)


def grammars_router(models: ServedModels, bodies: BodyReader) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.post("/v1/grammars/check", **_CHECK)
    async def check(request: Request) -> JSONResponse:
        asked, _ = await bodies.read(CheckRequest, request)
        client = exchange_of(request).client
        service = models.usable(asked.model, client).model.checks
        report = service.check(asked.schema_, client.id, strict=bool(asked.strict))
        return JSONResponse(await until_client_leaves(report, request))

    @router.post("/v1/grammars/explain", **_EXPLAIN)
    async def explain(request: Request) -> JSONResponse:
        asked, size = await bodies.read(ExplainRequest, request)
        client = exchange_of(request).client
        service = models.usable(asked.model, client).model.explanations
        return JSONResponse(
            await until_client_leaves(service.explain(asked, size, client.id), request)
        )

    return router
