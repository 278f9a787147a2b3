"""Sampling of a token from a row of logits under a mask (torch, on the device of the logits).

Order            penalties and biases on the logits, mask, temperature, top_k, top_p, min_p. The
                 last three consider allowed tokens only, as in servers that mask before they
                 sample. A bias cannot override the mask.
Penalties        count the answer's tokens, not the prompt's, as in SGLang.
Determinism      a torch.Generator with the request's seed; one random number for each token that
                 is not greedy. Generators of a CPU and of a GPU draw different numbers.
Logprobs         of the distribution after temperature, before top_k, as in SGLang.
Not here         the model, the grammar.
"""

from collections import Counter

import torch

from .base import SHAPING, SamplingOptions, TokenLogprob

#: the SamplingOptions that act on a row of logits
SAMPLER_OPTIONS = (*SHAPING, "logit_bias")
OFF = SamplingOptions()


class Sampler:
    """The sampler of one generation. ``temperature`` 0 (or below 1e-6) is greedy. ``logprob`` is
    that of the last drawn token, if the options ask for it. ``device``: that of the logits.
    """

    def __init__(
        self,
        temperature: float,
        top_p: float,
        seed: int | None,
        options: SamplingOptions = OFF,
        device: str = "cpu",
    ) -> None:
        self._options = options
        self._counts: Counter[int] = Counter()
        self._temperature = temperature
        self._top_p = max(top_p, 1e-6)
        self.logprob: TokenLogprob | None = None
        self._rng = torch.Generator(device)
        if seed is None:
            self._rng.seed()
        else:
            self._rng.manual_seed(seed % (1 << 63))

    def take(self, token: int) -> None:
        """Count a token of the answer for penalties."""
        self._counts[token] += 1

    def draw(self, logits: torch.Tensor, raw_mask: bytearray) -> int:
        """Draw an allowed token. ``logits``: float, shape (width,). ``raw_mask``: a bitset, lowest
        bit first.

        The model may be wider than the vocabulary (padding is never drawn) or narrower.

        Raises:
            ValueError: the model can produce none of the allowed tokens.
        """
        scores = masked(shifted(logits, self._options, self._counts), raw_mask)
        is_greedy = self._temperature < 1e-6
        token = int(scores.argmax()) if is_greedy else self._sampled(scores)
        if self._options.logprobs is not None:
            heat = 1.0 if is_greedy else self._temperature
            self.logprob = logprob_of(scores / heat, token, self._options.logprobs)
        return token

    def _sampled(self, scores: torch.Tensor) -> int:
        options = self._options
        if 0 < options.top_k < len(scores):
            best = scores.topk(options.top_k)
            scores = torch.full_like(scores, float("-inf")).index_copy(0, best.indices, best.values)
        chances = torch.softmax(scores / self._temperature, dim=-1)
        if self._top_p < 1.0:
            chances = nucleus(chances, self._top_p)
        if options.min_p > 0.0:
            chances = chances.masked_fill(chances < options.min_p * chances.max(), 0.0)
        return int(torch.multinomial(chances, 1, generator=self._rng))


def shifted(logits: torch.Tensor, options: SamplingOptions, counts: Counter[int]) -> torch.Tensor:
    """Return the logits with penalties and biases; ids beyond the model's width have none."""
    biases = dict(options.logit_bias)
    ids = [token for token in biases.keys() | counts.keys() if token < logits.shape[-1]]
    if options == OFF or not ids:
        return logits
    device = logits.device
    times = torch.tensor([float(counts[token]) for token in ids]).to(device)
    at = torch.tensor(ids).to(device)
    scores = logits.float().clone()
    chosen = scores[at]
    scaled = torch.where(
        chosen < 0, chosen * options.repetition_penalty, chosen / options.repetition_penalty
    )
    chosen = torch.where(times > 0, scaled, chosen)
    chosen -= options.frequency_penalty * times
    chosen -= options.presence_penalty * (times > 0)
    scores[at] = chosen + torch.tensor([biases.get(token, 0.0) for token in ids]).to(device)
    return scores


def logprob_of(scores: torch.Tensor, token: int, top: int) -> TokenLogprob:
    """Return the log probability of ``token`` and of the ``top`` most likely allowed tokens.

    ``scores``: float, shape (width,); minus infinity for forbidden tokens.
    """
    logprobs = torch.log_softmax(scores, dim=-1)
    best = logprobs.topk(min(top, len(logprobs)))
    pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    allowed = tuple((number, value) for number, value in pairs if value > float("-inf"))
    return TokenLogprob(float(logprobs[token]), allowed)


def masked(logits: torch.Tensor, raw_mask: bytearray) -> torch.Tensor:
    """Return scores in float32: minus infinity for forbidden tokens and for NaN."""
    allowed = unpacked(raw_mask, logits.device)[: logits.shape[-1]]
    scores = logits[: len(allowed)].float()
    scores = scores.masked_fill(~allowed | scores.isnan(), float("-inf"))
    if not bool((scores > float("-inf")).any()):
        raise ValueError("the model gives no probability to any token that the grammar allows")
    return scores


def unpacked(raw_mask: bytearray, device: torch.device) -> torch.Tensor:
    """Return a bitset, lowest bit first, as booleans on the device."""
    packed = torch.frombuffer(raw_mask, dtype=torch.uint8).to(device)
    bits = packed.unsqueeze(1) >> torch.arange(8, dtype=torch.uint8, device=device)
    return (bits & 1).flatten().bool()


def nucleus(chances: torch.Tensor, top_p: float) -> torch.Tensor:
    """Zero all but the most likely tokens whose sum reaches ``top_p``; keep at least one."""
    ordered, order = chances.sort(descending=True)
    beyond = ordered.cumsum(-1) - ordered >= top_p
    return chances.index_fill(0, order[beyond], 0.0)
