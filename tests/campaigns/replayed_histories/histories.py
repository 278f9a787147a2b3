"""Histories of agents, and the changes that real clients make to them.

A history is the list of messages of a chat completion or of a message, or of items of a response.
Those of the generator have questions, thoughts, texts, parallel calls and results; recorded
requests (a folder of JSON files with ``requests``, each with ``path`` and ``body``) are changed in
the same ways.

Not here   damage that knows no API (mutations), histories that are written down (shapes).
"""

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from app.protocol.responses.items import LEFT_OUT
from tests.app.pictures import data_url, png
from tests.campaigns.replayed_histories import shapes
from tests.campaigns.replayed_histories.mutations import MUTATIONS, mutate

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
Message = dict[str, Any]
History = list[Message]
Change = Callable[[History, random.Random], None]

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
NAMES = ("read_file", "run", "look_up")
_SPACE = "mcp__files"
_LIMITS = {
    CHAT: "max_completion_tokens",
    RESPONSES: "max_output_tokens",
    MESSAGES: "max_tokens",
}


def generated(path: str, rng: random.Random) -> dict[str, Any]:
    """Return the body of a request with a history of a few turns, or with one of ``shapes``."""
    is_chat = path == CHAT
    if path == MESSAGES:
        return {"messages": deepcopy(shapes.MESSAGES)}
    if rng.random() < 0.2:
        shape = deepcopy(shapes.CHAT if is_chat else shapes.RESPONSES)
        return {"messages" if is_chat else "input": shape}
    history: History = [{"role": rng.choice(("system", "developer")), "content": "Be exact."}]
    for turn in range(rng.randint(1, 4)):
        history.append({"role": "user", "content": f"question {turn}"})
        for step in range(rng.randint(0, 3)):
            numbers = [f"call_{turn}{step}{n}" for n in range(rng.randint(1, 3))]
            history += _chat_step(numbers, rng) if is_chat else _response_step(numbers, rng)
        history.append({"role": "assistant", "content": f"answer {turn}"})
    history.append({"role": "user", "content": "And now?"})
    if rng.random() < 0.5:
        # the agent goes on after a result
        while history[-1]["role"] != "user" or len(history) == 1:
            history.pop()
        history += _chat_step(["last"], rng) if is_chat else _response_step(["last"], rng)
    function = {"name": "", "description": "A tool.", "parameters": PARAMETERS}
    if is_chat:
        tools = [{"type": "function", "function": {**function, "name": n}} for n in NAMES]
        return {"model": "noise", "messages": history, "tools": tools}
    tools = [{**function, "type": "function", "name": n} for n in NAMES]
    return {"model": "noise", "input": history, "tools": tools}


def _call(rng: random.Random) -> dict[str, str]:
    path = rng.choice(("a", "/data/x.txt", 'say "hi"', "é😀"))
    return {"name": rng.choice(NAMES), "arguments": json.dumps({"path": path})}


def _chat_step(numbers: list[str], rng: random.Random) -> History:
    calls = [{"id": n, "type": "function", "function": _call(rng)} for n in numbers]
    said: Message = {"role": "assistant", "content": rng.choice((None, "Let me see."))}
    if rng.random() < 0.5:
        said["reasoning_content"] = "thought"
    results = [{"role": "tool", "tool_call_id": n, "content": f"result {n}"} for n in numbers]
    return [{**said, "tool_calls": calls}, *results]


def _response_step(numbers: list[str], rng: random.Random) -> History:
    history: History = []
    if rng.random() < 0.5:
        part = {"type": "reasoning_text", "text": "thought"}
        history.append({"type": "reasoning", "id": "rs_1", "summary": [], "content": [part]})
    history += [{"type": "function_call", "call_id": n, **_call(rng)} for n in numbers]
    kind = "function_call_output"
    return [*history, *({"type": kind, "call_id": n, "output": f"result {n}"} for n in numbers)]


def recorded(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield path and body of each recorded request of the three APIs."""
    for file in sorted(folder.glob("*.json")):
        for request in json.loads(file.read_text("utf-8"))["requests"]:
            path, body = request["path"].partition("?")[0], request["body"] or {}
            if path in _LIMITS and isinstance(body.get(_key(body)), list):
                yield path, body


def _key(body: dict[str, Any]) -> str:
    return "messages" if "messages" in body else "input"


def bounded(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return a body whose answer has one token and no stream."""
    kept = {k: v for k, v in body.items() if k not in ("stream", "stream_options", "max_tokens")}
    return {**kept, "model": "noise", _LIMITS[path]: 1}


# -- what clients do -------------------------------------------------------------------------------


def _is_result(message: Message) -> bool:
    return message.get("role") == "tool" or "output" in message.get("type", "")


def _results(history: History) -> list[int]:
    return [at for at, each in enumerate(history) if _is_result(each)]


def _calls(history: History) -> Iterator[dict[str, Any]]:
    """Yield each object that has a call's arguments."""
    for each in history:
        if each.get("type") == "function_call":
            yield each
        for call in each.get("tool_calls") or ():
            if "function" in call:
                yield call["function"]


def _interleaved(history: History, rng: random.Random) -> None:
    for at in sorted(_results(history), reverse=True):
        if rng.random() < 0.6:
            role = rng.choice(("user", "system", "developer", "assistant"))
            history.insert(at, {"role": role, "content": "typed meanwhile"})


def _missing_results(history: History, rng: random.Random) -> None:
    for at in sorted(_results(history), reverse=True):
        if rng.random() < 0.5:
            del history[at]


def _duplicate_results(history: History, rng: random.Random) -> None:
    for at in sorted(_results(history), reverse=True):
        again = deepcopy(history[at])
        if rng.random() < 0.5:
            again["content" if "role" in again else "output"] = "another result"
        history.insert(rng.randint(at + 1, len(history)), again)


def _shuffled_results(history: History, rng: random.Random) -> None:
    moved = [history.pop(at) for at in reversed(_results(history))]
    for each in moved:
        history.insert(rng.randint(0, len(history)), each)


def _missing_calls(history: History, rng: random.Random) -> None:
    """A shortened history begins anywhere."""
    del history[: rng.randint(0, len(history) - 1)]


def _repeated_ids(history: History, rng: random.Random) -> None:
    for each in history:
        for call in each.get("tool_calls") or ():
            call["id"] = "call_0"
        for name in ("tool_call_id", "call_id"):
            if name in each:
                each[name] = "call_0"


def _cut_arguments(history: History, rng: random.Random) -> None:
    for call in _calls(history):
        text = call["arguments"]
        call["arguments"] = text[: rng.randint(0, len(text))]


def _null_content(history: History, rng: random.Random) -> None:
    for each in history:
        if each.get("role") == "assistant" and rng.random() < 0.5:
            each["content"] = None
        if each.get("role") == "tool":
            each["content"] = None
        if "output" in each:
            each["output"] = None


def _reasoning_only(history: History, rng: random.Random) -> None:
    for at in sorted(_results(history), reverse=True):
        if "role" in history[at]:
            thought: Message = {"role": "assistant", "content": None, "reasoning": "thought"}
        else:
            summary = [{"type": "summary_text", "text": "thought"}]
            thought = {"type": "reasoning", "id": "rs_2", "summary": summary}
        history.insert(at, thought)


def _unknown_fields(history: History, rng: random.Random) -> None:
    for each in history:
        each |= {"prefix": True, "partial": True, "cache_control": {"type": "ephemeral"}}
        each |= {"annotations": [], "audio": None, "provider_data": {"a": [1]}}
        for call in each.get("tool_calls") or ():
            call |= {"index": 0, "extra_content": {"google": {}}}


#: of images that can be read, and that cannot
_URLS = (data_url(png()), data_url(png(3)), "x", data_url(png())[:40], "http://127.0.0.1/a.png")


def _images(history: History, rng: random.Random) -> None:
    """Results are images, and messages of the user have some."""
    for each in history:
        url = rng.choice(_URLS)
        chat = {"type": "image_url", "image_url": {"url": url}}
        response = {"type": "input_image", "image_url": url}
        if "output" in each:
            each["output"] = [response]
        elif each.get("role") == "tool":
            each["content"] = [chat]
        elif each.get("role") == "user" and isinstance(each["content"], str):
            # all APIs take the parts of one another
            image = rng.choice((chat, response))
            each["content"] = [{"type": "text", "text": each["content"]}, image]


def _no_ids(history: History, rng: random.Random) -> None:
    """An id is empty, null or absent."""
    for each in history:
        for place, name in (
            (each, "tool_call_id"),
            *((c, "id") for c in each.get("tool_calls", ())),
        ):
            if (
                place.pop(name, None) is not None
                and (left := rng.choice(("", None, ...))) is not ...
            ):
                place[name] = left


def _arguments_as_objects(history: History, rng: random.Random) -> None:
    for call in _calls(history):
        call["arguments"] = rng.choice(({"path": ["a", {"b": None}]}, {}, None))


def _other_items(history: History, rng: random.Random) -> None:
    for _ in range(3):
        item: Message = {"type": rng.choice(LEFT_OUT), "id": "x", "status": "completed"}
        history.insert(rng.randint(0, len(history)), item)
    sealed = {"type": "compaction", "id": "cmp_3", "encrypted_content": "gAAA"}
    history.insert(rng.randint(0, len(history)), sealed)
    hidden = {"type": "reasoning", "id": "rs_3", "summary": [], "encrypted_content": "gAAA"}
    history.insert(rng.randint(0, len(history)), hidden)


def _loose_outputs(history: History, rng: random.Random) -> None:
    goal = {"type": "function_call_output", "name": "goal", "namespace": "agent", "output": "x"}
    history.insert(rng.randint(0, len(history)), goal)


def _in_namespaces(history: History, rng: random.Random) -> None:
    for call in _calls(history):
        call["namespace"] = _SPACE


#: by name; those of the second table change items only
CHANGES: dict[str, Change] = {
    "none": lambda history, rng: None,
    "interleaved messages": _interleaved,
    "missing results": _missing_results,
    "duplicate results": _duplicate_results,
    "shuffled results": _shuffled_results,
    "missing calls": _missing_calls,
    "repeated ids": _repeated_ids,
    "cut arguments": _cut_arguments,
    "null content": _null_content,
    "reasoning only": _reasoning_only,
    "unknown fields": _unknown_fields,
    "images": _images,
    "no ids": _no_ids,
    "arguments as objects": _arguments_as_objects,
}
ITEM_CHANGES: dict[str, Change] = {
    "other items": _other_items,
    "loose outputs": _loose_outputs,
    "namespaces": _in_namespaces,
}


def changed(path: str, body: dict[str, Any], kind: str, rng: random.Random) -> dict[str, Any]:
    """Return a body whose history has changes of this kind, and sometimes interleaved messages."""
    made = deepcopy(body)
    history = made[_key(made)]
    if kind in MUTATIONS:
        mutate(history, kind, rng)
    else:
        (CHANGES.get(kind) or ITEM_CHANGES[kind])(history, rng)
    if rng.random() < 0.5 and path != MESSAGES:
        _interleaved(history, rng)
    if kind == "namespaces":
        flat = [tool for tool in made.get("tools", ()) if tool["type"] == "function"]
        made["tools"] = [
            {"type": "namespace", "name": _SPACE, "tools": flat[:20]},
            {"type": "web_search"},
        ]
    return made


def kinds(path: str) -> list[str]:
    """Return the kinds of changes of an API."""
    if path == MESSAGES:
        return ["none", *MUTATIONS]
    return [*CHANGES, *(ITEM_CHANGES if path == RESPONSES else ()), *MUTATIONS]
