"""The constraint on the content of an answer, from whichever field of the request has it.

OpenAI has ``response_format``; vLLM and SGLang have fields of their own (protocol.extensions). One
request has one constraint. A schema means the same in every field. Other constraints describe
the whole answer, so they exclude tools that may be called.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from adapters.formats import ResponseGrammar

from ..errors import ApiError, bad_field, bad_request
from ..generation import AskedConstraint, GenerationRequest, Message
from ..protocol import StructuralTagFormat, has_more_values, parse_json

ANY_OBJECT = {"type": "object"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseConstraint:
    """``param``: the field that has it. ``schema``: a JSON Schema, or None for a ``grammar``."""

    param: str
    schema: dict[str, Any] | bool | None = None
    strict: bool = False
    name: str = ""
    description: str = ""
    grammar: ResponseGrammar | None = None


def response_constraint(
    request: GenerationRequest, max_values: int, *, in_prompt: bool
) -> ResponseConstraint | None:
    """Return the request's constraint; None: the content is free text.

    ``max_values``: of JSON that a field has as text. ``in_prompt``: the prompt describes the
    response format; otherwise a message must mention JSON for ``json_object``.

    Raises:
        ApiError: 400, two constraints, or one that contradicts the tools; it names both fields.
    """
    if not request.constraints:
        return None
    asked, *others = request.constraints
    if others:
        why = "both constrain the answer; a request has one constraint"
        raise _conflict(asked.param, others[0].param, why)
    must_mention = asked.is_format and asked.kind == "json_object" and not in_prompt
    if must_mention and request.messages is not None:
        _check_mentions_json(request.messages, asked.param)
    constraint = _constraint(asked, max_values)
    _check_tools(request, asked, constraint)
    return constraint


def _check_tools(
    request: GenerationRequest, asked: AskedConstraint, constraint: ResponseConstraint
) -> None:
    """Refuse tools that may be called beside a grammar, and must be called beside a schema."""
    mode = request.tool_choice.mode if request.tool_choice else "auto"
    if not request.tools or mode == "none":
        return
    if constraint.grammar is not None:
        message = "cannot stand together: the constraint describes the whole answer. Set "
        raise _conflict(asked.param, "tools", f"{message}'tool_choice' to 'none'")
    if mode != "auto" and not asked.is_format:
        raise _conflict(asked.param, "tool_choice", "contradict each other: the answer is a call")


def _conflict(first: str, second: str, why: str) -> ApiError:
    message = "Invalid request: '{at}' and '{second}' {why}."
    return bad_field(message, first, "invalid_value", second=(second,), why=why)


def _check_mentions_json(messages: Sequence[Message], param: str) -> None:
    """Check OpenAI's condition for json_object; without it models may write endless white space."""
    if not any("json" in message.text.lower() for message in messages):
        raise bad_field(
            "'{at}' must contain the word 'json' in some form, to use '{param}' of type "
            "'json_object' without a description in the prompt.",
            ("messages",),
            param=param,
        )


# -- kinds -----------------------------------------------------------------------------------------


def _constraint(asked: AskedConstraint, max_values: int) -> ResponseConstraint:
    param, value = asked.param, asked.value
    match asked.kind:
        case "json_object":
            return ResponseConstraint(param=param, schema=ANY_OBJECT)
        case "json_schema":
            return _schema(asked, max_values)
        case "structural_tag" if not asked.is_format:
            tag = _read_tag(_parsed(value, param, max_values), param)
            return _grammar("structural_tag", tag.model_dump(by_alias=True), param)
        case "grammar":
            return _lark_or_ebnf(value, param)
    return _grammar(asked.kind, value, param)


def _schema(asked: AskedConstraint, max_values: int) -> ResponseConstraint:
    schema = _parsed(asked.value, asked.param, max_values)
    if not isinstance(schema, dict | bool):
        raise bad_request(
            f"Invalid schema for {asked.param}: expected a JSON Schema, an object or a boolean.",
            asked.param,
            "invalid_json_schema",
        )
    return ResponseConstraint(
        param=asked.param,
        schema=schema,
        strict=asked.strict,
        name=asked.name,
        description=asked.description,
    )


def _parsed(value: Any, param: str, max_values: int) -> Any:
    """Return the value of JSON text; other values unchanged."""
    if not isinstance(value, str):
        return value
    text = value.encode()
    if has_more_values(text, max_values):
        raise bad_request(
            f"Invalid value for '{param}': at most {max_values:,} JSON values are allowed, got "
            "more.",
            param,
            "too_many_values",
        )
    try:
        return parse_json(text)
    except ValueError as error:
        message = f"Invalid value for '{param}': the text is not JSON: {error}."
        raise bad_request(message, param, "invalid_value") from None


def _grammar(kind: Any, value: Any, param: str) -> ResponseConstraint:
    return ResponseConstraint(param=param, grammar=ResponseGrammar(kind, value, param))


def _lark_or_ebnf(text: str, param: str) -> ResponseConstraint:
    """Return a grammar in EBNF if it has a rule of EBNF, else in Lark, as vLLM does it."""
    lines = (line.partition("#")[0].partition("//")[0] for line in text.split("\n"))
    kind = "ebnf" if any("::=" in line for line in lines) else "lark"
    return _grammar(kind, text, param)


def _read_tag(document: Any, param: str) -> StructuralTagFormat:
    try:
        return StructuralTagFormat.model_validate(document)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(map(str, problem["loc"])) or "the document"
        raise bad_request(
            f"Invalid structural tag for {param}: {place}: {problem['msg']}.",
            param,
            "invalid_structural_tag",
        ) from None
