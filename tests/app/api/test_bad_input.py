"""Hostile input to every API: an error with its place, and the next request works."""

import json
from typing import Any

import httpx
import pytest

from adapters.workers import Generation, noise_vocabulary
from tests.app.examples import body
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture
from tests.campaigns.three_apis.campaign import recorded

CHAT, TEXT, RESPONSES = "/v1/chat/completions", "/v1/completions", "/v1/responses"
MESSAGES = "/v1/messages"
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


USER: Any = {"role": "user", "content": "hi"}
LONG_ARRAY = "array_above_max_length"
BOMB = {"type": "object", "properties": {"a": {"type": "string", "pattern": PATTERN}}}
CHAT_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def said(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "noise", "max_tokens": 2, "messages": [*messages], **more}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def blocks(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": [*content]}


def answer(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [*content]}


def uses(first: int, end: int) -> list[Any]:
    return [
        {"type": "tool_use", "id": f"t{n}", "name": "f", "input": {}} for n in range(first, end)
    ]


def addition(number: int) -> dict[str, Any]:
    definition = {"name": f"t{number}", "input_schema": {}}
    return {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}}


def functions(number: int) -> list[Any]:
    return [{"type": "function", "name": f"t{n}", "parameters": {}} for n in range(number)]


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
    "a surrogate in a message of Anthropic's": (
        MESSAGES,
        said(blocks(text("a\ud800"))),
        None,
        "messages[0].content[0].text",
    ),
    "a surrogate in a prompt that is counted": (
        f"{RESPONSES}/input_tokens",
        {"model": "noise", "input": "\udfff"},
        "invalid_value",
        "input",
    ),
    "10,000 messages": (CHAT, body(messages=[USER] * 10_000), LONG_ARRAY, "messages"),
    "10,000 items": (RESPONSES, asked(input=[USER] * 10_000), LONG_ARRAY, "input"),
    "10,000 items that are counted": (
        f"{RESPONSES}/input_tokens",
        {"model": "noise", "input": [USER] * 10_000},
        LONG_ARRAY,
        "input",
    ),
    "10,000 items to compact": (
        f"{RESPONSES}/compact",
        {"model": "noise", "input": [USER] * 10_000},
        LONG_ARRAY,
        "input",
    ),
    "10,000 messages of Anthropic's": (MESSAGES, said(*[USER] * 10_000), None, "messages"),
    "10,000 messages that are counted": (
        f"{MESSAGES}/count_tokens",
        {"model": "noise", "messages": [USER] * 10_000},
        None,
        "messages",
    ),
    "10,000 blocks": (
        MESSAGES,
        said(blocks(*[text("a")] * 10_000)),
        None,
        "messages[0].content",
    ),
    "10,000 blocks of instructions": (
        MESSAGES,
        said(USER, system=[text("a")] * 10_000),
        None,
        "system",
    ),
    "more calls without answers than messages": (
        MESSAGES,
        said(answer(*uses(0, 1_500)), USER, answer(*uses(1_500, 3_000))),
        None,
        "messages",
    ),
    "more tools than there may be": (
        MESSAGES,
        said(USER, tools=[{"name": f"t{n}", "input_schema": {}} for n in range(1_025)]),
        None,
        "tools",
    ),
    "more tools by messages": (
        MESSAGES,
        said({"role": "system", "content": [addition(n) for n in range(1_025)]}, USER),
        None,
        "tools",
    ),
    "more tools by items": (
        RESPONSES,
        asked(input=[USER, {"type": "additional_tools", "tools": functions(1_025)}]),
        LONG_ARRAY,
        "tools",
    ),
    "more tools by a namespace": (
        RESPONSES,
        asked(tools=[{"type": "namespace", "name": "n", "tools": functions(1_025)}]),
        LONG_ARRAY,
        "tools",
    ),
    "a temperature beyond the bound": (MESSAGES, said(USER, temperature=3), None, "temperature"),
    "a seed beyond the bound": (MESSAGES, said(USER, seed=1 << 70), None, "seed"),
    "a stop sequence that is too long": (
        MESSAGES,
        said(USER, stop_sequences=["a" * 1_001]),
        None,
        "stop_sequences[0]",
    ),
    "a bomb in a tool of Anthropic's": (
        MESSAGES,
        said(USER, tools=[{"name": "f", "strict": True, "input_schema": BOMB}]),
        None,
        "tools[0].input_schema",
    ),
    "a bomb in a format of Anthropic's": (
        MESSAGES,
        said(USER, output_config={"format": {"type": "json_schema", "schema": BOMB}}),
        None,
        "output_config.format",
    ),
    "an image of a user without a URL": (
        CHAT,
        body(messages=[blocks({"type": "image_url", "image_url": {"url": 3}}), USER]),
        "invalid_type",
        "messages[0].content[0].image_url.url",
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
    ("GET", f"{RESPONSES}/{{id}}?stream=true", None, 404),
    ("POST", f"{RESPONSES}/input_tokens", {"input": "a", "previous_response_id": "{id}"}, 400),
    ("POST", f"{RESPONSES}/input_tokens", {"input": reference("{item}")}, 404),
    ("POST", f"{RESPONSES}/compact", asked(previous_response_id="{id}"), 400),
    ("POST", f"{RESPONSES}/compact", asked(input=reference("{item}")), 404),
]


def call(number: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": number, "name": "f", "arguments": "{}"}


def output(number: str, value: Any = "x") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": number, "output": value}


def result(number: str, value: Any = "x") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": number, "content": value}


def thinking(signature: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": "so", "signature": signature}


HIDDEN = {"type": "enabled", "display": "omitted"}
ID = "é" * 1_024
#: what is odd and must be served, since agents send it again with each turn: path, body, and what
#: the answer names as left out
ODD: dict[str, tuple[str, Any, str | None]] = {
    "2,000 calls without answers": (MESSAGES, said(answer(*uses(0, 2_000)), USER), None),
    "2,000 items of calls": (
        RESPONSES,
        asked(input=[USER, *map(call, map(str, range(2_000)))]),
        None,
    ),
    "2,000 answers without calls": (
        MESSAGES,
        said(blocks(*(result(f"t{n}") for n in range(2_000)))),
        None,
    ),
    "2,000 items of answers": (
        RESPONSES,
        asked(input=[output(f"{n}") for n in range(2_000)]),
        None,
    ),
    "1,000 calls of one id": (
        MESSAGES,
        said(answer(*uses(0, 1) * 1_000), blocks(*[result("t0")] * 1_000)),
        None,
    ),
    "ids of 1 KB": (MESSAGES, said(answer({**uses(0, 1)[0], "id": ID}), blocks(result(ID))), None),
    "items with ids of 1 KB": (
        RESPONSES,
        asked(input=[USER, {**call(ID), "id": ID}, {**output(ID), "id": ID}]),
        None,
    ),
    "a foreign signature": (
        MESSAGES,
        said(answer(thinking("EqQBCkYIARgCKkBfb3JlaWdu")), USER),
        "messages/0/content/0 thinking",
    ),
    "a signature of 1 MB": (
        MESSAGES,
        said(answer(thinking("A" * 1_000_000)), USER),
        "messages/0/content/0 thinking",
    ),
    "a signature that is no text": (
        MESSAGES,
        said(answer(thinking({"a": 1})), USER),
        "messages/0/content/0 thinking",
    ),
    "foreign reasoning": (
        RESPONSES,
        asked(input=[{"type": "reasoning", "summary": [], "encrypted_content": "gAAAé"}, USER]),
        "input/0 encrypted_content",
    ),
    "a foreign compaction": (
        RESPONSES,
        asked(input=[{"type": "compaction", "encrypted_content": "gAAA"}, USER]),
        "input/0 compaction",
    ),
    "a number that is too long for Python": (
        MESSAGES,
        said(answer({**uses(0, 1)[0], "input": '{"n": ' + "9" * 5_000 + "}"}), USER),
        None,
    ),
}
#: images of the history that cannot be read, and the line of text that stands for each
IMAGES: dict[str, tuple[str, Any, str]] = {
    "a result of Codex's view_image": (
        RESPONSES,
        asked(input=[USER, call("1"), output("1", [{"type": "input_image", "image_url": "a"}])]),
        "[input_image: not shown, it cannot be read: its URL must begin with data:image/",
    ),
    "a result of Claude Code's Read": (
        MESSAGES,
        said(USER, answer(*uses(0, 1)), blocks(result("t0", [{"type": "image", "source": {}}]))),
        "[image: not shown, it has no URL or data]",
    ),
    "an image of a user": (
        MESSAGES,
        said(
            blocks({"type": "image", "source": {"type": "url", "url": "a"}}),
            answer(text("a")),
            USER,
        ),
        "[image: not shown, it cannot be read: its URL must begin with data:image/",
    ),
    "a result in a chat": (
        CHAT,
        body(messages=[USER, {"role": "tool", "content": [CHAT_IMAGE]}], max_completion_tokens=2),
        "[image_url: not shown, it cannot be read: its PNG file is cut",
    ),
}

gateway = gateway_fixture(api_keys="one,two", format="hermes")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.mark.parametrize("name", sorted(BAD))
def test_bad_input_has_its_place_and_the_next_request_works(gateway: Gateway, name: str):
    path, sent, code, param = BAD[name]
    answer = gateway.post(sent, path=path, headers=bearer("one"))
    error = answer.json()["error"]
    if path.startswith(MESSAGES):
        # Anthropic's errors have no field for the place
        assert (answer.status_code, error["type"]) == (400, "invalid_request_error")
        assert str(param) in error["message"]
    else:
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


@pytest.mark.parametrize("name", sorted(ODD))
def test_an_odd_history_is_served_and_what_is_left_out_is_named(gateway: Gateway, name: str):
    path, sent, left_out = ODD[name]
    answered = gateway.post(sent, path=path, headers=bearer("one"))
    assert answered.status_code == 200, answered.text
    assert answered.headers.get("x-switchyard-ignored") == left_out
    assert gateway.metric("switchyard_internal_errors_total") == 0


@pytest.mark.parametrize("name", sorted(IMAGES))
def test_a_line_of_text_stands_for_an_image(gateway: Gateway, name: str):
    path, sent, line = IMAGES[name]
    with recorded() as generations:
        answered = gateway.post(sent, path=path, headers=bearer("one"))
    assert answered.status_code == 200, answered.text
    assert line in prompt_text(generations[0])


@pytest.mark.parametrize("path", [RESPONSES, MESSAGES])
def test_a_sealed_thought_of_another_client_is_left_out(path: str):
    """Its own client's prompt has it."""
    with Gateway(api_keys="one,two", format="harmony", reasoning="on") as gateway:
        sealed = sealed_thought(gateway, path)
        is_message = path == MESSAGES
        history = [USER, answer(sealed) if is_message else sealed, USER]
        sent = said(*history) if is_message else asked(input=history)
        prompts = []
        for key in ("one", "two"):
            with recorded() as generations:
                answered = gateway.post(sent, path=path, headers=bearer(key))
            assert answered.status_code == 200, answered.text
            assert ("x-switchyard-ignored" in answered.headers) == (key == "two")
            prompts.append(len(generations[0].prompt))
        assert prompts[0] > prompts[1]


def sealed_thought(gateway: Gateway, path: str) -> dict[str, Any]:
    """Return a thought of an answer to the first client, without its text."""
    for seed in range(100):
        if path == MESSAGES:
            sent = said(USER, max_tokens=500, seed=seed, thinking=HIDDEN)
        else:
            sent = asked(max_output_tokens=500, seed=seed, include=["reasoning.encrypted_content"])
        whole = gateway.post(sent, path=path, headers=bearer("one")).json()
        for item in whole["content" if path == MESSAGES else "output"]:
            if item["type"] == "thinking" and item["signature"]:
                return {**item, "thinking": ""}
            if item["type"] == "reasoning":
                return {**item, "content": None}
    raise AssertionError("no answer had a thought")


def prompt_text(generation: Generation) -> str:
    assert isinstance(generation.prompt, list)
    tokens = noise_vocabulary.load().tokens
    return b"".join(tokens[number] for number in generation.prompt).decode(errors="replace")
