"""The program of Inkling's makers (tml-renderers) as a judge of prompts and answers.

It is compiled, and needs torch: `make judge-vllm` installs it for SGLang's venv.
"""

import importlib
import json
import re
import warnings
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from adapters.formats import OutputSpec
from adapters.formats.output_spec import ChatMessage

from .foreign_judging import Calls

IS_THERE = find_spec("tml_renderers") is not None
END = "<|content_model_end_sampling|>"
#: as vLLM gives them to the program
EFFORTS = {None: 0.9, "low": 0.2, "medium": 0.7, "high": 0.9}


@cache
def _program() -> tuple[Any, Any, Any]:
    chat, tokenizers, v0 = (
        importlib.import_module(f"tml_renderers.{name}") for name in ("chat", "tokenizers", "v0")
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        tokenizer = tokenizers.o200k_base_chat()
    return chat, tokenizer, v0.Renderer(tokenizer)


def library_prompt(messages: Sequence[ChatMessage], output: OutputSpec) -> str:
    """Return the program's prompt for messages whose contents are texts."""
    said = [_in_parts(message, messages) for message in messages]
    first = next((n for n, each in enumerate(said) if each["role"] != "system"), len(said))
    if output.prompt_tools:
        declared = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in output.prompt_tools
        ]
        said.insert(first, {"role": "tool_declare", "content": json.dumps(declared)})
    chat, tokenizer, renderer = _program()
    native = [
        each for of in chat.OpenAIMessage.from_oss_messages(said) for each in of.to_messages()
    ]
    effort = 0.0 if output.reasoning == "off" else EFFORTS[output.effort]
    spans, _ = renderer.render_for_completion_with_effort(native, effort)
    return str(tokenizer.decode([token for span in spans for token in span.span.tokens]))


def library_answer(text: str) -> tuple[Calls, str]:
    """Return the calls and the content of an answer, without the token that ends it."""
    chat, tokenizer, renderer = _program()
    ids: list[int] = []
    # names between marks: each second piece is one
    for number, piece in enumerate(re.split(r"<\|(\w+)\|>", f"{text}{END}")):
        ids += [tokenizer.encode_special(piece)] if number % 2 else tokenizer.encode_ordinary(piece)
    _, parser = renderer.render_for_completion([])
    calls, content = [], ""
    for message in parser.parse_tokens(ids):
        said = message.content
        if isinstance(said, chat.InvokeTool):
            calls.append((said.name, {each.name: json.loads(each.value) for each in said.args}))
        elif isinstance(said, chat.Text):
            content += said.text
    return calls, content


def _in_parts(message: ChatMessage, messages: Sequence[ChatMessage]) -> dict[str, Any]:
    """Return a message in the program's form: thoughts are parts, and results have names."""
    made = {key: value for key, value in message.items() if value is not None}
    thought = made.pop("reasoning_content", "")
    if thought:
        text = made.get("content")
        parts = [{"type": "thinking", "thinking": thought}]
        made["content"] = [*parts, *([{"type": "text", "text": text}] if text else [])]
    if made["role"] == "tool":
        calls = (call for each in messages for call in each.get("tool_calls") or ())
        names = {call["id"]: call["function"]["name"] for call in calls}
        made["name"] = names[made["tool_call_id"]]
    return made
