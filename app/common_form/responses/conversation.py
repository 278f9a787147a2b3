"""The items of a conversation as messages.

Consecutive items of the assistant are one message: its reasoning, its text and its calls. A message
directly after another one begins a new one, since one answer never has two in a row. An output ends
the message that has its call; one of an earlier call does not.

Not here   which output answers which call (app.conversation.pairing).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ...generation import Call, Media, Message, Part, Text, Thought
from ...protocol import (
    MEDIA,
    ClientCallItem,
    ClientResultItem,
    CompactionItem,
    ConfigurationItem,
    ContentItem,
    CustomCallItem,
    CustomCallOutputItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    ItemPart,
    LoadedToolsItem,
    MessageItem,
    ReasoningItem,
    pointer,
    thought_of,
)
from ...sealing import SealedKind
from ..media import common_media
from .tool_names import CLIENT

#: what an item of the assistant says
SaidItem = MessageItem | Thought | FunctionCallItem | CustomCallItem | ClientCallItem
#: returns a sealed text; None: this server did not seal it, or another kind of text
Unseal = Callable[[str, SealedKind], str | None]


@dataclass(slots=True)
class Conversation:
    """Messages, each with the field of the request that it comes from.

    Items are added in order, then ``close`` ends the last message. ``flat``: the name that a tool
    has in prompts, from its namespace and its name (tool_names). ``unseal``: of sealed items.
    ``ignored``: parts that messages do not show, places and kinds.
    """

    flat: Callable[[str | None, str], str] = lambda _, name: name
    unseal: Unseal = lambda sealed, kind: None
    messages: list[Message] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    _open: "_OpenMessage | None" = None

    def instruct(self, text: str) -> None:
        """Add the instructions of the request."""
        self._append(Message("system", (Text(text),)), "instructions")

    def add(self, items: Iterable[tuple[str, ContentItem]]) -> None:
        """Add items, each with its place."""
        for place, item in items:
            match item:
                case FunctionCallOutputItem() | CustomCallOutputItem():
                    name = None if item.name is None else self.flat(item.namespace, item.name)
                    self._name_parts(item.output, f"{place}.output")
                    parts = tuple(_parts(item.output, f"{place}.output", has_images=True))
                    self._answer(parts, name, item.call_id or "", place)
                case ClientResultItem():
                    self._answer((Text(item.text),), None, item.answers, place)
                case MessageItem(role="user" | "system" | "developer"):
                    self.close()
                    self._name_parts(item.content, f"{place}.content")
                    self._append(Message(item.role, _content(item, place)), place)
                case ReasoningItem():
                    self._think(item, place)
                case CompactionItem():
                    self._recall(item, place)
                case LoadedToolsItem() | ConfigurationItem():
                    pass  # ToolNames has them, and ResponseRequest.configured
                case _:
                    if isinstance(item, MessageItem):
                        self._name_parts(item.content, f"{place}.content")
                    self._say(item, place)

    def close(self) -> None:
        """End the message of the assistant."""
        opened, self._open = self._open, None
        if opened is not None and not opened.is_empty:
            self._append(Message("assistant", tuple(opened.parts)), opened.place)

    def _append(self, message: Message, place: str) -> None:
        self.messages.append(message)
        self.places.append(place)

    def _ignore(self, place: str, kind: str) -> None:
        self.ignored.append(f"{pointer(place)} {kind}")

    def _name_parts(self, content: str | Sequence[ItemPart] | None, place: str) -> None:
        """Name the parts whose text only says that they are missing."""
        for number, part in enumerate(content if isinstance(content, list) else ()):
            if part.left_out:
                self._ignore(f"{place}[{number}]", part.left_out)

    def _think(self, item: ReasoningItem, place: str) -> None:
        """Add the sealed thought, or else the text beside it."""
        sealed = item.encrypted_content
        text = self.unseal(sealed, "thought") if sealed else None
        if text is None and sealed and not (item.content or item.summary):
            self._ignore(place, "encrypted_content")
        else:
            self._say(Thought(thought_of(item) if text is None else text), place)

    def _recall(self, item: CompactionItem, place: str) -> None:
        text = self.unseal(item.encrypted_content, "compaction")
        if text is None:
            self._ignore(place, "compaction")
        else:
            self.close()
            self._append(Message("user", (Text(text),)), place)

    def _say(self, item: SaidItem, place: str) -> None:
        opened = self._open
        if opened is None or (isinstance(item, MessageItem) and opened.ends_in_text):
            self.close()
            opened = self._open = _OpenMessage(place)
        opened.add(item, self.flat, place)

    def _answer(
        self, parts: tuple[Text | Media, ...], name: str | None, call_id: str, place: str
    ) -> None:
        said = [] if self._open is None else self._open.parts
        if any(isinstance(part, Call) and part.id == call_id for part in said):
            self.close()
        self._append(Message("tool", parts, name, call_id), place)


def _content(item: MessageItem, place: str) -> tuple[Text | Media, ...]:
    return tuple(_parts(item.content, f"{place}.content", has_images=item.role == "user"))


def _parts(
    content: str | Sequence[ItemPart] | None, place: str, *, has_images: bool
) -> Iterator[Text | Media]:
    """Yield text and media in order. ``has_images``: whether a model may see images there."""
    if content is None or isinstance(content, str):
        yield Text(content or "")
        return
    if not content:
        yield Text("")
    for number, part in enumerate(content):
        if part.type in MEDIA:
            yield common_media(part, f"{place}[{number}]", has_images=has_images)
        else:
            yield Text(part.shown)


@dataclass(slots=True)
class _OpenMessage:
    """The items of the assistant between two items of others, as one message."""

    place: str
    parts: list[Part] = field(default_factory=list)
    ends_in_text: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the message is reasoning without text."""
        return not any(not isinstance(part, Thought) or part.text for part in self.parts)

    def add(self, item: SaidItem, flat: Callable[[str | None, str], str], place: str) -> None:
        """Add an item."""
        self.ends_in_text = isinstance(item, MessageItem)
        match item:
            case MessageItem():
                self.parts += _content(item, place)
            case Thought():
                self.parts.append(item)
            case FunctionCallItem():
                name = flat(item.namespace, item.name)
                self.parts.append(Call(name, item.arguments, item.call_id))
            case CustomCallItem():
                name = flat(item.namespace, item.name)
                self.parts.append(Call(name, item.input, item.call_id, is_custom=True))
            case ClientCallItem():
                name = flat(CLIENT, item.tool.type)
                self.parts.append(Call(name, item.arguments, item.call_id or ""))
