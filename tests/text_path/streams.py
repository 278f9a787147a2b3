"""Answers as the bytes of a SGLang server's stream, through the real way from there to the client's
events, with and without the path of plain text.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from adapters.formats import FormatPlan, InputFormat, OutputSpec, custom_tool
from adapters.text_path import ChunkedBody, TextPath
from adapters.workers import Chunk, Generation, Receive
from adapters.workers.sglang_run import SGLangRun
from adapters.workers.sglang_wire import StreamReader
from app.generation import Choice, ChoiceDecoder, Choices, ContentStops
from app.generation.choices import Flow, TextWriter
from app.observability import RequestRecord
from app.writers.chat_objects import Envelope
from app.writers.chat_writers import ChunkWriter
from engine import Compiled
from tests.formats.test_streams import CHOICES

PROMPT = [1, 2, 3]
#: what answers may be
OUTPUTS = {
    **CHOICES,
    "a custom tool": OutputSpec((custom_tool("f", "Runs", InputFormat()),), "required"),
}


def sse(event: Any) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


def stream_of(
    ids: Sequence[int],
    chance: Random,
    *,
    is_incremental: bool = True,
    finish: Any = None,
    sizes: Sequence[int] = (0, 1, 1, 1, 2, 5),
) -> bytes:
    """Return the events of an answer. ``sizes``: of which their numbers of tokens are drawn."""
    events, at = [], 0
    while at < len(ids):
        start, at = at, min(len(ids), at + chance.choice(sizes))
        is_last = at == len(ids)
        meta = {
            "id": "é",
            "finish_reason": finish if is_last else None,
            "prompt_tokens": len(PROMPT),
            "weight_version": "default",
            "completion_tokens": at,
            "cached_tokens": 2,
            "e2e_latency": 0.25,
        }
        sent = ids[start:at] if is_incremental else ids[:at]
        events.append(sse({"text": "…", "output_ids": list(sent), "meta_info": meta}))
    return b"".join([*events, b"data: [DONE]\n\n"])


def cut(data: bytes, chance: Random) -> list[bytes]:
    """Return the stream as it is read: mostly whole events, some together, some in pieces."""
    reads, at = [], 0
    while at < len(data):
        end = data.find(b"\n\n", at) + 2 if chance.random() < 0.9 else at + chance.randrange(1, 99)
        if chance.random() < 0.2:
            end = data.find(b"\n\n", end) + 2 or len(data)
        reads.append(data[at:end])
        at += len(reads[-1])
    return reads


class Reads(SGLangRun):
    """A run whose server has sent these bytes. ``passed``: how many of them a path took."""

    def __init__(
        self, reads: Iterable[bytes], tokens: Sequence[bytes], stops: Sequence[int],
        generation: Generation, receive: Receive,
    ) -> None:  # fmt: skip
        super().__init__(None, generation, receive)  # type: ignore[arg-type]
        self._reads = reads
        self._made = StreamReader(generation, tokens, stops)
        self._is_stopped = False

    async def wait(self) -> None:
        self._begin(self, self._made, 1 << 20)  # type: ignore[arg-type]
        self.on_head(200)
        for data in self._reads:
            await asyncio.sleep(0)
            self.on_data(data)
            if self._is_stopped:
                return
        raise AssertionError("the stream has no end")

    def stop(self, *, is_ending: bool) -> None:
        self._is_stopped = True


class Attempt:
    """The flow of one attempt."""

    text_path: TextPath | None = None

    def pause(self) -> None: ...
    def resume(self) -> None: ...


@dataclass
class Answered:
    """An answer: its events, what was counted, and the bytes of the stream that the path took.

    ``counts``: the tokens that were counted by each event.
    """

    events: list[bytes]
    counts: list[int]
    record: RequestRecord
    passed: int
    error: Exception | None

    @property
    def deltas(self) -> dict[int, list[Any]]:
        """The deltas of each choice, those of one kind that follow each other as one."""
        found: dict[int, list[Any]] = {}
        for event in b"".join(self.events).split(b"\n\n"):
            data = event.removeprefix(b"data: ")
            if not data or data == b"[DONE]":
                continue
            for choice in json.loads(data)["choices"]:
                _join(found.setdefault(choice["index"], []), choice)
        return found

    @property
    def counted(self) -> tuple[int, int, int]:
        record = self.record
        return record.completion_tokens, record.prompt_tokens, record.cached_tokens


class Written:
    """A client's transport that takes the events out of their chunks."""

    def __init__(self, record: RequestRecord) -> None:
        self.events: list[bytes] = []
        self.counts: list[int] = []
        self._record = record

    def is_closing(self) -> bool:
        return False

    def write(self, chunk: bytes) -> None:
        event = chunk.partition(b"\r\n")[2][:-2]
        assert event and chunk == b"%x\r\n%s\r\n" % (len(event), event)
        self.events.append(event)
        self.counts.append(self._record.completion_tokens)


def _join(found: list[Any], choice: Any) -> None:
    """Append a choice, or its text to that of the last one."""
    delta = choice["delta"]
    calls = delta.pop("tool_calls", None)
    for call in calls or ():
        if not found or found[-1].get("call") != call["index"] or "id" in call:
            call.pop("id", None)
            found.append({"call": call["index"], "start": call, "text": ""})
        said = call.get("function") or call["custom"]
        found[-1]["text"] += said.get("arguments", "") or said.get("input", "")
    key = "content" if delta.get("content") else "reasoning" if delta.get("reasoning") else None
    if key is not None:
        if not found or found[-1].get("key") != key:
            found.append({"key": key, "text": ""})
        found[-1]["text"] += delta[key]
    if choice["finish_reason"] is not None:
        found.append(choice["finish_reason"])


async def answered(
    plan: FormatPlan,
    grammar: Compiled,
    streams: Sequence[list[bytes]],
    *,
    has_path: bool,
    max_tokens: int = 10_000,
) -> Answered:
    """Return the answer of which each choice has one of these streams."""
    vocabulary, record = grammar.vocabulary, RequestRecord("r")
    passed, written = 0, Written(record)
    write = ChunkedBody(written)  # type: ignore[arg-type]
    write.source = written
    generation = Generation("r", PROMPT, None, max_tokens=max_tokens)
    stops = vocabulary.stop_token_ids

    def choice(reads: list[bytes]) -> Choice:
        async def generate(begin: Callable[[Flow], Receive]) -> None:
            nonlocal passed
            attempt = Attempt()
            receive = begin(attempt)
            run = Reads(reads, vocabulary.tokens, stops, generation, receive)
            path = attempt.text_path
            if path is not None:
                run.text_path = Counted(path)
            try:
                await run.wait()
            finally:
                if path is not None:
                    passed += run.text_path.passed  # type: ignore[union-attr]

        def decoder() -> ChoiceDecoder:
            tokens = vocabulary.tokens
            return ChoiceDecoder(grammar.parser(), plan.reader(), ContentStops(()), tokens)

        on_chunk: Callable[[Chunk], None] = record.count
        return Choice(generate, decoder, on_chunk, record.counts if has_path else None)

    number = len(streams)
    writer = ChunkWriter(Envelope("chatcmpl-1", 1, "m", "fp"), "auto", number, include_usage=True)
    choices = Choices([choice(reads) for reads in streams], timeout=60)
    error: Exception | None = None

    def take(batch: Any) -> None:
        write(writer.write(batch))

    def write_text(number: int, delta: Any) -> TextWriter:
        return writer.text_encoder(number, delta), write

    try:
        await choices.start()
        await choices.send_to(take, write_text)
        write(await writer.end())
    except Exception as raised:
        error = raised
    finally:
        await choices.aclose()
    return Answered(written.events, written.counts, record, passed, error)


class Counted:
    """A path that counts the bytes that it takes."""

    def __init__(self, path: TextPath) -> None:
        self._path = path
        self.passed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._path, name)

    def push(self, data: bytes) -> int:
        used = self._path.push(data)
        self.passed += used
        return used
