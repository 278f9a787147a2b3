"""Arguments and environment of the servers."""

import os
from collections.abc import Sequence

from tests.sglang.platforms import CPU, Platform

#: tokens per request, including its prompt, and the minimum for all: prompts with tools
REQUEST_TOKENS, LEAST_TOKENS = 512, 32_768


def platform(device: str, *, has_flashinfer: bool) -> Platform:
    """Return arguments close to SGLang's defaults: on a GPU CUDA graphs and overlapping batches."""
    if device == "cpu":
        return Platform({**CPU.options, "--load-format": "dummy"}, CPU.environment)
    options = {
        "--host": "127.0.0.1",
        "--device": device,
        "--dtype": "bfloat16",
        "--load-format": "dummy",
        "--context-length": CPU.options["--context-length"],
    }
    if not has_flashinfer:
        options |= {"--attention-backend": "triton", "--sampling-backend": "pytorch"}
    kept = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "TOKENIZERS_PARALLELISM", "NO_PROXY")
    environment = {name: CPU.environment[name] for name in (*kept, "no_proxy")}
    return Platform(options, {**environment, "PYTHONPATH": os.environ.get("PYTHONPATH", "")})


def tokens_kept(batches: Sequence[int]) -> int:
    """Return the number of tokens in the key-value cache."""
    return max(LEAST_TOKENS, REQUEST_TOKENS * max(batches))


def arguments(batches: Sequence[int], more: Sequence[str] = ()) -> list[str]:
    """Return the environment; ``more`` takes precedence over the platform's."""
    return [
        "--constrained-json-disable-any-whitespace",
        *("--max-running-requests", str(max(batches))),
        *("--max-total-tokens", str(tokens_kept(batches))),
        *("--random-seed", "1"),
        *more,
    ]
