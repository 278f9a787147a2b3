"""Shared parts of workers in the gateway's process: compiling, masks, the end of an answer.

Representation   a RowMask is one row of int32 words, 32 tokens a word, bit set = allowed; the same
                 bytes read as one little-endian integer have bit t set when token t is allowed.
Threads          an Answer belongs to one generation and one thread at a time.
Not here         drawing a token (each worker's own), stop strings (stop_strings).
"""

import asyncio

from engine import (
    Compiled,
    Compiler,
    EngineError,
    InternalError,
    LimitExceeded,
    Matcher,
    SpecError,
    Vocabulary,
    WorkBudget,
    from_caches,
)

from .base import Chunk, FinishReason, Generation, TokenLogprob, WorkerError
from .stop_strings import StopGate

#: the spec of an unconstrained generation: any text and control tokens until a stop token
ANY_TEXT = '{"type":"structural_tag","format":{"type":"any_text"}}'


async def compile_spec(compiler: Compiler, spec: str | None) -> Compiled:
    """Return the compiled spec: at once if it is kept, else compiled off the event loop.

    Raises:
        WorkerError: 400 for an invalid spec, 500 for a fault of the engine.
    """

    def work(budget: WorkBudget | None = None) -> Compiled:
        return compiler.compile_structural_tag(spec or ANY_TEXT, budget=budget)

    try:
        # the look takes some microseconds; another thread would wait for the GIL
        kept = from_caches(work)
        return await asyncio.to_thread(work) if kept is None else kept
    except EngineError as error:
        raise worker_error(error) from error


def worker_error(error: EngineError) -> WorkerError:
    """Return the engine's error as a worker's."""
    refused = isinstance(error, SpecError | LimitExceeded)
    return WorkerError(400 if refused else 500, str(error))


class RowMask:
    """The allowed tokens of one matcher. ``raw`` is 8 tokens a byte, lowest bit first."""

    def __init__(self, size: int) -> None:
        words = (size + 31) // 32
        self.raw = bytearray(4 * words)
        self.width = 32 * words
        self._buffer = memoryview(self.raw).cast("B").cast("i", (1, words))

    def fill(self, matcher: Matcher) -> int:
        """Return the matcher's mask as an integer.

        Raises:
            InternalError: the mask is empty, which is a bug.
        """
        matcher.fill_bitmask(self._buffer)
        bits = int.from_bytes(self.raw, "little")
        if not bits:
            raise InternalError("the mask allows no token at all")
        return bits

    def keep(self, bits: int) -> int:
        """Make ``bits`` the mask, and return it."""
        self.raw[:] = bits.to_bytes(len(self.raw), "little")
        return bits


class Answer:
    """The state of one generation: mask, grammar, stop strings, count and end.

    ``limit`` is the maximum number of tokens. Add no token once ``finish`` is set.
    """

    def __init__(
        self,
        compiled: Compiled,
        vocabulary: Vocabulary,
        generation: Generation,
        *,
        limit: int,
        prompt_tokens: int,
    ) -> None:
        self.mask = RowMask(vocabulary.size)
        self.finish: FinishReason | None = None
        self._matcher = Matcher(compiled)
        self._tokens: list[bytes] = vocabulary.tokens
        self._has_encode = vocabulary.encode is not None
        self._stops = frozenset(vocabulary.stop_token_ids)
        self._stop_bits = sum(1 << token for token in self._stops)
        self._gate = StopGate(generation.stop)
        self._limit = limit
        self._prompt_tokens = prompt_tokens
        self._made = 0
        self._least = generation.sampling.least_tokens(limit)
        #: of the tokens that no chunk has shown yet
        self._logprobs: list[TokenLogprob] = []

    def allowed(self) -> int:
        """Return the tokens that may come next, bit t for token t; ``mask.raw`` holds the same.

        No stop token before the least number of tokens, unless the grammar allows nothing else.
        """
        bits = self.mask.fill(self._matcher)
        if self._made >= self._least:
            return bits
        others = bits & ~self._stop_bits
        return self.mask.keep(others) if others else bits

    def certain(self, allowed: int) -> int | None:
        """Return the token that comes next whatever the model says, of those allowed; None: the
        model has a choice. Between several stop tokens there is none: the answer ends.
        """
        if allowed & (allowed - 1) == 0 or allowed & ~self._stop_bits == 0:
            return (allowed & -allowed).bit_length() - 1
        return None

    def forced(self) -> list[int]:
        """Return tokens that must come next, as the model's tokenizer writes them; often none.

        The grammar would also allow the same text cut differently, which a model has rarely seen.
        """
        return self._matcher.forced_tokens() if self._has_encode else []

    def take(self, token: int, logprob: TokenLogprob | None = None) -> tuple[int, ...]:
        """Add an allowed token; return the ids that may be shown now, at the end all others.

        ``logprob``: the token's, if the request asked for it.

        Raises:
            InternalError: mask and matcher disagree.
        """
        if not self._matcher.accept_token(token):
            raise InternalError(f"the mask allowed token {token}, the matcher refuses it")
        self._made += 1
        if logprob is not None:
            self._logprobs.append(logprob)
        if token in self._stops:
            self.finish = "stop"
            return (*self._gate.flush(), token)
        shown = self._gate.push((token,), self._tokens[token])
        if self._gate.hit is not None:
            self.finish = "stop"
        elif self._made >= self._limit:
            self.finish = "length"
        return shown if self.finish is None else shown + self._gate.flush()

    def chunk(self, ids: tuple[int, ...]) -> Chunk:
        """Return the chunk of ids that ``take`` returned."""
        hit = self._gate.hit
        logprobs: tuple[TokenLogprob, ...] = ()
        if self._logprobs:
            logprobs = tuple(self._logprobs[: len(ids)])
            del self._logprobs[: len(ids)]
        return Chunk(
            ids,
            finish_reason=self.finish,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._made,
            stop_text=hit.text if hit else None,
            trim=hit.trim if hit else 0,
            logprobs=logprobs,
        )
