"""A decode loop in torch, as a worker of the gateway, that records what the mask does to the model.

Steps        a sampled step: the model's most likely token with its probability, whether the mask
             forbids it, the share of the probability that the mask keeps, and the token that was
             taken. Probabilities are the model's own, at temperature 1, before the mask.
Forced text  needs no pass of its own: the model reads it together with the next token. The loop
             counts how many of its tokens the model would not have written.
Cache        keys and values of the last prompt and answer: the same prompt in another way is not
             read again.
"""

import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from transformers import DynamicCache

from adapters.workers import Chunk, Generation, Health, Receive, Run, WorkerError
from adapters.workers.generator_run import GeneratorRun

from .grammars import Row
from .steps import Step

#: characters before a step that a record keeps
SHOWN_BEFORE = 60


@dataclass
class Trace:
    """One answer, or several.

    ``unwanted``: forced tokens that are not the model's most likely ones there.
    ``mask_s``: the seconds of each mask; ``decode_s``: those behind the pass that reads the prompt,
    and ``decoded``: the tokens behind that pass.
    """

    steps: list[Step] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    passes: int = 0
    forced: int = 0
    unwanted: int = 0
    mask_s: list[float] = field(default_factory=list)
    decode_s: float = 0.0
    decoded: int = 0

    def extend(self, other: "Trace") -> None:
        """Add another answer's measurements."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


class Model:
    """A model on the CPU, and the cache of the last sequence."""

    def __init__(self, model: Any) -> None:
        self._model, self._ids, self._cache = model.eval(), [], DynamicCache()

    @property
    def width(self) -> int:
        return self._model.get_input_embeddings().num_embeddings

    @property
    def context(self) -> int:
        return self._model.config.max_position_embeddings

    def logits(self, ids: list[int], count: int) -> torch.Tensor:
        """Return the logits behind the last ``count`` ids, shape (count, width)."""
        same = 0
        while same < min(len(self._ids), len(ids) - count) and self._ids[same] == ids[same]:
            same += 1
        if same == 0:
            self._cache = DynamicCache()
        elif same < len(self._ids):
            self._cache.crop(same - len(self._ids))
        with torch.inference_mode():
            output = self._model(
                torch.tensor([ids[same:]]), past_key_values=self._cache, logits_to_keep=count
            )
        self._ids = list(ids)
        return output.logits[0].float()


class RecordingWorker:
    """A worker of the gateway: one model, the masks of one way. ``trace``: of the last answer."""

    name = "quality"
    description = "a decode loop that records"
    supported_sampling: frozenset[str] = frozenset()
    sees_images = False

    def __init__(self, model: Model, name: str, vocabulary: Any, grammar: Any) -> None:
        self.model, self.trace = name, Trace()
        self._model, self._grammar, self._tokens = model, grammar, vocabulary.tokens
        self._stops = frozenset(vocabulary.stop_token_ids)
        # either may be wider: models are padded, and tokenizers have tokens that models lack
        self._width = min(model.width, vocabulary.size)

    @property
    def max_model_len(self) -> int:
        return self._model.context

    async def start(self) -> None:
        pass

    async def health(self) -> Health:
        return Health(True)

    async def aclose(self) -> None:
        pass

    def run(self, generation: Generation, receive: Receive) -> Run:
        return GeneratorRun(self.generate(generation), receive)

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Yield the whole answer as one chunk. Raises WorkerError for a refused grammar."""
        self.trace = trace = Trace()
        try:
            row = self._grammar.start(generation.spec, generation.spec_kind)
        except Exception as error:  # each library has its own
            raise WorkerError(400, f"{type(error).__name__}: {error}"[:300]) from error
        draw = torch.Generator().manual_seed(generation.seed or 0)
        finish = self._advance(generation, row, draw, trace)
        start, first = time.perf_counter(), len(trace.tokens)
        while finish is None:
            finish = self._advance(generation, row, draw, trace)
        trace.decode_s = time.perf_counter() - start
        trace.decoded = len(trace.tokens) - first
        yield Chunk(
            tuple(trace.tokens),
            finish_reason=finish,
            prompt_tokens=len(generation.prompt),
            completion_tokens=len(trace.tokens),
        )

    def _advance(
        self, generation: Generation, row: Row, draw: torch.Generator, trace: Trace
    ) -> Any:
        """Add forced tokens and a sampled one; return the finish reason, if any."""
        forced = row.forced()[: generation.max_tokens - len(trace.tokens)]
        finish = None
        for token in forced:
            finish = self._take(token, generation, row, trace)
        trace.forced += len(forced)
        ids = [*generation.prompt, *trace.tokens]
        logits = self._model.logits(ids, len(forced) + 1)[:, : self._width]
        best = logits.argmax(-1).tolist()
        trace.unwanted += sum(a != b for a, b in zip(best, forced, strict=False))
        if finish is not None:
            return finish
        allowed = self._mask(row, trace)
        if allowed is not None and self._stops.issuperset(allowed.nonzero()[0].tolist()):
            # the end is forced and needs no pass: the one above was for the figures alone
            trace.tokens.append(min(self._stops))
            trace.forced += 1
            trace.unwanted += best[-1] not in self._stops
            return "stop"
        trace.passes += 1
        token = self._sampled(logits[-1], allowed, generation.temperature, draw, trace)
        return self._take(token, generation, row, trace)

    def _mask(self, row: Row, trace: Trace) -> Any:
        """Return the next mask as booleans, and record its time; None: everything is allowed."""
        start = time.perf_counter()
        row.fill()
        seconds, allowed = time.perf_counter() - start, row.allowed()
        if allowed is None:
            return None
        trace.mask_s.append(seconds)
        if not allowed[: self._width].any():
            raise RuntimeError("the mask allows no token at all")
        return allowed[: self._width]

    def _sampled(
        self,
        logits: torch.Tensor,
        allowed: Any,
        temperature: float,
        draw: torch.Generator,
        trace: Trace,
    ) -> int:
        """Return the next token, and record the step."""
        probabilities = logits.softmax(-1)
        wanted, kept, is_masked = int(logits.argmax()), 1.0, False
        if allowed is not None:
            mask = torch.from_numpy(allowed)
            kept, is_masked = float(probabilities[mask].sum()), not mask[wanted]
            logits = logits.masked_fill(~mask, float("-inf"))
        if temperature:
            shares = (logits / temperature).softmax(-1)
            token = int(torch.multinomial(shares, 1, generator=draw))
        else:
            token = int(logits.argmax())
        before = b"".join(self._tokens[each] for each in trace.tokens[-SHOWN_BEFORE:])
        trace.steps.append(
            Step(
                before=before.decode("utf-8", "replace")[-SHOWN_BEFORE:],
                wanted=self._text(wanted),
                wanted_p=round(float(probabilities[wanted]), 4),
                is_masked=bool(is_masked),
                kept=round(kept, 4),
                taken=self._text(token),
                taken_p=round(float(probabilities[token]), 4),
            )
        )
        return token

    def _text(self, token: int) -> str:
        if token in self._stops:
            return "(end)"
        return self._tokens[token].decode("utf-8", "replace") or f"(token {token})"

    def _take(self, token: int, generation: Generation, row: Row, trace: Trace) -> Any:
        row.take(token)
        trace.tokens.append(token)
        if token in self._stops:
            return "stop"
        return "length" if len(trace.tokens) >= generation.max_tokens else None
