"""Base types of request objects, which bound the work of validation."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

#: OpenAI's bound on ``messages``; here also the bound on the parts and the calls of a message, and
#: on the tools that a choice allows. The steps that follow take time in proportion to them.
MAX_ITEMS = 2048
#: names in an object whose names are all known; all fields of vLLM and SGLang are about 130
MAX_NAMES = 256

Item = TypeVar("Item")
#: an array whose validation ends at the first error
Items = Annotated[list[Item], Field(max_length=MAX_ITEMS, fail_fast=True)]


def null_as(empty: Any, kind: Any) -> BeforeValidator:
    """Return a validator that reads null as an empty value, in place of what a history lost.

    ``kind``: the type of other values.
    """
    return BeforeValidator(
        lambda value: empty if value is None else value, json_schema_input_type=kind | None
    )


#: a text of a history
PastText = Annotated[str, null_as("", str)]
#: a text that a server sealed; other values are none of this server
Sealed = Annotated[
    str,
    BeforeValidator(lambda value: "" if value is None else str(value)),
    WithJsonSchema({}),
]


def by_type(expected: str, **tags: type) -> Discriminator:
    """Return the discriminator of a union of JSON types; its error names all that are expected."""
    kinds = {kind: tag for tag, kind in tags.items()}
    return Discriminator(
        lambda value: kinds.get(type(value)),
        custom_error_type="unexpected_type",
        custom_error_message=expected,
    )


def tag_of(value: Any, tags: Mapping[str, str], other: str) -> str:
    """Return the tag of an object by its type; all ``other`` values have one tag."""
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return tags.get(kind, other) if isinstance(kind, str) else other


#: a text, or an array of objects
TextOr = Annotated[
    Annotated[str, Tag("text")] | Annotated[Items[Item], Tag("parts")],
    by_type("one of a string or array of objects", text=str, parts=list),
]


class Exact(BaseModel):
    """An object without unknown names, except for null ones, whose values are never converted."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known_names(cls, value: Any) -> Any:
        """Bound the number of names: each unknown one is an error, half a million take seconds.

        Null stands for an absent field, also for a field that only other servers have.
        """
        if not isinstance(value, dict):
            return value
        if len(value) > MAX_NAMES:
            raise PydanticCustomError(
                "too_many_names",
                "at most {most} names are allowed, got {got}",
                {"most": MAX_NAMES, "got": len(value)},
            )
        if None not in value.values():
            return value
        known = {field.alias or name for name, field in cls.model_fields.items()}
        return {name: each for name, each in value.items() if each is not None or name in known}


class Lenient(BaseModel):
    """An object whose unknown names are ignored, and whose values are never converted."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


def refuse_type(kind: Any, known: tuple[str, ...], what: str) -> None:
    """Refuse a type that OpenAI has and this server lacks with more than "invalid value"."""
    if isinstance(kind, str) and kind not in known:
        raise PydanticCustomError(
            "unsupported_value",
            "{what} of type '{kind}' are not supported by this server.",
            {"what": what, "kind": kind[:100]},
        )


def unsupported(message: str) -> PydanticCustomError:
    """Return the error of a value that OpenAI has and this server lacks; it names the field."""
    return PydanticCustomError("unsupported_here", "{message}", {"message": message})


def is_off(value: Any, off: Collection[Any]) -> bool:
    """Whether the value is null or one of ``off``; true and false are no numbers."""
    if value is None:
        return True
    return any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in off)


def refuse_fields(
    value: Any, off: Mapping[str, tuple[Any, ...]], instead: Mapping[str, str] | None = None
) -> Any:
    """Return an object without the fields in ``off``, which must have one of the values there, or
    null; other values as they are. ``instead``: what to do instead, by name.
    """
    if not isinstance(value, dict):
        return value
    for name, values in off.items():
        if not is_off(value.get(name), values):
            facts = {"name": name, "instead": f" {instead[name]}" if instead else ""}
            raise PydanticCustomError("unsupported_field", "{name}", facts)
    return {name: each for name, each in value.items() if name not in off}
