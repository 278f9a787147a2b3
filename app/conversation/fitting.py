"""Fitting: rewrites a conversation so that one chat template shows all of it.

    developer, several system messages   one system message at the beginning; for templates without
                                         system messages, the beginning of the first user message
    later system messages                text of the user's turn
    roles that must alternate            adjacent messages of one role are joined; where only calls
                                         and results divide them, FILLERS stands between
    a user must speak, or speak first    an opening message of the user
    null content                         empty text; if the template refuses that, an answer without
                                         text is dropped
    ids of calls                         the kind that the template accepts
    arguments                            an object or JSON text, as the template requires; of cut
                                         arguments, what is there
    parallel calls, text beside a call   several messages, if the template shows only one of them
    calls and results                    text in the format's syntax, if the template shows none;
                                         results keep their role if the template shows that
    images in results                    a message of the user behind the results, if the template
                                         shows images to users only
    images in the first message          a message behind it, if the template shows tools there
    further instructions                 the end of the system message
    a required call                      the end of the conversation, in the user's turn

Invariants       I1 the result contains the text of every message, in the client's order; only
                 instructions before the first message of a user move to the beginning. I2 equal
                 conversations give equal messages. I3 the client's messages are never changed.
Not here         the order of calls and results (pairing), the template (template).
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, groupby
from typing import Any

from ..errors import ApiError, bad_field
from .call_ids import set_call_ids
from .control import DeepArguments
from .cut_json import parsed_object
from .image_marks import ImageMarks, images_apart, move_first_images
from .profile import AsText, Messages, TemplateProfile

INSTRUCTING = ("system", "developer")
#: what the other role says between two messages of one role
FILLERS = {
    "assistant": "[There is no answer: the user went on.]",
    "user": "[The assistant goes on.]",
}
#: what the user says in a conversation without any message of a user
NO_USER = "[There is no message of the user.]"

Message = dict[str, Any]


def fitted(
    messages: Messages,
    profile: TemplateProfile,
    *,
    instructions: str = "",
    choice: str = "",
    has_tools: bool = False,
    is_opened: bool = False,
    as_text: AsText = lambda *_: None,
    marks: ImageMarks | None = None,
) -> list[Message]:
    """Return the messages for a template with this profile, from those of ``paired``.

    ``instructions``: further text of the system message. ``choice``: what the end of the
    conversation says about a required call. ``has_tools``: the template gets tools, too.
    ``is_opened``: a user speaks first, also if the profile does not demand it. ``as_text``:
    writes an answer with calls, or a result, as text; None: the format has no such text.
    ``marks``: of images.

    Raises:
        ApiError: 400 that names a message which this template cannot show.
    """
    named = _with_names(messages)
    before = [0, *accumulate(len(each.get("tool_calls") or ()) for each in named)]
    shown = [
        _fitted_message(at, each, profile, as_text, before[at]) for at, each in enumerate(named)
    ]
    set_call_ids(shown, profile.ids)
    behind = {} if marks is None or profile.images == "results" else images_apart(shown, marks)
    spread: list[Message] = []
    for at, message in enumerate(shown):
        spread += [*_apart(at, message, shown, profile), *behind.get(at, ())]
    if instructions:
        _instruct(spread, instructions)
    if choice:
        _close(spread, choice)
    ordered = _with_instructions(spread, profile)
    if not profile.in_a_row:
        ordered = _merged(ordered)
    if (opening := _opening(ordered, profile, has_tools, is_opened)) is not None:
        ordered.insert(_leading(ordered), {"role": "user", "content": opening})
    if marks is not None and has_tools and not profile.images_with_tools:
        move_first_images(ordered, marks)
    return ordered if profile.user_behind_results else _alternating(ordered)


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
    at: int, message: Message, profile: TemplateProfile, as_text: AsText, calls_before: int
) -> Message:
    if not profile.calls and (message.get("tool_calls") or message["role"] == "tool"):
        return _in_words(at, message, profile, as_text, calls_before)
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


def _in_words(
    at: int, message: Message, profile: TemplateProfile, as_text: AsText, calls_before: int
) -> Message:
    is_result = message["role"] == "tool"
    try:
        text = as_text(message, calls_before)
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
    message = "Invalid value for '{at}': the arguments of a call are nested too deeply."
    return bad_field(message, ("messages", at, "tool_calls"), "invalid_value")


def _unshown(at: int, field: str, what: str) -> ApiError:
    message = "Invalid value for '{at}': this model's chat template {what}."
    return bad_field(message, ("messages", at, field), "unsupported_by_template", what=what)


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
    """Move system messages to where the template shows them: those before the first message of a
    user to the beginning, later ones into the user's text.
    """
    if profile.late_system and profile.systems:
        return list(messages)
    asked = next((n for n, each in enumerate(messages) if each["role"] == "user"), len(messages))
    leading = [each for each in messages[:asked] if each["role"] in INSTRUCTING]
    greetings = [each for each in messages[:asked] if each["role"] not in INSTRUCTING]
    others = _with_late_instructions([*greetings, *messages[asked:]])
    if not leading or profile.systems:
        return [*leading, *others]
    text = "\n\n".join(each["content"] for each in leading)
    if profile.system:
        return [{**leading[0], "content": text}, *others]
    if others and others[0]["role"] == "user":
        first = {**others[0], "content": f"{text}\n\n{others[0]['content']}"}
        return [first, *others[1:]]
    return [{"role": "user", "content": text}, *others]


def _with_late_instructions(messages: Iterable[Message]) -> list[Message]:
    """Show system messages where they stand, in the user's text: moved to the beginning, each new
    one would keep the whole prompt from the workers' caches.

    Behind a message of a user or a result, each is the end of it, else the beginning of the next
    message of a user, or a message of its own.
    """
    joined: list[list[Message]] = []
    is_begun = False
    for message in messages:
        is_late = message["role"] in INSTRUCTING
        behind = joined[-1][0]["role"] if joined else None
        joins = behind in ("user", "tool") if is_late else is_begun and message["role"] == "user"
        if joins:
            joined[-1].append(message)
        else:
            own = {"role": "user", "content": message["content"]} if is_late else message
            joined.append([own])
        is_begun = is_late and (is_begun or not joins)
    return [_joined(each) if len(each) > 1 else each[0] for each in joined]


def _joined(messages: Sequence[Message]) -> Message:
    """Return the first message with the texts of all."""
    texts = [each["content"] for each in messages if each["content"]]
    return {**messages[0], "content": "\n\n".join(texts)}


def _instruct(messages: list[Message], text: str) -> None:
    """Append to the leading instructions, or insert them."""
    last = _leading(messages) - 1
    if last < 0:
        messages.insert(0, {"role": "system", "content": text})
    else:
        parts = filter(None, (messages[last]["content"], text))
        messages[last] = {**messages[last], "content": "\n\n".join(parts)}


def _close(messages: list[Message], text: str) -> None:
    """Append to the last message, or add a message of a user behind an answer or instructions at
    the beginning.
    """
    if _leading(messages) == len(messages) or messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": text})
    else:
        messages[-1] = _joined([messages[-1], {"content": text}])


def _merged(messages: Iterable[Message]) -> list[Message]:
    """Join adjacent messages of one role, except calls and their results."""
    found: list[Message] = []
    for key, group in groupby(messages, key=_mergeable):
        same = list(group)
        if key is None:
            found += same
        else:
            whole = {name: value for each in same for name, value in each.items()}
            found.append({**whole, "content": _joined(same)["content"]})
    return found


def _opening(
    messages: Sequence[Message], profile: TemplateProfile, has_tools: bool, is_opened: bool
) -> str | None:
    """Return what a user says behind the leading instructions; None: the template needs nothing."""
    others = messages[_leading(messages) :]
    has_user = any(each["role"] == "user" for each in others)
    if is_opened or not (has_user or profile.userless):
        return NO_USER
    greets = profile.greetings == "any" or (profile.greetings == "without_tools" and not has_tools)
    is_greeting = others and others[0]["role"] != "user"
    return FILLERS["user"] if is_greeting and not greets else None


def _leading(messages: Sequence[Message]) -> int:
    """Return the number of instructions at the beginning."""
    return next((n for n, m in enumerate(messages) if m["role"] not in INSTRUCTING), len(messages))


def _alternating(messages: Iterable[Message]) -> list[Message]:
    """Insert FILLERS so that users and answers take turns, whatever calls divide them."""
    found: list[Message] = []
    last = None
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
