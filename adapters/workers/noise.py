"""The noise worker: draws uniformly among the tokens that the grammar allows.

It needs neither a model nor torch. It shows what the grammar alone guarantees and is a hard test,
because nothing steers the output towards its end: text continues until a stop token or a closing
quote happens to be drawn, or ``max_tokens`` is reached.

Determinism      one seed and one spec give one output, on every machine and whatever PYTHONHASHSEED
                 is: draws come from Mersenne Twister's ``random()``, seeded with the request's
                 integer or, without one, with the worker's own seed and a running number.
Ignored          ``temperature``, ``top_p`` and the options that only shape probabilities (SHAPING):
                 any temperature leaves equal probabilities equal, and a choice among equals would
                 be arbitrary. The prompt is counted, not read, and its images are ignored.
                 ``min_tokens`` and ``ignore_eos`` hold. ``logit_bias`` is not supported: a ban that
                 does not hold would be a wrong answer.
Logprobs         of the uniform draw: all allowed tokens have the same. The drawn token is the first
                 of the most likely ones, others follow by id.
Threads          everything on the event loop, which gets its turn after every batch of tokens;
                 compiling and counting a long prompt that is text run in other threads.
"""

import asyncio
import math
import random
from collections.abc import AsyncGenerator, Mapping
from types import MappingProxyType

from engine import Compiler, EngineError

from .base import (
    SHAPING,
    Chunk,
    Generation,
    Health,
    Receive,
    Run,
    TokenLogprob,
    WorkerError,
)
from .generator_run import GeneratorRun
from .inprocess import Answer, compile_spec, worker_error
from .noise_vocabulary import Encoder

#: tokens drawn before the event loop gets its turn and the client a chunk; a warm token costs some
#: microseconds, a cold one up to a millisecond
BATCH = 16
#: texts up to this many characters are tokenized on the event loop, in 2 ms; 4 MiB take 0.6 s
SHORT_PROMPT = 10_000


def draw(bits: int, width: int, chance: float) -> int:
    """Return the index of a set bit of ``bits``, uniformly for a uniform ``chance`` in [0, 1).

    Bisection by counting bits: about log2(width) steps and no list of the allowed ids.
    """
    rank = int(chance * bits.bit_count())
    index = 0
    while width > 1:
        half = width // 2
        low = bits & ((1 << half) - 1)
        below = low.bit_count()
        if rank < below:
            bits, width = low, half
        else:
            bits, width, rank, index = bits >> half, width - half, rank - below, index + half
    return index


def uniform(bits: int, drawn: int, top: int) -> TokenLogprob:
    """Return the log probability of a token drawn uniformly among the set bits of ``bits``."""
    logprob = math.log(1 / bits.bit_count())
    best = [drawn][:top]
    others = bits & ~(1 << drawn)
    while others and len(best) < top:
        lowest = others & -others
        best.append(lowest.bit_length() - 1)
        others ^= lowest
    return TokenLogprob(logprob, tuple((token, logprob) for token in best))


class NoiseWorker:
    """See the file's header. ``seed`` makes the sequence of unseeded requests repeatable."""

    name = "noise"
    supported_sampling = frozenset([*SHAPING, "min_tokens", "ignore_eos", "logprobs"])
    max_model_len: int | None = None
    sees_images = True
    adapters: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self,
        compiler: Compiler,
        *,
        seed: int | None = None,
        model: str = "noise",
        batch: int = BATCH,
    ) -> None:
        vocabulary = compiler.vocabulary
        self.model = model
        self.description = (
            f"noise: no model; uniform draws among the allowed of {vocabulary.size:,} tokens, "
            "parameters that only shape probabilities have no effect"
        )
        self._compiler = compiler
        self._encode = vocabulary.encode or Encoder(vocabulary.tokens, vocabulary.special_token_ids)
        self._seed = random.randrange(1 << 64) if seed is None else seed
        self._batch = batch
        self._unseeded = 0
        self._closed = False

    async def start(self) -> None:
        """Do nothing: there is no model to load."""

    def run(self, generation: Generation, receive: Receive) -> Run:
        return GeneratorRun(self.generate(generation), receive)

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Yield the chunks of one generation."""
        rng = self._rng(generation.seed)
        compiled = await compile_spec(self._compiler, generation.spec)
        answer = Answer(
            compiled,
            self._compiler.vocabulary,
            generation,
            limit=generation.max_tokens,
            prompt_tokens=await self._count(generation.prompt),
        )
        while answer.finish is None:
            await asyncio.sleep(0)
            if self._closed:
                raise WorkerError(503, "the worker is shutting down", reason="unavailable")
            ids = self._step(answer, rng, generation.sampling.logprobs)
            if ids or answer.finish is not None:
                yield answer.chunk(ids)

    async def _count(self, prompt: str | list[int]) -> int:
        if isinstance(prompt, list):
            return len(prompt)
        if len(prompt) <= SHORT_PROMPT:
            return len(self._encode(prompt))
        return len(await asyncio.to_thread(self._encode, prompt))

    def _rng(self, seed: int | None) -> random.Random:
        if seed is not None:
            return random.Random(seed)
        self._unseeded += 1
        return random.Random(f"{self._seed}/{self._unseeded}")

    def _step(self, answer: Answer, rng: random.Random, top: int | None) -> tuple[int, ...]:
        """Draw one batch of tokens; return those that may be shown."""
        shown: list[int] = []
        try:
            for _ in range(self._batch):
                bits = answer.allowed()
                token = draw(bits, answer.mask.width, rng.random())
                logprob = None if top is None else uniform(bits, token, top)
                shown += answer.take(token, logprob)
                if answer.finish is not None:
                    break
        except EngineError as error:
            raise worker_error(error) from error
        return tuple(shown)

    async def health(self) -> Health:
        if self._closed:
            return Health(False, "shut down")
        return Health(
            True, details={"worker": self.name, "vocabulary": self._compiler.vocabulary.size}
        )

    async def aclose(self) -> None:
        self._closed = True
