"""The chat templates of real models, each with a small tokenizer of its own."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from adapters.formats import get_format
from app.conversation.tokenizer import HuggingFaceTokenizer

#: where ``make data`` puts them
FOLDER = Path(__file__).parents[3] / ".data" / "chat_templates"
TEMPLATES = sorted(path.stem for path in FOLDER.glob("*.jinja"))
FETCH = "`make data` fetches the chat templates"
#: tools that loops through a template offer
PARAMETERS = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["n"],
    "additionalProperties": False,
}
TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}]
#: what looks like a special token
_SPECIAL = re.compile(r"<\|[^|<>\s]{1,40}\|>|<｜[^｜<>]{1,40}｜>|\[/?[A-Z_]{3,20}\]")

#: what reads like a tag, and is one token in the models that have it
_WORDS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "[THINK]", "[/THINK]")

#: placeholders of images that look like no special token
_IMAGES = (
    "<image>",
    "</image>",
    "<start_of_image>",
    "<REKA_IMG_TOKEN>",
    "<im_patch>",
    "]<]image[>[",
)

#: special tokens of real vocabularies that their templates do not write: the templates show no
#: calls, or leave the marks to the model
_BEYOND_TEMPLATE = {
    "HuggingFaceTB-SmolLM3-3B": ("<tool_call>", "</tool_call>"),
    "LFM2-8B-A1B": ("<|tool_call_start|>", "<|tool_call_end|>"),
    "LFM2.5-Instruct": ("<|tool_call_start|>", "<|tool_call_end|>"),
}
#: the tokens that end answers, where the template alone does not tell them
_ENDS = {"Kimi-K3": "<|end_of_msg|>"}


@cache
def tokenizer_of(name: str) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(folder_of(name), "auto")


@cache
def _folders() -> "TemporaryDirectory[str]":
    """Removed when the process ends."""
    return TemporaryDirectory(prefix="chat-templates-")


@cache
def folder_of(name: str) -> str:
    """The folder of a tokenizer with a template and the special tokens that occur in it."""
    template = (FOLDER / f"{name}.jinja").read_text("utf-8")
    return saved(
        template,
        f"{_folders().name}/{name}",
        _BEYOND_TEMPLATE.get(name, ()),
        _ENDS.get(name, "</s>"),
    )


def saved(template: str, folder: str, beyond: Sequence[str] = (), end: str = "</s>") -> str:
    """Save a byte-level tokenizer with the special tokens that occur in a template, and others.

    ``end``: the token that ends answers.
    """
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    made = Tokenizer(models.BPE({letter: n for n, letter in enumerate(alphabet)}, []))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    special = dict.fromkeys(["<s>", "</s>", end, *_SPECIAL.findall(template)])
    special |= dict.fromkeys(text for text in (*_WORDS, *_IMAGES) if text in template)
    special |= dict.fromkeys(beyond)
    if {"<|start|>", "<|channel|>", "<|message|>"} <= special.keys():
        special |= dict.fromkeys(get_format("harmony").own_tokens)
    made.add_special_tokens([AddedToken(text, special=True) for text in special])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token=end)
    wrapped.chat_template = template
    wrapped.save_pretrained(folder)
    return folder
