"""A neutral request in the words of each API."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.app.pictures import base64_of, data_url, png
from tests.campaigns.three_apis.questions import Part, PastCall, Picture, Question, Step

Body = dict[str, Any]
#: returns the seal of a thought, without which messages do not show it
Seal = Callable[[str], str]


# -- chat completions ------------------------------------------------------------------------------


def chat(asked: Question) -> Body:
    """Return the body of a chat completion."""
    body: Body = {**_shared(asked), "max_completion_tokens": asked.limit}
    body["messages"] = list(_chat_messages(asked))
    if asked.is_streamed:
        body["stream_options"] = {"include_usage": True}
    if asked.stops:
        body["stop"] = list(asked.stops)
    if asked.tools:
        tools = (_flat(asked, number) for number in range(len(asked.tools)))
        body["tools"] = [{"type": "function", "function": each} for each in tools]
        named = {"type": "function", "function": {"name": asked.chosen}}
        allowed = {"mode": "auto", "tools": [named]}
        body |= _openai_choice(asked, named, {"type": "allowed_tools", "allowed_tools": allowed})
    if asked.schema is not None:
        wanted = {"name": "output", "schema": asked.schema, "strict": True}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    if asked.thinking == "effort":
        body["reasoning_effort"] = asked.effort
    return body | _openai_thinking(asked)


def _chat_messages(asked: Question) -> Iterator[Body]:
    if asked.system:
        yield {"role": "system", "content": "\n\n".join(asked.system)}
    for turn in asked.turns:
        (first, *others), parts = turn.parts, [_chat_part(part) for part in turn.parts]
        is_text = isinstance(first, str) and not others
        yield {"role": turn.role, "content": first if is_text else parts}
        for step in turn.steps:
            yield _chat_answer(step)
            for call in step.calls:
                result = _result_of(call, _chat_part)
                yield {"role": "tool", "tool_call_id": call.number, "content": result}


def _chat_part(part: Part) -> Body:
    if isinstance(part, Picture):
        return {"type": "image_url", "image_url": {"url": data_url(_file(part))}}
    return {"type": "text", "text": part}


def _chat_answer(step: Step) -> Body:
    said: Body = {"role": "assistant", "content": step.text or None}
    if step.thought:
        said["reasoning_content"] = step.thought
    if step.calls:
        said["tool_calls"] = [
            {
                "id": call.number,
                "type": "function",
                "function": {"name": call.name, "arguments": call.text},
            }
            for call in step.calls
        ]
    return said


# -- responses -------------------------------------------------------------------------------------


def response(asked: Question) -> Body:
    """Return the body of a response."""
    body: Body = {**_shared(asked), "max_output_tokens": asked.limit, "store": False}
    body["input"] = list(_items(asked))
    if asked.system:
        body["instructions"] = "\n\n".join(asked.system)
    if asked.tools:
        tools = (_flat(asked, number) for number in range(len(asked.tools)))
        body["tools"] = [{"type": "function", **each} for each in tools]
        named = {"type": "function", "name": asked.chosen}
        body |= _openai_choice(
            asked, named, {"type": "allowed_tools", "mode": "auto", "tools": [named]}
        )
    if asked.schema is not None:
        wanted = {"type": "json_schema", "name": "output", "schema": asked.schema, "strict": True}
        body["text"] = {"format": wanted}
    if asked.thinking == "effort":
        body["reasoning"] = {"effort": asked.effort}
    return body | _openai_thinking(asked)


def _items(asked: Question) -> Iterator[Body]:
    for turn in asked.turns:
        yield {"role": turn.role, "content": [_input_part(part) for part in turn.parts]}
        for step in turn.steps:
            if step.thought:
                thought = [{"type": "reasoning_text", "text": step.thought}]
                yield {"type": "reasoning", "id": "rs_1", "summary": [], "content": thought}
            if step.text:
                said = [{"type": "output_text", "text": step.text, "annotations": []}]
                yield {"type": "message", "role": "assistant", "content": said}
            for call in step.calls:
                number = {"call_id": call.number}
                yield {
                    "type": "function_call",
                    "name": call.name,
                    "arguments": call.text,
                    **number,
                }
            for call in step.calls:
                yield {
                    "type": "function_call_output",
                    "call_id": call.number,
                    "output": _result_of(call, _input_part),
                }


def _input_part(part: Part) -> Body:
    if isinstance(part, Picture):
        return {"type": "input_image", "image_url": data_url(_file(part))}
    return {"type": "input_text", "text": part}


# -- messages --------------------------------------------------------------------------------------


def message(asked: Question, seal: Seal) -> Body:
    """Return the body of a message."""
    body: Body = {**_shared(asked), "max_tokens": asked.limit}
    body["messages"] = list(_messages(asked, seal))
    if asked.system:
        body["system"] = [{"type": "text", "text": text} for text in asked.system]
    if asked.stops:
        body["stop_sequences"] = list(asked.stops)
    if asked.tools:
        body["tools"] = [
            _present(
                name=each.name,
                description=each.about,
                input_schema=each.parameters,
                strict=each.strict,
            )
            for each in asked.tools
        ]
        body |= _message_choice(asked)
    config: Body = {}
    if asked.schema is not None:
        config["format"] = {"type": "json_schema", "schema": asked.schema}
    if asked.thinking == "effort":
        config["effort"] = asked.effort
    if asked.thinking:
        body["thinking"] = _thinking_object(asked)
    return body | ({"output_config": config} if config else {})


def _messages(asked: Question, seal: Seal) -> Iterator[Body]:
    waiting: list[Body] = []
    for turn in asked.turns:
        parts = [*waiting, *map(_block, turn.parts)]
        waiting = []
        if turn.role == "system" and parts[0]["type"] == "tool_result":
            # a message of the system has no results
            split = len(parts) - len(turn.parts)
            yield {"role": "user", "content": parts[:split]}
            parts = parts[split:]
        yield {"role": turn.role, "content": parts}
        for step in turn.steps:
            if waiting:
                yield {"role": "user", "content": waiting}
            yield {"role": "assistant", "content": list(_blocks(step, seal))}
            waiting = [_result(call) for call in step.calls]
    if waiting:
        yield {"role": "user", "content": waiting}


def _blocks(step: Step, seal: Seal) -> Iterator[Body]:
    if step.thought:
        signature = seal(step.thought)
        yield {"type": "thinking", "thinking": step.thought, "signature": signature}
    if step.text:
        yield {"type": "text", "text": step.text}
    for call in step.calls:
        yield {"type": "tool_use", "id": call.number, "name": call.name, "input": call.arguments}


def _result(call: PastCall) -> Body:
    return {
        "type": "tool_result",
        "tool_use_id": call.number,
        "content": _result_of(call, _block),
    }


def _block(part: Part) -> Body:
    if isinstance(part, Picture):
        data = base64_of(_file(part))
        return {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": data},
        }
    return {"type": "text", "text": part}


def _message_choice(asked: Question) -> Body:
    kinds = {"": "auto", "required": "any", "named": "tool"}
    choice: Body = {"type": kinds.get(asked.choice, asked.choice)}
    if asked.choice == "named":
        choice["name"] = asked.chosen
    if asked.one_call:
        choice["disable_parallel_tool_use"] = True
    return {"tool_choice": choice} if asked.choice or asked.one_call else {}


# -- what several have -----------------------------------------------------------------------------


def _file(picture: Picture) -> bytes:
    return png(1, (picture.number, 0, 0))


def _result_of(call: PastCall, write: Callable[[Part], Body]) -> str | list[Body]:
    """Return a result; ``write``: a part of it."""
    return call.result if isinstance(call.result, str) else [write(each) for each in call.result]


def _present(**fields: Any) -> Body:
    return {name: value for name, value in fields.items() if value is not None}


def _shared(asked: Question) -> Body:
    stream = {"stream": True} if asked.is_streamed else {}
    return {"model": "noise", "seed": asked.seed, **asked.sampling, **stream}


def _flat(asked: Question, number: int) -> Body:
    tool = asked.tools[number]
    return _present(
        name=tool.name, description=tool.about, parameters=tool.parameters, strict=tool.strict
    )


def _openai_choice(asked: Question, named: Body, allowed: Body) -> Body:
    choices: Body = {"named": named, "allowed": allowed}
    body = {"tool_choice": choices.get(asked.choice, asked.choice)} if asked.choice else {}
    return body | ({"parallel_tool_calls": False} if asked.one_call else {})


def _openai_thinking(asked: Question) -> Body:
    """Return Anthropic's field, which the other APIs have as an extension."""
    return {"thinking": _thinking_object(asked)} if asked.thinking else {}


def _thinking_object(asked: Question) -> Body:
    if asked.thinking == "off":
        return {"type": "disabled"}
    budget = {"budget_tokens": asked.budget} if asked.thinking == "budget" else {}
    return {"type": "enabled", **budget}
