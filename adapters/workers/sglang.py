"""The SGLang worker: a client of one SGLang server's native ``/generate``.

One generation is one streamed request; leaving it early posts ``/abort_request``, since the server
notices a closed connection only two seconds later. The aborts run as tasks of their own: whoever
cancels a generation often cancels everything that is awaited in it, too.

Prompts          send ids: text is tokenised by the server, which may put a BOS of its own before
                 it, and control tokens in a user's text become control tokens.
Seeds            sent as ``sampling_seed``; a server that runs without
                 ``--enable-deterministic-inference`` was seen to ignore it.
Stop strings     found here, on the tokens' bytes, and sent along so that the server stops too.
Not here         retries, balancing and deadlines of answers (the app's), JSON and its errors
                 (sglang_wire).
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

import httpx

from .base import Chunk, FailureReason, Generation, Health, WorkerError
from .sglang_wire import (
    MESSAGE_CHARS,
    PIECE,
    StreamReader,
    printable,
    request_body,
    request_id,
    server_error,
)
from .sse import MAX_EVENT_BYTES, EventDecoder, EventTooLong

#: seconds for a connection: one lost SYN is sent again after one
CONNECT_S = 2.0
#: seconds that an idle connection is kept: less than a server's 5, or it closes under a request
KEEPALIVE_S = 2.0
#: seconds between two bytes of a request that is sent
WRITE_S = 30.0
#: seconds for each step of a health check or an abort
SHORT_S = 5.0
#: seconds for an abort as a whole: a server that drips its answer would hold one for ever
ABORT_S = 10.0
#: bytes of an event, beside TOKEN_BYTES for each token that was asked for: ids, text and escapes
EVENT_BYTES, TOKEN_BYTES = 1 << 20, 256
#: bytes of an answer that is no stream; /server_info has some 20 KB
MAX_ANSWER_BYTES = 1 << 20
#: what readiness shows of the server's hundreds of settings
SHOWN = (
    "version",
    "model_path",
    "served_model_name",
    "grammar_backend",
    "context_length",
    "speculative_algorithm",
)
#: our plug-in's backend, and the field of a scheduler's state in which it speaks
PLUGIN = "switchyard"


#: options that ``request_body`` translates. Not stop_token_ids: such a token would end an answer
#: where its grammar does not
SUPPORTED_SAMPLING = frozenset(
    [
        "top_k",
        "min_p",
        "frequency_penalty",
        "presence_penalty",
        "repetition_penalty",
        "logit_bias",
        "min_tokens",
        "ignore_eos",
    ]
)


class SGLangWorker:
    """A client of the server at ``base_url``.

    Args:
        tokens: the model's token bytes by id. A prompt with an id beyond them is refused here: it
            can end the whole server.
        client: an httpx client to use instead of an own one; it stays open after ``aclose``.
        stop_token_ids: sent along, for servers whose own list of stop tokens is shorter.
        grammar_backend: not ready when the server runs another one. "switchyard" must also say, by
            its plug-in, that it runs.
        plugin: what the plug-in must say of itself besides, by field: the vocabulary's fingerprint
            and the version of the specs that it is sent.
        api_key: the server's, if it wants one.
    """

    supported_sampling = SUPPORTED_SAMPLING

    def __init__(
        self,
        base_url: str,
        *,
        tokens: Sequence[bytes],
        client: httpx.AsyncClient | None = None,
        stop_token_ids: Sequence[int] = (),
        model: str | None = None,
        name: str | None = None,
        grammar_backend: str | None = None,
        plugin: Mapping[str, object] | None = None,
        api_key: str | None = None,
    ) -> None:
        self._base = base_url.rstrip("/")
        self.name = name or f"sglang {httpx.URL(base_url).netloc.decode()}"
        self.model = model or "sglang"
        self.description = f"sglang: the server at {httpx.URL(self._base).copy_with(userinfo=b'')}"
        self._own = client is None
        limits = httpx.Limits(
            max_connections=None,
            max_keepalive_connections=64,
            keepalive_expiry=KEEPALIVE_S,
        )
        self._client = client or httpx.AsyncClient(limits=limits)
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = httpx.Timeout(CONNECT_S, read=None, write=WRITE_S)
        self._tokens = tokens
        self._stop_token_ids = tuple(stop_token_ids)
        self._grammar_backend = grammar_backend
        self._plugin = dict(plugin or {})
        self.max_model_len: int | None = None
        self._running: set[str] = set()
        self._aborts: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Nothing to load; the first health check learns the model's context length."""

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
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
        )
        is_short = len(generation.prompt) <= PIECE
        body = encode() if is_short else await asyncio.to_thread(encode)
        reader = StreamReader(generation, self._tokens)
        self._running.add(rid)
        try:
            async with aclosing(self._events(body, generation.max_tokens)) as payloads:
                async for payload in payloads:
                    chunk = reader.read(payload)
                    if chunk is not None:
                        yield chunk
                        if chunk.finish_reason is not None:
                            return
            raise WorkerError(502, "SGLang ended the stream too early", reason="truncated")
        finally:
            self._running.discard(rid)
            if not reader.finished:
                self._abort(rid)

    async def _events(self, body: bytes, max_tokens: int) -> AsyncGenerator[bytes, None]:
        """The payloads of the stream up to its [DONE]; what goes wrong below becomes a
        WorkerError.
        """
        decoder = EventDecoder(min(MAX_EVENT_BYTES, EVENT_BYTES + TOKEN_BYTES * max_tokens))
        headers = {"Content-Type": "application/json", **self._headers}
        try:
            async with self._client.stream(
                "POST",
                f"{self._base}/generate",
                content=body,
                headers=headers,
                timeout=self._timeout,
            ) as response:
                if response.status_code != 200:
                    raise refusal(response.status_code, await _read(response))
                async for data in response.aiter_bytes():
                    for payload in decoder.push(data):
                        if payload == b"[DONE]":
                            return
                        yield payload
        except (httpx.HTTPError, httpx.StreamError, EventTooLong) as error:
            raise _shutting_down() if self._closed else _broken(error) from error

    def _abort(self, rid: str) -> None:
        task = asyncio.get_running_loop().create_task(self._post_abort(rid))
        self._aborts.add(task)
        task.add_done_callback(self._aborts.discard)

    async def _post_abort(self, rid: str) -> None:
        """A server that can't be reached notices the closed connection by itself."""
        with suppress(httpx.HTTPError, RuntimeError, TimeoutError, WorkerError):
            async with (
                asyncio.timeout(ABORT_S),
                self._client.stream(
                    "POST",
                    f"{self._base}/abort_request",
                    json={"rid": rid},
                    headers=self._headers,
                    timeout=SHORT_S,
                ) as response,
            ):
                await _read(response)

    async def health(self) -> Health:
        status, _ = await self._get("/ready")
        if status == 404:  # older servers; this one makes a token and takes a second
            status, _ = await self._get("/health")
        if status != 200:
            return Health(False, f"the server answers {status}: starting or stopping")
        status, body = await self._get("/server_info")
        if status == 404:
            status, body = await self._get("/get_server_info")
        info = json.loads(body) if status == 200 else None
        if not isinstance(info, dict):
            return Health(False, f"/server_info answers {status}, and no JSON object")
        return self._judge(info)

    async def _get(self, path: str) -> tuple[int, bytes]:
        """Status and body; raises what httpx raises."""
        async with self._client.stream(
            "GET", self._base + path, headers=self._headers, timeout=SHORT_S
        ) as response:
            return response.status_code, await _read(response)

    def _judge(self, info: dict[str, Any]) -> Health:
        details = {key: _plain(info[key]) for key in SHOWN if key in info}
        self.max_model_len = _context_of(info)
        backend = info.get("grammar_backend")
        wanted = self._grammar_backend
        if backend == "none" or info.get("skip_tokenizer_init"):
            return Health(False, "the server runs without a grammar backend", details)
        if wanted is not None and backend != wanted:
            return Health(
                False,
                f"the server runs the grammar backend {backend!r:.100}, not {wanted!r}",
                details,
            )
        if wanted == PLUGIN:
            trouble = self._judge_plugin(info, details)
            if trouble is not None:
                return Health(False, trouble, details)
        return Health(True, details=details)

    def _judge_plugin(self, info: dict[str, Any], details: dict[str, Any]) -> str | None:
        """Why the plug-in of one of the server's schedulers is not ours; None: it is."""
        states = info.get("internal_states")
        for state in states if isinstance(states, list) and states else [None]:
            said = state.get(PLUGIN) if isinstance(state, dict) else None
            if not isinstance(said, dict):
                return (
                    "the server names the grammar backend 'switchyard', but its plug-in says "
                    "nothing: see the server's log"
                )
            details[PLUGIN] = {key: _plain(said.get(key)) for key in ("version", *self._plugin)}
            for key, expected in self._plugin.items():
                if said.get(key) != expected:
                    return f"the plug-in's {key} is {said.get(key)!r:.100}, not {expected!r}"
        return None

    async def aclose(self) -> None:
        self._closed = True
        for rid in list(self._running):
            self._abort(rid)
        await asyncio.gather(*self._aborts)
        if self._own:
            await self._client.aclose()


def _context_of(info: dict[str, Any]) -> int | None:
    """The context. SGLang refuses a prompt of ``max_req_input_len`` tokens as well, or with
    --allow-auto-truncate cuts it silently; memory may keep this below the model's own context.
    """
    lengths = [info.get(name) for name in ("context_length", "max_req_input_len")]
    return min((n for n in lengths if type(n) is int and n > 0), default=None)


def refusal(status: int, data: bytes) -> WorkerError:
    """The answer to a request that did not become a stream."""
    text = data.decode(errors="replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    if isinstance(body, dict):
        body = body.get("error") or body.get("detail") or body
    return server_error(body, status=status)


async def _read(response: httpx.Response) -> bytes:
    """A whole body of at most MAX_ANSWER_BYTES.

    Raises:
        WorkerError: it is longer.
    """
    data = b""
    async for part in response.aiter_bytes():
        data += part
        if len(data) > MAX_ANSWER_BYTES:
            message = f"an answer of more than {MAX_ANSWER_BYTES:,} bytes"
            raise WorkerError(502, message, reason="protocol")
    return data


def _plain(value: Any) -> int | str | None:
    """A server's value as the readiness page can show it: NaN and lone surrogates are no JSON."""
    if value is None or isinstance(value, int):
        return value
    return printable(value if isinstance(value, str) else repr(value))[:MESSAGE_CHARS]


def _shutting_down() -> WorkerError:
    return WorkerError(503, "the worker is shutting down", reason="unavailable")


def _broken(error: Exception) -> WorkerError:
    """A connection that could not be made, or broke, or did not carry HTTP and events."""
    message = f"SGLang: {type(error).__name__}: {error}"
    reason: FailureReason = "connection"
    if isinstance(error, httpx.ReadTimeout | httpx.WriteTimeout):
        return WorkerError(504, message, reason="timeout")
    if isinstance(error, httpx.ProtocolError | httpx.DecodingError | EventTooLong):
        reason = "protocol"
    return WorkerError(502, message, reason=reason)
