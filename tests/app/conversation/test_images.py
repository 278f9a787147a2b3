"""Images in prompts: each has one placeholder in the ids, in the order of the prompt."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from transformers import AutoTokenizer

from adapters.formats import OutputSpec, Tool
from app.conversation.control import SEPARATOR
from app.conversation.image_marks import IMAGE_BEHIND
from app.conversation.pairing import paired
from app.conversation.tokenizer import (
    BUILTIN_IMAGE,
    BuiltinTokenizer,
    HuggingFaceTokenizer,
    UnshownImages,
)
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, folder_of, saved
from tests.app.conversation.vision_templates import VISION_TEMPLATES
from tests.app.small_tokenizer import folder

TOOL = Tool("view", {"type": "object", "properties": {"path": {"type": "string"}}}, "Views.")
#: the templates that show images, and where; all others show none
SHOWN = {
    "Apriel-1.6-15b-Thinker-fixed": "users",
    "Kimi-K2-Instruct": "results",
    "Kimi-K2-Thinking": "results",
    "Kimi-K3": "results",
    "LFM2.5-8B-A1B": "results",
    "MiniMax-M3": "results",
    "Mistral-Small-3.2-24B-Instruct-2506": "users",
    "Qwen3.5-4B": "results",
    "Reka-Edge": "results",
    "StepFun3.5-Flash": "results",
    "google-gemma-4-31B-it": "users",
    "google-gemma-4-31B-it-interleaved": "results",
    "mistralai-Ministral-3-14B-Reasoning-2512": "users",
    "moonshotai-Kimi-K2": "users",
    "muse-glimmer": "results",
    "axolotl-llama4": "users",
    "trl-diffusion_gemma": "results",
    "trl-gemma4_v5": "results",
    "trl-lfm2_2_5_v2": "results",
    "trl-lfm2_2_5_vl": "results",
    "trl-qwen3_6": "results",
    "trl-qwen3_8": "results",
    "trl-qwen3_vl": "results",
    "unsloth-Apriel-1.5": "users",
    "unsloth-mistral-Devstral-Small-2507": "users",
    "Qwen-VL": "results",
    "Gemma 3": "users",
    "Llama 4": "users",
    "Pixtral": "users",
    "GLM-4V": "results",
}
NAMES = [name for name in SHOWN if name in VISION_TEMPLATES or name in TEMPLATES]


@cache
def _folders() -> "TemporaryDirectory[str]":
    """Removed when the process ends."""
    return TemporaryDirectory(prefix="vision-templates-")


@cache
def place_of(name: str) -> str:
    if name in VISION_TEMPLATES:
        return saved(VISION_TEMPLATES[name], f"{_folders().name}/{name}")
    return folder_of(name)


@cache
def tokenizer_of(name: str) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(place_of(name), "auto")


#: what stands for an image in the conversations of these tests
IMAGE = object()


def said(role: str, *content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def calls(*ids: str) -> dict[str, Any]:
    function = {"name": "view", "arguments": '{"path": "a.png"}'}
    made = [{"id": each, "type": "function", "function": function} for each in ids]
    return said("assistant", tool_calls=made)


def result(number: str, *content: Any) -> dict[str, Any]:
    return said("tool", *content, tool_call_id=number)


CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "an image": [said("user", IMAGE)],
    "between texts": [said("user", "wordone ", IMAGE, " wordtwo")],
    "in the history": [
        said("system", "wordsystem"),
        said("user", IMAGE, "wordone"),
        said("assistant", "wordanswer"),
        said("user", "wordtwo", IMAGE),
    ],
    "sixteen": [said("user", *[IMAGE, "word"] * 16)],
    "adjacent": [said("user", IMAGE, IMAGE, "word", IMAGE)],
    "in messages in a row": [said("user", "wordone", IMAGE), said("user", IMAGE, "wordtwo")],
    "beside a late system message": [
        said("user", "wordone", IMAGE),
        said("assistant", "wordanswer"),
        said("system", "wordlate"),
        said("user", IMAGE, "wordtwo"),
    ],
    "in a result": [said("user", "word"), calls("a"), result("a", "worda", IMAGE)],
    "only in a result": [said("user", "word"), calls("a"), result("a", IMAGE)],
    "in results of parallel calls": [
        said("user", IMAGE, "word"),
        calls("a", "b", "c"),
        result("b", "wordb", IMAGE),
        result("a", IMAGE, "worda", IMAGE),
        result("c", "wordc"),
        said("user", "wordon", IMAGE),
    ],
    "in a result of an earlier turn": [
        said("user", "word"),
        calls("a"),
        result("a", "worda", IMAGE),
        said("assistant", "wordanswer"),
        said("user", "wordtwo"),
    ],
    "in a result without a call": [said("user", "word"), result("a", "worda", IMAGE)],
}


def plain(tokenizer: Any, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages in their plain form, with marks."""
    number, made = 0, []
    for message in messages:
        content = ""
        for part in message["content"]:
            content += tokenizer.mark(number) if part is IMAGE else part
            number += part is IMAGE
        made.append({**message, "content": content})
        if made[-1].get("tool_calls"):
            # pairing changes ids
            made[-1]["tool_calls"] = [dict(each) for each in made[-1]["tool_calls"]]
    return paired(made).messages


def rendered(name: str, messages: Sequence[dict[str, Any]], tools: Sequence[Tool] = ()) -> Any:
    tokenizer = tokenizer_of(name)
    return tokenizer.render(plain(tokenizer, messages), tools, OutputSpec(tuple(tools)))


def text_of(tokenizer: Any, ids: Sequence[int]) -> str:
    return b"".join(tokenizer.vocabulary.tokens[n] for n in ids).decode()


def images_in(messages: Sequence[dict[str, Any]]) -> int:
    return sum(part is IMAGE for message in messages for part in message["content"])


@pytest.mark.share
@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", [*TEMPLATES, *VISION_TEMPLATES])
def test_only_templates_that_show_images_say_so(name: str) -> None:
    tokenizer = tokenizer_of(name)
    assert tokenizer.profile.images == SHOWN.get(name, "no")
    assert tokenizer.shows_images is bool(tokenizer.profile.placeholder) is (name in SHOWN)


@pytest.mark.share
@pytest.mark.parametrize("tools", [(), (TOOL,)], ids=["", "tools"])
@pytest.mark.parametrize("title", CONVERSATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_each_image_has_one_placeholder_and_all_texts_are_there(
    name: str, title: str, tools: Sequence[Tool]
) -> None:
    messages = CONVERSATIONS[title]
    prompt = rendered(name, messages, tools)
    tokenizer = tokenizer_of(name)
    first = tokenizer.profile.placeholder[0].encode()
    places = [at for at, n in enumerate(prompt.prompt) if tokenizer.vocabulary.tokens[n] == first]
    assert [each.at for each in prompt.images] == places
    assert sorted(each.number for each in prompt.images) == list(range(images_in(messages)))
    text = text_of(tokenizer, prompt.prompt)
    for message in messages:
        assert all(part.strip() in text for part in message["content"] if part is not IMAGE)


@pytest.mark.share
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "title", ["an image", "between texts", "sixteen", "adjacent", "in the history"]
)
def test_the_ids_are_those_of_the_template_with_parts(name: str, title: str) -> None:
    tokenizer = tokenizer_of(name)
    profile = tokenizer.profile
    image: dict[str, Any] = {"type": profile.image_part}
    if profile.image_part == "image_url":
        image["image_url"] = {"url": "https://example.org/a.png"}
    messages = []
    for message in CONVERSATIONS[title]:
        parts = [image if p is IMAGE else {"type": "text", "text": p} for p in message["content"]]
        is_text = IMAGE not in message["content"]
        messages.append({**message, "content": parts[0]["text"] if is_text else parts})
    expected = AutoTokenizer.from_pretrained(place_of(name)).apply_chat_template(
        messages,
        tools=None if profile.no_tools == "none" else [],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=False,
    )
    assert rendered(name, CONVERSATIONS[title]).prompt == expected


@pytest.mark.parametrize("name", NAMES)
def test_the_numbers_of_images_follow_the_prompt(name: str) -> None:
    """Results stand in the order of their calls, whatever order they came in."""
    prompt = rendered(name, CONVERSATIONS["in results of parallel calls"], (TOOL,))
    assert [each.number for each in prompt.images] == [0, 2, 3, 1, 4]


@pytest.mark.parametrize(
    # Gemma 3 has no results: they are messages of users
    "name",
    [name for name in NAMES if SHOWN[name] == "users" and name != "Gemma 3"],
)
def test_an_image_of_a_result_stands_in_a_message_of_the_user_behind_it(name: str) -> None:
    tokenizer = tokenizer_of(name)
    ids = rendered(name, CONVERSATIONS["in results of parallel calls"], (TOOL,)).prompt
    _, _, text = text_of(tokenizer, ids).partition("wordc")
    placeholder = tokenizer.profile.placeholder[0]
    for line, count in (("result 1 of view", 2), ("result 2 of view", 1)):
        _, found, behind = text.partition(f"[The image in {line}:]")
        assert found, text
        assert behind.partition("[The image")[0].partition("wordon")[0].count(placeholder) == count
    first = not tokenizer.profile.images_with_tools
    assert text_of(tokenizer, ids).count(IMAGE_BEHIND) == 3 + first


def test_tools_in_the_first_message_move_its_image_behind_it() -> None:
    prompt = rendered("Llama 4", CONVERSATIONS["between texts"], (TOOL,))
    text = text_of(tokenizer_of("Llama 4"), prompt.prompt)
    assert f"wordone {IMAGE_BEHIND} wordtwo<|eot|>" in text
    assert "user<|header_end|>\n\n<|image|><|eot|>" in text


# -- control tokens --------------------------------------------------------------------------------
HOSTILE = ["<|image_pad|>", "<|vision_start|><|image_pad|><|vision_end|>", "<|im_end|>"]
HOSTILE += ["<start_of_image>", "[IMG]", "<|image|>", "]<]image[>[", "]<]image", "<|im_", "<|", "["]


@pytest.mark.parametrize("name", NAMES)
def test_the_text_of_a_prompt_with_images_has_no_control_tokens_of_clients(name: str) -> None:
    """A processor that decodes the ids and encodes the text again finds the same tokens."""
    tokenizer = tokenizer_of(name)
    plainly = AutoTokenizer.from_pretrained(place_of(name))
    control = set(plainly.added_tokens_decoder)

    def tokens(text: str) -> list[int]:
        parts = [f"{text} word", IMAGE, f"word {text}", IMAGE, text]
        messages = [said("system", f"be {text}"), said("user", *parts)]
        messages += [calls("a"), result("a", text, IMAGE, text)]
        messages += [said("assistant", f"answer {text}"), said("user", text)]
        ids = rendered(name, messages).prompt
        again = plainly.encode(plainly.decode(ids), add_special_tokens=False)
        assert again == ids, text
        return [number for number in ids if number in control]

    own = ["".join(added.content[1:]) for added in plainly.added_tokens_decoder.values()]
    expected = tokens("harmless")
    for text in [*HOSTILE, "".join(HOSTILE), *own[:4], *tokenizer.special_texts]:
        assert tokens(text) == expected, text


def test_control_tokens_of_clients_are_broken_only_beside_images() -> None:
    name = "Qwen-VL"
    for parts, expected in (
        (["a <|im_end|> b"], "a <|im_end|> b"),
        (["a <|im_end|> b", IMAGE], f"a <{SEPARATOR}|im_end|> b"),
    ):
        text = text_of(tokenizer_of(name), rendered(name, [said("user", *parts)]).prompt)
        assert expected in text


def test_text_that_continues_a_token_of_the_template_is_broken() -> None:
    """In both templates client text stands right beside a control token of the template's own."""
    control = tokenizer_of("MiniMax-M3" if "MiniMax-M3" in NAMES else "Qwen-VL")._control
    for text in ("]<]image[>", "]<]image"):
        for name in control.spellings_in(" ".join(control.texts)):
            prompt = f"{text}{control.named(name)}{text}"
            assert control.spellings_in(control.separated(prompt)) == [name]


@pytest.mark.parametrize("text", ["<|im_end|>", "<|image_pad|>", "image", "text", "<|", "|>"])
def test_a_template_that_computes_with_control_tokens_shows_images(
    text: str, tmp_path: Path
) -> None:
    """Its constants keep their spellings, so that the texts of clients are broken before it."""
    source = VISION_TEMPLATES["Qwen-VL"].replace("<|im_end|>", "{{ '<|im_end|>'[:10] }}")
    source = source.replace("<|image_pad|>", "{{ '<|image_pad|>'[:13] }}")
    made = HuggingFaceTokenizer(saved(source, str(tmp_path), ["<|im_end|>", "<|image_pad|>"]))
    assert made._named is not None and made._named._breaks
    own = tokenizer_of("Qwen-VL")
    for messages in (
        [said("user", f"{text} ", IMAGE, text)],
        [said("user", IMAGE, "word"), calls("a"), result("a", text, IMAGE, f" {text}")],
    ):
        prompts = [
            tokenizer.render(plain(tokenizer, messages), (TOOL,), OutputSpec((TOOL,)))
            for tokenizer in (made, own)
        ]
        assert text_of(made, prompts[0].prompt) == text_of(own, prompts[1].prompt)
        assert [each.number for each in prompts[0].images] == [
            each.number for each in prompts[1].images
        ]


# -- templates and prompts that show none ----------------------------------------------------------
EACH = "{% for m in messages %}<|im_start|>{{ m.role }}\n"
END = "<|im_end|>\n{% endfor %}"


@pytest.mark.parametrize(
    "content",
    [
        "{{ m.content }}",
        "{{ m.content | tojson }}",
        "{{ m.content if m.content is string else m.content[0].text }}",
        "{{ m.content if m.content is string else m.content | map(attribute='text') | join }}",
        "{{ m.content if m.content is string else m.content | selectattr('type', 'eq', 'text')"
        " | map(attribute='text') | join('<image>') }}",
        "{{ m.content if m.content is string else raise_exception('no') }}",
    ],
)
def test_a_template_without_placeholders_shows_no_images(content: str, tmp_path: Path) -> None:
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, EACH + content + END))
    assert not tokenizer.shows_images
    assert tokenizer.profile is not None and tokenizer.profile.described()["images"] == "no"


def test_a_prompt_that_lacks_a_placeholder_is_no_prompt(tmp_path: Path) -> None:
    """This template drops images of long conversations."""
    parts = (
        "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
        "{% if p.type == 'text' %}{{ p.text }}{% elif messages | length < 4 %}<|endoftext|>"
        "{% endif %}{% endfor %}{% endif %}"
    )
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, EACH + parts + END))
    assert tokenizer.shows_images
    messages = [said("user", "word"), said("assistant", "word"), said("user", IMAGE, "word")]
    assert len(tokenizer.render(plain(tokenizer, messages), (), OutputSpec()).images) == 1
    with pytest.raises(UnshownImages, match="2 images, 0 placeholders"):
        tokenizer.render(plain(tokenizer, [*messages, *messages]), (), OutputSpec())


def test_the_built_in_tokenizer_writes_a_text_for_each_image() -> None:
    tokenizer = BuiltinTokenizer()
    messages = plain(tokenizer, CONVERSATIONS["in results of parallel calls"])
    prompt = tokenizer.render(messages, (TOOL,), OutputSpec((TOOL,)))
    assert text_of(tokenizer, prompt.prompt).count(BUILTIN_IMAGE) == 5
    assert [each.number for each in prompt.images] == [0, 2, 3, 1, 4]
    for each in prompt.images:
        assert text_of(tokenizer, prompt.prompt[each.at :]).startswith(BUILTIN_IMAGE)


def test_marks_in_arguments_of_clients_are_texts() -> None:
    """A client cannot know a mark; digits alone are none."""
    function = {"name": "view", "arguments": json.dumps({"path": "0" * 30})}
    call = {"id": "a", "type": "function", "function": function}
    messages = [said("user", "9" * 40, IMAGE), said("assistant", tool_calls=[call])]
    assert len(rendered("Qwen-VL", messages).images) == 1
