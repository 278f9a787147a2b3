"""The parts of the kit: arguments of ``python -m bench.gpu``, and limits in seconds.

With the engine's build, which takes about a minute on 16 cores, the limits add up to ten minutes.
"""

from typing import NamedTuple

#: for all parts, with installing and building
MAX_MINUTES = 10.0


class Part(NamedTuple):
    """``may_lack``: a machine without its requirements is no failure."""

    name: str
    arguments: tuple[str, ...]
    seconds: float
    may_lack: bool = False


#: vocabularies of 128k, 152k and 201k tokens: llama3, qwen3, o200k_harmony
WIDTHS = "128256,151936,201088"
FULL = (
    Part("kernel", ("kernel", "--widths", WIDTHS, "--seconds", "1.5"), 90),
    Part("decode", ("decode", "--shape", "llama-3.1-8b", "--limit", "200"), 270),
    Part("gateway", ("gateway", "--shape", "qwen3-0.6b", "--answers", "16"), 90),
    Part(
        "sglang",
        ("steps", "throughput", "first-text", "--batches", "1,16", "--seconds", "1", "--sets", "5"),
        90,
        may_lack=True,
    ),
)
#: the same code in a minute or two, on a CPU
TINY = (
    Part(
        "kernel", ("kernel", "--batches", "1,4", "--widths", "1000,4096", "--seconds", "0.02"), 60
    ),
    Part(
        "decode",
        ("decode", "--batches", "1,4", "--limit", "8", "--steps", "100", "--prompt", "16"),
        240,
    ),
    Part("gateway", ("gateway", "--vocabulary", "qwen3", "--answers", "4"), 240),
    Part("sglang", ("probe",), 120, may_lack=True),
)
