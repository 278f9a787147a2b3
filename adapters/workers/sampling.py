"""Drawing one token from a row of logits under a mask (torch, on the CPU).

Order            penalties and biases on the logits, mask, temperature, top_k, nucleus, min_p: the
                 last three count allowed tokens only, as a server that masks before it samples
                 does. A bias can't lift the mask.
Penalties        count the answer's tokens, not the prompt's, as SGLang does.
Determinism      a torch.Generator with the request's seed; one number drawn for every token that
                 isn't greedy.
Not here         the model, the grammar.
"""

from collections import Counter

import torch

from .base import SamplingOptions

#: the SamplingOptions that act on a row of logits
SAMPLER_OPTIONS = (
    "top_k",
    "min_p",
    "frequency_penalty",
    "presence_penalty",
    "repetition_penalty",
    "logit_bias",
)
OFF = SamplingOptions()


class Sampler:
    """Temperature, nucleus, seed and options of one generation. ``temperature`` 0 (or below 1e-6)
    is greedy.
    """

    def __init__(
        self, temperature: float, top_p: float, seed: int | None, options: SamplingOptions = OFF
    ) -> None:
        self._options = options
        self._counts: Counter[int] = Counter()
        self._temperature = temperature
        self._top_p = max(top_p, 1e-6)
        self._rng = torch.Generator()
        if seed is None:
            self._rng.seed()
        else:
            self._rng.manual_seed(seed % (1 << 63))

    def take(self, token: int) -> None:
        """Count a token of the answer for the penalties."""
        self._counts[token] += 1

    def draw(self, logits: torch.Tensor, raw_mask: bytearray) -> int:
        """One allowed token. ``logits`` float (width,), ``raw_mask`` 8 tokens a byte, lowest bit
        first.

        The model may be wider than the vocabulary (padding: never drawn) or narrower (tokens that
        it can't produce are not drawn either).

        Raises:
            ValueError: the model can't produce any of the allowed tokens.
        """
        scores = masked(shifted(logits, self._options, self._counts), raw_mask)
        if self._temperature < 1e-6:
            return int(scores.argmax())
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
    """The logits under the penalties and biases; ids beyond the model's width have none."""
    biases = dict(options.logit_bias)
    ids = [token for token in biases.keys() | counts.keys() if token < logits.shape[-1]]
    if options == OFF or not ids:
        return logits
    times = torch.tensor([float(counts[token]) for token in ids])
    at = torch.tensor(ids)
    scores = logits.float().clone()
    chosen = scores[at]
    scaled = torch.where(
        chosen < 0, chosen * options.repetition_penalty, chosen / options.repetition_penalty
    )
    chosen = torch.where(times > 0, scaled, chosen)
    chosen -= options.frequency_penalty * times
    chosen -= options.presence_penalty * (times > 0)
    scores[at] = chosen + torch.tensor([biases.get(token, 0.0) for token in ids])
    return scores


def masked(logits: torch.Tensor, raw_mask: bytearray) -> torch.Tensor:
    """Scores in float32, minus infinity where the mask forbids or the model's number is not one."""
    packed = torch.frombuffer(raw_mask, dtype=torch.uint8)
    bits = (packed.unsqueeze(1) >> torch.arange(8, dtype=torch.uint8)) & 1
    width = min(logits.shape[-1], 8 * len(raw_mask))
    allowed = bits.flatten()[:width].bool()
    scores = logits[:width].float()
    scores = scores.masked_fill(~allowed | scores.isnan(), float("-inf"))
    if not bool((scores > float("-inf")).any()):
        raise ValueError("the model gives no probability to any token that the grammar allows")
    return scores


def nucleus(chances: torch.Tensor, top_p: float) -> torch.Tensor:
    """Zeroes all but the most likely tokens that together reach ``top_p``; at least one stays."""
    ordered, order = chances.sort(descending=True)
    beyond = ordered.cumsum(-1) - ordered >= top_p
    return chances.index_fill(0, order[beyond], 0.0)
