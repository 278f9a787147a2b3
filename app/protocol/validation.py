"""Base types of request objects, which bound the work of validation."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, TypeVar
from urllib.parse import quote

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetCoreSchemaHandler,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_before_validator_function, nullable_schema

from .unknown_fields import NAME_CHARS, UnknownFields, known_names

#: OpenAI's bound on ``messages``; here also the bound on the parts and the calls of a message, and
#: on the tools that a choice allows. The steps that follow take time in proportion to them.
MAX_ITEMS = 2048
#: names in an object whose names are all known; all fields of vLLM and SGLang are about 130
MAX_NAMES = 256

Item = TypeVar("Item")
#: an array whose validation ends at the first error
Items = Annotated[list[Item], Field(max_length=MAX_ITEMS, fail_fast=True)]


@dataclass(frozen=True, slots=True)
class NullAs:
    """Reads null as an empty value, in place of what a history lost."""

    empty: Any

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        schema = handler(source)
        return no_info_before_validator_function(
            lambda value: self.empty if value is None else value,
            schema,
            json_schema_input_schema=nullable_schema(schema),
        )


#: a text of a history
PastText = Annotated[str, NullAs("")]
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
    """An object without unknown names, except for null ones and those that the context of the
    validation ignores (unknown_fields). Its values are never converted.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")
    are_options: ClassVar[bool] = False

    @model_validator(mode="before")
    @classmethod
    def _known_names(cls, value: Any, info: ValidationInfo) -> Any:
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
        unknown = value.keys() - known_names(cls).keys()
        if not unknown:
            return value
        absent = {name for name in unknown if value[name] is None}
        if isinstance(info.context, UnknownFields):
            others = {name: value[name] for name in sorted(unknown - absent)}
            absent |= info.context.dropped(cls, others, are_options=cls.are_options)
        return {name: each for name, each in value.items() if name not in absent}


class Options(Exact):
    """An object whose unknown names are ignored and named to the client, except for those near to
    one of its own, which may be typos, and those of constraints, which have another place.
    """

    are_options = True


class Lenient(BaseModel):
    """An object whose unknown names are ignored, and whose values are never converted."""

    model_config = ConfigDict(strict=True, frozen=True, extra="ignore")


def unknown_type(kind: str, what: str) -> str:
    """Return how answers name a type that only newer clients know: ``brand_new unknown_item``. The
    last word is the kind in metrics, whose number is bounded.
    """
    return f"{quote(kind[:NAME_CHARS], safe='')} unknown_{what}"


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
