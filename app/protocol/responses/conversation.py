"""The items of a conversation as messages.

Consecutive items of the assistant are one message: its reasoning, its text and its calls. A message
directly after another one begins a new turn, since one answer never has two in a row. An output
ends the turn that has its call; one of an earlier call does not.

Not here   which output answers which call (app.conversation.pairing).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..messages import (
    AssistantMessage,
    CalledCustomTool,
    CalledFunction,
    Message,
    PastCustomCall,
    PastToolCall,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from .ids import pointer
from .items import (
    ContentItem,
    CustomCallItem,
    CustomCallOutputItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    MessageItem,
    ReasoningItem,
    left_out,
    text_of,
    thought_of,
)

#: an item of the assistant
SaidItem = MessageItem | ReasoningItem | FunctionCallItem | CustomCallItem


@dataclass(slots=True)
class Conversation:
    """Messages, each with the field of the request that it comes from.

    Items are added in order, then ``close`` ends the last turn. ``flat``: the name that a tool has
    in prompts, from its namespace and its name (tool_names). ``ignored``: what messages do not
    show, places and kinds.
    """

    flat: Callable[[str | None, str], str] = lambda _, name: name
    messages: list[Message] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    _turn: "_Turn | None" = None

    def instruct(self, text: str) -> None:
        """Add the instructions of the request."""
        self._append(SystemMessage(role="system", content=text), "instructions")

    def add(self, items: Iterable[tuple[str, ContentItem]]) -> None:
        """Add items, each with its place."""
        for place, item in items:
            match item:
                case FunctionCallOutputItem() | CustomCallOutputItem():
                    self._answer(item, place)
                case MessageItem(role="user" | "system" | "developer"):
                    self.close()
                    self._append(_told(item), place)
                case ReasoningItem(is_unreadable=True):
                    self._ignore(place, "encrypted_content")
                case _:
                    self._say(item, place)

    def close(self) -> None:
        """End the turn of the assistant."""
        turn, self._turn = self._turn, None
        if turn is not None and not turn.is_empty:
            self._append(turn.message(), turn.place)

    def _append(self, message: Message, place: str) -> None:
        self.messages.append(message)
        self.places.append(place)

    def _ignore(self, place: str, kind: str) -> None:
        self.ignored.append(f"{pointer(place)} {kind}")

    def _say(self, item: SaidItem, place: str) -> None:
        turn = self._turn
        if turn is None or (isinstance(item, MessageItem) and turn.ends_in_text):
            self.close()
            turn = self._turn = _Turn(place)
        turn.add(item, self.flat)

    def _answer(self, item: FunctionCallOutputItem | CustomCallOutputItem, place: str) -> None:
        if self._turn is not None and any(each.id == item.call_id for each in self._turn.calls):
            self.close()
        for kind in left_out(item.output):
            self._ignore(f"{place}.output", kind)
        result = ToolMessage(
            role="tool",
            content=text_of(item.output),
            tool_call_id=item.call_id,
            name=None if item.name is None else self.flat(item.namespace, item.name),
        )
        self._append(result, place)


def _told(item: MessageItem) -> Message:
    text = text_of(item.content)
    if item.role == "user":
        return UserMessage(role="user", content=text)
    return SystemMessage(role="developer" if item.role == "developer" else "system", content=text)


@dataclass(slots=True)
class _Turn:
    """The items of the assistant between two items of others, as one message."""

    place: str
    content: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: list[PastToolCall | PastCustomCall] = field(default_factory=list)
    ends_in_text: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the turn is reasoning without text."""
        return not (self.content or self.calls or any(self.reasoning))

    def add(self, item: SaidItem, flat: Callable[[str | None, str], str]) -> None:
        """Add an item."""
        self.ends_in_text = isinstance(item, MessageItem)
        match item:
            case MessageItem():
                self.content.append(text_of(item.content))
            case ReasoningItem():
                self.reasoning.append(thought_of(item))
            case FunctionCallItem() | CustomCallItem():
                self.calls.append(_call(item, flat(item.namespace, item.name)))

    def message(self) -> AssistantMessage:
        """Return the turn as one message."""
        return AssistantMessage(
            role="assistant",
            content="".join(self.content) if self.content else None,
            reasoning_content="".join(self.reasoning) or None,
            tool_calls=self.calls or None,
        )


def _call(item: FunctionCallItem | CustomCallItem, name: str) -> PastToolCall | PastCustomCall:
    if isinstance(item, CustomCallItem):
        custom = CalledCustomTool(name=name, input=item.input)
        return PastCustomCall(id=item.call_id, type="custom", custom=custom)
    function = CalledFunction(name=name, arguments=item.arguments)
    return PastToolCall(id=item.call_id, function=function)
