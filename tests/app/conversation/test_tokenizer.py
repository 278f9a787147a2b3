"""Tokenizers: the built-in one, and Hugging Face folders with and without a chat template."""

from pathlib import Path
from typing import Any

import pytest

from adapters.formats import FORMATS, OutputSpec, Tool, get_format
from app.composition import build
from app.conversation.tokenizer import (
    BuiltinTokenizer,
    HuggingFaceTokenizer,
    guess_family,
    load_tokenizer,
    template_text,
)
from app.errors import ApiError
from app.observability.metrics import Metrics
from app.settings import Settings
from tests.app.gateway import Gateway
from tests.app.small_tokenizer import SPECIAL, TEMPLATE, folder

USER: list[Any] = [{"role": "user", "content": "hi"}]


def text_of(tokenizer: HuggingFaceTokenizer, prompt: Any) -> str:
    return b"".join(tokenizer.vocabulary.tokens[number] for number in prompt).decode()


def test_the_builtin_tokenizer_renders_with_its_format():
    tokenizer = load_tokenizer(None, "auto")
    assert isinstance(tokenizer, BuiltinTokenizer)
    prompt = tokenizer.render(USER, (), OutputSpec())
    assert prompt.prompt == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.vocabulary.stop_token_ids


@pytest.mark.parametrize("name", ["plain", "hermes", "qwen3", "llama3_json", "harmony"])
def test_the_builtin_tokenizer_speaks_every_format(name: str):
    assert load_tokenizer(None, name).wire is get_format(name)


def test_an_unknown_format_ends_the_start():
    with pytest.raises(ValueError, match="no format"):
        load_tokenizer(None, "klingon")


def test_a_chat_template_makes_the_prompt(tmp_path: Path):
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, TEMPLATE))
    assert tokenizer.wire.name == "hermes"
    stops = {tokenizer.vocabulary.tokens[number] for number in tokenizer.vocabulary.stop_token_ids}
    assert stops == {b"<|im_end|>", b"<|endoftext|>"}
    assert set(tokenizer.special_texts) == set(SPECIAL)
    tools = (Tool("set_light", {}), Tool("set_alarm", {}))
    arguments = {"name": "f", "arguments": '{"on": true}'}
    call = {"id": "a", "type": "function", "function": arguments}
    messages = [*USER, {"role": "assistant", "content": None, "tool_calls": [call]}]
    assert text_of(tokenizer, tokenizer.render(messages, tools, OutputSpec(tools)).prompt) == (
        "<|im_start|>user\nhi<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>{"on": true}</tool_call><|im_end|>\n'
        "set_light,set_alarm<|im_start|>assistant\n"
    )


def test_the_start_warns_of_a_template_that_shows_calls_in_another_syntax(tmp_path: Path):
    own = TEMPLATE.replace(
        "{{ c.f", '{"name": "{{ c.function.name }}", "arguments": {{ c.f'
    ).replace("</tool_call>", "}</tool_call>")
    warning = "the chat template shows tool calls in another syntax than the format"
    for number, (template, differs) in enumerate([(TEMPLATE, True), (own, False)]):
        source = folder(tmp_path / str(number), template)
        with Gateway(tokenizer=source, model_name="m") as gateway:
            warnings = [line for line in gateway.lines() if line["event"] == warning]
            shown = gateway.get("/v1/models/m").json()["chat_template"]
        assert [line["format"] for line in warnings] == ["hermes"] * differs
        assert shown.get("call_syntax") == ("other" if differs else None)


def test_what_a_template_refuses_is_the_clients_mistake(tmp_path: Path):
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, TEMPLATE))
    with pytest.raises(ApiError) as caught:
        tokenizer.render([{"role": "user", "content": "forbidden"}], (), OutputSpec())
    assert (caught.value.status, caught.value.param) == (400, "messages")
    assert "not this" in caught.value.message


def test_without_a_template_the_format_makes_the_prompt(tmp_path: Path):
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, None), "hermes")
    text = text_of(tokenizer, tokenizer.render(USER, (), OutputSpec()).prompt)
    assert text == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"


def test_a_format_whose_tokens_are_missing_ends_the_start_and_names_them(tmp_path: Path):
    with pytest.raises(ValueError, match=r"<\|channel\|>"):
        HuggingFaceTokenizer(folder(tmp_path, TEMPLATE), "harmony")


def test_noise_can_speak_a_real_models_vocabulary(tmp_path: Path):
    settings = Settings(workers="noise", tokenizer=folder(tmp_path, TEMPLATE))
    parts = build(settings, Metrics(), None)  # type: ignore[arg-type]
    assert "noise" in parts.workers[0].description


@pytest.mark.parametrize(
    ("template", "family"),
    [
        ("... <tool_call> ...", "hermes"),
        ("<|start|>{{ role }}<|channel|>", "harmony"),
        ("<|start_header_id|>", "llama3_json"),
        ("<function=", "llama3_function"),
        ("<|im_start|>", "hermes"),
        ([{"name": "tool_use", "template": "<tool_call>"}], "hermes"),
        ("[INST]", "plain"),
        (None, "plain"),
    ],
)
def test_a_template_tells_the_family(template: object, family: str):
    every = {text for each in FORMATS.values() for text in each.own_tokens}
    assert guess_family(template_text(template), every) == family
    assert guess_family(template_text(template), ()) in ("plain", "llama3_function")
