"""One generation of a SGLang server: a streamed request, whose chunks go out by plain calls.

bytes of the connection -> payloads of events -> a chunk -> the receiver

Invariants       I1 a request that does not end at the server is aborted there.
                 I2 no error is kept, and none that is raised refers to itself: the cycle would keep
                    the images of the prompt.
                 I3 the receiver and the path of plain text run in the context of ``wait``.
Not here         the connection (http_client), the JSON (sglang_wire), the server's state (sglang).
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import partial
from typing import Protocol

from .base import Generation, Receive, TextPath, TextRun, WorkerError
from .http_client import MAX_ANSWER_BYTES, NO_HEADERS, Exchange, HttpClient, WholeAnswer
from .sglang_errors import LessRoom, RankGone, server_error
from .sglang_wire import PIECE, StreamReader, request_body, request_id
from .sse import MAX_EVENT_BYTES, EventDecoder, EventTooLong

#: bytes of an event, plus TOKEN_BYTES for each requested token: ids, text and escapes
EVENT_BYTES, TOKEN_BYTES = 1 << 20, 256
#: bytes of a log probability with its token's id
LOGPROB_BYTES = 64
#: the payload that ends a stream
DONE = b"[DONE]"


class Server(Protocol):
    """The state of a server that runs need. ``running``: request ids."""

    client: HttpClient
    tokens: Sequence[bytes]
    stop_token_ids: Sequence[int]
    running: set[str]
    is_closed: bool
    is_incremental: bool
    own_interval: int
    priority_sign: int
    separates_salts: bool

    @property
    def max_model_len(self) -> int | None: ...

    @property
    def sees_images(self) -> bool | None: ...

    @property
    def adapters(self) -> Mapping[str, str]: ...

    def abort(self, rid: str) -> None:
        """Abort a request in a task of its own."""

    def refused(self, error: WorkerError, adapter: str | None) -> WorkerError | None:
        """Return the error of a server that reads other specs, or misses an adapter that is not
        ``adapter``, the generation's; None: it is another one.
        """


class SGLangRun(TextRun):
    """See Run. ``lost_rank``: the server had no rank of the generation's number, and chose one."""

    def __init__(self, server: Server, generation: Generation, receive: Receive) -> None:
        self._server = server
        #: until the first chunk: a prompt may have megabytes
        self._generation: Generation | None = generation
        self._receive = receive
        self.lost_rank = False
        self._exchange: Exchange | None = None
        self._is_paused = False

    async def wait(self) -> None:
        """See Run. A prompt with images may leave less room than max_tokens, and a server may have
        restarted with fewer ranks: only the server knows, and says so in its refusal.
        """
        if self._asked.images and not self._server.sees_images:
            message = "the server does not say that its model sees images"
            raise WorkerError(503, message, reason="unavailable")
        if self._asked.cache_salt is not None and not self._server.separates_salts:
            message = "the server does not say that it keeps the KV caches of salts apart"
            raise WorkerError(503, message, reason="unavailable")
        kinds: tuple[type[WorkerError], ...] = (LessRoom, RankGone)
        while True:
            try:
                await self._answer()
                return
            except kinds as error:
                if not self._asks_less(error):
                    raise
                # each at most once, whatever the server says
                kinds = tuple(kind for kind in kinds if not isinstance(error, kind))

    def _asks_less(self, error: WorkerError) -> bool:
        """Change the generation so that the server may take it; return whether that is possible."""
        asked = self._generation
        if asked is None:  # the refusal came behind a token
            return False
        if isinstance(error, LessRoom):
            if not asked.images or not 0 < error.room < asked.max_tokens:
                return False
            self._generation = replace(asked, max_tokens=error.room)
        else:
            if asked.rank is None:
                return False
            self._generation = replace(asked, rank=None)
            self.lost_rank = True
        return True

    def pause(self) -> None:
        self._is_paused = True
        if self._exchange is not None:
            self._exchange.pause()

    def resume(self) -> None:
        self._is_paused = False
        if self._exchange is not None:
            self._exchange.resume()

    async def _answer(self) -> None:
        server = self._server
        _check_open(server)
        rid = request_id(self._asked.rid)
        exchange = await self._begun(rid)
        server.running.add(rid)
        try:
            await exchange.wait()
            if self._refusal is not None:
                raise refusal(self._refusal.status, self._refusal.body)
            if not self._has_ended:
                raise WorkerError(502, "SGLang ended the stream too early", reason="truncated")
        except WorkerError as error:
            if server.is_closed and error.reason in ("connection", "protocol"):
                raise shutting_down() from error
            asked = self._generation
            refused = server.refused(error, None if asked is None else asked.lora)
            del asked
            try:
                if refused is not None:
                    raise refused from error
            finally:
                del refused  # its traceback refers to this frame
            raise
        finally:
            self._exchange = None
            server.running.discard(rid)
            if not self._reader.finished:
                server.abort(rid)

    @property
    def _asked(self) -> Generation:
        assert self._generation is not None, "the server has begun to answer"
        return self._generation

    async def _begun(self, rid: str) -> Exchange:
        """Return the request. Neither it nor a variable keeps its body while the answer streams."""
        server, generation = self._server, self._asked
        trace, encode = generation.traceparent, self._encoder(generation, rid)
        content = encode() if _is_short(generation) else await _in_thread(encode)
        if generation.lora is not None and generation.lora not in server.adapters:
            # unloaded since this server was chosen: asked for, it would be loaded again
            message = f"the server no longer has the adapter {generation.lora!r}"
            raise WorkerError(503, message, reason="adapter")
        exchange = server.client.begin(
            "POST",
            "/generate",
            self,
            content=content,
            headers=NO_HEADERS if trace is None else {"traceparent": trace},
        )
        reader = StreamReader(generation, server.tokens, server.stop_token_ids)
        self._begin(exchange, reader, most_bytes(generation))
        return exchange

    def _encoder(self, generation: Generation, rid: str) -> Callable[[], bytes]:
        server = self._server
        return partial(
            request_body,
            generation,
            rid,
            vocabulary=len(server.tokens),
            context=server.max_model_len,
            stop_token_ids=server.stop_token_ids,
            is_incremental=server.is_incremental,
            own_interval=server.own_interval,
            priority_sign=server.priority_sign,
        )

    # -- called by the exchange

    def _begin(self, exchange: Exchange, reader: StreamReader, most: int) -> None:
        self._exchange, self._reader = exchange, reader
        self._decoder, self._most, self._idle = EventDecoder(most), most, 0
        self._refusal: WholeAnswer | None = None
        self._has_ended = False
        context = copy_context()
        self._run_in_context = context.run
        if self.text_path is not None:
            self.text_path.run_in(context)
            exchange.text_path = self.text_path
        if self._is_paused:
            exchange.pause()

    def on_head(self, status: int) -> None:
        if status != 200:
            self._refusal = WholeAnswer(MAX_ANSWER_BYTES)
            self._refusal.on_head(status)

    def on_data(self, data: bytes) -> None:
        """Read what arrived together. Raises WorkerError, and what the receiver raises."""
        path = self.text_path
        if path is not None and (path.is_entered or self._enters(path)):
            used = path.push(data)
            if used == len(data):
                return
            data = data[used:]
            if self._reader.leave(path):
                self._idle = 0
        if self._refusal is not None:
            self._refusal.on_data(data)
            return
        self._idle += len(data)
        taken = self._reader.take_plain(data) if self._decoder.is_between_events else 0
        try:
            payloads = self._decoder.push(data[taken:])
        except EventTooLong as error:
            raise WorkerError(502, f"SGLang: {error}", reason="protocol") from error
        is_over = DONE in payloads
        if is_over:
            del payloads[payloads.index(DONE) :]
        if self._idle > self._most:
            message = f"SGLang: more than {self._most:,} bytes without a token"
            raise WorkerError(502, message, reason="protocol")
        if (taken or payloads) and self._has_all(payloads):
            self._has_ended = True
        if (is_over or self._has_ended) and self._exchange is not None:
            self._exchange.stop(is_ending=self._reader.finished)

    def _enters(self, path: TextPath) -> bool:
        """Let a path read what comes next, if it is open and an event begins there."""
        is_next = path.is_open and self._decoder.is_between_events
        if is_next:
            self._reader.enter(path)
        return is_next

    def _has_all(self, payloads: list[bytes]) -> bool:
        """Pass on a chunk, and return whether the receiver needs no other."""
        chunk, failure = self._reader.read(payloads)
        if chunk is not None:
            self._idle, self._generation = 0, None
            is_wanted = self._run_in_context(self._receive, chunk)
            if chunk.finish_reason is not None or not is_wanted:
                return True
        if failure is not None:
            try:
                raise failure
            finally:
                del failure  # its traceback refers to this frame
        return False


def most_bytes(generation: Generation) -> int:
    """Return the most bytes of an event: it may hold the ids, the text and the log probabilities of
    the whole answer.
    """
    top = generation.sampling.logprobs
    token = TOKEN_BYTES if top is None else TOKEN_BYTES + LOGPROB_BYTES * (1 + top)
    return min(MAX_EVENT_BYTES, EVENT_BYTES + token * generation.max_tokens)


def refusal(status: int, data: bytes) -> WorkerError:
    """Return the error of a response that is not a stream."""
    text = data.decode(errors="replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    if isinstance(body, dict):
        body = body.get("error") or body.get("detail") or body
    return server_error(body, status=status)


def _is_short(generation: Generation) -> bool:
    """Return whether to encode the body takes no longer than the event loop may be held up."""
    images = sum(len(image.data) for image, _ in generation.images) if generation.images else 0
    return len(generation.prompt) + images <= PIECE


def _check_open(server: Server) -> None:
    if server.is_closed:
        raise shutting_down()


def shutting_down() -> WorkerError:
    return WorkerError(503, "the worker is shutting down", reason="unavailable")


async def _in_thread(encode: Callable[[], bytes]) -> bytes:
    """Return what is encoded, off the event loop. The future of a thread is part of a reference
    cycle, so it must not hold megabytes.
    """
    bodies: list[bytes] = []
    await asyncio.to_thread(lambda: bodies.append(encode()))
    return bodies.pop()
