"""Builds the OpenAPI document: FastAPI's description of the routes, and the schemas they name.

Cost       0.1 s, once, when the document is asked for: nothing here is imported before.
Invariant  the document is the same for every gateway with the same routes and version, except that
           operations need no client's key if the gateway asks for none.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_json

from .answers import ANSWERS
from .components import TAGS, response_headers, security_schemes
from .components import responses as error_responses
from .operation import SCHEMES, Key
from .requests import BODIES, amend

DESCRIPTION = (
    "An OpenAI-compatible gateway. A grammar constrains the output of the models, so tool calls "
    "and structured output always fit. Errors are objects of OpenAI's form."
)
#: keywords whose values hold names, and those whose values are no schemas
_MAPS = frozenset({"properties", "patternProperties", "$defs"})
_VALUES = frozenset({"enum", "const", "default", "examples", "required"})

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
    made["components"] = {
        "schemas": schemas(),
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
    if not keys_required and operation.get("security") == [{_CLIENT: []}]:
        del operation["security"], found["401"], found["403"]


_CLIENT_KEY: Key = "client"
_CLIENT = SCHEMES[_CLIENT_KEY]


def schemas() -> dict[str, Schema]:
    """Return the schemas of all bodies and answers by name."""
    bodies = _generated(BODIES)
    amend(bodies)
    answers = _generated(ANSWERS)
    _number(answers)
    shared = bodies.keys() & answers.keys()
    if shared:
        raise RuntimeError(f"schemas of bodies and of answers have one name: {sorted(shared)}")
    return dict(sorted({**bodies, **answers}.items()))


def _number(answers: dict[str, Schema]) -> None:
    """Add the number that an event of a response gets when it is sent (ResponseEventWriter)."""
    number = {"type": "integer", "description": "Counted from 0."}
    for place in {*answers["ResponseEvent"]["discriminator"]["mapping"].values()}:
        event = answers[place.rpartition("/")[2]]
        event["properties"]["sequence_number"] = number
        event["required"].append("sequence_number")


def _generated(kinds: Iterable[Any]) -> dict[str, Schema]:
    """Return pydantic's schemas, without titles."""
    _, made = TypeAdapter.json_schemas(
        [(kind, "validation", TypeAdapter(kind)) for kind in kinds],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Untitled,
    )
    found = made["$defs"]
    names = {name: _short(name) for name in found}
    return {names[name]: _tidied(schema, names, inside=True) for name, schema in found.items()}


class _Untitled(GenerateJsonSchema):
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _short(name: str) -> str:
    """Return the name of a class; pydantic writes its module before it if there are several."""
    *module, last = name.split("__")
    is_other = "responses" in module and not last.startswith("Response")
    return f"Response{last}" if is_other else last


def _tidied(value: Any, names: Mapping[str, str], *, inside: bool) -> Any:
    """Return a schema without titles of classes and with short names. ``inside``: ``value`` is a
    schema, not a map of schemas by name.
    """
    if isinstance(value, list):
        return [_tidied(each, names, inside=inside) for each in value]
    if not isinstance(value, dict):
        return value
    made: Schema = {}
    for key, each in value.items():
        if inside and key == "title":
            continue
        if inside and key == "$ref":
            made[key] = _renamed(each, names)
        elif inside and key == "mapping":
            made[key] = {tag: _renamed(place, names) for tag, place in each.items()}
        elif inside and key in _VALUES:
            made[key] = each
        else:
            made[key] = _tidied(each, names, inside=not (inside and key in _MAPS))
    return made


def _renamed(reference: str, names: Mapping[str, str]) -> str:
    place, _, name = reference.rpartition("/")
    return f"{place}/{names[name]}"
