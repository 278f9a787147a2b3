"""Strict checks of answers against the types of OpenAI's client."""

from typing import Any

from openai.types.responses import (
    Response,
    ResponseFunctionCallArgumentsDoneEvent,
    ResponseStreamEvent,
)
from pydantic import BaseModel, TypeAdapter

EVENT: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
#: fields that OpenAI's server sends beside those of the type
UNTYPED: dict[Any, set[str]] = {
    Response: {"frequency_penalty", "presence_penalty", "store"},
    ResponseFunctionCallArgumentsDoneEvent: {"name"},
}


def check(value: Any) -> None:
    """Check that objects have the fields of their types, and no others."""
    if isinstance(value, BaseModel):
        kind: Any = type(value)
        untyped = (names for each, names in UNTYPED.items() if isinstance(value, each))
        allowed = set().union(*untyped)
        assert set(value.model_extra or ()) <= allowed, value
        kind.model_validate(value.model_dump(by_alias=True, exclude_unset=True))
        for name in kind.model_fields:
            check(getattr(value, name))
    elif isinstance(value, list):
        for each in value:
            check(each)


def check_events(events: list[Any], first: int = 0) -> None:
    """Check events of a stream, and that they are numbered from ``first``."""
    for number, event in enumerate(events, first):
        assert event.sequence_number == number
        EVENT.validate_python(event.to_dict(), strict=False)
        check(event)
