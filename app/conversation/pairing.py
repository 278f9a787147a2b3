"""Calls and their results, paired by id at any distance, or by order where ids are lacking.

Clients send back what they recorded: a message that a user typed while a tool ran stands between a
call and its result, an interrupted agent has calls without results, a shortened history results
without calls. Templates and models know one order: a call, its results, what came next.

    result behind other messages   follows its call
    call without a result          gets NO_RESULT as its result
    result without a call          a message of the user that names the tool
    second result of a call        the same, unless it repeats the first
    second call of one id in a     another id, for it and for its result
    message, or a call without id
    no id, or one that no call     belongs to the next call that waits, of the same name if the
    has                            result has a name; an id only to a call without one

Representation   the plain form (history), with the number of the request's message that each one
                 comes from: errors of later steps name messages of the plain form.
Invariants       I1 results stand in the order of their calls: most templates write no ids, so that
                 the model tells the results of parallel calls by their order. All other messages
                 stay in the client's order. I2 a result belongs to the last unanswered call of its
                 id before it: ids may be used again. Without ids, it belongs to the last answer, or
                 the last answers in a row, whose calls wait in their order.
Cost             linear.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import FieldPath, bad_request
from ..protocol import MAX_ITEMS

#: the result of a call that was interrupted
NO_RESULT = "[There is no result: the call was interrupted.]"
#: calls without a result; each adds a message, and templates take time in proportion to them
MAX_UNANSWERED = MAX_ITEMS

Plain = dict[str, Any]


@dataclass(slots=True)
class History:
    """Messages in the order of prompts. ``places``: of each, the number in the request."""

    messages: list[Plain] = field(default_factory=list)
    places: list[int] = field(default_factory=list)

    def add(self, message: Plain, place: int) -> None:
        """Append a message."""
        self.messages.append(message)
        self.places.append(place)

    def path(self, path: FieldPath) -> FieldPath:
        """Return the path of a field with the number that its message has in the request."""
        number = path[1] if len(path) > 1 else None
        if path[0] == "messages" and isinstance(number, int) and number < len(self.places):
            return ("messages", self.places[number], *path[2:])
        return path


@dataclass(slots=True)
class _Call:
    """A call, its id in the request, and the number of the message with its result."""

    call: Plain
    id: str
    result: int | None = None

    @property
    def name(self) -> str:
        """The name of the tool."""
        name: str = self.call["function"]["name"]
        return name


#: calls by the number of their message
_Calls = Mapping[int, Sequence[_Call]]
#: what a result and the calls that it may belong to have in common
_Key = tuple[str, str | None]


def paired(messages: Sequence[Plain]) -> History:
    """Return the conversation with each result behind its call. Ids of calls may be changed.

    Raises:
        ApiError: 400, more than MAX_UNANSWERED calls have no result.
    """
    if not any(each["role"] == "tool" or "tool_calls" in each for each in messages):
        return History([*messages], [*range(len(messages))])
    calls = {
        at: [_Call(call, call["id"]) for call in message["tool_calls"]]
        for at, message in enumerate(messages)
        if message.get("tool_calls")
    }
    _match(messages, calls)
    for some in calls.values():
        _set_ids(some)
    orphans = _orphans(messages, calls)
    unanswered = sum(each.result is None for some in calls.values() for each in some)
    if unanswered > MAX_UNANSWERED:
        raise bad_request(
            f"Too many calls without a result: at most {MAX_UNANSWERED:,} are allowed, got "
            f"{unanswered:,}.",
            "messages",
            "invalid_value",
        )
    history = History()
    for at, message in enumerate(messages):
        if message["role"] != "tool":
            history.add(message, at)
            for each in calls.get(at, ()):
                text = NO_RESULT if each.result is None else messages[each.result]["content"]
                result = {"role": "tool", "content": text, "tool_call_id": each.call["id"]}
                history.add(result, at if each.result is None else each.result)
        elif at in orphans:
            history.add(_told(message, orphans[at]), at)
    return history


def _match(messages: Sequence[Plain], calls: _Calls) -> None:
    """Set the results of calls."""
    known = {each.id for some in calls.values() for each in some}

    def by_id(result: Plain) -> _Key | None:
        number = result["tool_call_id"]
        return ("id", number) if number else None

    def by_order(result: Plain) -> _Key | None:
        number = result["tool_call_id"]
        if not number:
            return ("any", result.get("name"))
        return None if number in known else ("no id", result.get("name"))

    def orders(call: _Call) -> list[_Key]:
        kinds = ("any",) if call.id else ("any", "no id")
        return [(kind, name) for kind in kinds for name in (None, call.name)]

    _pair(messages, calls, lambda call: [("id", call.id)], by_id)
    # mostly all results have found their calls
    if len(_answered(calls)) < sum(message["role"] == "tool" for message in messages):
        _pair(messages, _joined(calls), orders, by_order)


def _joined(calls: _Calls) -> _Calls:
    """Return the calls of messages in a row as those of the first one: parallel calls in parts."""
    steps: dict[int, list[_Call]] = {}
    first = last = -2
    for at, some in calls.items():
        first = first if at == last + 1 else at
        steps.setdefault(first, []).extend(some)
        last = at
    return steps


def _pair(
    messages: Sequence[Plain],
    calls: _Calls,
    keys_of: Callable[[_Call], Iterable[_Key]],
    key_of: Callable[[Plain], _Key | None],
) -> None:
    """Give each result that has no call the next waiting call with its key, if it has a key."""
    answered = _answered(calls)
    #: the next call of a key is the last one
    waiting: dict[_Key, list[_Call]] = {}
    for at, message in enumerate(messages):
        for call in reversed(calls.get(at, ())):
            for key in keys_of(call):
                waiting.setdefault(key, []).append(call)
        if message["role"] == "tool" and at not in answered:
            wanted = key_of(message)
            found = None if wanted is None else _next(waiting.get(wanted, []))
            if found is not None:
                found.result = at


def _next(waiting: list[_Call]) -> _Call | None:
    """Take calls from the end until one has no result."""
    while waiting:
        call = waiting.pop()
        if call.result is None:
            return call
    return None


def _answered(calls: _Calls) -> set[int]:
    """Return the numbers of the results that belong to a call."""
    results = (call.result for some in calls.values() for call in some)
    return {at for at in results if at is not None}


def _set_ids(calls: Sequence[_Call]) -> None:
    """Change the ids of a message's calls that repeat another one, or are empty."""
    taken = {each.id for each in calls}
    seen = {""}
    for number, each in enumerate(calls):
        made = each.id
        if made in seen:
            made = f"{made or 'call'}_{number}"
            while made in taken:
                made += "_"
            taken.add(made)
        seen.add(made)
        each.call["id"] = made


def _orphans(messages: Sequence[Plain], calls: _Calls) -> dict[int, str]:
    """Return the results that are shown as messages, with the names of their tools."""
    answered = _answered(calls)
    latest: dict[str, _Call] = {}
    orphans: dict[int, str] = {}
    for at, message in enumerate(messages):
        latest |= {call.id: call for call in calls.get(at, ()) if call.id}
        if message["role"] == "tool" and at not in answered:
            call = latest.get(message["tool_call_id"])
            if call is None:
                orphans[at] = message.get("name") or ""
            elif call.result is None or message["content"] != messages[call.result]["content"]:
                orphans[at] = call.name
    return orphans


def _told(result: Plain, name: str) -> Plain:
    """Return a result that follows no call, as a message."""
    what = f"the tool {name}" if name else "a tool"
    return {"role": "user", "content": f"Result of {what}:\n{result['content']}"}
