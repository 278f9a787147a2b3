"""Names of fields: paths of the common form as each API calls them."""

import pytest

from adapters.formats import Location
from app.common_form.responses.response import _NAMES
from app.constraints import ConstraintRefused
from app.errors import FieldPath, bad_field, bad_request, dotted
from app.generation import ApiNames

RESPONSES = ApiNames(
    fields=_NAMES,
    messages=["instructions", "input[7]"],
    tools=["tools[0]", "tools[4].tools[1]"],
)
LEGACY = ApiNames(
    fields={"tools": "functions", "tool_choice": "function_call"}, tools=["functions[0]"]
)
#: (path, its name in chat completions, in responses, with the deprecated functions); None: not used
NAMES: list[tuple[FieldPath, str, str | None, str | None]] = [
    (("messages",), "messages", "input", "messages"),
    (("messages", 1), "messages[1]", "input[7]", "messages[1]"),
    (("messages", 1, "content", 0), "messages[1].content[0]", "input[7]", "messages[1].content[0]"),
    (("tools",), "tools", "tools", "functions"),
    (("tools", 0, "function"), "tools[0].function", "tools[0]", "functions[0]"),
    (
        ("tools", 1, "custom", "format", "definition"),
        "tools[1].custom.format.definition",
        "tools[4].tools[1].format.definition",
        None,
    ),
    (("tool_choice",), "tool_choice", "tool_choice", "function_call"),
    (
        ("tool_choice", "function", "name"),
        "tool_choice.function.name",
        "tool_choice.name",
        "function_call.name",
    ),
    (
        ("max_completion_tokens",),
        "max_completion_tokens",
        "max_output_tokens",
        "max_completion_tokens",
    ),
    (("temperature",), "temperature", "temperature", "temperature"),
]


@pytest.mark.parametrize(("path", "chat", "responses", "legacy"), NAMES)
def test_each_api_has_its_own_name_for_a_field(
    path: FieldPath, chat: str, responses: str | None, legacy: str | None
) -> None:
    assert dotted(path) == ApiNames()(path) == chat
    assert responses is None or RESPONSES(path) == responses
    assert legacy is None or LEGACY(path) == legacy


def test_messages_name_all_fields_as_the_api_does() -> None:
    error = bad_field("'{at}' excludes '{other}'.", ("tools", 0), other=("messages", 1))
    assert error.message == "'tools[0]' excludes 'messages[1]'."
    assert error.named(RESPONSES).message == "'tools[0]' excludes 'input[7]'."
    assert error.body()["error"]["param"] == "tools[0]"


def test_what_a_message_quotes_is_no_slot() -> None:
    """REGRESSION: a client's text that looked like a slot was replaced."""
    assert (
        bad_request("Unknown parameter: '{at}{0}'.", "a").message == "Unknown parameter: '{at}{0}'."
    )
    assert bad_field("'{at}': {got}", "a", got="{at}{x}").message == "'a': {at}{x}"
    refused = ConstraintRefused(Location("response_format", "/{at}"), "unknown type '{'", "x")
    assert refused.message == "Invalid schema for response_format: at /{at}: unknown type '{'."


@pytest.mark.parametrize("path", [("messages", 9, "content"), ("tools", 9, "function")])
def test_a_number_without_a_field_has_its_own_name(path: FieldPath) -> None:
    assert RESPONSES(path).startswith(("input", "tools[9]"))


def test_an_error_that_two_requests_get_keeps_the_names_of_each() -> None:
    error = ConstraintRefused(Location("response_format", "/a"), "no", "label")
    other = error.named(lambda path: "text.format")
    assert (error.param, other.param) == ("response_format", "text.format")
    assert (type(other), other.location, other.status) == (ConstraintRefused, error.location, 400)
