"""Calls and their results, paired by id at any distance.

Clients send back what they recorded: a message that a user typed while a tool ran stands between a
call and its result, an interrupted agent has calls without results, a shortened history results
without calls. Templates and models know one order: a call, its results, what came next.

    result behind other messages   follows its call
    call without a result          gets NO_RESULT as its result
    result without a call          a message of the user that names the tool
    second result of a call        the same, unless it repeats the first
    second call of one id in a     another id, for it and for its result
    message

Representation   the plain form (history), with the number of the request's message that each one
                 comes from: errors of later steps name messages of the plain form.
Invariants       I1 results stand in the order of their calls: most templates write no ids, so that
                 the model tells the results of parallel calls by their order. All other messages
                 stay in the client's order. I2 a result belongs to the last unanswered call of its
                 id before it: ids may be used again.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import ApiError, bad_request
from ..protocol.validation import MOST_ITEMS
from .fitting import INSTRUCTING

#: the result of a call that was interrupted
NO_RESULT = "[There is no result: the call was interrupted.]"
#: calls without a result; each adds a message, and templates take time in proportion to them
MOST_UNANSWERED = MOST_ITEMS
_PLACE = re.compile(r"messages\[(\d+)\]")

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

    def instruct(self, text: str) -> None:
        """Add a text to the instructions at the beginning."""
        leading = 0
        while leading < len(self.messages) and self.messages[leading]["role"] in INSTRUCTING:
            leading += 1
        if leading:
            last = self.messages[leading - 1]
            last["content"] = "\n\n".join(filter(None, (last["content"], text)))
        else:
            self.messages.insert(0, {"role": "system", "content": text})
            self.places.insert(0, 0)

    def renamed(self, error: ApiError) -> ApiError:
        """Return an error about these messages with the numbers of the request."""

        def place(found: re.Match[str]) -> str:
            number = int(found[1])
            known = number < len(self.places)
            return f"messages[{self.places[number] if known else number}]"

        if error.param is None or not _PLACE.match(error.param):
            return error
        param, message = _PLACE.sub(place, error.param), _PLACE.sub(place, error.message)
        return ApiError(
            error.status, message, param=param, code=error.code, headers=dict(error.headers)
        )


@dataclass(slots=True)
class _Call:
    """A call, and the number of the message with its result."""

    call: Plain
    result: int | None = None


def paired(messages: Sequence[Plain]) -> History:
    """Return the conversation with each result behind its call. Ids of calls may be changed.

    Raises:
        ApiError: 400, more than MOST_UNANSWERED calls have no result.
    """
    calls, orphans = _matched(messages)
    unanswered = sum(each.result is None for some in calls.values() for each in some)
    if unanswered > MOST_UNANSWERED:
        raise bad_request(
            f"Too many calls without a result: at most {MOST_UNANSWERED:,} are allowed, got "
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


def _matched(messages: Sequence[Plain]) -> tuple[dict[int, list[_Call]], dict[int, str]]:
    """Return the calls of each message, and the results that are shown as messages, with the names
    of their tools.
    """
    calls: dict[int, list[_Call]] = {}
    #: of each id: the calls that wait, the next one last; and the last call
    waiting: dict[str, list[_Call]] = {}
    latest: dict[str, _Call] = {}
    orphans: dict[int, str] = {}
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            number = message["tool_call_id"]
            call = latest.get(number)
            if waiting.get(number):
                waiting[number].pop().result = at
            elif call is None:
                orphans[at] = message.get("name") or ""
            elif call.result is None or message["content"] != messages[call.result]["content"]:
                orphans[at] = call.call["function"]["name"]
        elif message.get("tool_calls"):
            calls[at] = [_Call(call) for call in message["tool_calls"]]
            for each in reversed(calls[at]):
                waiting.setdefault(each.call["id"], []).append(each)
                latest[each.call["id"]] = each
            _make_unique(message["tool_calls"])
    return calls, orphans


def _make_unique(calls: Sequence[Plain]) -> None:
    """Change the ids of calls that repeat an id of the same message."""
    taken = {call["id"] for call in calls}
    seen: set[str] = set()
    for number, call in enumerate(calls):
        if call["id"] in seen:
            call["id"] += f"_{number}"
            while call["id"] in taken:
                call["id"] += "_"
            taken.add(call["id"])
        seen.add(call["id"])


def _told(result: Plain, name: str) -> Plain:
    """Return a result that follows no call, as a message."""
    what = f"the tool {name}" if name else "a tool"
    return {"role": "user", "content": f"Result of {what}:\n{result['content']}"}
