"""The reference library of Harmony (openai-harmony) as a judge of prompts and answers.

It loads its vocabulary from the folder that TIKTOKEN_ENCODINGS_BASE names, and checks its hash, so
these prompts and ids are those of the real gpt-oss.
"""

import base64
import json
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from openai_harmony import (
    Author,
    Conversation,
    DeveloperContent,
    HarmonyEncoding,
    HarmonyEncodingName,
    Message,
    ReasoningEffort,
    RenderConversationConfig,
    Role,
    SystemContent,
    TextContent,
    ToolDescription,
    ToolNamespaceConfig,
    load_harmony_encoding,
)
from pydantic import BaseModel, ValidationError

from adapters.formats import (
    ContentDelta,
    Delta,
    OutputSpec,
    ReasoningDelta,
    Tool,
    ToolArguments,
    ToolStart,
)
from tests.vocabularies import real_tokens

#: content types of final messages
FINAL_TYPES = ("json", "JSON", "response")
_VARIABLE = "TIKTOKEN_ENCODINGS_BASE"
#: the first id after the ordinary tokens
_FIRST_SPECIAL = 199_998


@cache
def encoding() -> HarmonyEncoding:
    """Return the library's encoding of gpt-oss."""
    tokens, _ = real_tokens("o200k_harmony")
    lines = (
        f"{base64.b64encode(token).decode()} {rank}\n"
        for rank, token in enumerate(tokens[:_FIRST_SPECIAL])
    )
    before = os.environ.get(_VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "o200k_base.tiktoken").write_text("".join(lines))
        os.environ[_VARIABLE] = folder
        try:
            return load_harmony_encoding(HarmonyEncodingName.HARMONY_GPT_OSS)
        finally:
            del os.environ[_VARIABLE]
            if before is not None:
                os.environ[_VARIABLE] = before


# -- prompts ---------------------------------------------------------------------------------------


def library_namespace(name: str, description: str | None, tools: Iterable[Tool]) -> Any:
    """Return these tools as the library declares them."""
    shown = [
        ToolDescription.new(tool.name, tool.description, dict(tool.parameters) or None)
        for tool in tools
    ]
    return ToolNamespaceConfig(name=name, description=description, tools=shown)


def library_prompt(
    messages: Sequence[dict[str, Any]], output: OutputSpec, *, drops: bool = False
) -> list[int]:
    """Return the ids of the library's prompt; ``drops``: it drops reasoning by its own rule.

    The library has no response formats; the documentation puts them at the end of the developer's
    message.
    """
    system = SystemContent.new()
    if output.effort:
        system.with_reasoning_effort(ReasoningEffort[output.effort.upper()])
    if "browser" in output.builtin_tools:
        system.with_browser_tool()
    if "python" in output.builtin_tools:
        system.with_python_tool()
    said = [Message.from_role_and_content(Role.SYSTEM, system)]
    leading = [m["content"] for m in messages if m["role"] in ("system", "developer")]
    if leading or output.tools or output.response_schema is not None:
        said.append(_developer(leading, output))
    calls: dict[str, str] = {}
    for message in messages[len(leading) :]:
        said += _messages(message, calls, output)
    return encoding().render_conversation_for_completion(
        Conversation.from_messages(said),
        Role.ASSISTANT,
        RenderConversationConfig(auto_drop_analysis=drops),
    )


def _developer(leading: list[str], output: OutputSpec) -> Message:
    content = DeveloperContent.new()
    if leading:
        content.with_instructions("\n\n".join(leading))
    if output.tools:
        content.with_tools(library_namespace("functions", None, output.tools))
    parts = [content]
    if output.response_schema is not None:
        about = "".join(f"// {line}\n" for line in output.response_description.splitlines())
        schema = json.dumps(output.response_schema, ensure_ascii=False, separators=(",", ":"))
        text = f"# Response Formats\n\n## {output.response_name or 'answer'}\n\n{about}{schema}"
        parts.append(TextContent(text=("\n\n" if leading or output.tools else "") + text))
    return Message.from_role_and_contents(Role.DEVELOPER, parts)


def _messages(message: dict[str, Any], calls: dict[str, str], output: OutputSpec) -> list[Message]:
    if message["role"] == "user":
        return [Message.from_role_and_content(Role.USER, message["content"])]
    if message["role"] == "tool":
        recipient = calls[message["tool_call_id"]]
        result = Message.from_author_and_content(
            Author.new(Role.TOOL, recipient), message["content"]
        )
        return [result.with_channel(_channel(recipient)).with_recipient("assistant")]
    found = []
    if message.get("reasoning_content"):
        found.append(_assistant(message["reasoning_content"], "analysis"))
    if message.get("content"):
        channel = "commentary" if message.get("tool_calls") else "final"
        found.append(_assistant(message["content"], channel))
    for call in message.get("tool_calls", ()):
        name, text = call["function"]["name"], call["function"]["arguments"]
        is_builtin = name.partition(".")[0] in output.builtin_tools
        calls[call["id"]] = recipient = name if is_builtin else f"functions.{name}"
        if recipient == "python":
            text = _code(text)
        shown = _assistant(text, _channel(recipient)).with_recipient(recipient)
        found.append(shown.with_content_type("code" if is_builtin else "<|constrain|>json"))
    return found


def _code(arguments: str) -> str:
    """Return the code that a client sends as JSON or as it is."""
    try:
        return str(_Code.model_validate_json(arguments, strict=True).code)
    except ValidationError:
        return arguments


class _Code(BaseModel):
    code: str


def _assistant(text: str, channel: str) -> Message:
    return Message.from_role_and_content(Role.ASSISTANT, text).with_channel(channel)


def _channel(recipient: str) -> str:
    return "commentary" if recipient.startswith("functions.") else "analysis"


# -- answers ---------------------------------------------------------------------------------------

_STRAY = "<|channel|>commentary to=assistant"
_RECIPIENT = re.compile(r" to=([^\s<]+)")
_CHANNEL = re.compile(r"<\|channel\|>(\w+)")
_HEADER = re.compile(r"(^|<\|start\|>assistant)(.*?)(<\|message\|>)", re.DOTALL)
#: a type between the channel and the recipient
_EARLY_TYPE = re.compile(r"<\|channel\|>\w+( ?<\|constrain\|>| )\w+ to=")


def is_readable(header: str) -> bool:
    """Whether the library reads a header of the grammar rightly."""
    twice = header.count("<|channel|>") > 1 or header.count(" to=") > 1
    return not (twice or _EARLY_TYPE.search(header))


def readable(answer: str) -> str:
    """Return an answer in which headers that the library cannot read have its own form."""

    def rewritten(found: re.Match[str]) -> str:
        begin, header, end = found.groups()
        if is_readable(header):
            return found[0]
        header = header.removeprefix(_STRAY)
        recipients, channels = set(_RECIPIENT.findall(header)), _CHANNEL.findall(header)
        assert len(recipients) < 2
        return f"{begin}<|channel|>{channels[0]}{''.join(f' to={r}' for r in recipients)}{end}"

    return _HEADER.sub(rewritten, answer)


class Piece(NamedTuple):
    """A part of an answer. ``kind``: content, reasoning or call; ``recipient``: of a call."""

    kind: str
    recipient: str
    text: str


def library_pieces(ids: Sequence[int]) -> list[Piece]:
    """Return the library's reading of an answer.

    Raises:
        HarmonyError: the library cannot parse it.
    """
    pieces: list[Piece] = []
    for message in encoding().parse_messages_from_completion_tokens(ids, role=Role.ASSISTANT):
        text = "".join(part.text for part in message.content)
        if message.channel == "final":
            # the library takes the type of a message without a recipient for its recipient
            assert (message.recipient or "json").removeprefix("<|constrain|>") in FINAL_TYPES
            pieces.append(Piece("content", "", text))
        elif message.recipient is not None:
            assert message.channel in ("commentary", "analysis")
            pieces.append(Piece("call", message.recipient, text))
        else:
            assert message.channel in ("commentary", "analysis")
            kind = "reasoning" if message.channel == "analysis" else "content"
            pieces.append(Piece(kind, "", text))
    return _joined(pieces)


def reader_pieces(deltas: Iterable[Delta], builtin_tools: Sequence[str]) -> list[Piece]:
    """Return the reading of an answer that these deltas are."""
    pieces: list[Piece] = []
    for delta in deltas:
        match delta:
            case ContentDelta(text):
                pieces.append(Piece("content", "", text))
            case ReasoningDelta(text):
                pieces.append(Piece("reasoning", "", text))
            case ToolStart(_, name):
                is_builtin = name.partition(".")[0] in builtin_tools
                pieces.append(Piece("call", name if is_builtin else f"functions.{name}", ""))
            case ToolArguments(_, text):
                last = pieces.pop()
                assert last.kind == "call"
                pieces.append(last._replace(text=last.text + text))
    return _joined(map(_code_piece, pieces))


def _code_piece(piece: Piece) -> Piece:
    """Return a call of Python as the model wrote it."""
    if piece.recipient != "python":
        return piece
    return piece._replace(text=json.loads(piece.text)["code"])


def _joined(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces without empty text, neighbours of one kind as one; calls stay apart."""
    found: list[Piece] = []
    for piece in pieces:
        if piece.kind != "call" and found and found[-1].kind == piece.kind:
            found[-1] = found[-1]._replace(text=found[-1].text + piece.text)
        elif piece.kind == "call" or piece.text:
            found.append(piece)
    return found
