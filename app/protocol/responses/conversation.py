"""The items of a conversation as messages.

Consecutive items of the assistant are one message: its reasoning, its text and its calls. A message
directly after another one begins a new turn, since one answer never has two in a row. Each call is
answered by a ``function_call_output`` before the conversation goes on.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...errors import ApiError, bad_request
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
from .items import (
    ContentItem,
    CustomCallItem,
    CustomCallOutputItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    MessageItem,
    ReasoningItem,
    text_of,
    thought_of,
)

#: an item of the assistant
SaidItem = MessageItem | ReasoningItem | FunctionCallItem | CustomCallItem


@dataclass(slots=True)
class Conversation:
    """Messages, each with the field of the request that it comes from.

    Items are added in order, then ``close`` ends the last turn.
    """

    messages: list[Message] = field(default_factory=list)
    places: list[str] = field(default_factory=list)
    _turn: "_Turn | None" = None
    #: ids of calls without an output so far
    _waiting: dict[str, None] = field(default_factory=dict)

    def instruct(self, text: str) -> None:
        """Add the instructions of the request."""
        self._append(SystemMessage(role="system", content=text), "instructions")

    def add(self, items: Iterable[tuple[str, ContentItem]]) -> None:
        """Add items, each with its place. Raises ApiError 400."""
        for place, item in items:
            match item:
                case FunctionCallOutputItem() | CustomCallOutputItem():
                    self._answer(item, place)
                case MessageItem(role="user" | "system" | "developer"):
                    self.close()
                    self._append(_told(item), place)
                case _:
                    self._say(item, place)

    def close(self) -> None:
        """End the turn of the assistant. Raises ApiError 400 if a call has no output."""
        self._end_turn()
        if self._waiting:
            call_id = next(iter(self._waiting))
            raise bad_request(f"No tool output found for function call {call_id[:100]}.", "input")

    def _append(self, message: Message, place: str) -> None:
        self.messages.append(message)
        self.places.append(place)

    def _say(self, item: SaidItem, place: str) -> None:
        turn = self._turn
        if turn is None or (isinstance(item, MessageItem) and turn.ends_in_text):
            self.close()
            turn = self._turn = _Turn(place)
        turn.add(item, place)

    def _answer(self, item: FunctionCallOutputItem | CustomCallOutputItem, place: str) -> None:
        self._end_turn()
        if item.call_id not in self._waiting:
            raise bad_request(
                f"No tool call found for function call output with call_id {item.call_id[:100]}.",
                "input",
            )
        del self._waiting[item.call_id]
        text = text_of(item.output)
        self._append(ToolMessage(role="tool", content=text, tool_call_id=item.call_id), place)

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, None
        if turn is not None and not turn.is_empty:
            self._append(turn.message(), turn.place)
            self._waiting = dict.fromkeys(turn.calls)


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
    calls: dict[str, PastToolCall | PastCustomCall] = field(default_factory=dict)
    ends_in_text: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the turn is reasoning without text."""
        return not (self.content or self.calls or any(self.reasoning))

    def add(self, item: SaidItem, place: str) -> None:
        """Add an item. Raises ApiError 400 for a second call with one id."""
        self.ends_in_text = isinstance(item, MessageItem)
        match item:
            case MessageItem():
                self.content.append(text_of(item.content))
            case ReasoningItem():
                self.reasoning.append(thought_of(item))
            case FunctionCallItem() | CustomCallItem():
                if item.call_id in self.calls:
                    raise _duplicate(f"{place}.call_id")
                self.calls[item.call_id] = _call(item)

    def message(self) -> AssistantMessage:
        """Return the turn as one message."""
        return AssistantMessage(
            role="assistant",
            content="".join(self.content) if self.content else None,
            reasoning_content="".join(self.reasoning) or None,
            tool_calls=list(self.calls.values()) or None,
        )


def _call(item: FunctionCallItem | CustomCallItem) -> PastToolCall | PastCustomCall:
    if isinstance(item, CustomCallItem):
        custom = CalledCustomTool(name=item.name, input=item.input)
        return PastCustomCall(id=item.call_id, type="custom", custom=custom)
    function = CalledFunction(name=item.name, arguments=item.arguments)
    return PastToolCall(id=item.call_id, function=function)


def _duplicate(place: str) -> ApiError:
    return bad_request(f"Duplicate value for '{place}'.", place, "invalid_value")
