"""Fitting: rewrites a conversation so that one chat template shows all of it.

    developer, several system messages   one system message at the beginning; for templates without
                                         system messages, the beginning of the first user message
    roles that must alternate            adjacent messages of one role are joined; where only calls
                                         and results divide them, FILLERS stands between
    null content                         empty text; if the template refuses that, an answer without
                                         text is dropped
    ids of calls                         the kind that the template accepts
    arguments                            an object or JSON text, as the template requires; of cut
                                         arguments, what is there
    parallel calls, text beside a call   several messages, if the template shows only one of them
    calls and results                    text in the format's syntax, if the template shows none;
                                         results keep their role if the template shows that
    further instructions                 the end of the system message

Invariants       I1 the result contains the text of every message, in the client's order; only
                 instructions move to the beginning if they cannot stand elsewhere. I2 equal
                 conversations give equal messages. I3 the client's messages are never changed.
Not here         rules on the order of messages (history), the template (template).
"""

import string
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any

from ..errors import ApiError, bad_request
from .control import DeepArguments
from .cut_json import parsed_object
from .profile import AsText, Messages, TemplateProfile

_ALPHABET = string.ascii_letters + string.digits
_ID_LENGTH = 9
INSTRUCTING = ("system", "developer")
#: what the other role says between two messages of one role
FILLERS = {
    "assistant": "[There is no answer: the user went on.]",
    "user": "[The assistant goes on.]",
}

Message = dict[str, Any]


def fitted(
    messages: Messages,
    profile: TemplateProfile,
    *,
    instructions: str = "",
    as_text: AsText = lambda _: None,
) -> list[Message]:
    """Return the messages for a template with this profile, from those of ``paired``.

    ``instructions``: further text of the system message. ``as_text``: writes an answer with calls,
    or a result, as text; None: the format has no such text.

    Raises:
        ApiError: 400 that names a message which this template cannot show.
    """
    named = _with_names(messages)
    shown = [_fitted_message(at, each, profile, as_text) for at, each in enumerate(named)]
    if profile.ids == "nine":
        _rename_calls(shown)
    elif profile.ids != "any":
        _number_calls(shown, by_answer=profile.ids == "numbered_by_answer")
    spread: list[Message] = []
    for at, message in enumerate(shown):
        spread += _apart(at, message, shown, profile)
    if instructions:
        _instruct(spread, instructions)
    ordered = _with_instructions(spread, profile)
    if not profile.in_a_row:
        ordered = _merged(ordered)
    if profile.user_behind_results and profile.greetings:
        return ordered
    return _alternating(ordered, starts="assistant" if profile.greetings else "user")


def _with_names(messages: Messages) -> list[Message]:
    """Return copies in which each result has the name of its tool."""
    names: dict[str, str] = {}
    copies = []
    for message in messages:
        copy = dict(message)
        for call in copy.get("tool_calls") or ():
            names[call["id"]] = call["function"]["name"]
        if copy["role"] == "tool":
            copy.setdefault("name", names.get(copy.get("tool_call_id", ""), ""))
        copies.append(copy)
    return copies


# -- one message -----------------------------------------------------------------------------------


def _fitted_message(
    at: int, message: Message, profile: TemplateProfile, as_text: AsText
) -> Message:
    if not profile.calls and (message.get("tool_calls") or message["role"] == "tool"):
        return _in_words(at, message, profile, as_text)
    if message["content"] is None:
        message["content"] = ""
    if message["role"] == "developer" and not profile.developer:
        message["role"] = "system"
    thought = message.pop("reasoning_content", None)
    if thought:
        # a template that shows no results ignores their names
        message[profile.reasoning or "reasoning_content"] = thought
    if message.get("tool_calls"):
        message["tool_calls"] = [_fitted_call(call, profile) for call in message["tool_calls"]]
    return message


def _in_words(at: int, message: Message, profile: TemplateProfile, as_text: AsText) -> Message:
    is_result = message["role"] == "tool"
    try:
        text = as_text(message)
    except DeepArguments:
        raise too_deep(at) from None
    if text is None:
        field, what = ("role", "results") if is_result else ("tool_calls", "calls")
        raise _unshown(at, field, f"shows no tool {what}")
    if is_result and profile.results:
        return {**message, "content": text}
    return {"role": "user" if is_result else "assistant", "content": text}


def _fitted_call(call: Mapping[str, Any], profile: TemplateProfile) -> Message:
    function = call["function"]
    arguments: Any = function["arguments"]
    if profile.arguments == "object":
        shown = parsed_object(arguments)
        # a template that lists arguments by name cannot show other text
        as_member = arguments if profile.text_arguments else {"arguments": arguments}
        arguments = as_member if shown is None else shown
    return {**call, "function": {**function, "arguments": arguments}}


def too_deep(at: int) -> ApiError:
    """Return the error for a call whose arguments cannot be searched for control tokens."""
    place = f"messages[{at}].tool_calls"
    message = f"Invalid value for '{place}': the arguments of a call are nested too deeply."
    return bad_request(message, place, "invalid_value")


def _unshown(at: int, field: str, what: str) -> ApiError:
    place = f"messages[{at}].{field}"
    message = f"Invalid value for '{place}': this model's chat template {what}."
    return bad_request(message, place, "unsupported_by_template")


def _rename_calls(messages: Iterable[Message]) -> None:
    """Assign ids of nine letters and digits, unique within a conversation."""
    names: dict[str, str] = {}
    taken: set[str] = set()

    def renamed(old: str) -> str:
        if old not in names:
            names[old] = _short_id(old, taken)
            taken.add(names[old])
        return names[old]

    for message in messages:
        for call in message.get("tool_calls") or ():
            # a later turn may reuse an id for another call
            names.pop(call["id"], None)
            call["id"] = renamed(call["id"])
        if message["role"] == "tool":
            message["tool_call_id"] = renamed(message["tool_call_id"])


def _number_calls(messages: Iterable[Message], *, by_answer: bool) -> None:
    """Give calls and their results ids with the numbers of the calls, as Kimi K2 writes them."""
    names: dict[str, str] = {}
    number = 0
    for message in messages:
        calls = message.get("tool_calls") or ()
        number = 0 if by_answer and calls else number
        for call in calls:
            names[call["id"]] = f"functions.{call['function']['name']}:{number}"
            call["id"] = names[call["id"]]
            number += 1
        if message["role"] == "tool":
            message["tool_call_id"] = names.get(message["tool_call_id"], message["tool_call_id"])


def _short_id(text: str, taken: set[str]) -> str:
    if len(text) == _ID_LENGTH and text not in taken and set(text) <= set(_ALPHABET):
        return text
    number, salt = 0, 0
    while True:
        number = int.from_bytes(sha256(f"{salt}/{text}".encode("utf-8", "surrogatepass")).digest())
        letters = ""
        for _ in range(_ID_LENGTH):
            number, digit = divmod(number, len(_ALPHABET))
            letters += _ALPHABET[digit]
        if letters not in taken:
            return letters
        salt += 1


# -- several messages ------------------------------------------------------------------------------


def _apart(
    at: int, message: Message, messages: Sequence[Message], profile: TemplateProfile
) -> list[Message]:
    """Yield the message, split if the template would drop a part of it."""
    calls = message.get("tool_calls") or []
    if message["role"] == "tool" and profile.calls and not profile.parallel_calls:
        # it follows its call
        return []
    is_empty = message["role"] == "assistant" and not calls and not message["content"]
    if is_empty and not profile.empty_answers:
        return []
    found = [message]
    if calls and message["content"] and profile.text_beside_calls != "beside":
        if profile.text_beside_calls == "no":
            raise _unshown(at, "content", "shows no text beside tool calls")
        # the thought stays with the calls, where templates show it
        said = {"role": "assistant", "content": message["content"]}
        found = [said, {**message, "content": ""}]
    if profile.parallel_calls or not calls:
        return found
    results = {each["tool_call_id"]: each for each in _results_behind(at, messages)}
    last = found.pop()
    for number, call in enumerate(calls):
        first = last if number == 0 else {"role": "assistant", "content": ""}
        found.append({**first, "tool_calls": [call]})
        found.append(results[call["id"]])
    return found


def _results_behind(at: int, messages: Sequence[Message]) -> Iterable[Message]:
    for message in messages[at + 1 :]:
        if message["role"] != "tool":
            return
        yield message


def _with_instructions(messages: Sequence[Message], profile: TemplateProfile) -> list[Message]:
    """Move system messages to where the template shows them."""
    instructing = [n for n, each in enumerate(messages) if each["role"] in INSTRUCTING]
    leading = sum(at == n for at, n in enumerate(instructing))
    fits = profile.system and (len(instructing) < 2 or profile.systems)
    if not instructing or (fits and (len(instructing) == leading or profile.late_system)):
        return list(messages)
    text = "\n\n".join(messages[n]["content"] for n in instructing)
    others = [each for each in messages if each["role"] not in INSTRUCTING]
    if profile.system:
        return [{**messages[instructing[0]], "content": text}, *others]
    if others and others[0]["role"] == "user":
        first = {**others[0], "content": f"{text}\n\n{others[0]['content']}"}
        return [first, *others[1:]]
    return [{"role": "user", "content": text}, *others]


def _instruct(messages: list[Message], text: str) -> None:
    """Append to the leading instructions, or insert them."""
    last = -1
    while last + 1 < len(messages) and messages[last + 1]["role"] in INSTRUCTING:
        last += 1
    if last < 0:
        messages.insert(0, {"role": "system", "content": text})
    else:
        parts = [part for part in (messages[last]["content"], text) if part]
        messages[last] = {**messages[last], "content": "\n\n".join(parts)}


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Join adjacent messages of one role, except calls and their results."""
    found: list[Message] = []
    for key, group in groupby(messages, key=_mergeable):
        same = list(group)
        if key is None:
            found += same
        else:
            texts = [each["content"] for each in same if each["content"]]
            whole = {name: value for each in same for name, value in each.items()}
            found.append({**whole, "content": "\n\n".join(texts)})
    return found


def _alternating(messages: Iterable[Message], *, starts: str) -> list[Message]:
    """Insert FILLERS so that users and answers take turns, whatever calls and results divide them.

    ``starts``: "user" if only a user may speak first, "assistant" if both may.
    """
    found: list[Message] = []
    last = "assistant" if starts == "user" else None
    for message in messages:
        role = message["role"]
        if role in FILLERS and not message.get("tool_calls"):
            if role == last:
                other = "user" if role == "assistant" else "assistant"
                found.append({"role": other, "content": FILLERS[other]})
            last = role
        found.append(message)
    return found


def _mergeable(message: Message) -> str | None:
    """Return the role of a message that may be joined with adjacent ones; None: it may not."""
    role: str = message["role"]
    return None if role == "tool" or message.get("tool_calls") else role
