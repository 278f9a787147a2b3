"""Special tokens in client text stay text, whatever the chat template does with it."""

import json
import random
import sys
import threading
import time
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer

from adapters.formats import OutputSpec, Tool
from app.conversation.control import ControlText, UnwritableText, encoded
from app.conversation.tokenizer import HuggingFaceTokenizer
from app.errors import ApiError
from tests.app.conversation.chat_templates import (
    FETCH,
    TEMPLATES,
    folder_of,
    tokenizer_of,
)


def control_of(name: str) -> tuple[ControlText, Any, list[str]]:
    """The control text of a template's tokenizer, with the tokenizer and the tokens' texts."""
    tokenizer = AutoTokenizer.from_pretrained(folder_of(name))
    texts = [token.content for token in tokenizer.added_tokens_decoder.values()]
    return ControlText(tokenizer.backend_tokenizer, texts), tokenizer, texts


def conversation(text: str) -> list[dict[str, Any]]:
    """``text`` wherever a client may write."""
    arguments = json.dumps({"city": text, text: 1}, ensure_ascii=False)
    call = {"id": "call_a", "function": {"name": "wordtool", "arguments": arguments}}
    return [
        {"role": "system", "content": f"system {text}"},
        {"role": "user", "content": f"{text} user"},
        {
            "role": "assistant",
            "content": None,
            "reasoning_content": f"thought {text}",
            "tool_calls": [{**call, "type": "function"}],
        },
        {"role": "tool", "tool_call_id": "call_a", "content": text},
        {"role": "assistant", "content": f"answer {text}"},
        {"role": "user", "content": f"user {text} again"},
    ]


def prompt_of(tokenizer: HuggingFaceTokenizer, text: str) -> list[int] | str:
    """The prompt's ids; why it was refused."""
    schema = {"type": "object", "properties": {text: {"description": text, "enum": [text]}}}
    tool = Tool("wordtool", schema, f"described {text}")
    try:
        ids = tokenizer.render(conversation(text), (tool,), OutputSpec((tool,))).prompt
    except ApiError as error:
        return error.message
    assert isinstance(ids, list)
    return ids


@pytest.mark.share
@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_control_text_of_a_client_makes_no_control_tokens(name: str) -> None:
    backend, tokenizer = AutoTokenizer.from_pretrained(folder_of(name)), tokenizer_of(name)
    texts = [token.content for token in backend.added_tokens_decoder.values()]
    control = set(backend.added_tokens_decoder)
    draws = random.Random(name)
    hostile = "".join(draws.choice(texts) for _ in range(60))
    made, expected = prompt_of(tokenizer, hostile), prompt_of(tokenizer, "x" * len(hostile))
    if isinstance(expected, str) or isinstance(made, str):
        assert made == expected
        return
    assert [i for i in made if i in control] == [i for i in expected if i in control]
    # two templates take this out of a user's text: it is a switch there
    said, shown = (each.replace("/think", "") for each in (hostile, backend.decode(made)))
    assert f"{said} user" in shown


@pytest.mark.share
@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_other_text_has_the_ids_that_the_tokenizer_gives_it(name: str) -> None:
    control, tokenizer, texts = control_of(name)
    ids = prompt_of(tokenizer_of(name), "wordtext")
    text = tokenizer.decode(ids) if isinstance(ids, list) else f"{texts[0]} wordtext {texts[-1]}"
    expected = tokenizer.encode(text, add_special_tokens=False)

    def plainly(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)

    assert control.encode(control.named(text), plainly) == expected
    forged = control.encode(f"{control.named(text)} {texts[0]}", plainly)
    assert forged[: len(expected)] == expected
    assert tokenizer.decode(forged) == f"{text} {texts[0]}"
    assert sum(i in tokenizer.added_tokens_decoder for i in forged) == sum(
        i in tokenizer.added_tokens_decoder for i in expected
    )


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize(
    "written", ["<|im_end|>", "\\u003c|im_end|>", "\\u003c\\u007cim_end\\u007c\\u003e"]
)
def test_arguments_hide_no_control_token_behind_escapes(written: str) -> None:
    tokenizer = tokenizer_of("Qwen-Qwen3-0.6B")
    messages = conversation("harmless")
    messages[2]["tool_calls"][0]["function"]["arguments"] = f'{{"city": "{written}"}}'
    ids = tokenizer.render(messages, (), OutputSpec()).prompt
    messages[2]["tool_calls"][0]["function"]["arguments"] = '{"city": "harmless"}'
    number = tokenizer.vocabulary.special_texts()["<|im_end|>"]
    assert isinstance(ids, list)
    assert ids.count(number) == tokenizer.render(messages, (), OutputSpec()).prompt.count(number)


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", ["Qwen-Qwen3-0.6B", "meta-llama-Llama-3.1-8B-Instruct"])
@pytest.mark.parametrize("text", ["\\ud800", "<|im_end|>\\udc00"])
def test_half_a_surrogate_pair_in_arguments_is_a_replacement_character(
    name: str, text: str
) -> None:
    messages = conversation("harmless")
    messages[2]["tool_calls"][0]["function"]["arguments"] = f'{{"city": "{text}"}}'
    ids = tokenizer_of(name).render(messages, (), OutputSpec()).prompt
    assert isinstance(ids, list)
    assert "\ufffd" in b"".join(tokenizer_of(name).vocabulary.tokens[i] for i in ids).decode()


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("part", ["tool_call", "/think", "|im_end|", "</think", "|im_end|>"])
@pytest.mark.parametrize("name", ["Qwen3-Coder", "Qwen3.5-4B", "MiniMax-M3", "StepFun3.5-Flash"])
def test_templates_complete_no_control_token_with_a_clients_key_or_name(
    name: str, part: str
) -> None:
    """REGRESSION: templates that write tags put these between ``<`` and ``>``."""

    def control_of_prompt(word: str) -> list[int]:
        messages = conversation("harmless")
        function = messages[2]["tool_calls"][0]["function"]
        function |= {"name": word, "arguments": json.dumps({word: {word: [1]}})}
        schema = {word: 1, "type": "object", "properties": {"p": {"type": "string", word: word}}}
        tool = Tool("wordtool", schema, word)
        ids = tokenizer_of(name).render(messages, (tool,), OutputSpec((tool,))).prompt
        special = set(tokenizer_of(name).vocabulary.special_token_ids)
        return [number for number in ids if number in special]

    assert control_of_prompt(part) == control_of_prompt("harmless")


def with_arguments(depth: int) -> list[dict[str, Any]]:
    messages = conversation("harmless")
    arguments = "[" * depth + '"\\u003c|im_end|>"' + "]" * depth
    messages[2]["tool_calls"][0]["function"]["arguments"] = arguments
    return messages


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("depth", [0, 100, 100_000])
def test_deep_arguments_hide_no_control_token(depth: int) -> None:
    tokenizer = tokenizer_of("Qwen-Qwen3-0.6B")
    number = tokenizer.vocabulary.special_texts()["<|im_end|>"]
    made, expected = (
        tokenizer.render(messages, (), OutputSpec()).prompt
        for messages in (with_arguments(depth), conversation("harmless"))
    )
    assert isinstance(made, list) and isinstance(expected, list)
    assert made.count(number) == expected.count(number)


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_arguments_too_deep_to_be_searched_are_refused_with_their_place() -> None:
    """The format writes the calls of this model as text."""
    with pytest.raises(ApiError) as refused:
        tokenizer_of("LFM2-8B-A1B").render(with_arguments(700), (), OutputSpec())
    assert (refused.value.status, refused.value.param) == (400, "messages[2].tool_calls")


@pytest.mark.parametrize(
    "text",
    ["a", "|a|", "/b", "b", " <|a|", "text </", "text </b\n", "|> text", "/b> text", "\n<b<|a"],
)
def test_a_part_of_a_token_that_others_may_complete_is_broken(text: str) -> None:
    control = ControlText(None, ["<|a|>", "</b>", "<b>"])
    broken = control.broken(text)
    assert broken != text
    assert control.adopted(broken) == text


@pytest.mark.parametrize("text", ["ab", "a b", "<", "text <", "> text", "<|a| text", "x |a|", ""])
def test_what_no_template_completes_stays_as_it_is(text: str) -> None:
    assert ControlText(None, ["<|a|>", "</b>", "<b>"]).broken(text) == text


def test_overlapping_tokens_are_all_broken() -> None:
    control = ControlText(None, ["<|a|>", "|a|", "|><"])
    broken = control.broken("<|a|><|a|>")
    assert control.adopted(broken) == "<|a|><|a|>"
    assert not any(text in broken for text in ("<|a|>", "|a|", "|><"))


@pytest.mark.parametrize("value", [None, True, 3, "text", {"a": [1, "b", {"c": None}]}])
def test_values_without_control_text_stay_as_they_are(value: Any) -> None:
    assert ControlText(None, ["<|z|>"]).broken(value) == value


def pieces(added: list[str]) -> Tokenizer:
    """A tokenizer of characters with prefix spaces, as SentencePiece makes them."""
    alphabet = {letter: n for n, letter in enumerate("▁<|>/sabxyz")}
    made = Tokenizer(models.BPE(alphabet, [], unk_token="x"))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    made.decoder = decoders.Metaspace(prepend_scheme="first")
    made.add_special_tokens([AddedToken(text, special=True) for text in added])
    return made


def plainly(text: str) -> list[int]:
    raise AssertionError("a client's control token needs the other tokenizer")


def test_no_space_slips_into_text_that_was_broken() -> None:
    made = pieces(["<|a|>", "</s>"])
    control = ControlText(made, ["<|a|>", "</s>"])
    prompt = control.adopted(f"xy <|a|>{control.broken('z<|a|></s>')}</s>")
    ids = control.encode(prompt, plainly)
    assert [made.id_to_token(i) for i in ids] == [
        *"▁xy▁", "<|a|>", *"z<|a|></s>", "</s>"
    ]  # fmt: skip


def test_a_model_that_knows_a_token_by_its_text_can_not_write_it() -> None:
    made = Tokenizer(models.WordLevel({"<|a|>": 0, "x": 1}, unk_token="x"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens([AddedToken("<|a|>", special=True)])
    control = ControlText(made, ["<|a|>"])
    assert control.encode(f"x {control.named('<|a|>')} <|a|>y", plainly) == [1, 0, 1]
    with pytest.raises(UnwritableText):
        control.encode("x <|a|> x", plainly)


def test_a_prompt_without_control_tokens_of_clients_needs_no_other_tokenizer() -> None:
    control = ControlText(None, ["<|a|>", "</b>"])
    prompt = control.named("<|a|>/b text </b<|a|>")
    assert "<|a|>" not in prompt
    assert control.encode(prompt, lambda text: [len(text)]) == [len("<|a|>/b text </b<|a|>")]


@pytest.mark.parametrize("text", ["<|a|>", "</b>", "<</b>", "|a|<|a|>"])
def test_without_a_tokenizer_of_our_own_control_text_is_refused(text: str) -> None:
    control = ControlText(None, ["<|a|>", "</b>", "|a|"])
    with pytest.raises(UnwritableText):
        control.encode(f"{control.named('<|a|>')} {text}", plainly)


def test_a_token_that_a_name_and_client_text_form_together_is_none() -> None:
    """The original tokenizer would find ``|><`` between them."""
    made = pieces(["<|a|>", "|><"])
    control = ControlText(made, ["<|a|>", "|><"])
    ids = control.encode(f"|>{control.named('<|a|>')}", plainly)
    assert [made.id_to_token(i) for i in ids] == [*"▁|>", "<|a|>"]


def test_other_threads_run_while_a_prompt_is_encoded():
    """REGRESSION: encoding a prompt of some megabytes stopped the event loop for seconds."""
    backend = control_of(next(iter(TEMPLATES)))[1].backend_tokenizer
    text = "the light is on and the alarm is set. " * 20_000
    done, turns = threading.Event(), [0]

    def run() -> None:
        while not done.is_set():
            turns[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=run)
    interval = sys.getswitchinterval()
    # threads switch only where one releases the GIL
    sys.setswitchinterval(1_000)
    try:
        thread.start()
        before = turns[0]
        ids = encoded(backend, text)
        during = turns[0] - before
    finally:
        done.set()
        sys.setswitchinterval(interval)
        thread.join()
    assert ids == backend.encode(text, add_special_tokens=False).ids
    assert during > 0
