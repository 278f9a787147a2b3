"""Every kind of constraint has log probabilities in every API that takes it, streamed and whole."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.app.examples import ALARM, LIGHT, TOOLS, body, json_schema
from tests.app.gateway import Gateway
from tests.app.messages import events, payloads

PATTERN = "[a-c]{3,5}é+!"
EBNF = 'root ::= "é" [a-c]+ "!"'
LARK = 'start: "é" /[a-c]{2,4}/ "!"'
TAG: dict[str, Any] = {
    "type": "structural_tag",
    "format": {
        "type": "sequence",
        "elements": [
            {
                "type": "tag",
                "begin": "<é>",
                "content": {"type": "json_schema", "json_schema": LIGHT},
                "end": "</é>",
            },
            {"type": "regex", "pattern": "[a-c]{2,4}"},
        ],
    },
}
OLD_TAG: dict[str, Any] = {
    "type": "structural_tag",
    "structures": [{"begin": "<a>", "schema": LIGHT, "end": "</a>"}],
    "triggers": ["<a"],
}
GRAMMAR = {"syntax": "regex", "definition": PATTERN}
CUSTOM: list[Any] = [
    {"type": "custom", "custom": {"name": "run", "format": {"type": "grammar", "grammar": GRAMMAR}}}
]
FORMATS: dict[str, Any] = {
    "text": {"type": "text"},
    "json_object": {"type": "json_object"},
    "json_schema": json_schema(ALARM),
    "structural tag": TAG,
    "older structural tag": OLD_TAG,
}
#: fields of chat completions. REGRESSION: all but those with JSON values were answered with 500
CHAT: dict[str, dict[str, Any]] = {
    **{name: {"response_format": each} for name, each in FORMATS.items()},
    "structured json": {"structured_outputs": {"json": ALARM}},
    "structured regex": {"structured_outputs": {"regex": PATTERN}},
    "structured choice": {"structured_outputs": {"choice": ["één", "twee", "é"]}},
    "structured grammar": {"structured_outputs": {"grammar": EBNF}},
    "structured tag": {"structured_outputs": {"structural_tag": TAG}},
    "structured object": {"structured_outputs": {"json_object": True}},
    "guided_json": {"guided_json": ALARM},
    "guided_regex": {"guided_regex": PATTERN},
    "guided_choice": {"guided_choice": ["één", "twee", "é"]},
    "guided_grammar": {"guided_grammar": LARK},
    "regex": {"regex": PATTERN},
    "ebnf": {"ebnf": EBNF},
    "json_schema of SGLang": {"json_schema": json.dumps(ALARM)},
    "tools": {"tools": TOOLS},
    "a required tool": {"tools": TOOLS, "tool_choice": "required"},
    "custom tools": {"tools": CUSTOM, "tool_choice": "required"},
    "tools or a schema": {"tools": TOOLS, "response_format": json_schema(ALARM)},
}
#: a limit inside characters and values, and one that no answer reaches; stop strings
BOUNDS: list[dict[str, Any]] = [
    {"max_completion_tokens": 3},
    {"max_completion_tokens": 1500},
    {"max_completion_tokens": 1500, "stop": ["b", "é"]},
]


@pytest.fixture(scope="module", params=["off", "on"])
def reasoning(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    """A gateway of a model that thinks or not."""
    with Gateway(reasoning=request.param) as running:
        yield running
        assert running.metric("switchyard_internal_errors_total") == 0
        assert running.metric("switchyard_worker_failures_total") == 0


def check(content: str | None, listed: list[dict[str, Any]]) -> None:
    """The tokens spell the content; the first and the last may have bytes that are no content, and
    a character that the end cuts has fewer bytes.
    """
    spelt = b"".join(bytes(token["bytes"]) for token in listed)
    assert (content or "").rstrip("�").encode() in spelt


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
@pytest.mark.parametrize("name", CHAT)
def test_chat_completions(reasoning: Gateway, name: str, bound: dict[str, Any]):
    asked = body(**bound, **CHAT[name], logprobs=True, top_logprobs=1)
    answer = reasoning.post(asked)
    assert answer.status_code == 200, answer.text
    (choice,) = answer.json()["choices"]
    listed = (choice["logprobs"] or {}).get("content", [])
    check(choice["message"]["content"], listed)
    streamed = reasoning.post(asked | {"stream": True})
    parts = [part for event in events(streamed.text) for part in event["choices"]]
    found = [each for part in parts for each in (part["logprobs"] or {}).get("content", [])]
    assert found == listed
    text = "".join(part["delta"].get("content") or "" for part in parts)
    assert text == (choice["message"]["content"] or "")
    assert [part["finish_reason"] for part in parts][-1] == choice["finish_reason"]


@pytest.mark.parametrize("name", FORMATS)
def test_completions(reasoning: Gateway, name: str):
    asked: dict[str, Any] = {"model": "noise", "prompt": "x", "max_tokens": 1500, "seed": 7}
    asked |= {"response_format": FORMATS[name], "logprobs": 1}
    answer = reasoning.post(asked, path="/v1/completions")
    assert answer.status_code == 200, answer.text
    (choice,) = answer.json()["choices"]
    streamed = reasoning.post(asked | {"stream": True}, path="/v1/completions")
    parts = [part for event in events(streamed.text) for part in event["choices"]]
    assert "".join(part["text"] for part in parts) == choice["text"]
    listed = [each for part in parts if part["logprobs"] for each in part["logprobs"]["tokens"]]
    assert listed == choice["logprobs"]["tokens"]
    assert listed


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"text": {"format": {"type": "json_schema", "name": "a", "schema": ALARM}}},
        {"tools": [{"type": "function", "name": "light", "parameters": LIGHT, "strict": False}]},
        {"tools": [{"type": "custom", "name": "run", "format": {"type": "grammar", **GRAMMAR}}]},
    ],
)
def test_responses(reasoning: Gateway, more: dict[str, Any], stream: bool):
    asked = {"model": "noise", "input": "JSON", "max_output_tokens": 1500, "top_logprobs": 1}
    answer = reasoning.post(asked | {"stream": stream} | more, path="/v1/responses")
    assert answer.status_code == 200, answer.text
    body = json.loads(payloads(answer.text)[-1])["response"] if stream else answer.json()
    assert body["status"] in ("completed", "incomplete")
    for item in body["output"]:
        if item["type"] == "message":
            check(item["content"][0]["text"], item["content"][0]["logprobs"])
