"""Bodies of requests, parsed as routes parse them."""

from typing import TypeVar

from pydantic import BaseModel

from app.api.body import parse
from app.protocol import ChatRequest
from app.settings import MAX_JSON_VALUES

Parsed = TypeVar("Parsed", bound=BaseModel)


def parse_as(kind: type[Parsed], body: bytes, *, max_values: int = MAX_JSON_VALUES) -> Parsed:
    return parse(kind, body, max_values=max_values)[0]


def parse_request(body: bytes) -> ChatRequest:
    return parse_as(ChatRequest, body)
