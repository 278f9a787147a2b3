"""Vocabulary, format and prompt: what the gateway must know of a model without running it.

Representation   a Tokenizer joins a vocabulary for the engine with the format that its model
                 writes, and renders messages as a prompt. Two kinds: the built-in vocabulary of the
                 noise worker, and a Hugging Face folder with or without a chat template.
Invariants       I1 the vocabulary's ids are those that the worker speaks, and its stop tokens hold
                 all that end an answer in the format. I2 ``render`` raises ApiError 400 for
                 messages that can't be shown, and nothing else because of what a client wrote.
Threads          ``render`` may be called from several threads at once.
Not here         the wire syntax of tool calls (adapters.formats).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from adapters.formats import Ask, Format, FormatError, Tool, get_format
from engine import Store, Vocabulary

from .errors import bad_request

#: one of these in a chat template tells the model family; the first that is found decides
FAMILIES = (
    ("<|channel|>", "harmony"),
    ("<tool_call>", "hermes"),
    ("<function=", "llama3_function"),
    ("<|start_header_id|>", "llama3_json"),
    ("<|im_start|>", "hermes"),
)
#: the built-in vocabulary holds every family's tokens; this is the one it speaks unless told
#: otherwise
BUILTIN_FAMILY = "hermes"

Prompt = str | list[int]
Messages = Sequence[Mapping[str, Any]]


class Tokenizer(Protocol):
    """``special_texts``: of all special tokens; ``wire``: the model family's format."""

    vocabulary: Vocabulary
    special_texts: tuple[str, ...]
    wire: Format

    def render(self, messages: Messages, tools: Sequence[Tool], ask: Ask) -> Prompt:
        """The prompt, up to where the model begins to write; ``tools`` are those it is told of."""
        ...


def load_tokenizer(source: str | None, family: str, store: Store | None = None) -> Tokenizer:
    """The tokenizer of a folder or name; None: the built-in one. ``family``: a format, or "auto".

    ``store``: where the order of a large vocabulary's tokens is kept, so that the next start need
    not sort them.

    Raises:
        ValueError: no such format, ``source`` holds no tokenizer that can be used, or the
            vocabulary lacks tokens that the format can't do without.
    """
    if source is None:
        return BuiltinTokenizer(family)
    return HuggingFaceTokenizer(source, family, store)


class BuiltinTokenizer:
    """The noise worker's own vocabulary."""

    def __init__(self, family: str = "auto") -> None:
        from adapters.workers import noise_vocabulary

        built_in = noise_vocabulary.load()
        self.wire = get_format(BUILTIN_FAMILY if family == "auto" else family)
        self.vocabulary = Vocabulary(
            built_in.tokens,
            stop_token_ids=built_in.stop_ids,
            special_token_ids=sorted(built_in.special.values()),
            encode=built_in.encode,
        )
        self.special_texts = tuple(built_in.special)
        check_fit(self.wire, self.special_texts)

    def render(self, messages: Messages, tools: Sequence[Tool], ask: Ask) -> Prompt:
        return render_plain(self.wire, messages, tools, ask)


class HuggingFaceTokenizer:
    """A tokenizer as ``transformers`` loads it; a folder's own code is never run."""

    def __init__(self, source: str, family: str = "auto", store: Store | None = None) -> None:
        tokenizer = _pretrained(source)
        template = getattr(tokenizer, "chat_template", None)
        self.wire = get_format(guess_family(template) if family == "auto" else family)
        stops = stop_ids(tokenizer, self.wire.stop_texts)
        self.vocabulary = Vocabulary.from_huggingface(tokenizer, stop_token_ids=stops, store=store)
        tokens = self.vocabulary.tokens
        texts = (tokens[number].decode() for number in self.vocabulary.special_token_ids)
        self.special_texts = tuple(text for text in texts if text)
        self._tokenizer: Any = tokenizer
        self._has_template = bool(template)
        check_fit(self.wire, self.special_texts)

    def render(self, messages: Messages, tools: Sequence[Tool], ask: Ask) -> Prompt:
        if self._has_template:
            text = self._templated(messages, tools)
        else:
            text = render_plain(self.wire, messages, tools, ask)
        # the text already holds every special token, the one at the start included
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False)
        return ids

    def _templated(self, messages: Messages, tools: Sequence[Tool]) -> str:
        from jinja2 import TemplateError

        try:
            text: str = self._tokenizer.apply_chat_template(
                [with_parsed_calls(message) for message in messages],
                tools=[as_function(tool) for tool in tools] or None,
                add_generation_prompt=True,
                tokenize=False,
            )
        except TemplateError as error:
            raise bad_request(
                f"The model's chat template refuses these messages: {error}", "messages"
            ) from None
        return text


def _pretrained(source: str) -> Any:
    """Raises ValueError: ``source`` is no folder or hub name of a tokenizer, with the reason."""
    if source.startswith(("/", ".", "~")) and not Path(source).is_dir():
        raise ValueError(f"no such folder: {source}")
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except Exception as error:
        # the library raises whatever its parsers raise; the first line names what was wrong
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"cannot load a tokenizer from {source}: {reason}") from error


def check_fit(wire: Format, special_texts: Sequence[str]) -> None:
    """Raises ValueError when the vocabulary lacks tokens of the format."""
    missing = [text for text in wire.own_tokens if text not in special_texts]
    if missing:
        raise ValueError(
            f"the format {wire.name!r} needs special tokens that the vocabulary does not have: "
            f"{', '.join(missing)}; choose another one with SWITCHYARD_FORMAT"
        )


def stop_ids(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """The ids that end an answer: the tokenizer's own end, and those of ``texts`` that it has."""
    known: Mapping[str, int] = tokenizer.get_added_vocab()
    ids = {known[text] for text in texts if text in known}
    if tokenizer.eos_token_id is not None:
        ids.add(tokenizer.eos_token_id)
    return sorted(ids)


def guess_family(template: object) -> str:
    """The format whose marks stand in a chat template; "plain" if none does."""
    text = template if isinstance(template, str) else json.dumps(template, default=str)
    return next((family for mark, family in FAMILIES if mark in text), "plain")


def render_plain(wire: Format, messages: Messages, tools: Sequence[Tool], ask: Ask) -> str:
    """The prompt as the format itself writes it."""
    try:
        return wire.render(messages, tools, ask)
    except FormatError as error:
        raise bad_request(error.message, error.param or "messages", "invalid_value") from None


def as_function(tool: Tool) -> dict[str, Any]:
    """A tool as chat templates expect it: OpenAI's own form."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters) or {"type": "object", "properties": {}},
    }
    return {"type": "function", "function": function}


def with_parsed_calls(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Past calls with arguments as objects, where they are: templates write the JSON."""
    if not message.get("tool_calls"):
        return message
    calls = []
    for call in message["tool_calls"]:
        function = call["function"]
        arguments = _parsed(function["arguments"])
        calls.append({**call, "function": {**function, "arguments": arguments}})
    return {**message, "tool_calls": calls}


def _parsed(arguments: str) -> Any:
    """The object that a call's arguments are; text that is none (a call cut off) stays text."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return value if isinstance(value, dict) else arguments
