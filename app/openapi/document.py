"""Builds the OpenAPI document: FastAPI's description of the routes, and the schemas they name.

Cost       0.1 s, once, when the document is asked for: this module is not imported before.
Invariant  the document is the same for every gateway with the same routes and version, except that
           operations need no client's key if the gateway asks for none.
"""

from collections.abc import Collection
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_json

from ..errors import ErrorResponse
from .components import TAGS, response_headers, security_schemes
from .components import responses as error_responses
from .operation import SCHEMES, Described, SchemaType
from .requests import amend

DESCRIPTION = (
    "An OpenAI-compatible gateway. A grammar constrains the output of the models, so tool calls "
    "and structured output always fit. Errors are objects of OpenAI's form."
)

Schema = dict[str, Any]


def build_document(app: FastAPI, *, keys_required: bool) -> bytes:
    """Return the document of an app as JSON."""
    made = get_openapi(
        title=app.title,
        version=app.version,
        description=DESCRIPTION,
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        tags=TAGS,
        routes=app.routes,
    )
    for methods in made["paths"].values():
        for method, operation in methods.items():
            _tidy_operation(operation, method, keys_required=keys_required)
    routes = [context.original_route for context in iter_route_contexts(app.routes)]
    extras = [getattr(route, "openapi_extra", None) for route in routes]
    described = [extra for extra in extras if isinstance(extra, Described)]
    bodies = [kind for extra in described for kind in extra.bodies]
    answers = [kind for extra in described for kind in extra.answers]
    made["components"] = {
        "schemas": schemas(bodies, [ErrorResponse, *answers]),
        "responses": error_responses(),
        "headers": response_headers(),
        "securitySchemes": security_schemes(),
    }
    return to_json(made)


def _tidy_operation(operation: Schema, method: str, *, keys_required: bool) -> None:
    """Remove what FastAPI adds: answers to invalid parameters (they are 400), a content beside a
    reference, a content of HEAD, and success of an operation that has none.
    """
    found = operation["responses"]
    found.pop("422", None)
    for status, response in found.items():
        if "$ref" in response:
            found[status] = {"$ref": response["$ref"]}
        elif method == "head":
            response.pop("content", None)
        else:
            media = response.get("content", {})
            response["content"] = {kind: each for kind, each in media.items() if each["schema"]}
    for parameter in operation.get("parameters", ()):
        parameter["schema"].pop("title", None)
    if not keys_required and operation.get("security") == [{SCHEMES["client"]: []}]:
        del operation["security"], found["401"], found["403"]


def schemas(
    bodies: Collection[type[BaseModel]], answers: Collection[SchemaType]
) -> dict[str, Schema]:
    """Return the schemas of bodies and answers, and of their parts, by name."""
    sent, returned = _generated(bodies), _generated(answers)
    amend(sent, {body.__name__ for body in bodies})
    if "ResponseEvent" in returned:
        _number(returned)
    shared = sent.keys() & returned.keys()
    if shared:
        raise RuntimeError(f"schemas of bodies and of answers have one name: {sorted(shared)}")
    return dict(sorted({**sent, **returned}.items()))


def _number(answers: dict[str, Schema]) -> None:
    """Add the number that an event of a response gets when it is sent (ResponseEventWriter)."""
    number = {"type": "integer", "description": "Counted from 0."}
    for place in {*answers["ResponseEvent"]["discriminator"]["mapping"].values()}:
        event = answers[place.rpartition("/")[2]]
        event["properties"]["sequence_number"] = number
        event["required"].append("sequence_number")


def _generated(kinds: Collection[SchemaType]) -> dict[str, Schema]:
    """Return pydantic's schemas by the names of their classes, without titles."""
    _, made = TypeAdapter.json_schemas(
        [(kind, "validation", TypeAdapter(kind)) for kind in kinds],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Untitled,
    )
    found: dict[str, Schema] = made["$defs"]
    for schema in found.values():
        schema.pop("title", None)
    return found


class _Untitled(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
