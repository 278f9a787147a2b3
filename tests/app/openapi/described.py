"""The document of a running gateway, and a judge of answers by it."""

import json
from functools import cache
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from app import protocol
from app.errors import ErrorResponse
from app.openapi.document import schemas
from tests.app.messages import payloads

JSON, EVENTS = "application/json", "text/event-stream"
#: beginnings of the headers that this server adds, and one of streams, for proxies
OWN, STREAM = ("x-", "openai-", "retry-after", "allow", "www-"), {"x-accel-buffering"}


class Document:
    """A document whose objects are closed, so that a field which it lacks is found.

    Objects of the gateway's workers are open: they have fields of their own.
    """

    OPEN = ("WorkerState",)

    def __init__(self, document: dict[str, Any]) -> None:
        self.paths = document["paths"]
        self.components = document["components"]
        schemas = document["components"]["schemas"]
        closed = {
            name: each if name in self.OPEN else _closed(each) for name, each in schemas.items()
        }
        self._closed = {"components": {"schemas": closed}}

    def errors(self, name: str, value: Any) -> list[str]:
        """Return what is wrong with a value of a schema by name."""
        schema = {"$ref": f"#/components/schemas/{name}", **self._closed}
        return [error.message for error in Draft202012Validator(schema).iter_errors(value)]

    def responses(self, method: str, path: str) -> dict[str, Any]:
        """Return the documented answers of an operation."""
        found: dict[str, Any] = self.paths[path][method.lower()]["responses"]
        return {status: self._resolved(each) for status, each in found.items()}

    def _resolved(self, response: dict[str, Any]) -> dict[str, Any]:
        if "$ref" not in response:
            return response
        found: dict[str, Any] = self.components["responses"][response["$ref"].split("/")[-1]]
        return found

    def check(self, answer: httpx.Response, path: str) -> None:
        """Fail unless the answer is documented: its status, headers, type, and content."""
        found = self.responses(answer.request.method, path)[str(answer.status_code)]
        self._check_headers(answer, found)
        kind = answer.headers["content-type"].split(";")[0]
        content = found["content"][kind]["schema"]
        if kind == EVENTS:
            name = _name(content["properties"]["data"]["contentSchema"])
            events = payloads(answer.text)
            assert events
            for data in events:
                if data != "[DONE]":
                    self._judge(name, json.loads(data))
        elif kind == JSON:
            self._judge(_name(content), answer.json())

    def _check_headers(self, answer: httpx.Response, found: dict[str, Any]) -> None:
        """Fail for a header of this server that is not documented, or without the request's id."""
        known = {name.lower() for name in found["headers"]}
        own = {name for name in answer.headers if name.startswith(OWN)}
        assert own - STREAM <= known
        assert {"x-request-id", "openai-processing-ms"} <= own

    def _judge(self, name: str, value: Any) -> None:
        errors = self.errors(name, value)
        assert not errors, (name, errors[:3])


@cache
def _schemas(name: str) -> dict[str, Any]:
    return {"components": {"schemas": schemas([getattr(protocol, name)], [ErrorResponse])}}


def refused_by_document(name: str, body: Any) -> bool:
    """Whether the schema of a body forbids it."""
    schema = {"$ref": f"#/components/schemas/{name}", **_schemas(name)}
    return not Draft202012Validator(schema).is_valid(body)


def _name(reference: dict[str, str]) -> str:
    return reference["$ref"].split("/")[-1]


def _closed(schema: Any, *, is_map: bool = False) -> Any:
    """Return a schema whose objects with fields have no others."""
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        key: _closed(value, is_map=not is_map and key == "properties")
        for key, value in schema.items()
    }
    if not is_map and schema.get("type") == "object" and "properties" in schema:
        made.setdefault("additionalProperties", False)
    return made
