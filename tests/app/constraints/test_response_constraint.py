"""Constraints of other servers' fields: their meaning, their conflicts, and the answers."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from app.common_form import common_chat
from app.constraints.requested_output import requested_output
from app.errors import ApiError
from app.settings import ModelSettings
from tests.app.bodies import parse_request
from tests.app.examples import LIGHT, body, tool
from tests.app.gateway import Gateway, gateway_fixture
from tests.app.messages import added_up, events, whole

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"on": {"type": "boolean"}},
    "required": ["on"],
    "additionalProperties": False,
}
EBNF = 'root ::= "yes " [0-9] | "no"'
LARK = 'start: "yes " /[0-9]/ | "no"'
ANSWER = r"yes [0-9]|no"
#: xgrammar's structural tag in both forms, and what an answer looks like
TAG = {
    "type": "sequence",
    "elements": [
        {"type": "const_string", "value": "é: "},
        {
            "type": "tag",
            "begin": "<f>",
            "content": {"type": "json_schema", "json_schema": SCHEMA},
            "end": "</f>",
        },
        {"type": "grammar", "grammar": EBNF},
    ],
}
OLD_TAG = {
    "structures": [{"begin": "<f>", "schema": SCHEMA, "end": "</f>"}],
    "triggers": ["<f>"],
}


def document(tag: dict[str, Any]) -> dict[str, Any]:
    return {"type": "structural_tag", **tag}


JSON = r'\s*\{\s*"on"\s*:\s*(true|false)\s*\}\s*'
OBJECT = r"(?s)\s*\{.*\}\s*"
TAGGED = rf"é: <f>{JSON}</f>({ANSWER})"
#: fields of a request, and a pattern of its whole content
FIELDS: dict[str, tuple[dict[str, Any], str]] = {
    "structured_outputs.json": ({"structured_outputs": {"json": SCHEMA}}, JSON),
    "structured_outputs.json as text": (
        {"structured_outputs": {"json": json.dumps(SCHEMA), "disable_any_whitespace": False}},
        JSON,
    ),
    "structured_outputs.regex": ({"structured_outputs": {"regex": "[a-c]{3}|é"}}, "[a-c]{3}|é"),
    "structured_outputs.choice": ({"structured_outputs": {"choice": ["a", "bc", "a"]}}, "a|bc"),
    "structured_outputs.grammar, EBNF": ({"structured_outputs": {"grammar": EBNF}}, ANSWER),
    "structured_outputs.grammar, Lark": ({"structured_outputs": {"grammar": LARK}}, ANSWER),
    "structured_outputs.structural_tag": (
        {"structured_outputs": {"structural_tag": json.dumps(document({"format": TAG}))}},
        TAGGED,
    ),
    "guided_json": ({"guided_json": SCHEMA}, JSON),
    "guided_regex": ({"guided_regex": "x{2,3}"}, "x{2,3}"),
    "guided_choice": ({"guided_choice": ["Oslo", "Rome"]}, "Oslo|Rome"),
    "guided_grammar": ({"guided_grammar": "# a ::= b\n" + LARK}, ANSWER),
    "regex": ({"regex": "\n?[0-9]+[.]"}, "\n?[0-9]+[.]"),
    "ebnf": ({"ebnf": EBNF}, ANSWER),
    "json_schema": ({"json_schema": json.dumps(SCHEMA)}, JSON),
    "response_format.schema": (
        {"response_format": {"type": "json_schema", "schema": SCHEMA}},
        JSON,
    ),
    "json_object with a schema": (
        {"response_format": {"type": "json_object", "schema": SCHEMA}},
        JSON,
    ),
    "structural_tag, format": ({"response_format": document({"format": TAG})}, TAGGED),
    "tools that may not be called": (
        {"regex": "[ab]", "tools": [tool("f", LIGHT)], "tool_choice": "none"},
        "[ab]",
    ),
    "fields that are off": (
        {
            "regex": "[ab]",
            "structured_outputs": None,
            "separate_reasoning": True,
            "stream_reasoning": True,
            "include_reasoning": True,
            "continue_final_message": False,
            "add_generation_prompt": True,
            "return_token_ids": False,
            "guided_decoding_backend": None,
        },
        "[ab]",
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=["command_a", "harmony", "plain", "qwen_coder"])
def thinking(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """A gateway whose answers may begin with reasoning."""
    with Gateway(format=request.param, reasoning="on") as running:
        yield running


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_answers_fit_the_constraint(thinking: Gateway, name: str) -> None:
    """The whole content fits, streamed or not, behind reasoning."""
    fields, pattern = FIELDS[name]
    asked = body(**fields, thinking_token_budget=5)
    answer = thinking.post(asked)
    assert answer.status_code == 200, answer.text
    (message,) = whole(answer.json())
    assert message["finish_reason"] == "stop"
    assert re.fullmatch(pattern, message["content"])
    streamed = events(thinking.post({**asked, "stream": True}).text)
    assert added_up(streamed) == [message]


@pytest.mark.parametrize(
    "fields",
    [
        {"structured_outputs": {"json_object": True}},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_object"}, "include_schema_in_prompt": True},
    ],
)
def test_an_object_of_any_kind(thinking: Gateway, fields: dict[str, Any]) -> None:
    """REGRESSION: messages need no mention of JSON, since the prompt describes the format."""
    asked = body(**fields, max_completion_tokens=30)
    answer = thinking.post({**asked, "messages": [{"role": "user", "content": "hi"}]})
    assert answer.status_code == 200, answer.text


def test_the_older_structural_tag_is_text_with_tags(thinking: Gateway) -> None:
    """Tags occur in free text; each has the schema of its structure."""
    asked = body(response_format=document(OLD_TAG), max_completion_tokens=400)
    answer = thinking.post(asked)
    assert answer.status_code == 200
    content = answer.json()["choices"][0]["message"]["content"] or ""
    for inside in re.findall(r"<f>(.*?)</f>", content):
        assert re.fullmatch(JSON, inside)


CONFLICTS: list[tuple[dict[str, Any], str, str]] = [
    ({"regex": "a", "ebnf": EBNF}, "regex", "ebnf"),
    ({"guided_json": SCHEMA, "guided_choice": ["a"]}, "guided_json", "guided_choice"),
    ({"structured_outputs": {"regex": "a"}, "guided_regex": "a"}, "structured_outputs.regex",
     "guided_regex"),
    ({"structured_outputs": {"json": SCHEMA, "regex": "a"}}, "structured_outputs.json",
     "structured_outputs.regex"),
    ({"response_format": {"type": "json_object"}, "regex": "a"}, "response_format", "regex"),
    ({"response_format": document({"format": TAG}), "json_schema": SCHEMA}, "response_format",
     "json_schema"),
    ({"regex": "a", "tools": [tool("f", LIGHT)]}, "regex", "tools"),
    ({"response_format": document({"format": TAG}), "tools": [tool("f", LIGHT)]},
     "response_format", "tools"),
    ({"guided_json": SCHEMA, "tools": [tool("f", LIGHT)], "tool_choice": "required"},
     "guided_json", "tool_choice"),
    ({"structured_outputs": {"json": SCHEMA}, "tools": [tool("f", LIGHT)],
      "tool_choice": {"type": "function", "function": {"name": "f"}}},
     "structured_outputs.json", "tool_choice"),
    ({"json_schema": SCHEMA, "tools": [tool("f", LIGHT)],
      "tool_choice": {"type": "allowed_tools", "allowed_tools": {
          "mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]}}},
     "json_schema", "tool_choice"),
    ({"regex": "a", "chat_template_kwargs": {"builtin_tools": ["python"]}}, "regex",
     "chat_template_kwargs.builtin_tools"),
]  # fmt: skip


def refusal(fields: dict[str, Any]) -> ApiError:
    def read() -> None:
        requested_output(
            common_chat(parse_request(json.dumps(body(**fields)).encode())), ModelSettings()
        )

    with pytest.raises(ApiError) as caught:
        read()
    assert caught.value.status == 400
    return caught.value


@pytest.mark.parametrize(("fields", "first", "second"), CONFLICTS)
def test_conflicts_name_both_fields(fields: dict[str, Any], first: str, second: str) -> None:
    """Two constraints, and a constraint that contradicts the tools, are refused."""
    error = refusal(fields)
    assert (error.param, error.code) == (first, "invalid_value")
    assert f"'{first}' and '{second}'" in error.message


#: fields that are refused: param, code, and what the message says
MISTAKES: list[tuple[dict[str, Any], str, str, str]] = [
    ({"structured_outputs": {}}, "structured_outputs", "invalid_value", "one constraint"),
    ({"structured_outputs": {"jsn": {}}}, "structured_outputs.jsn", "unknown_parameter", "Unknown"),
    ({"structured_outputs": {"json": 3}}, "structured_outputs.json", "invalid_type", "object"),
    ({"structured_outputs": {"json": "{"}}, "structured_outputs.json", "invalid_value", "not JSON"),
    ({"structured_outputs": {"json": "3"}}, "structured_outputs.json", "invalid_json_schema",
     "an object or a boolean"),
    ({"json_schema": "[" * 500}, "json_schema", "invalid_value", "not JSON"),
    ({"guided_json": "[" + "[]," * 300_000 + "[]]"}, "guided_json", "too_many_values", "at most"),
    ({"structured_outputs": {"disable_additional_properties": True}}, "structured_outputs",
     "invalid_value", "one constraint is required"),
    ({"structured_outputs": {"choice": []}}, "structured_outputs.choice",
     "empty_array", "empty"),
    ({"guided_choice": "a"}, "guided_choice", "invalid_type", "an array"),
    ({"guided_regx": "a"}, "guided_regx", "unknown_parameter", "Unknown"),
    ({"regex": ""}, "regex", "empty_string", "empty"),
    ({"response_format": {"type": "structural_tag"}}, "response_format", "invalid_value",
     "either 'format', or 'structures' and 'triggers'"),
    ({"response_format": document({**OLD_TAG, "format": TAG})}, "response_format",
     "invalid_value", "either 'format'"),
    ({"response_format": document({"structures": [{"begin": "a"}], "triggers": ["a"]})},
     "response_format.structures[0].end", "missing_required_parameter", "Missing"),
    ({"response_format": {"type": "json_schema", "schema": 3}}, "response_format.schema",
     "invalid_type", "an object"),
    ({"structured_outputs": {"structural_tag": "{}"}}, "structured_outputs.structural_tag",
     "invalid_structural_tag", "type"),
    ({"separate_reasoning": False}, "separate_reasoning", "unsupported_parameter",
     "reasoning_content"),
    ({"continue_final_message": True}, "continue_final_message", "unsupported_parameter",
     "message of the user"),
    ({"add_generation_prompt": False}, "add_generation_prompt", "unsupported_parameter",
     "The prompt always ends"),
    ({"return_token_ids": True}, "return_token_ids", "unsupported_parameter", "usage"),
    ({"stream": True, "stream_options": {"continuous_usage_stats": True}},
     "stream_options.continuous_usage_stats", "unsupported_parameter", "include_usage"),
    ({"guided_decoding_backend": "outlines"}, "guided_decoding_backend", "unsupported_parameter",
     "operator"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "param", "code", "message"), MISTAKES)
def test_mistakes_name_the_field(
    fields: dict[str, Any], param: str, code: str, message: str
) -> None:
    """A field that is not served says what to use instead; a mistake names its place."""
    error = refusal(fields)
    assert (error.param, error.code) == (param, code)
    assert message in error.message


#: constraints that the engine refuses: param, code, and what the message says
REFUSED: list[tuple[dict[str, Any], str, str, str]] = [
    ({"regex": "a(b"}, "regex", "invalid_grammar", "position 3: missing )"),
    ({"structured_outputs": {"regex": r"(a)\1"}}, "structured_outputs.regex", "invalid_grammar",
     "back-reference"),
    ({"ebnf": 'root ::= "a'}, "ebnf", "invalid_grammar", "line 1, column"),
    ({"ebnf": 'start ::= "a"'}, "ebnf", "invalid_grammar", "root"),
    ({"ebnf": 'root ::= a "x" | "y"\na ::= root "z"'}, "ebnf", "invalid_grammar",
     "left recursion"),
    ({"guided_grammar": 'start: "a"\nb: )'}, "guided_grammar", "invalid_grammar",
     "line 2, column 4"),
    ({"guided_json": {"type": "nonsense"}}, "guided_json", "invalid_json_schema", "/type"),
    ({"regex": "(" * 300 + "a" + ")" * 300}, "regex", "invalid_grammar", "spec_depth: at most"),
    ({"response_format": document({"format": {"type": "sequence", "elements": [
        {"type": "const_string", "value": "a"}, {"type": "other"}]}})},
     "response_format", "invalid_structural_tag", "at /format/elements/1"),
    ({"response_format": document({"format": {"type": "tag", "begin": "a", "end": "b",
        "content": {"type": "json_schema", "json_schema": {"minimum": "x"}}}})},
     "response_format", "invalid_structural_tag", "at /format/content/json_schema/minimum"),
    ({"response_format": document({"format": {"type": "grammar", "grammar": 'root ::= "a"',
        "switchyard": 3}})}, "response_format", "invalid_structural_tag", "must be an object"),
    ({"response_format": document({"format": {}})}, "response_format", "invalid_structural_tag",
     "'type' is missing"),
    ({"response_format": document({"structures": [{"begin": "<f>", "schema": {"type": "x"},
        "end": "</f>"}], "triggers": ["<f>"]})},
     "response_format.structures[0].schema", "invalid_json_schema", "/type"),
    ({"response_format": document({"structures": [{"begin": "<f>", "end": "</f>"}],
        "triggers": ["<g>"]})}, "response_format.structures[0]", "invalid_grammar",
     "starts with no trigger"),
    ({"structured_outputs": {"structural_tag": json.dumps(document({"format": {"type": "x"}}))}},
     "structured_outputs.structural_tag", "invalid_structural_tag", "at /format"),
]  # fmt: skip

plain = gateway_fixture()


@pytest.mark.parametrize(("fields", "param", "code", "message"), REFUSED)
def test_constraints_are_refused_with_their_place(
    plain: Gateway, fields: dict[str, Any], param: str, code: str, message: str
) -> None:
    """An error of the engine names the field, and the place or the limit inside it."""
    answer = plain.post(body(**fields))
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (400, param, code)
    assert message in error["message"]


#: each rule has two readings of the same text, so its texts have thousands of parses
AMBIGUOUS = "\n".join(
    [
        "root ::= s18",
        *(f's{n} ::= "a" s{n - 1} t | "a" t s{n - 1}' for n in range(18, 0, -1)),
        's0 ::= "b"',
        't ::= "c"?',
    ]
)


@pytest.mark.parametrize("stream", [False, True])
def test_an_ambiguous_grammar_ends_as_an_error_of_the_client(plain: Gateway, stream: bool) -> None:
    """An answer that cannot be read within the limit is a 400 or an error event, never a stall."""
    text = plain.post(body(ebnf=AMBIGUOUS, stream=stream)).text
    assert "grammar_too_ambiguous" in text
    assert "parses: at most 4,096 allowed" in text


def test_a_schema_in_another_field_may_stand_beside_tools(plain: Gateway) -> None:
    """As with response_format, the answer is calls or one JSON value."""
    asked = body(guided_json=SCHEMA, tools=[tool("f", LIGHT)])
    message = plain.post(asked).json()["choices"][0]["message"]
    assert message.get("tool_calls") or re.fullmatch(JSON, message["content"])
