"""Shapes of real models, whose weights are random, and the folders from which SGLang starts them.

Representation   a folder has config.json, the tokenizer (tokenizer_files) and no weights: servers
                 run with ``--load-format dummy``.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..vocabularies import load
from .tokenizer_files import write_tokenizer

#: bytes of a number in float32 on a CPU and in bfloat16 on a GPU
NUMBER_BYTES = {"cpu": 4, "cuda": 2}
CONTEXT = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A shape. ``vocabulary``: the model's; ``width``: of its logits, None: its vocabulary's."""

    architecture: str
    kind: str
    vocabulary: str
    width: int | None
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    inner: int
    theta: float
    tied: bool = False

    def config(self, width: int, stop: int) -> dict[str, Any]:
        """Return the configuration in Hugging Face's terms."""
        return {
            "architectures": [self.architecture],
            "model_type": self.kind,
            "vocab_size": width,
            "hidden_size": self.hidden,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.kv_heads,
            "head_dim": self.head,
            "intermediate_size": self.inner,
            "max_position_embeddings": CONTEXT,
            "rope_theta": self.theta,
            "rms_norm_eps": 1e-5,
            "hidden_act": "silu",
            "attention_bias": False,
            "tie_word_embeddings": self.tied,
            "eos_token_id": stop,
            "torch_dtype": "bfloat16",
        }

    def parameters(self, width: int) -> int:
        """Return the number of weights of all layers, without the small norms."""
        attention = 2 * self.hidden * self.head * (self.heads + self.kv_heads)
        layer = attention + 3 * self.hidden * self.inner
        return self.layers * layer + width * self.hidden * (1 if self.tied else 2)

    def memory_bytes(self, width: int, tokens: int, device: str) -> int:
        """Return bytes of the weights, and of the keys and values of this many tokens."""
        cached = 2 * self.layers * self.kv_heads * self.head * tokens
        return NUMBER_BYTES[device] * (self.parameters(width) + cached)


SHAPES = {
    "tiny": Shape(
        architecture="LlamaForCausalLM", kind="llama", vocabulary="llama3", width=None, hidden=64,
        layers=2, heads=4, kv_heads=2, head=16, inner=128, theta=10_000.0,
    ),
    "qwen3-0.6b": Shape(
        architecture="Qwen3ForCausalLM", kind="qwen3", vocabulary="qwen3", width=151_936,
        hidden=1024, layers=28, heads=16, kv_heads=8, head=128, inner=3072, theta=1e6, tied=True,
    ),
    "llama-3.1-8b": Shape(
        architecture="LlamaForCausalLM", kind="llama", vocabulary="llama3", width=128_256,
        hidden=4096, layers=32, heads=32, kv_heads=8, head=128, inner=14_336, theta=500_000.0,
    ),
}  # fmt: skip


def width_of(shape: Shape, vocabulary: str) -> int:
    """Return the width of the logits: the model's with its own vocabulary."""
    if vocabulary == shape.vocabulary and shape.width is not None:
        return shape.width
    return len(load(vocabulary).tokens)


def write_model(folder: Path, shape: Shape, vocabulary: str) -> Path:
    """Return the folder of such a model; the tokenizer's files are created once.

    Raises:
        RuntimeError: the tokenizer does not encode as the vocabulary does.
    """
    stop = load(vocabulary).stop
    write_tokenizer(folder, vocabulary)
    config = shape.config(width_of(shape, vocabulary), stop)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": stop}))
    return folder
