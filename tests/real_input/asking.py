"""Sends cases through the official client, some at once, and gathers what came back.

Representation   an Answer is one choice, streamed or not: the calls' texts, the content, why it
                 ended, and what it took.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import openai

T = TypeVar("T")

#: the noise worker is one thread of the gateway; more at once only wait for each other
AT_ONCE = 6
MAX_TOKENS = 4096


@dataclass
class Call:
    """A tool call as far as it came."""

    id: str
    name: str
    arguments: str


@dataclass
class Answer:
    """``limit``: the tokens it could have. ``error``: what the client raised instead; then nothing
    else counts. ``first_s``: seconds to the first text or call of a stream.
    """

    calls: list[Call] = field(default_factory=list)
    content: str | None = None
    reasoning: str | None = None
    finish: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    limit: int = MAX_TOKENS
    error: str | None = None
    first_s: float | None = None


def client_of(url: str) -> openai.AsyncOpenAI:
    """The official client without retries: the first answer counts."""
    return openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0, timeout=600)


async def ask_all(
    cases: Sequence[T], ask: Callable[[int, T], Awaitable[Answer]], at_once: int = AT_ONCE
) -> list[Answer]:
    """The answers, in the order of the cases. ``ask`` gets each case with its number."""
    gate = asyncio.Semaphore(at_once)

    async def one(number: int, case: T) -> Answer:
        async with gate:
            try:
                return await ask(number, case)
            except openai.OpenAIError as error:
                return Answer(error=f"{type(error).__name__}: {error}")

    return list(await asyncio.gather(*(one(n, case) for n, case in enumerate(cases))))


async def complete(
    client: openai.AsyncOpenAI, *, stream: bool, max_tokens: int = MAX_TOKENS, **request: Any
) -> Answer:
    """One answer, at temperature 1; raises what the client raises."""
    create: Any = client.chat.completions.create
    request = {"temperature": 1, "max_completion_tokens": max_tokens, **request}
    if stream:
        start = time.perf_counter()
        options = {"include_usage": True}
        chunks = await create(stream=True, stream_options=options, **request)
        return await _added_up(chunks, Answer(limit=max_tokens), start)
    completion = await create(**request)
    choice, used = completion.choices[0], completion.usage
    calls = [
        Call(c.id, c.function.name, c.function.arguments) for c in choice.message.tool_calls or ()
    ]
    return Answer(
        calls,
        choice.message.content,
        getattr(choice.message, "reasoning_content", None),
        choice.finish_reason,
        used.prompt_tokens,
        used.completion_tokens,
        max_tokens,
    )


async def _added_up(chunks: AsyncIterator[Any], answer: Answer, start: float) -> Answer:
    async for chunk in chunks:
        if chunk.usage is not None:
            answer.prompt_tokens = chunk.usage.prompt_tokens
            answer.completion_tokens = chunk.usage.completion_tokens
        for choice in chunk.choices:
            _add(answer, choice.delta)
            if answer.first_s is None and (answer.calls or answer.content or answer.reasoning):
                answer.first_s = time.perf_counter() - start
            answer.finish = choice.finish_reason or answer.finish
    return answer


def _add(answer: Answer, delta: Any) -> None:
    if delta.content is not None:
        answer.content = (answer.content or "") + delta.content
    reasoning = getattr(delta, "reasoning_content", None)
    if reasoning is not None:
        answer.reasoning = (answer.reasoning or "") + reasoning
    for part in delta.tool_calls or ():
        if part.index == len(answer.calls):
            answer.calls.append(Call(part.id, part.function.name, ""))
        answer.calls[part.index].arguments += part.function.arguments
