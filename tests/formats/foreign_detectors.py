"""SGLang's detectors of tool calls, which share no code with this project.

They come from the package sglang where it is installed (make test-sglang), else from
llm-router-utils, which contains them without SGLang's dependencies.
"""

import importlib
import json
import logging
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from adapters.formats import Tool

from .foreign_judging import Calls

#: by package: the module that contains srt
_ROOTS = {"sglang": "sglang", "llm_router_utils": "llm_router_utils.sglang"}
ROOT = next((root for package, root in _ROOTS.items() if find_spec(package) is not None), None)


@cache
def _module(name: str) -> Any:
    # it warns of each text that it cannot read
    logging.getLogger(f"{ROOT}.srt.function_call").setLevel(logging.CRITICAL)
    return importlib.import_module(f"{ROOT}.srt.{name}")


@cache
def detector_classes() -> dict[str, type[Any]]:
    """Return the detectors by the names of SGLang's option --tool-call-parser."""
    parser = _module("function_call.function_call_parser").FunctionCallParser
    return dict(parser.ToolCallParserEnum)


def foreign_tools(tools: Sequence[Tool]) -> list[Any]:
    protocol = _module("entrypoints.openai.protocol")
    functions = (
        # a copy, because the class changes the schema
        protocol.Function(name=tool.name, parameters=json.loads(json.dumps(tool.parameters)))
        for tool in tools
    )
    return [protocol.Tool(type="function", function=function) for function in functions]


def detect(detector: Any, text: str, tools: list[Any]) -> Calls:
    """Return the calls of a whole text."""
    found = detector.detect_and_parse(text, tools).calls
    return [(call.name, json.loads(call.parameters)) for call in found]


def detect_stream(detector: Any, pieces: Sequence[str], tools: list[Any]) -> Calls:
    """Return the calls of a text in pieces, put together as SGLang's server does."""
    items = [
        item for piece in pieces for item in detector.parse_streaming_increment(piece, tools).calls
    ]
    if hasattr(detector, "finish"):
        items += detector.finish(tools).calls
    calls: list[list[Any]] = []
    for item in items:
        if item.name:
            calls.append([item.tool_index, item.name, ""])
        same = [call for call in calls if call[0] == item.tool_index]
        same[-1][2] += item.parameters
    if calls:
        calls[-1][2] += _unsent(detector)
    return [(name, json.loads(arguments or "{}")) for _, name, arguments in calls]


def _unsent(detector: Any) -> str:
    """Return the rest of the last call's arguments, which the server adds when a stream ends."""
    last = len(detector.prev_tool_call_arr) - 1
    if not 0 <= last < len(detector.streamed_args_for_tool):
        return ""
    known, sent = (
        detector.prev_tool_call_arr[last].get("arguments", {}),
        detector.streamed_args_for_tool[last],
    )
    whole = known if isinstance(known, str) else json.dumps(known, ensure_ascii=False)
    return whole[len(sent) :] if whole.startswith(sent) else ""
