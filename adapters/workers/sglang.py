"""The SGLang worker: a client of one SGLang server's native ``/generate``.

One generation is one streamed request; leaving it early posts ``/abort_request``, since the server
notices a closed connection only two seconds later. The aborts run as tasks of their own: whoever
cancels a generation often cancels everything that is awaited in it, too.

Prompts          send ids: text is tokenised by the server, which may put a BOS of its own before
                 it, and control tokens in a user's text become control tokens.
Seeds            sent as ``sampling_seed``; a server that runs without
                 ``--enable-deterministic-inference`` was seen to ignore it.
Stop strings     found here, on the tokens' bytes, and sent along so that the server stops too.
Not here         retries and balancing (the app's), JSON and its errors (sglang_wire).
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

import httpx

from .base import Chunk, Generation, Health, WorkerError
from .sglang_wire import StreamReader, request_body, request_id, server_error
from .sse import EventDecoder, EventTooLong

#: seconds without a byte before a generation is given up; a long queue and prefill lie within it
IDLE_S = 600.0
#: seconds for a connection, a health check or an abort
SHORT_S = 5.0
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
        idle_s: float = IDLE_S,
    ) -> None:
        self._base = base_url.rstrip("/")
        self.name = name or f"sglang {httpx.URL(base_url).netloc.decode()}"
        self.model = model or "sglang"
        self.description = f"sglang: the server at {httpx.URL(self._base).copy_with(userinfo=b'')}"
        self._own = client is None
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)
        self._client = client or httpx.AsyncClient(limits=limits)
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = httpx.Timeout(SHORT_S, read=idle_s, write=30.0)
        self._tokens = tokens
        self._stop_token_ids = tuple(stop_token_ids)
        self._grammar_backend = grammar_backend
        self._plugin = dict(plugin or {})
        self._context: int | None = None
        self._running: set[str] = set()
        self._aborts: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Learns the model's context length, if the server is already up."""
        await self.health()

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        if self._closed:
            raise WorkerError(503, "the worker is shutting down")
        self._check(generation.prompt)
        rid = request_id(generation.rid)
        body = request_body(
            generation, rid, context=self._context, stop_token_ids=self._stop_token_ids
        )
        reader = StreamReader(generation, self._tokens)
        self._running.add(rid)
        try:
            async with aclosing(self._events(body, reader)) as payloads:
                async for payload in payloads:
                    chunk = reader.read(payload)
                    if chunk is not None:
                        yield chunk
                        if chunk.finish_reason is not None:
                            return
            raise WorkerError(502, "SGLang ended the stream too early", retryable=not reader.shown)
        finally:
            self._running.discard(rid)
            if not reader.finished:
                self._abort(rid)

    async def _events(
        self, body: dict[str, Any], reader: StreamReader
    ) -> AsyncGenerator[bytes, None]:
        """The payloads of the stream up to its [DONE]; what goes wrong below becomes a
        WorkerError.
        """
        decoder = EventDecoder()
        url = f"{self._base}/generate"
        try:
            async with self._client.stream(
                "POST", url, json=body, headers=self._headers, timeout=self._timeout
            ) as response:
                if response.status_code != 200:
                    await response.aread()
                    raise refusal(response)
                async for data in response.aiter_bytes():
                    for payload in decoder.push(data):
                        if payload == b"[DONE]":
                            return
                        yield payload
        except httpx.TimeoutException as error:
            raise WorkerError(
                504, f"SGLang: {type(error).__name__}", retryable=not reader.shown
            ) from error
        except (httpx.HTTPError, httpx.StreamError, EventTooLong) as error:
            if self._closed:
                raise WorkerError(503, "the worker is shutting down") from error
            message = f"SGLang: {type(error).__name__}: {error}"
            raise WorkerError(502, message, retryable=not reader.shown) from error

    def _check(self, prompt: str | list[int]) -> None:
        if isinstance(prompt, str):
            return
        if not prompt or not all(0 <= number < len(self._tokens) for number in prompt):
            message = f"a prompt needs at least one token, all ids below {len(self._tokens):,}"
            raise WorkerError(400, message)

    def _abort(self, rid: str) -> None:
        task = asyncio.get_running_loop().create_task(self._post_abort(rid))
        self._aborts.add(task)
        task.add_done_callback(self._aborts.discard)

    async def _post_abort(self, rid: str) -> None:
        try:
            await self._client.post(
                f"{self._base}/abort_request",
                json={"rid": rid},
                headers=self._headers,
                timeout=SHORT_S,
            )
        except (httpx.HTTPError, RuntimeError):
            return  # a server that can't be reached notices the closed connection by itself

    async def health(self) -> Health:
        try:
            response = await self._get("/ready")
            if (
                response.status_code == 404
            ):  # older servers; this one makes a token and takes a second
                response = await self._get("/health")
            if response.status_code != 200:
                return Health(
                    False, f"the server answers {response.status_code}: starting or stopping"
                )
            response = await self._get("/server_info")
            if response.status_code == 404:
                response = await self._get("/get_server_info")
            info = response.json()
            if response.status_code != 200 or not isinstance(info, dict):
                return Health(False, f"/server_info answers {response.status_code}")
        except (httpx.HTTPError, RuntimeError, json.JSONDecodeError) as error:
            return Health(False, f"{type(error).__name__}: {error}")
        return self._judge(info)

    async def _get(self, path: str) -> httpx.Response:
        return await self._client.get(self._base + path, headers=self._headers, timeout=SHORT_S)

    def _judge(self, info: dict[str, Any]) -> Health:
        details = {key: info[key] for key in SHOWN if key in info} | {"running": len(self._running)}
        # without a length of its own the server names the longest prompt, a few tokens less
        context = info.get("context_length") or info.get("max_req_input_len")
        backend = info.get("grammar_backend")
        self._context = context if isinstance(context, int) else None
        wanted = self._grammar_backend
        if backend == "none" or info.get("skip_tokenizer_init"):
            return Health(False, "the server runs without a grammar backend", details)
        if wanted is not None and backend != wanted:
            return Health(
                False, f"the server runs the grammar backend {backend!r}, not {wanted!r}", details
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
            details[PLUGIN] = {key: said.get(key) for key in ("version", *self._plugin)}
            for key, expected in self._plugin.items():
                if said.get(key) != expected:
                    return f"the plug-in's {key} is {said.get(key)!r}, not {expected!r}"
        return None

    async def aclose(self) -> None:
        self._closed = True
        for rid in list(self._running):
            self._abort(rid)
        await asyncio.gather(*self._aborts)
        if self._own:
            await self._client.aclose()


def refusal(response: httpx.Response) -> WorkerError:
    """The answer to a request that did not become a stream."""
    try:
        body = response.json()
    except ValueError:
        body = response.text
    if isinstance(body, dict):
        body = body.get("error") or body.get("detail") or body
    return server_error(body, status=response.status_code, retryable=True)
