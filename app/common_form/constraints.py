"""Constraints of chat completions and text completions in the common form."""

from collections.abc import Iterator
from typing import Any

from ..errors import bad_request
from ..generation import AskedConstraint, ConstraintKind
from ..protocol import (
    ConstraintFields,
    JsonObjectFormat,
    JsonSchema,
    JsonSchemaFormat,
    ResponseFormat,
    ResponseJsonSchemaFormat,
    StructuralTagFormat,
    StructuredOutputs,
    TextFormat,
)
from .layout import LAYOUT_OPTIONS

#: the kinds of the fields of other servers
_KINDS: dict[str, ConstraintKind] = {
    "guided_json": "json_schema",
    "json_schema": "json_schema",
    "guided_regex": "regex",
    "regex": "regex",
    "guided_choice": "choice",
    "guided_grammar": "grammar",
    "ebnf": "ebnf",
}


def common_constraints(
    response_format: ResponseFormat | None, fields: ConstraintFields | None = None
) -> tuple[AskedConstraint, ...]:
    """Return the constraints in the order of the fields. Raises ApiError 400."""
    found = [] if response_format is None else list(_format(response_format))
    return tuple(found) if fields is None else (*found, *_extensions(fields))


def _format(wanted: ResponseFormat) -> Iterator[AskedConstraint]:
    param = "response_format"
    match wanted:
        case TextFormat():
            return
        case JsonSchemaFormat(json_schema=schema):
            yield schema_format(schema, param)
        case JsonObjectFormat():
            yield AskedConstraint(param=param, kind="json_object", is_format=True)
        case StructuralTagFormat() as tag:
            value = tag.model_dump(by_alias=True)
            yield AskedConstraint(param=param, kind="structural_tag", value=value, is_format=True)


def schema_format(schema: JsonSchema | ResponseJsonSchemaFormat, param: str) -> AskedConstraint:
    """Return a response format with a schema."""
    return AskedConstraint(
        param=param,
        kind="json_schema",
        value=schema.schema_,
        is_format=True,
        strict=bool(schema.strict),
        name=schema.name,
        description=schema.description or "",
    )


def _extensions(fields: ConstraintFields) -> Iterator[AskedConstraint]:
    if fields.structured_outputs is not None:
        yield _structured_outputs(fields.structured_outputs)
    for param, kind in _KINDS.items():
        if (value := getattr(fields, param)) is not None:
            yield AskedConstraint(param=param, kind=kind, value=value)


def closes_objects(fields: ConstraintFields) -> bool | None:
    """Return whether objects that list members have no others; None: the request does not say."""
    wanted = fields.structured_outputs
    return None if wanted is None else wanted.disable_additional_properties


def _structured_outputs(wanted: StructuredOutputs) -> AskedConstraint:
    options = {"disable_additional_properties", *LAYOUT_OPTIONS}
    fields = wanted.model_dump(by_alias=True, exclude=options).items()
    given = [(name, value) for name, value in fields if value not in (None, False)]
    if not given:
        raise bad_request(
            "Invalid value for 'structured_outputs': one constraint is required: 'json', "
            "'json_object', 'regex', 'choice', 'grammar' or 'structural_tag'.",
            "structured_outputs",
            "invalid_value",
        )
    (name, value), *others = given
    param = f"structured_outputs.{name}"
    if others:
        raise bad_request(
            f"Invalid request: '{param}' and 'structured_outputs.{others[0][0]}' both constrain "
            "the answer; a request has one constraint.",
            param,
            "invalid_value",
        )
    kind: Any = "json_schema" if name == "json" else name
    return AskedConstraint(param=param, kind=kind, value=value)
