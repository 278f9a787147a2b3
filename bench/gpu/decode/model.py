"""Llama's decoder for one token of each row, with random weights and a static cache.

Representation   weights of a layer as vLLM and SGLang fuse them: query, key and value in one
                 matrix, gate and up in another. Keys and values: (layers, rows, heads, slots,
                 head), a slot for each position of a row.
Invariants       I1 a pass reads and writes memory of fixed addresses, so that it can be a graph.
                 I2 a row sees its own slots up to its position, and nothing of other rows.
Cost             a pass reads all weights, and all slots of all rows.
Not here         prompts: every row begins behind one prompt whose keys and values are in the cache,
                 as with a prefix cache. That leaves the least time to hide the cost of grammars.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import linear, rms_norm, scaled_dot_product_attention, silu

from ..shapes import Shape

#: standard deviation of the weights, as Llama's are initialised
DEVIATION = 0.02
EPSILON = 1e-5


@dataclass(frozen=True, slots=True)
class Layer:
    """Weights of a layer."""

    attention_norm: torch.Tensor
    qkv: torch.Tensor
    out: torch.Tensor
    mlp_norm: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor


class Decoder:
    """See the file's header. ``rows``: maximum rows; ``slots``: positions of a row."""

    def __init__(
        self, shape: Shape, width: int, *, rows: int, slots: int, device: str, dtype: torch.dtype
    ) -> None:
        self.shape, self.width, self.slots, self.device = shape, width, slots, device
        self._options: dict[str, Any] = {"device": device, "dtype": dtype}
        hidden, heads, groups, head = shape.hidden, shape.heads, shape.kv_heads, shape.head
        self.embedding = self._random(width, hidden)
        self.layers = [
            Layer(
                attention_norm=self._ones(hidden),
                qkv=self._random((heads + 2 * groups) * head, hidden),
                out=self._random(hidden, heads * head),
                mlp_norm=self._ones(hidden),
                gate_up=self._random(2 * shape.inner, hidden),
                down=self._random(hidden, shape.inner),
            )
            for _ in range(shape.layers)
        ]
        self.norm = self._ones(hidden)
        self.head = self.embedding if shape.tied else self._random(width, hidden)
        cached = (shape.layers, rows, groups, slots, head)
        self._keys, self._values = (
            torch.empty(cached, **self._options).normal_() for _ in range(2)
        )
        self._rows = torch.arange(rows, device=device)
        self._places = torch.arange(slots, device=device)
        self._cos, self._sin = self._angles()

    def forward(self, tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Return the next token's logits in float32, (rows, width); the pass fills the positions'
        slots. ``tokens``, ``positions``: int64, (rows,).
        """
        x = self.embedding[tokens]
        turn = self._cos[positions][:, None], self._sin[positions][:, None]
        hidden = (self._places > positions[:, None])[:, None, None]
        seen = torch.zeros_like(hidden, dtype=x.dtype).masked_fill(hidden, float("-inf"))
        for number, layer in enumerate(self.layers):
            x = x + self._attention(number, layer, x, positions, turn, seen)
            gate, up = linear(self._normal(x, layer.mlp_norm), layer.gate_up).chunk(2, -1)
            x = x + linear(silu(gate) * up, layer.down)
        return linear(self._normal(x, self.norm), self.head).float()

    def _attention(
        self,
        number: int,
        layer: Layer,
        x: torch.Tensor,
        positions: torch.Tensor,
        turn: tuple[torch.Tensor, torch.Tensor],
        seen: torch.Tensor,
    ) -> torch.Tensor:
        shape, rows = self.shape, len(x)
        heads, groups, head = shape.heads, shape.kv_heads, shape.head
        mixed = linear(self._normal(x, layer.attention_norm), layer.qkv).view(rows, -1, head)
        query, key, value = mixed.split([heads, groups, groups], 1)
        at = self._rows[:rows]
        keys, values = self._keys[number][:rows], self._values[number][:rows]
        keys[at, :, positions] = _turned(key, *turn)
        values[at, :, positions] = value
        # The query heads of a group share its keys, so they are the rows of one matrix. With
        # enable_gqa and a mask, torch would copy the keys for each of them.
        grouped = _turned(query, *turn).view(rows, groups, heads // groups, head)
        mask = seen.expand(rows, groups, heads // groups, self.slots)
        found = scaled_dot_product_attention(grouped, keys, values, attn_mask=mask)
        return linear(found.reshape(rows, heads * head), layer.out)

    def _normal(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return rms_norm(x, (self.shape.hidden,), weight, EPSILON)

    def _angles(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return cosines and sines of rotary positions, (slots, head)."""
        steps = torch.arange(0, self.shape.head, 2, device=self.device).float()
        speeds = self.shape.theta ** (-steps / self.shape.head)
        angles = torch.outer(self._places.float(), speeds).repeat(1, 2)
        dtype = self._options["dtype"]
        return angles.cos().to(dtype), angles.sin().to(dtype)

    def _random(self, *size: int) -> torch.Tensor:
        return torch.empty(size, **self._options).normal_(std=DEVIATION)

    def _ones(self, size: int) -> torch.Tensor:
        return torch.ones(size, **self._options)


def _turned(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate by the position, with Llama's halves."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Pass:
    """The pass of a batch on fixed tensors: on a GPU a graph, else the same code.

    ``tokens``, ``positions``: its input, int64, (rows,). ``logits``: of the last run.
    """

    def __init__(self, decoder: Decoder, rows: int, *, is_graph: bool) -> None:
        self._decoder, self.is_graph = decoder, is_graph
        self.tokens, self.positions = (
            torch.zeros(rows, dtype=torch.int64, device=decoder.device) for _ in range(2)
        )
        if is_graph:
            self._capture()
        else:
            self.logits = decoder.forward(self.tokens, self.positions)

    def _capture(self) -> None:
        # cuBLAS and Triton allocate at their first calls, which a graph must not contain
        other = torch.cuda.Stream()
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            for _ in range(3):
                self._decoder.forward(self.tokens, self.positions)
        torch.cuda.current_stream().wait_stream(other)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self.logits = self._decoder.forward(self.tokens, self.positions)

    def run(self) -> torch.Tensor:
        """Queue the pass; return its logits, which the next run overwrites."""
        if self.is_graph:
            self._graph.replay()
        else:
            self.logits = self._decoder.forward(self.tokens, self.positions)
        return self.logits
