"""Hostile input to every API: an error with its place, and the next request works."""

import json
from typing import Any

import httpx
import pytest

from tests.app.examples import body
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture

CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
UNKNOWN = "resp_" + "0" * 32
#: grammars that grow beyond a limit of the engine, in each notation
INTERSECTION = "start: A\nA: " + " & ".join(f"/(.|\\n)*a(.|\\n){{{n}}}/" for n in range(10, 19))
RULES = "root ::= a0\n" + "".join(f'a{n} ::= "x"\n' for n in range(8_200))
PATTERN = "a" * 20_001
NESTED = f'start: {"(" * 200}"a"{")" * 200}'


def asked(**more: Any) -> dict[str, Any]:
    return {"model": "noise", "input": "hi", "max_output_tokens": 5, **more}


def flat_tool(syntax: str, definition: str) -> dict[str, Any]:
    grammar = {"type": "grammar", "syntax": syntax, "definition": definition}
    return {"type": "custom", "name": "run", "format": grammar}


def reference(number: str) -> list[Any]:
    return [{"type": "item_reference", "id": number}]


#: (path, body, code, param)
BAD: dict[str, tuple[str, Any, str | None, str | None]] = {
    "a surrogate in input": (RESPONSES, asked(input="a\ud800"), "invalid_value", "input"),
    "a surrogate in an item": (
        RESPONSES,
        asked(input=[{"role": "user", "content": [{"type": "input_text", "text": "\udfff"}]}]),
        "invalid_value",
        "input[0].content[0].text",
    ),
    "a surrogate in metadata": (
        RESPONSES,
        asked(metadata={"a": "\udc00"}),
        "invalid_value",
        "metadata.a",
    ),
    "a surrogate in a prompt": (
        TEXT,
        {"model": "noise", "prompt": ["a", "b\ud83d"]},
        "invalid_value",
        "prompt[1]",
    ),
    "a surrogate in a text": ("/tokenize", {"prompt": "\udead"}, "invalid_value", "prompt"),
    "a surrogate in a schema": (
        "/v1/grammars/check",
        {"schema": {"const": "\ud800"}},
        "invalid_value",
        "schema.const",
    ),
    "several answers of a response": (RESPONSES, asked(n=2), "unknown_parameter", "n"),
    "log probabilities of a response": (
        RESPONSES,
        asked(logprobs=True),
        "unknown_parameter",
        "logprobs",
    ),
    "top_logprobs alone": (CHAT, body(top_logprobs=1), None, "top_logprobs"),
    "a bias of an id that is no number": (
        CHAT,
        body(logit_bias={"the": 1}),
        "invalid_value",
        "logit_bias",
    ),
    "a bias beyond every vocabulary": (
        CHAT,
        body(logit_bias={"9" * 11: 1}),
        "invalid_value",
        "logit_bias",
    ),
    "an id beyond the vocabulary": (
        TEXT,
        {"model": "noise", "prompt": [1, 512]},
        "invalid_value",
        "prompt[1]",
    ),
    "an unknown previous response": (
        RESPONSES,
        asked(previous_response_id=UNKNOWN),
        "previous_response_not_found",
        "previous_response_id",
    ),
    "a regular expression that is too long": (
        CHAT,
        body(regex=PATTERN),
        "invalid_grammar",
        "regex",
    ),
    "an intersection that explodes": (
        CHAT,
        body(guided_grammar=INTERSECTION),
        "invalid_grammar",
        "guided_grammar",
    ),
    "too many rules": (CHAT, body(ebnf=RULES), "invalid_grammar", "ebnf"),
    "too many parentheses": (
        CHAT,
        body(structured_outputs={"grammar": NESTED}),
        "invalid_grammar",
        "structured_outputs.grammar",
    ),
    "a bomb in a custom tool": (
        RESPONSES,
        asked(tools=[flat_tool("lark", INTERSECTION)]),
        "invalid_grammar",
        "tools[0].format.definition",
    ),
    "a bomb in a pattern of a schema": (
        RESPONSES,
        asked(
            text={
                "format": {
                    "type": "json_schema",
                    "name": "a",
                    "strict": True,
                    "schema": {"type": "string", "pattern": PATTERN},
                }
            }
        ),
        "invalid_json_schema",
        "text.format",
    ),
}
#: paths and bodies that need what another client stored; {id} and {item} stand for its ids
FOREIGN: list[tuple[str, str, Any, int]] = [
    ("GET", f"{RESPONSES}/{{id}}", None, 404),
    ("GET", f"{RESPONSES}/{{id}}/input_items", None, 404),
    ("POST", f"{RESPONSES}/{{id}}/cancel", None, 404),
    ("DELETE", f"{RESPONSES}/{{id}}", None, 404),
    ("POST", RESPONSES, asked(previous_response_id="{id}"), 400),
    ("POST", RESPONSES, asked(input=reference("{item}")), 404),
]

gateway = gateway_fixture(api_keys="one,two", format="hermes")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_input_has_its_place_and_the_next_request_works(gateway: Gateway, name: str):
    path, sent, code, param = BAD[name]
    answer = gateway.post(sent, path=path, headers=bearer("one"))
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, code, param)
    after = gateway.post(body(max_completion_tokens=2), headers=bearer("one"))
    assert after.status_code == 200
    assert gateway.metric("switchyard_internal_errors_total") == 0


@pytest.mark.parametrize(
    "case", FOREIGN, ids=[f"{n}:{method} {path}" for n, (method, path, *_) in enumerate(FOREIGN)]
)
def test_ids_of_another_client_are_unknown_ids(gateway: Gateway, case: tuple[str, str, Any, int]):
    """The error is that of an id that never was, word for word, and the response stays."""
    made = gateway.post(asked(), path=RESPONSES, headers=bearer("one")).json()
    method, path, sent, status = case
    found = []
    for number, item in ((made["id"], made["output"][0]["id"]), (UNKNOWN, f"msg_{'0' * 32}o0")):
        content = json.dumps(sent).replace("{id}", number).replace("{item}", item)
        answer = httpx.request(
            method,
            gateway.url + path.replace("{id}", number),
            content=None if sent is None else content,
            headers=bearer("two"),
            **OPTIONS,
        )
        assert answer.status_code == status, answer.text
        found.append(answer.text.replace(number, "ID").replace(item, "ITEM"))
    assert found[0] == found[1]
    kept = gateway.get(f"{RESPONSES}/{made['id']}", headers=bearer("one"))
    assert kept.json()["id"] == made["id"]
