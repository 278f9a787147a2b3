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
Adapters         a server is asked for those that it lists (sglang_adapters).
Stop strings     searched here in the tokens' bytes, and also sent, so that the server stops.
Not here         retries, balancing and deadlines of answers (the app's), JSON and its errors
                 (sglang_wire, sglang_errors), whether a server fits (sglang_health), its ranks and
                 priorities (sglang_scheduling).
"""

import asyncio
import json
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from .base import SHAPING, Bootstrap, Generation, Half, Health, Receive, WorkerError
from .http_client import CONNECT_S, HttpClient
from .lora_adapters import AdapterOutcome
from .plugin_versions import refused_specs
from .sglang_adapters import SGLangAdapters
from .sglang_health import BOOTSTRAP_PORT, bootstrap_port_of, context_of, json_object, judged
from .sglang_run import SGLangRun
from .sglang_scheduling import priority_sign_of, ranks_of, separation_trouble

#: seconds without a byte in a health check or an abort
SHORT_S = 5.0
#: seconds for a whole abort, in case a server sends its answer byte by byte
ABORT_S = 10.0


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
        tls: see HttpClient.
        separates_caches: the worker is not ready if prompts with different salts might share keys
            and values.
        half: the server's half of generations; the worker is not ready if it runs another one.
            None: it runs whole ones.
        bootstrap_host: of a prefill server, as decode servers know it; default: that of the URL.
    """

    #: not stop_token_ids: such a token would end an answer where its grammar does not
    supported_sampling = frozenset([*SHAPING, "logit_bias", "min_tokens", "ignore_eos", "logprobs"])

    def __init__(
        self,
        base_url: str,
        *,
        tokens: Sequence[bytes],
        client: HttpClient | None = None,
        stop_token_ids: Sequence[int] = (),
        model: str | None = None,
        name: str | None = None,
        grammar_backend: str | None = None,
        plugin: Mapping[str, object] | None = None,
        release: str = "unknown",
        api_key: str | None = None,
        connect_seconds: float = CONNECT_S,
        tls: ssl.SSLContext | None = None,
        separates_caches: bool = False,
        half: Half | None = None,
        bootstrap_host: str | None = None,
    ) -> None:
        base, host = base_url.rstrip("/"), urlsplit(base_url).netloc.rpartition("@")[2]
        self.name = name or f"sglang {host}"
        self.model = model or "sglang"
        self.description = f"sglang: the server at {urlsplit(base)._replace(netloc=host).geturl()}"
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self.client = client or HttpClient(base, headers, connect_seconds=connect_seconds, tls=tls)
        self.tokens = tokens
        self.stop_token_ids: Sequence[int] = tuple(stop_token_ids)
        self._adapters = SGLangAdapters(self.client)
        self._grammar_backend = grammar_backend
        self._plugin = dict(plugin or {})
        self._release = release
        self._separates_caches = separates_caches
        self.max_model_len: int | None = None
        self.sees_images: bool | None = None
        self.is_incremental = False
        self.own_interval = 1
        self.priority_sign = 0
        self.separates_salts = False
        self._half = half
        self._bootstrap_host = bootstrap_host or urlsplit(base).hostname or ""
        self._bootstrap_port = BOOTSTRAP_PORT
        self.running: set[str] = set()
        self.is_closed = False
        self._aborts: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Do nothing: the first health check reads the model's context length."""

    def run(self, generation: Generation, receive: Receive) -> SGLangRun:
        return SGLangRun(self, generation, receive)

    def bootstrap(self, room: int) -> Bootstrap:
        """Return where a decode server meets this prefill server for a generation."""
        return Bootstrap(self._bootstrap_host, self._bootstrap_port, room)

    @property
    def adapters(self) -> Mapping[str, str]:
        return self._adapters.known

    async def load_adapter(self, name: str, path: str, *, pinned: bool) -> AdapterOutcome:
        return await self._adapters.load(name, path, pinned=pinned)

    async def unload_adapter(self, name: str) -> AdapterOutcome:
        return await self._adapters.unload(name)

    def refused(self, error: WorkerError, adapter: str | None) -> WorkerError | None:
        """Return the error of a server that reads specs of another version, or misses an adapter
        that the generation does not name; None: it is another one. ``adapter``: of the generation.
        """
        if error.reason != "adapter":
            return refused_specs(error, self._plugin, self._release)
        if adapter is None:
            return WorkerError(502, error.message, reason="protocol")
        self._adapters.lost(adapter)
        return None

    def abort(self, rid: str) -> None:
        """Abort a request at the server, in a task of its own."""
        task = asyncio.get_running_loop().create_task(self._post_abort(rid))
        self._aborts.add(task)
        task.add_done_callback(self._aborts.discard)

    async def _post_abort(self, rid: str) -> None:
        """Post the abort. An unreachable server notices the closed connection by itself."""
        content = json.dumps({"rid": rid}).encode()
        with suppress(TimeoutError, WorkerError):
            async with asyncio.timeout(ABORT_S):
                await self.client.fetch("POST", "/abort_request", content=content, read_s=SHORT_S)

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
        await self._adapters.check(info, read_s=SHORT_S)
        return self._judge(info)

    def _judge(self, info: Mapping[str, Any]) -> Health:
        self.max_model_len = context_of(info)
        self.is_incremental = info.get("incremental_streaming_output") is True
        interval = info.get("stream_interval")
        self.own_interval = interval if type(interval) is int and interval > 0 else 1
        self.priority_sign = priority_sign_of(info)
        facts: dict[str, Any] = {"sees_images": self.sees_images}
        facts["priorities"] = self.priority_sign != 0
        if info.get("enable_lora") is True:
            facts["adapters"] = len(self.adapters)
            if self._adapters.left_out:
                facts["adapters_left_out"] = self._adapters.left_out
        if self._half == "prefill":
            self._bootstrap_port = bootstrap_port_of(info)
            facts["bootstrap"] = f"{self._bootstrap_host}:{self._bootstrap_port}"
        backend, plugin = self._grammar_backend, self._plugin
        health = judged(info, backend, plugin, self._release, facts, self._half)
        trouble = separation_trouble(info)
        self.separates_salts = trouble is None
        if trouble is not None and self._separates_caches and health.ready:
            health = replace(health, ready=False, reason=trouble)
        return replace(health, ranks=ranks_of(info), salts=self.separates_salts)

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
        return await self.client.fetch("GET", path, read_s=SHORT_S)

    async def aclose(self) -> None:
        self.is_closed = True
        for rid in list(self.running):
            self.abort(rid)
        await asyncio.gather(*self._aborts)
        await self.client.aclose()
