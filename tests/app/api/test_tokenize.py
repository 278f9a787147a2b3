"""POST /tokenize and /detokenize: the model's tokenizer, and the prompts of chat completions."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.service import tokenize_service
from tests.app.examples import LIGHT, MESSAGES, TOOLS, json_schema
from tests.app.gateway import OPTIONS, Gateway
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.campaigns.prefix_cache.campaign import kept

TEXTS = ["def f(x):", "é漢😀", "<|im_start|>user\n", " leading and trailing ", "a\u0000b"]


@pytest.fixture(scope="module", params=["built-in", "template", "no template"])
def gateway(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    """The built-in tokenizer, and one of Hugging Face with and without a chat template."""
    settings: dict[str, Any] = {}
    if request.param != "built-in":
        path = tmp_path_factory.mktemp("tokenizer")
        template = TEMPLATE if request.param == "template" else None
        settings = {"tokenizer": folder(Path(path), template), "format": "plain"}
    with Gateway(model_name="noise", **settings) as running:
        yield running


def post(gateway: Gateway, path: str, **body: Any) -> httpx.Response:
    return httpx.post(gateway.url + path, json=body, **OPTIONS)


@pytest.mark.parametrize("text", [*TEXTS, ""])
def test_a_text_becomes_tokens_and_a_text_again(gateway: Gateway, text: str) -> None:
    answer = post(gateway, "/tokenize", prompt=text, model="noise", return_token_strs=True).json()
    assert list(answer) == ["count", "max_model_len", "tokens", "token_strs"]
    assert answer["count"] == len(answer["tokens"]) == len(answer["token_strs"])
    assert answer["max_model_len"] is None
    back = post(gateway, "/detokenize", tokens=answer["tokens"], model="noise")
    assert back.json() == {"prompt": text}
    if text.isascii():
        assert "".join(answer["token_strs"]) == text
    if "<|im_start|>" in text:
        assert answer["token_strs"][0] == "<|im_start|>"


def test_fields_that_no_prompt_depends_on_may_stand_beside_a_text(gateway: Gateway) -> None:
    """REGRESSION: they were refused as fields of a chat."""
    unread = {"stream": False, "n": 1, "stop": [], "logprobs": False, "temperature": 0.5, "seed": 1}
    unread |= {"max_tokens": 5, "parallel_tool_calls": True, "ignore_eos": False, "user": "u"}
    answer = post(gateway, "/tokenize", prompt="text", **unread)
    assert answer.status_code == 200, answer.text
    assert answer.json() == post(gateway, "/tokenize", prompt="text").json()


def test_texts_of_tokens_are_only_sent_if_asked_for(gateway: Gateway) -> None:
    answer = post(gateway, "/tokenize", prompt="é").json()
    assert answer["token_strs"] is None
    shown = post(gateway, "/tokenize", prompt="é", return_token_strs=True).json()["token_strs"]
    assert shown in (["é"], ["\ufffd", "\ufffd"])


SCHEMA = json_schema(LIGHT, description="A light.")
#: bodies of chat completions
CHATS: dict[str, dict[str, Any]] = {
    "messages": {},
    "tools": {"tools": TOOLS},
    "a required call": {"tools": TOOLS, "tool_choice": "required"},
    "a named tool": {
        "tools": TOOLS,
        "tool_choice": {"type": "function", "function": {"name": "set_light"}},
    },
    "no call": {"tools": TOOLS, "tool_choice": "none"},
    "functions": {
        "functions": [each["function"] for each in TOOLS],
        "function_call": {"name": "set_light"},
    },
    "a response format": {"response_format": SCHEMA},
    "a response format and tools": {"response_format": SCHEMA, "tools": TOOLS},
    "any object": {"response_format": {"type": "json_object"}},
    "a format that the prompt leaves out": {
        "response_format": SCHEMA,
        "include_schema_in_prompt": False,
    },
    "a constraint of vLLM": {"structured_outputs": {"json": LIGHT}},
    "a schema of SGLang": {"json_schema": json.dumps(LIGHT)},
    "verbosity": {"verbosity": "low"},
    "reasoning": {"reasoning_effort": "none"},
    "control text": {"messages": [{"role": "user", "content": "<|im_end|>"}]},
    "variables": {"chat_template_kwargs": {"x": 1}, "chat_template_args": {"y": 2}},
    "fields of sampling": {"temperature": 0.5, "seed": 1, "stop": ["x"], "stream": False, "n": 1},
}


@pytest.mark.parametrize("name", CHATS)
def test_a_chat_has_the_prompt_that_the_worker_gets(gateway: Gateway, name: str) -> None:
    """REGRESSION: response formats and choices of tools were unknown parameters."""
    chat = {"messages": MESSAGES, **CHATS[name]}
    answer = post(gateway, "/tokenize", **chat, return_token_strs=True).json()
    with kept() as prompts:
        used = gateway.post({"model": "noise", "max_completion_tokens": 1, **chat}).json()["usage"]
    assert [each.prompt for each in prompts] == [answer["tokens"]], answer
    assert answer["count"] == used["prompt_tokens"] == len(answer["token_strs"])


def test_a_chat_as_vllm_has_it(gateway: Gateway) -> None:
    off = {
        "add_generation_prompt": True,
        "continue_final_message": False,
        "add_special_tokens": False,
        "return_token_strs": False,
        "chat_template": None,
        "mm_processor_kwargs": None,
    }
    chat = {"messages": MESSAGES, "tools": TOOLS}
    answer = post(gateway, "/tokenize", model="noise", **chat, **off)
    assert answer.json() == post(gateway, "/tokenize", **chat).json()


BAD: dict[str, tuple[str, dict[str, Any], int, str | None]] = {
    "nothing": ("/tokenize", {}, 400, "prompt"),
    "both": ("/tokenize", {"prompt": "x", "messages": MESSAGES}, 400, "prompt"),
    "a list": ("/tokenize", {"prompt": ["x"]}, 400, "prompt"),
    "tools of a text": ("/tokenize", {"prompt": "x", "tools": []}, 400, "tools"),
    "a response format of a text": (
        "/tokenize",
        {"prompt": "x", "response_format": {"type": "json_object"}},
        400,
        "response_format",
    ),
    "a choice without tools": (
        "/tokenize",
        {"messages": MESSAGES, "tool_choice": "required"},
        400,
        "tool_choice",
    ),
    "a mistyped constraint": (
        "/tokenize",
        {"messages": MESSAGES, "guidedjson": {}},
        400,
        "guidedjson",
    ),
    "no generation prompt": (
        "/tokenize",
        {"messages": MESSAGES, "add_generation_prompt": False},
        400,
        "add_generation_prompt",
    ),
    "a template": ("/tokenize", {"messages": MESSAGES, "chat_template": "x"}, 400, "chat_template"),
    "special tokens of a chat": (
        "/tokenize",
        {"messages": MESSAGES, "add_special_tokens": True},
        400,
        "add_special_tokens",
    ),
    "no messages": ("/tokenize", {"messages": []}, 400, "messages"),
    "a wrong message": ("/tokenize", {"messages": [{"role": "x"}]}, 400, "messages[0].role"),
    "an unknown field": ("/tokenize", {"prompt": "x", "text": "y"}, 400, "text"),
    "another model": ("/tokenize", {"prompt": "x", "model": "y"}, 404, "model"),
    "no tokens": ("/detokenize", {}, 400, "tokens"),
    "a text": ("/detokenize", {"tokens": "x"}, 400, "tokens"),
    "a float": ("/detokenize", {"tokens": [1.5]}, 400, "tokens[0]"),
    "a negative id": ("/detokenize", {"tokens": [1, -1]}, 400, "tokens[1]"),
    "an unknown id": ("/detokenize", {"tokens": [1, 100_000]}, 400, "tokens[1]"),
    "a huge id": ("/detokenize", {"tokens": [1 << 40]}, 400, "tokens[0]"),
    "too many values": ("/detokenize", {"tokens": [1] * 100_001}, 400, None),
    "another model's": ("/detokenize", {"tokens": [1], "model": "y"}, 404, "model"),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes_have_their_place(gateway: Gateway, name: str) -> None:
    path, body, status, param = BAD[name]
    answer = post(gateway, path, **body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param), answer.text


def test_the_number_of_tokens_is_bounded(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the bound, and one past it; longer arrays are encoded in pieces."""
    monkeypatch.setattr(tokenize_service, "MAX_TOKENS", 50)
    monkeypatch.setattr(tokenize_service, "PIECE", 7)
    for text, status in [("\x01" * 50, 200), ("\x01" * 51, 400)]:
        answer = post(gateway, "/tokenize", prompt=text, return_token_strs=True)
        assert answer.status_code == status
        if status == 200:
            assert len(answer.json()["tokens"]) == len(answer.json()["token_strs"]) == 50


@pytest.mark.parametrize(
    ("path", "body"), [("/tokenize", {"prompt": "x"}), ("/detokenize", {"tokens": [1]})]
)
def test_a_key_is_required(path: str, body: dict[str, Any]) -> None:
    with Gateway(api_keys="k") as guarded:
        assert post(guarded, path, **body).status_code == 401
        given = {"authorization": "Bearer k"}
        assert (
            httpx.post(guarded.url + path, json=body, headers=given, **OPTIONS).status_code == 200
        )
