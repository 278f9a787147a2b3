"""Tokenizers: the built-in one, and Hugging Face folders with and without a chat template."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, processors

from adapters.formats import COMPACT, OutputSpec, Tool, get_format
from app.composition import build
from app.conversation.profile import shown_answers
from app.conversation.tokenizer import BuiltinTokenizer, HuggingFaceTokenizer, load_tokenizer
from app.errors import ApiError
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.settings import read_settings
from tests.app.conversation.chat_templates import saved
from tests.app.gateway import Gateway
from tests.app.small_tokenizer import SPECIAL, TEMPLATE, folder

USER: list[Any] = [{"role": "user", "content": "hi"}]


def text_of(tokenizer: HuggingFaceTokenizer, prompt: Any) -> str:
    return b"".join(tokenizer.vocabulary.tokens[number] for number in prompt).decode()


def test_the_builtin_tokenizer_renders_with_its_format():
    tokenizer = load_tokenizer(None, "auto")
    assert isinstance(tokenizer, BuiltinTokenizer)
    prompt = tokenizer.render(USER, (), OutputSpec())
    text = tokenizer.decode(prompt.prompt)
    assert text == "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.vocabulary.stop_token_ids


@pytest.mark.parametrize("name", ["plain", "hermes", "qwen3", "llama3_json", "harmony", "inkling"])
def test_the_builtin_tokenizer_speaks_every_format(name: str):
    assert load_tokenizer(None, name).wire is get_format(name)


@pytest.mark.parametrize("definitions", ["<|content_xml|>", "<|unused_200024|>"])
def test_a_format_without_any_chat_template_writes_prompts_and_layout(
    definitions: str, tmp_path: Path
):
    """No text of a client becomes a control token in them.

    REGRESSION: tokenizers of checkpoints have another name for the token before definitions.
    """
    tokens = [text for text in get_format("inkling").prompt_tokens if text != "<|content_xml|>"]
    special = (*tokens, definitions, "<|endoftext|>")
    tokenizer = HuggingFaceTokenizer(saved("", str(tmp_path), special))
    assert tokenizer.evidence.basis == "marks"
    assert shown_answers(tokenizer.wire, tokenizer.profile).json_rules.layout == COMPACT
    arguments = {"name": "f", "arguments": '{"z": "<|end_message|>", "a": 1}'}
    call = {"id": "a", "type": "function", "function": arguments}
    said = {"role": "assistant", "content": "", "reasoning_content": "<|message_system|>"}
    tools = (Tool("f", {}, "<|end_message|><|content_xml|><|unused_200024|>"),)
    prompt = tokenizer.render(
        [
            {"role": "user", "content": "<|end_message|><|message_user|>"},
            {**said, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "<|content_text|>"},
        ],
        tools,
        OutputSpec(tools),
    ).prompt
    marks = [text for number in prompt if (text := tokenizer.decode([number])) in special]
    assert marks == [
        *("<|message_system|>", definitions, "<|end_message|>"),
        *("<|message_system|>", "<|content_text|>", "<|end_message|>"),
        *("<|message_user|>", "<|content_text|>", "<|end_message|>"),
        *("<|message_model|>", "<|content_thinking|>", "<|end_message|>"),
        *("<|message_model|>", "<|content_invoke_tool_json|>", "<|end_message|>"),
        "<|content_model_end_sampling|>",
        *("<|message_tool|>", "<|content_text|>", "<|end_message|>"),
    ]
    text = tokenizer.decode(prompt)
    assert '{"name":"f","args":{"a":1,"z":"<|end_message|>"}}' in text


def test_the_tokens_of_prompts_must_be_there(tmp_path: Path):
    with pytest.raises(ValueError, match=r"special tokens .* <\|message_tool\|>"):
        HuggingFaceTokenizer(saved("", str(tmp_path)), "inkling")


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
        '<|im_start|>assistant\n<tool_call>\n{"name": "f", "arguments": {"on": true}}\n</tool_call>'
        "<|im_end|>\n"
        "set_light,set_alarm<|im_start|>assistant\n"
    )


def test_the_start_warns_of_a_template_that_shows_calls_in_another_syntax(tmp_path: Path):
    warning = "the chat template shows tool calls in another syntax than the format"
    source = folder(tmp_path, TEMPLATE)
    for name, differs in [("hermes", False), ("llama3_json", True)]:
        with Gateway(tokenizer=source, model_name="m", format=name) as gateway:
            warnings = [line for line in gateway.lines() if line["event"] == warning]
            shown = gateway.get("/v1/models/m").json()
        assert [line["format"] for line in warnings] == [name] * differs
        assert shown["chat_template"].get("call_syntax") == ("other" if differs else None)
        assert shown["format_evidence"] == {"basis": "setting", "shown": ""}


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
    settings = read_settings(workers="noise", tokenizer=folder(tmp_path, TEMPLATE))
    (model,) = build(settings, Metrics(), make_logger("info", io.StringIO())).models
    assert "noise" in model.workers[0].description


@pytest.mark.parametrize("add", [False, True])
def test_a_text_gets_the_tokens_that_the_tokenizer_puts_around_it(tmp_path: Path, add: bool):
    """Such as BOS, if asked; and never through truncation or padding."""
    source = Path(folder(tmp_path, None))
    backend = Tokenizer.from_file(str(source / "tokenizer.json"))
    begin = "<|im_start|>"
    backend.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A", special_tokens=[(begin, backend.token_to_id(begin))]
    )
    backend.enable_truncation(3)
    backend.enable_padding(length=64)
    backend.save(str(source / "tokenizer.json"))
    tokenizer = HuggingFaceTokenizer(str(source), "plain")
    ids = tokenizer.encode("the alarm<|im_end|>", add_special_tokens=add)
    assert tokenizer.decode(ids) == f"{begin if add else ''}the alarm<|im_end|>"
    assert (ids[0] == backend.token_to_id(begin)) == add
    assert ids[-1] == backend.token_to_id("<|im_end|>")


def test_the_template_of_a_processor_counts_if_the_tokenizer_has_none(tmp_path: Path) -> None:
    """Older vision models have theirs in a file of their own."""
    place = folder(tmp_path, None)
    assert HuggingFaceTokenizer(place).profile is None
    (tmp_path / "chat_template.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    assert HuggingFaceTokenizer(place).profile is not None
