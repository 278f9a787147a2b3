"""The constraint on the content of an answer, from whichever field of the request has it.

OpenAI has ``response_format``; vLLM and SGLang have fields of their own (protocol.extensions). One
request has one constraint. A schema means the same in every field. Other constraints describe
the whole answer, so they exclude tools that may be called.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from adapters.formats import ResponseGrammar

from ..errors import ApiError, bad_request
from ..protocol import (
    AllowedToolsChoice,
    ChatRequest,
    JsonObjectFormat,
    JsonSchemaFormat,
    Message,
    StructuralTagFormat,
    StructuredOutputs,
    TextFormat,
    has_more_values,
    mentions_json,
    parse_json,
)

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
    request: ChatRequest, max_values: int, *, in_prompt: bool
) -> ResponseConstraint | None:
    """Return the request's constraint; None: the content is free text.

    ``max_values``: of JSON that a field has as text. ``in_prompt``: the prompt describes the
    response format; otherwise a message must mention JSON for ``json_object``.

    Raises:
        ApiError: 400, two constraints, or one that contradicts the tools; it names both fields.
    """
    found = list(_Constraints(request, max_values, in_prompt=in_prompt).all())
    if len(found) > 1:
        first, second = found[0].param, found[1].param
        raise _conflict(first, second, "both constrain the answer; a request has one constraint")
    if not found:
        return None
    _check_tools(request, found[0])
    return found[0]


def _check_tools(request: ChatRequest, found: ResponseConstraint) -> None:
    """Refuse tools that may be called beside a grammar, and must be called beside a schema."""
    choice = request.tool_choice
    if isinstance(choice, AllowedToolsChoice):
        choice = choice.allowed_tools.mode
    if not request.tools or choice == "none":
        return
    if found.grammar is not None:
        message = "cannot stand together: the constraint describes the whole answer. Set "
        raise _conflict(found.param, "tools", f"{message}'tool_choice' to 'none'")
    if choice not in (None, "auto") and not found.param.startswith("response_format"):
        raise _conflict(found.param, "tool_choice", "contradict each other: the answer is a call")


def _conflict(first: str, second: str, why: str) -> ApiError:
    return bad_request(f"Invalid request: '{first}' and '{second}' {why}.", first, "invalid_value")


# -- fields ----------------------------------------------------------------------------------------


class _Constraints:
    """The constraints of one request."""

    def __init__(self, request: ChatRequest, max_values: int, *, in_prompt: bool) -> None:
        self._request, self._max_values, self._in_prompt = request, max_values, in_prompt

    def all(self) -> Iterator[ResponseConstraint]:
        """Yield them in the order of the fields."""
        request = self._request
        yield from self._response_format()
        if request.structured_outputs is not None:
            yield self._structured_outputs(request.structured_outputs)
        for param in ("guided_json", "json_schema"):
            if (schema := getattr(request, param)) is not None:
                yield self._schema(schema, param)
        for param, value in (("guided_regex", request.guided_regex), ("regex", request.regex)):
            if value is not None:
                yield _grammar("regex", value, param)
        if request.guided_choice is not None:
            yield _grammar("choice", request.guided_choice, "guided_choice")
        if request.guided_grammar is not None:
            yield _lark_or_ebnf(request.guided_grammar, "guided_grammar")
        if request.ebnf is not None:
            yield _grammar("ebnf", request.ebnf, "ebnf")

    def _response_format(self) -> Iterator[ResponseConstraint]:
        param = "response_format"
        match self._request.response_format:
            case None | TextFormat():
                return
            case JsonSchemaFormat(json_schema=wanted):
                yield ResponseConstraint(
                    param=param,
                    schema=wanted.schema_,
                    strict=bool(wanted.strict),
                    name=wanted.name,
                    description=wanted.description or "",
                )
            case JsonObjectFormat():
                if not self._in_prompt:
                    _check_mentions_json(self._request.messages)
                yield ResponseConstraint(param=param, schema=ANY_OBJECT)
            case StructuralTagFormat() as tag:
                yield _structural_tag(tag, param)

    def _structured_outputs(self, wanted: StructuredOutputs) -> ResponseConstraint:
        name, value = _only_constraint(wanted)
        param = f"structured_outputs.{name}"
        match name:
            case "json":
                return self._schema(value, param)
            case "json_object":
                return ResponseConstraint(param=param, schema=ANY_OBJECT)
            case "grammar":
                return _lark_or_ebnf(value, param)
            case "structural_tag":
                return _structural_tag(_read_tag(self._parsed(value, param), param), param)
        return _grammar(name, value, param)

    def _schema(self, value: str | dict[str, Any], param: str) -> ResponseConstraint:
        schema = self._parsed(value, param)
        if not isinstance(schema, dict | bool):
            raise bad_request(
                f"Invalid schema for {param}: expected a JSON Schema, an object or a boolean.",
                param,
                "invalid_json_schema",
            )
        return ResponseConstraint(param=param, schema=schema)

    def _parsed(self, value: str | dict[str, Any], param: str) -> Any:
        """Return the value of JSON text; other values unchanged."""
        if not isinstance(value, str):
            return value
        text = value.encode()
        if has_more_values(text, self._max_values):
            raise bad_request(
                f"Invalid value for '{param}': at most {self._max_values:,} JSON values are "
                "allowed, got more.",
                param,
                "too_many_values",
            )
        try:
            return parse_json(text)
        except ValueError as error:
            message = f"Invalid value for '{param}': the text is not JSON: {error}."
            raise bad_request(message, param, "invalid_value") from None


def _only_constraint(wanted: StructuredOutputs) -> tuple[str, Any]:
    """Return the name and the value of the field that is given."""
    fields = wanted.model_dump(by_alias=True).items()
    given = [(name, value) for name, value in fields if value not in (None, False)]
    if not given:
        raise bad_request(
            "Invalid value for 'structured_outputs': one constraint is required: 'json', "
            "'json_object', 'regex', 'choice', 'grammar' or 'structural_tag'.",
            "structured_outputs",
            "invalid_value",
        )
    if len(given) > 1:
        first, second = (f"structured_outputs.{name}" for name, _ in given[:2])
        raise _conflict(first, second, "both constrain the answer; a request has one constraint")
    return given[0]


def _check_mentions_json(messages: Sequence[Message]) -> None:
    if not mentions_json(messages):
        raise bad_request(
            "'messages' must contain the word 'json' in some form, to use 'response_format' "
            "of type 'json_object' without a description in the prompt.",
            "messages",
        )


def _grammar(kind: Any, value: Any, param: str) -> ResponseConstraint:
    return ResponseConstraint(param=param, grammar=ResponseGrammar(kind, value, param))


def _lark_or_ebnf(text: str, param: str) -> ResponseConstraint:
    """Return a grammar in EBNF if it has a rule of EBNF, else in Lark, as vLLM does it."""
    lines = (line.partition("#")[0].partition("//")[0] for line in text.split("\n"))
    kind = "ebnf" if any("::=" in line for line in lines) else "lark"
    return _grammar(kind, text, param)


def _structural_tag(tag: StructuralTagFormat, param: str) -> ResponseConstraint:
    return _grammar("structural_tag", tag.model_dump(by_alias=True), param)


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
