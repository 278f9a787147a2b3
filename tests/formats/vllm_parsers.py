"""vLLM's parsers of tool calls, which share no code with this project.

They come from the source distribution (`make judge-vllm`), of which nothing is compiled. The
tokenizer is a stand-in: a character is a token, and so is a mark that a parser looks up.
"""

import importlib
import json
import logging
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from adapters.formats import Tool

from .foreign_judging import Calls

IS_THERE = find_spec("vllm") is not None
#: those that read whole answers, by a response template
UNIFIED = ("beam",)
#: ids of marks are beyond those of characters
_FIRST_MARK = 0x110000
_STOP = "<the end of the answer>"


class CharacterTokenizer:
    """The part of a Hugging Face tokenizer that the parsers use."""

    is_fast = True

    def __init__(self, marks: Iterable[str], options: dict[str, Any]) -> None:
        texts = dict.fromkeys([_STOP, *marks])
        self._marks = {text: _FIRST_MARK + n for n, text in enumerate(texts)}
        self._texts = {number: text for text, number in self._marks.items()}
        ordered = sorted(self._marks, key=len, reverse=True)
        self._split = re.compile("|".join([*map(re.escape, ordered), "."]), re.DOTALL)
        self.vocab = {**{chr(n): n for n in range(256)}, **self._marks}
        self.vocab_size = _FIRST_MARK
        self.all_special_tokens = [*self._marks]
        self.all_special_ids = [*self._texts]
        self.eos_token, self.eos_token_id = _STOP, self._marks[_STOP]
        self.init_kwargs = options
        self.name_or_path = ""
        self.response_template: Any = None

    def get_vocab(self) -> dict[str, int]:
        return self.vocab

    def get_added_vocab(self) -> dict[str, int]:
        return self._marks

    def tokenize(self, text: str, **_: Any) -> list[str]:
        return self._split.findall(text)

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        return [self._id(token) for token in self.tokenize(text)]

    def decode(self, ids: int | Sequence[int], *_: Any, **__: Any) -> str:
        listed = [ids] if isinstance(ids, int) else ids
        return "".join(self._texts.get(number) or chr(number) for number in listed)

    def convert_tokens_to_ids(self, tokens: str | list[str]) -> Any:
        if isinstance(tokens, list):
            return [self.vocab.get(token) for token in tokens]
        return self.vocab.get(tokens)

    def convert_ids_to_tokens(self, ids: int | list[int], *_: Any, **__: Any) -> Any:
        return [self.decode(each) for each in ids] if isinstance(ids, list) else self.decode(ids)

    def _id(self, token: str) -> int:
        known = self._marks.get(token)
        return ord(token) if known is None else known


@cache
def _modules() -> tuple[Any, Any]:
    parsers = importlib.import_module("vllm.tool_parsers")
    protocol = importlib.import_module("vllm.entrypoints.openai.chat_completion.protocol")
    # they log an exception for each text that they cannot read
    logging.getLogger("vllm").setLevel(logging.CRITICAL + 1)
    return parsers.ToolParserManager, protocol.ChatCompletionRequest


def _unified(name: str, tokenizer: CharacterTokenizer, tools: Sequence[Tool]) -> tuple[Any, Any]:
    """Return a parser that reads whole answers by a response template, and its request.

    The template is that of SGLang, which has it for checkpoints without one.
    """
    module = importlib.import_module(f"sglang.srt.parser.{name}")
    manager = importlib.import_module("vllm.parser.parser_manager").ParserManager
    tokenizer.response_template = getattr(module, f"{name.upper()}_RESPONSE_TEMPLATE")
    request = request_of(tools)
    made = manager.get_parser(
        tool_parser_name=name,
        reasoning_parser_name=name,
        enable_auto_tools=True,
        tokenizer=tokenizer,
    )
    parser = made(tokenizer, request.tools)
    parser.set_prompt_token_ids(tokenizer.encode("<|start|>assistant"))
    return parser, request


def request_of(tools: Sequence[Tool]) -> Any:
    """Return a request that offers tools."""
    functions = [
        {
            "type": "function",
            "function": {"name": tool.name, "parameters": json.loads(json.dumps(tool.parameters))},
        }
        for tool in tools
    ]
    _, request = _modules()
    messages = [{"role": "user", "content": "Hello"}]
    return request(model="m", messages=messages, tools=functions, tool_choice="auto")


def parse(name: str, tokenizer: CharacterTokenizer, text: str, tools: Sequence[Tool]) -> Calls:
    """Return the calls of a whole text. A parser keeps state, so each text has its own."""
    if name in UNIFIED:
        unified, request = _unified(name, tokenizer, tools)
        _, _, calls = unified.parse(text, request, enable_auto_tools=True)
        return [(call.name, json.loads(call.arguments)) for call in calls or ()]
    manager, _ = _modules()
    request = request_of(tools)
    parser = manager.get_tool_parser(name)(tokenizer, request.tools)
    found = parser.extract_tool_calls(text, request).tool_calls
    return [(call.function.name, json.loads(call.function.arguments)) for call in found]


def parse_stream(
    name: str, tokenizer: CharacterTokenizer, pieces: Sequence[str], tools: Sequence[Tool]
) -> Calls:
    """Return the calls of a text in pieces, put together as vLLM's server does; the stop token is
    the last piece, and it has no text.
    """
    if name in UNIFIED:
        unified, request = _unified(name, tokenizer, tools)
        read = [unified.parse_delta(piece, [], request, finished=False) for piece in pieces]
        return _joined([*read, unified.parse_delta("", [], request, finished=True)])
    manager, _ = _modules()
    request = request_of(tools)
    parser = manager.get_tool_parser(name)(tokenizer, request.tools)
    before, ids = "", list[int]()
    deltas = []
    steps = [
        *((piece, tokenizer.encode(piece)) for piece in pieces),
        ("", [tokenizer.eos_token_id]),
    ]
    for piece, new in steps:
        text, all_ids = before + piece, ids + new
        deltas.append(
            parser.extract_tool_calls_streaming(before, text, piece, ids, all_ids, new, request)
        )
        before, ids = text, all_ids
    if deltas[-1] is not None and deltas[-1].tool_calls and deltas[-1].tool_calls[-1].function:
        last = deltas[-1].tool_calls[-1].function
        last.arguments = (last.arguments or "") + parser.get_remaining_unstreamed_args()
    if hasattr(parser, "finish_streaming"):
        deltas.append(parser.finish_streaming())
    return _joined(deltas)


def _joined(deltas: Iterable[Any]) -> Calls:
    """Return the calls of a stream."""
    calls: dict[int, list[str]] = {}
    for call in (call for delta in deltas if delta is not None for call in delta.tool_calls or ()):
        held = calls.setdefault(call.index, ["", ""])
        if call.function is not None:
            held[0] += call.function.name or ""
            held[1] += call.function.arguments or ""
    return [(called, json.loads(arguments or "{}")) for called, arguments in calls.values()]
