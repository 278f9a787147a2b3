"""The SGLang worker: a client of one SGLang server's native ``/generate``.

One generation is one streamed request. Leaving it early posts ``/abort_request``, because the
server notices a closed connection only two seconds later. Each abort runs in its own task: a
caller that cancels a generation often cancels everything that it awaits.

Prompts          send ids: the server would tokenize text, perhaps with a BOS token in front, and
                 would turn the text of control tokens into control tokens.
Seeds            sent as ``sampling_seed``; servers without ``--enable-deterministic-inference``
                 ignore it.
Logprobs         without ``--incremental-streaming-output``, each event of a server repeats those of
                 all tokens so far. Such a server is asked for fewer and larger events.
Images           the server replaces the one placeholder of each by its tokens. A server whose model
                 sees no images leaves them out silently, so it is asked only if it says that its
                 model does, and its count of the prompt's tokens must show that it did.
Stop strings     searched here in the tokens' bytes, and also sent, so that the server stops.
Not here         retries, balancing and deadlines of answers (the app's), JSON and its errors
                 (sglang_wire, sglang_errors), whether a server fits (sglang_health).
"""

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from .base import SHAPING, Chunk, Generation, Health, Receive, Run, WorkerError
from .generator_run import GeneratorRun
from .http_client import CONNECT_S, AiohttpClient, Response
from .plugin_versions import refused_specs
from .sglang_errors import LessRoom, server_error
from .sglang_health import context_of, json_object, judged
from .sglang_wire import PIECE, StreamReader, request_body, request_id
from .sse import MAX_EVENT_BYTES, EventDecoder, EventTooLong

#: seconds without a byte in a health check or an abort
SHORT_S = 5.0
#: seconds for a whole abort, in case a server sends its answer byte by byte
ABORT_S = 10.0
#: bytes of an event, plus TOKEN_BYTES for each requested token: ids, text and escapes
EVENT_BYTES, TOKEN_BYTES = 1 << 20, 256
#: bytes of a log probability with its token's id
LOGPROB_BYTES = 64
#: bytes of an answer without a stream; /server_info has about 20 KB
MAX_ANSWER_BYTES = 1 << 20
#: the payload that ends a stream
DONE = b"[DONE]"


class SGLangWorker:
    """A client of the server at ``base_url``.

    Args:
        tokens: the model's token bytes by id. Prompts with larger ids are refused here, because
            they can end the whole server.
        client: the HTTP client to use; default: a new one.
        stop_token_ids: sent with each request, for servers that know fewer stop tokens.
        grammar_backend: the worker is not ready if the server runs another one. With "switchyard",
            the plug-in's status must be present too.
        plugin: required fields of the plug-in's status: the vocabulary's fingerprint and the
            version of the specs, see plugin_versions.
        release: of this gateway, for messages.
        api_key: the server's API key, if it requires one.
        connect_seconds: for a new connection.
        tls: see AiohttpClient.
    """

    #: not stop_token_ids: such a token would end an answer where its grammar does not
    supported_sampling = frozenset([*SHAPING, "logit_bias", "min_tokens", "ignore_eos", "logprobs"])

    def __init__(
        self,
        base_url: str,
        *,
        tokens: Sequence[bytes],
        client: AiohttpClient | None = None,
        stop_token_ids: Sequence[int] = (),
        model: str | None = None,
        name: str | None = None,
        grammar_backend: str | None = None,
        plugin: Mapping[str, object] | None = None,
        release: str = "unknown",
        api_key: str | None = None,
        connect_seconds: float = CONNECT_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        base, host = base_url.rstrip("/"), urlsplit(base_url).netloc.rpartition("@")[2]
        self.name = name or f"sglang {host}"
        self.model = model or "sglang"
        self.description = f"sglang: the server at {urlsplit(base)._replace(netloc=host).geturl()}"
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = client or AiohttpClient(
            base, headers, connect_seconds=connect_seconds, tls=tls
        )
        self._tokens = tokens
        self._stop_token_ids = tuple(stop_token_ids)
        self._grammar_backend = grammar_backend
        self._plugin = dict(plugin or {})
        self._release = release
        self.max_model_len: int | None = None
        self.sees_images: bool | None = None
        self._is_incremental = False
        self._running: set[str] = set()
        self._aborts: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Do nothing: the first health check reads the model's context length."""

    def run(self, generation: Generation, receive: Receive) -> Run:
        return GeneratorRun(self.generate(generation), receive)

    def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        return self._seeing(generation) if generation.images else self._answer(generation)

    async def _seeing(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Answer a prompt with images, which may leave less room than max_tokens: only the server
        knows, and says so in its refusal.
        """
        if not self.sees_images:
            message = "the server does not say that its model sees images"
            raise WorkerError(503, message, reason="unavailable")
        try:
            async with aclosing(self._answer(generation)) as chunks:
                async for chunk in chunks:
                    yield chunk
            return
        except LessRoom as error:
            if not 0 < error.room < generation.max_tokens:
                raise
            generation = replace(generation, max_tokens=error.room)
        async with aclosing(self._answer(generation)) as chunks:
            async for chunk in chunks:
                yield chunk

    async def _answer(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        if self._closed:
            raise _shutting_down()
        rid = request_id(generation.rid)
        encode = partial(
            request_body,
            generation,
            rid,
            vocabulary=len(self._tokens),
            context=self.max_model_len,
            stop_token_ids=self._stop_token_ids,
            is_incremental=self._is_incremental,
        )
        images = sum(len(image.data) for image, _ in generation.images)
        is_short = len(generation.prompt) + images <= PIECE
        unsent = [encode() if is_short else await _in_thread(encode)]
        reader = StreamReader(generation, self._tokens, self._stop_token_ids)
        most = most_bytes(generation)
        events, idle = self._events(unsent, most, _headers(generation)), 0
        self._running.add(rid)
        try:
            async with aclosing(events) as received:
                async for payloads, size in received:
                    idle += size
                    if idle > most:
                        message = f"SGLang: more than {most:,} bytes without a token"
                        raise WorkerError(502, message, reason="protocol")
                    for chunk in reader.read_all(payloads):
                        idle = 0
                        yield chunk
                        if chunk.finish_reason is not None:
                            return
            raise WorkerError(502, "SGLang ended the stream too early", reason="truncated")
        except WorkerError as error:
            if (refused := refused_specs(error, self._plugin, self._release)) is not None:
                raise refused from error
            # not from itself: the cycle would keep the images of the prompt
            raise
        finally:
            self._running.discard(rid)
            if not reader.finished:
                self._abort(rid)

    async def _events(
        self, unsent: list[bytes], most: int, headers: Mapping[str, str]
    ) -> AsyncGenerator[tuple[list[bytes], int], None]:
        """Yield the payloads of the stream up to [DONE], as they are received together, and the
        bytes that arrived.

        ``unsent``: the body. It is taken out, so that images are not kept while the answer streams.

        Raises:
            WorkerError: a failure, or an event of more than ``most`` bytes.
        """
        decoder = EventDecoder(most)
        try:
            async with self._client.request(
                "POST", "/generate", content=unsent.pop(), headers=headers
            ) as response:
                if response.status != 200:
                    raise refusal(response.status, await _read(response))
                async for data in response.pieces():
                    payloads = decoder.push(data)
                    is_over = DONE in payloads
                    if is_over:
                        del payloads[payloads.index(DONE) :]
                    yield payloads, len(data)
                    if is_over:
                        return
        except EventTooLong as error:
            raise WorkerError(502, f"SGLang: {error}", reason="protocol") from error
        except WorkerError as error:
            if self._closed and error.reason in ("connection", "protocol"):
                raise _shutting_down() from error
            raise

    def _abort(self, rid: str) -> None:
        task = asyncio.get_running_loop().create_task(self._post_abort(rid))
        self._aborts.add(task)
        task.add_done_callback(self._aborts.discard)

    async def _post_abort(self, rid: str) -> None:
        """Post the abort. An unreachable server notices the closed connection by itself."""
        content = json.dumps({"rid": rid}).encode()
        with suppress(RuntimeError, TimeoutError, WorkerError):
            async with (
                asyncio.timeout(ABORT_S),
                self._client.request(
                    "POST", "/abort_request", content=content, read_s=SHORT_S
                ) as response,
            ):
                await _read(response)

    async def health(self) -> Health:
        status, _ = await self._get("/ready")
        if status == 404:  # for older servers: it generates a token and takes a second
            status, _ = await self._get("/health")
        if status != 200:
            return Health(False, f"the server answers {status}: starting or stopping")
        status, body = await self._get("/server_info")
        if status == 404:
            status, body = await self._get("/get_server_info")
        info = json.loads(body) if status == 200 else None
        if not isinstance(info, dict):
            return Health(False, f"/server_info answers {status}, and no JSON object")
        self.sees_images = info.get("allow_auto_truncate") is not True and await self._has_vision()
        return self._judge(info)

    def _judge(self, info: Mapping[str, Any]) -> Health:
        self.max_model_len = context_of(info)
        self._is_incremental = info.get("incremental_streaming_output") is True
        facts = {"sees_images": self.sees_images}
        return judged(info, self._grammar_backend, self._plugin, self._release, facts)

    async def _has_vision(self) -> bool:
        """Return whether the server says that its model sees images. Raises WorkerError: no
        connection.
        """
        status, body = await self._get("/model_info")
        if status == 404:
            status, body = await self._get("/get_model_info")
        info = json_object(body) if status == 200 else {}
        return info.get("has_image_understanding") is True

    async def _get(self, path: str) -> tuple[int, bytes]:
        """Return status and body. Raises WorkerError."""
        async with self._client.request("GET", path, read_s=SHORT_S) as response:
            return response.status, await _read(response)

    async def aclose(self) -> None:
        self._closed = True
        for rid in list(self._running):
            self._abort(rid)
        await asyncio.gather(*self._aborts)
        await self._client.aclose()


def _headers(generation: Generation) -> dict[str, str]:
    trace = generation.traceparent
    return {} if trace is None else {"traceparent": trace}


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


async def _read(response: Response) -> bytes:
    """Return a whole body of at most MAX_ANSWER_BYTES.

    Raises:
        WorkerError: it is longer.
    """
    data = b""
    async for piece in response.pieces():
        data += piece
        if len(data) > MAX_ANSWER_BYTES:
            message = f"an answer of more than {MAX_ANSWER_BYTES:,} bytes"
            raise WorkerError(502, message, reason="protocol")
    return data


async def _in_thread(encode: Callable[[], bytes]) -> bytes:
    """Return what is encoded, off the event loop. The future of a thread is part of a reference
    cycle, so it must not hold megabytes.
    """
    bodies: list[bytes] = []
    await asyncio.to_thread(lambda: bodies.append(encode()))
    return bodies.pop()


def _shutting_down() -> WorkerError:
    return WorkerError(503, "the worker is shutting down", reason="unavailable")
