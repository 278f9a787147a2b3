"""The transformers worker: a Hugging Face language model in this process (``embedded``).

It runs a real model with the same engine, on the CPU or one GPU, for development and small loads.
One generation runs at a time, in one thread, with a key-value cache; others wait in a bounded
queue. Text that the grammar forces needs no forward pass of its own: the model reads it together
with the next token. Its tokens are certain, so their log probability is 0.

A model that reads images and text is loaded with its processor (vision).

Determinism      equal seed, spec, prompt and model give equal output (on one machine and device,
                 and one version of torch).
Threads          the model, the sampler and the matcher live in the worker's thread; chunks cross
                 over by ``call_soon_threadsafe``; a cancelled generation stops before its next
                 forward pass. A second thread reads images.
Not here         downloads (``model_dir`` is a directory), batching, several GPUs: that is SGLang's
                 work.
"""

import asyncio
import sys
import threading
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, AutoTokenizer

from engine import Compiled, Compiler, EngineError

from .base import (
    Chunk,
    Generation,
    Health,
    PromptTooLong,
    Receive,
    Run,
    TokenLogprob,
    WorkerError,
)
from .generator_run import GeneratorRun
from .inprocess import Answer, compile_spec, worker_error
from .sampling import SAMPLER_OPTIONS, Sampler
from .vision import Seen, Vision, shows_images

#: generations that may wait for the model; more would exceed the patience of clients
MAX_WAITING = 32


class TransformersWorker:
    """Runs the model in ``model_dir``.

    ``device`` is "cpu", "cuda" or "cuda:N". ``dtype`` is a name of torch's ("float32", "bfloat16");
    "auto": float32 on a CPU, because many are slow at anything else, and bfloat16 on a GPU. A
    prompt that is text is encoded by the vocabulary, else by the directory's tokenizer.
    ``threads`` are torch's: on two busy cores a token took 0.8 to 1.4 s with one for each core, and
    0.1 s with one.
    """

    name = "transformers"
    adapters: Mapping[str, str] = MappingProxyType({})
    #: Not stop_token_ids: such a token would end an answer where its grammar does not
    supported_sampling = frozenset([*SAMPLER_OPTIONS, "min_tokens", "ignore_eos", "logprobs"])

    def __init__(
        self,
        model_dir: str | Path,
        compiler: Compiler,
        *,
        model: str | None = None,
        device: str = "cpu",
        dtype: str = "auto",
        threads: int = 1,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._directory = Path(model_dir)
        self.model = model or self._directory.name
        if dtype == "auto":
            dtype = "float32" if device == "cpu" else "bfloat16"
        self.description = (
            f"transformers: {self._directory} in {dtype} on {device}, one answer at a time"
        )
        self._compiler = compiler
        self._tokenizer: Any = None
        self._device, self._dtype = device, getattr(torch, dtype)
        self._threads = threads
        self._max_waiting = max_waiting
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="transformers-worker")
        self._images_thread = ThreadPoolExecutor(1, thread_name_prefix="transformers-images")
        self._model: Any = None
        self._vision: Vision | None = None
        #: why a model for images sees none
        self._blindness: str | None = None
        self._failure = "the model is not loaded yet"
        self._running: set[_Run] = set()
        self._closed = False

    async def start(self) -> None:
        """Load the model. Raises WorkerError if the directory contains none."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._load)
        except (OSError, ValueError, RuntimeError) as error:
            self._failure = f"cannot load a model from {self._directory}: {error}"
            raise WorkerError(503, self._failure) from error

    @property
    def max_model_len(self) -> int | None:
        if self._model is None:
            return None
        config = self._model.config.get_text_config()
        length: int | None = getattr(config, "max_position_embeddings", None)
        return length

    @property
    def sees_images(self) -> bool | None:
        return None if self._model is None else self._vision is not None

    def _load(self) -> None:
        if self._device != "cpu" and not torch.cuda.is_available():
            raise RuntimeError(f"torch finds no CUDA device for {self._device}")
        # here, in the thread that runs the model: OpenMP has a number for each thread
        torch.set_num_threads(self._threads)
        if self._compiler.vocabulary.encode is None:
            self._tokenizer = AutoTokenizer.from_pretrained(self._directory, local_files_only=True)
        kind: Any = AutoModelForCausalLM
        if shows_images(self._directory):
            kind = AutoModelForImageTextToText
            self._load_vision()
        model = kind.from_pretrained(self._directory, local_files_only=True, dtype=self._dtype)
        self._model = model.eval().to(self._device)

    def _load_vision(self) -> None:
        """Load the processor; without one, the model reads text only."""
        try:
            self._vision = Vision(self._directory)
        except Exception as error:  # processors have errors of many kinds, missing packages too
            self._blindness = " ".join(f"{type(error).__name__}: {error}".split())

    def run(self, generation: Generation, receive: Receive) -> Run:
        return GeneratorRun(self.generate(generation), receive)

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Yield the chunks of one generation."""
        self._admit()
        compiled = await compile_spec(self._compiler, generation.spec)
        self._admit()
        seen = await self._read(generation)
        self._admit()
        run = self._run(compiled, generation, seen)
        self._running.add(run)
        self._thread.submit(run.work)
        try:
            while True:
                item = await run.queue.get()
                if isinstance(item, WorkerError):
                    raise item
                yield item
                if item.finish_reason is not None:
                    return
        finally:
            run.cancelled.set()
            self._running.discard(run)

    def _admit(self) -> None:
        if self._closed:
            raise WorkerError(503, "the worker is shutting down", reason="unavailable")
        if self._model is None:
            raise WorkerError(503, self._failure, reason="unavailable")
        if len(self._running) > self._max_waiting:
            message = f"{len(self._running)} requests are waiting for the model"
            raise WorkerError(503, message, reason="unavailable")

    async def _read(self, generation: Generation) -> Seen:
        """Return the prompt with the tokens of its images."""
        prompt = self._ids(generation.prompt)
        if not generation.images:
            return Seen(prompt, {})
        if self._vision is None:
            raise WorkerError(503, "the model sees no images", reason="unavailable")
        loop, read = asyncio.get_running_loop(), self._vision.read
        return await loop.run_in_executor(self._images_thread, read, prompt, generation.images)

    def _run(self, compiled: Compiled, generation: Generation, seen: Seen) -> "_Run":
        """Check prompt and limits; at the end of the context an answer ends with "length"."""
        prompt = seen.ids
        width = self._model.get_input_embeddings().num_embeddings
        if not prompt or not all(0 <= number < width for number in prompt):
            message = f"a prompt needs at least one token, all ids below {width:,}"
            raise WorkerError(400, message)
        room = self.max_model_len or sys.maxsize
        if len(prompt) >= room:
            raise PromptTooLong(len(prompt), room)
        answer = Answer(
            compiled,
            self._compiler.vocabulary,
            generation,
            limit=min(generation.max_tokens, room - len(prompt)),
            prompt_tokens=len(prompt),
        )
        return _Run(self._model, self._device, seen, answer, generation)

    def _ids(self, prompt: str | list[int]) -> list[int]:
        if not isinstance(prompt, str):
            return list(prompt)
        encode = self._compiler.vocabulary.encode
        if encode is not None:
            return list(encode(prompt))
        ids: list[int] = self._tokenizer.encode(prompt, add_special_tokens=False)
        return ids

    async def health(self) -> Health:
        details = {
            "worker": self.name,
            "directory": str(self._directory),
            "running": len(self._running),
            "sees_images": self.sees_images,
        }
        if self._blindness is not None:
            details["vision_error"] = self._blindness
        if self._closed:
            return Health(False, "shut down", details)
        if self._model is None:
            return Health(False, self._failure, details)
        return Health(True, details=details)

    async def aclose(self) -> None:
        self._closed = True
        for run in list(self._running):
            run.cancelled.set()
        for thread in (self._images_thread, self._thread):
            await asyncio.to_thread(thread.shutdown)
        self._model = None


class _Run:
    """One generation: the worker's thread runs ``work``, the event loop reads ``queue``."""

    def __init__(
        self, model: Any, device: str, seen: Seen, answer: Answer, generation: Generation
    ) -> None:
        self.queue: asyncio.Queue[Chunk | WorkerError] = asyncio.Queue()
        self.cancelled = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._model, self._device = model, device
        self._unseen = seen.ids  # ids that the model has not seen yet
        self._inputs = seen.inputs  # of the first pass
        self._cache: Any = None
        self._answer = answer
        self._top = generation.sampling.logprobs
        self._sampler = Sampler(
            generation.temperature,
            generation.top_p,
            generation.seed,
            generation.sampling,
            device,
        )

    def work(self) -> None:
        """Generate the answer. Every exit puts a final item into the queue."""
        try:
            with torch.inference_mode():
                self._forget()
                while self._answer.finish is None:
                    if self.cancelled.is_set():
                        raise WorkerError(503, "the generation was cancelled")
                    self._step()
        except WorkerError as error:
            self._put(error)
        except EngineError as error:
            self._put(worker_error(error))
        except Exception as error:  # last resort: the reader of the queue must not wait forever
            message = f"the model failed: {type(error).__name__}: {error}"
            self._put(WorkerError(502, message, reason="aborted"))

    def _forget(self) -> None:
        """Let the model forget where the images of the last prompt were."""
        if getattr(self._model.base_model, "rope_deltas", None) is not None:
            self._model.base_model.rope_deltas = None

    def _step(self) -> None:
        shown: tuple[int, ...] = ()
        for token, logprob in self._certain(self._answer.forced()) or [self._next()]:
            self._unseen.append(token)
            self._sampler.take(token)
            shown += self._answer.take(token, logprob)
            if self._answer.finish is not None:
                break
        if shown or self._answer.finish is not None:
            self._put(self._answer.chunk(shown))

    def _certain(self, tokens: list[int]) -> list[tuple[int, TokenLogprob | None]]:
        """Return tokens without alternatives, with their log probabilities if asked for."""
        if self._top is None:
            return [(token, None) for token in tokens]
        return [(token, TokenLogprob.certain(token, self._top)) for token in tokens]

    def _next(self) -> tuple[int, TokenLogprob | None]:
        certain = self._answer.certain(self._answer.allowed())
        if certain is not None:
            return self._certain([certain])[0]
        ids = torch.tensor([self._unseen], device=self._device)
        output = self._model(
            input_ids=ids,
            past_key_values=self._cache,
            use_cache=True,
            logits_to_keep=1,
            **{name: each.to(self._device) for name, each in self._inputs.items()},
        )
        self._cache = output.past_key_values
        self._unseen, self._inputs = [], {}
        token = self._sampler.draw(output.logits[0, -1], self._answer.mask.raw)
        return token, self._sampler.logprob

    def _put(self, item: Chunk | WorkerError) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.queue.put_nowait, item)
