"""Drawing one token from a row of logits under a mask (torch, on the CPU).

Order            mask, then temperature, then nucleus: top_p counts allowed tokens only, as a server
                 that masks before it samples does.
Determinism      a torch.Generator with the request's seed; one number drawn for every token that
                 isn't greedy.
Not here         the model, the grammar.
"""

import torch


class Sampler:
    """Temperature, nucleus and seed of one generation. ``temperature`` 0 (or below 1e-6) is
    greedy.
    """

    def __init__(self, temperature: float, top_p: float, seed: int | None) -> None:
        self._temperature = temperature
        self._top_p = max(top_p, 1e-6)
        self._rng = torch.Generator()
        if seed is None:
            self._rng.seed()
        else:
            self._rng.manual_seed(seed % (1 << 63))

    def draw(self, logits: torch.Tensor, raw_mask: bytearray) -> int:
        """One allowed token. ``logits`` float (width,), ``raw_mask`` 8 tokens a byte, lowest bit
        first.

        The model may be wider than the vocabulary (padding: never drawn) or narrower (tokens that
        it can't produce are not drawn either).

        Raises:
            ValueError: the model can't produce any of the allowed tokens.
        """
        scores = masked(logits, raw_mask)
        if self._temperature < 1e-6:
            return int(scores.argmax())
        chances = torch.softmax(scores / self._temperature, dim=-1)
        if self._top_p < 1.0:
            chances = nucleus(chances, self._top_p)
        return int(torch.multinomial(chances, 1, generator=self._rng))


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
