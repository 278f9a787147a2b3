"""A service whose worker follows a script, with the real engine and formats behind it."""

import asyncio
import io
import json
from collections.abc import AsyncGenerator
from typing import Any

from adapters.workers import Chunk, FailureReason, Generation, Health, WorkerError
from app.concurrency import Offload
from app.constraints.compile_scheduler import CompileScheduler
from app.constraints.mode import ModeSwitch
from app.conversation.tokenizer import BuiltinTokenizer
from app.observability import RequestRecord
from app.observability.logs import make_logger
from app.observability.metrics import Metrics, ModelMetrics
from app.observability.shadow_metrics import ShadowMetrics
from app.pool.worker_pool import Pool
from app.protocol.chat_request import ChatRequest
from app.service.cache_salts import CacheSalts
from app.service.chat_prompts import ChatPrompts
from app.service.chat_service import ChatService
from app.service.faults import Faults
from app.service.generation_service import Completion, GenerationService
from app.service.request_context import RequestContext
from app.settings import ModelSettings
from engine import Compiler
from tests.app.bodies import parse_request
from tests.app.examples import body
from tests.app.messages import payloads
from tests.app.planners import make_planner
from tests.generating import Generating
from tests.pulling import written

#: a step of a script: a chunk, an error to raise, or None to wait for ever
Step = Chunk | Exception | None


class ScriptedWorker(Generating):
    """Every generation follows the script; what was asked for is kept."""

    name = "scripted"
    description = "a script"
    model = "noise"
    supported_sampling: frozenset[str] = frozenset()
    max_model_len: int | None = None
    sees_images = False

    def __init__(self, *scripts: list[Step]) -> None:
        self.scripts = scripts
        self.asked: list[Generation] = []
        self.yielded: list[Chunk] = []
        self.open = 0

    async def start(self) -> None: ...

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        script = self.scripts[len(self.asked) % len(self.scripts)]
        self.asked.append(generation)
        self.open += 1
        try:
            for step in script:
                await asyncio.sleep(0)
                if step is None:
                    await asyncio.Event().wait()
                elif isinstance(step, Exception):
                    raise step
                else:
                    self.yielded.append(step)
                    yield step
        finally:
            for _ in range(3):  # a connection does not close at once
                await asyncio.sleep(0)
            self.open -= 1

    async def health(self) -> Health:
        return Health(True)

    async def aclose(self) -> None: ...


class Service:
    """A ChatService around scripts."""

    def __init__(
        self,
        *scripts: list[Step],
        stream_comment_seconds: float = 10.0,
        images: Any = None,
        salts: CacheSalts | None = None,
        **settings: Any,
    ) -> None:
        self.worker = ScriptedWorker(*scripts)
        self.images = images
        self.worker.sees_images = images is not None
        self.metrics = Metrics()
        self.log = io.StringIO()
        self.tokenizer = BuiltinTokenizer()
        compiler = Compiler(self.tokenizer.vocabulary)
        wire, special = self.tokenizer.wire, self.tokenizer.special_texts
        logger = make_logger("info", self.log)
        self.pool = Pool([self.worker])
        model = ModelSettings(**{"reasoning": "on", **settings})
        self.switch = ModeSwitch(model.constraints, unenforced_strict=model.unenforced_strict)
        self.scheduler = CompileScheduler(compiler.limits)
        self.planner = make_planner(
            compiler,
            wire,
            special,
            self.metrics,
            logger,
            scheduler=self.scheduler,
            switch=self.switch,
            shadow=ShadowMetrics(self.metrics, "noise"),
        )
        self.generation = GenerationService(
            settings=model,
            offload=Offload(),
            planner=self.planner,
            tokenizer=self.tokenizer,
            prompts=ChatPrompts(model, self.tokenizer, self.pool, images),
            pool=self.pool,
            metrics=ModelMetrics(self.metrics, "noise"),
            faults=Faults(self.metrics, logger),
            comment_seconds=stream_comment_seconds,
            salts=salts or CacheSalts(),
        )
        self.chat = ChatService(self.generation, system_fingerprint="fp_test")

    def count(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"switchyard_{name}", labels) or 0.0

    def prompt(self, number: int = -1) -> str:
        """The text of a prompt that the worker was asked to continue; default: the last one."""
        prompt = self.worker.asked[number].prompt
        assert isinstance(prompt, list)
        return self.tokenizer.decode(prompt)

    async def complete(self, **asked: Any) -> dict[str, Any]:
        return (await self.complete_with_headers(**asked)).body

    async def complete_with_headers(self, **asked: Any) -> Completion:
        return await self.chat.complete(request(**asked), context())

    async def stream(self, **asked: Any) -> list[Any]:
        """The events as JSON, "[DONE]" as it is."""
        stream = await self.chat.stream(request(**asked, stream=True), context())
        whole = b"".join([data async for data in written(stream)]).decode()
        await stream.aclose()
        return [data if data == "[DONE]" else json.loads(data) for data in payloads(whole)]


def context(
    client: str = "me", *, size: int = 0, record: RequestRecord | None = None, priority: int = 0
) -> RequestContext:
    """Return the context of a request of this client."""
    record = record or RequestRecord("req_1")
    return RequestContext(client=client, priority=priority, model="noise", size=size, record=record)


def request(**asked: Any) -> ChatRequest:
    return parse_request(json.dumps(body(**asked)).encode())


def tokens(text: str) -> tuple[int, ...]:
    """Ids of a text in the built-in vocabulary; special tokens where their text stands."""
    return tuple(BuiltinTokenizer().vocabulary.encode(text))


def script(text: str, *, size: int = 1, finish: Any = "stop", trim: int = 0) -> list[Step]:
    """The chunks of a text, ``size`` tokens each, the last one with its finish reason."""
    ids = tokens(text)
    parts = [ids[at : at + size] for at in range(0, len(ids), size)]
    last = Chunk(parts[-1], finish, 5, len(ids), trim=trim)
    return [*(Chunk(part, None, 5) for part in parts[:-1]), last]


def error(status: int, reason: FailureReason | None = None) -> WorkerError:
    return WorkerError(status, "what the worker says", reason=reason)
