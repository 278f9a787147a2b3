"""Messages of Anthropic's API in the common form.

A message of the user may hold results of calls beside text: each result becomes a message of its
own. Images and files are media; blocks that this server does not know are left out, and ``ignored``
names them.

A reminder that Claude Code adds behind results becomes a part of the last one. As a message of the
user, it would begin a turn: chat templates that show the thoughts of one turn would drop those
before it, and workers would find nothing in their caches behind the first thought.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from ...generation import Call, Media, Message, Part, Text, Thought
from ...protocol import (
    InputMessage,
    LeftOutBlock,
    MediaBlock,
    MessageBlock,
    PromptFields,
    ResultBlock,
    SearchResultBlock,
    SystemBlock,
    TextBlock,
    ThinkingBlock,
    ToolChangeBlock,
    ToolResultBlock,
    ToolUseBlock,
    pointer,
)

#: the first block of Claude Code's instructions: it changes with each request, and would keep all
#: that follows from the prefix cache
_BILLING = "x-anthropic-billing-header"
#: what begins a text of Claude Code's own in messages of the user
_REMINDER = "<system-reminder>"

#: returns the text of sealed reasoning; None: this server did not seal it
Unseal = Callable[[str], str | None]


@dataclass(slots=True)
class ReadMessages:
    """Messages, each with the field of the request that it comes from.

    ``ignored``  places and kinds of what they do not show.
    ``changes``  of the tools, with their places.
    """

    unseal: Unseal
    messages: list[Message] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    changes: list[tuple[str, ToolChangeBlock]] = field(default_factory=list)

    def read(self, request: PromptFields) -> None:
        """Add the instructions and the messages. Raises ApiError 400."""
        if request.system:
            self._add(Message("system", (Text(self._instructions(request.system)),)), "system")
        asked = [n for n, message in enumerate(request.messages) if message.role == "user"]
        for number, message in enumerate(request.messages):
            ends = message.role == "system" and message.clear_at == "next_user_message"
            place = f"messages[{number}]"
            if ends and asked and number < asked[-1]:
                self._read_changes(message, place)
            else:
                self._read(message, place)

    def _read_changes(self, message: InputMessage, place: str) -> None:
        """Read what outlasts the text of a message."""
        for number, block in enumerate(message.content or ()):
            if isinstance(block, ToolChangeBlock):
                self.changes.append((f"{place}.content[{number}]", block))

    def _add(self, message: Message, place: str) -> None:
        self.messages.append(message)
        self.places.append(place)

    def _ignore(self, place: str, kind: str) -> None:
        self.ignored.append(f"{pointer(place)} {kind}")

    def _read(self, message: InputMessage, place: str) -> None:
        if message.output_config:
            self._ignore(f"{place}.output_config", "field")
        if message.content is None or isinstance(message.content, str):
            self._add(Message(message.role, (Text(message.content or ""),)), place)
            return
        parts: list[Part] = []
        before = len(self.messages), len(self.changes)
        for number, block in enumerate(message.content):
            at = f"{place}.content[{number}]"
            if isinstance(block, ToolResultBlock):
                self._add_said(message, parts, place)
                parts = []
                self._add(self._result(block, at), at)
            elif _is_reminder(block) and not parts and self._ends_in_result(place):
                self._remind(block)
            else:
                parts += self._parts(message.role, block, at)
        is_empty = not parts and (len(self.messages), len(self.changes)) == before
        if is_empty and message.role == "user":
            # it may be the current message
            parts.append(Text(""))
        self._add_said(message, parts, place)

    def _ends_in_result(self, place: str) -> bool:
        """Whether the last message is a result of the message at this place."""
        return self.messages[-1:] != [] and self.places[-1].startswith(f"{place}.content")

    def _remind(self, reminder: TextBlock) -> None:
        last = self.messages[-1]
        self.messages[-1] = replace(last, parts=(*last.parts, Text(f"\n\n{reminder.text}")))

    def _add_said(self, message: InputMessage, parts: list[Part], place: str) -> None:
        if parts:
            self._add(Message(message.role, tuple(parts)), place)

    def _parts(self, role: str, block: MessageBlock, place: str) -> Iterator[Part]:
        match block:
            case ToolUseBlock() | ThinkingBlock() if role != "assistant":
                self._ignore(place, block.type)
            case ToolUseBlock():
                yield Call(block.name, _arguments(block), block.id)
            case ThinkingBlock():
                yield from self._thought(block, place)
            case ToolChangeBlock():
                self.changes.append((place, block))
                if block.type == "tool_removal" and block.tool.name:
                    yield Text(f"[The tool {block.tool.name} is no longer available.]")
            case _:
                yield from self._shown(block, place, has_images=role == "user")

    def _instructions(self, system: str | Sequence[SystemBlock]) -> str:
        if isinstance(system, str):
            return system
        parts = [
            part
            for number, block in enumerate(system)
            for part in self._shown(block, f"system[{number}]", has_images=False)
        ]
        texts = [part.text for part in parts if isinstance(part, Text)]
        if texts and texts[0].startswith(_BILLING):
            del texts[0]
        return "\n\n".join(texts)

    def _thought(self, block: ThinkingBlock, place: str) -> Iterator[Thought]:
        text = self.unseal(block.signature)
        if text is None or block.thinking not in ("", text):
            self._ignore(place, "thinking")
        else:
            yield Thought(text)

    def _shown(
        self, block: MessageBlock | ResultBlock | SystemBlock, place: str, *, has_images: bool
    ) -> Iterator[Part]:
        """Yield what is shown. ``has_images``: whether a model may see images there."""
        match block:
            case TextBlock():
                yield Text(block.text)
            case SearchResultBlock():
                texts = "\n".join(each.text for each in block.content)
                yield Text(f"{block.title} ({block.source})\n{texts}\n")
            case MediaBlock():
                yield from self._media(block, place, has_images=has_images)
            case LeftOutBlock():
                self._ignore(place, block.kind)
                if block.shown is not None:
                    yield Text(block.shown)

    def _media(self, block: MediaBlock, place: str, *, has_images: bool) -> Iterator[Part]:
        titles = [text for text in (block.title, block.context) if text]
        if block.source is not None and block.source.text is not None:
            yield Text("\n".join([*titles, block.source.text]) + "\n")
            return
        url = None
        if has_images and block.type == "image" and block.source is not None:
            url = block.source.image_url
        yield Media(block.type, place, url, title=titles[0] if titles else None)

    def _result(self, block: ToolResultBlock, place: str) -> Message:
        content = block.content or ""
        if isinstance(content, str):
            parts: Sequence[Part] = (Text(content),)
        else:
            parts = [
                part
                for number, each in enumerate(content)
                for part in self._shown(each, f"{place}.content[{number}]", has_images=True)
            ]
        is_error = bool(block.is_error)
        return Message("tool", tuple(parts), None, block.tool_use_id, is_error=is_error)


def _is_reminder(block: MessageBlock) -> TypeGuard[TextBlock]:
    return isinstance(block, TextBlock) and block.text.startswith(_REMINDER)


def _arguments(block: ToolUseBlock) -> str:
    if isinstance(block.input, str):
        return block.input
    return json.dumps(block.input or {}, ensure_ascii=False)
