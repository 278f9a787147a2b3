"""The noise worker: uniform, repeatable, bounded, interruptible, and always inside the grammar."""

import asyncio
import json
import random
import subprocess
import sys
import threading
from collections import Counter
from typing import Any

import jsonschema
import pytest

from adapters.workers import Chunk, Generation, NoiseWorker, SamplingOptions, WorkerError
from adapters.workers.noise import SHORT_PROMPT, draw
from engine import Compiler, Vocabulary

from .helpers import NOISE, check_invariants, collect, ids_of, noise_compiler, run, tag

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 30},
        "days": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 3},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}


CALL = tag(
    {
        "type": "tag",
        "begin": "<tool_call>\n",
        "content": {"type": "json_schema", "json_schema": SCHEMA},
        "end": "\n</tool_call>",
    }
)
LETTERS = tag({"type": "regex", "pattern": "[a-z]{200}"})


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return noise_compiler()


def ask(**changes: Any) -> Generation:
    values: dict[str, Any] = {"rid": "r", "prompt": "<|im_start|>hi", "spec": None}
    return Generation(**values | {"max_tokens": 2000, "seed": 1} | changes)


def text_of(chunks: list[Chunk]) -> bytes:
    text = b"".join(NOISE.tokens[number] for number in ids_of(chunks))
    return text[: len(text) - chunks[-1].trim]


def test_draw_reaches_every_set_bit_and_no_other() -> None:
    rng = random.Random(0)
    for width in (1, 2, 31, 32, 512, 100_000):
        bits = rng.getrandbits(width) | 1 << (width - 1)
        chosen = [n for n in range(width) if bits >> n & 1]
        for rank in {0, len(chosen) // 2, len(chosen) - 1}:
            assert draw(bits, width, (rank + 0.5) / len(chosen)) == chosen[rank]
        assert draw(bits, width, 1 - 2**-53) == chosen[-1]


@pytest.mark.parametrize("seed", range(20))
def test_a_call_is_a_valid_call(compiler: Compiler, seed: int) -> None:
    chunks = run(collect(NoiseWorker(compiler), ask(spec=CALL, seed=seed)))
    check_invariants(chunks)
    assert chunks[-1].finish_reason == "stop"
    assert ids_of(chunks)[-1] in NOISE.stop_ids
    body = text_of(chunks).removesuffix(NOISE.tokens[ids_of(chunks)[-1]])
    assert body.startswith(b"<tool_call>\n")
    assert body.endswith(b"\n</tool_call>")
    jsonschema.validate(json.loads(body[12:-13]), SCHEMA)


def test_draws_are_uniform(compiler: Compiler) -> None:
    """Chi-squared of the first letter of 5,200 answers, each of 26 tokens equally likely."""
    spec = tag({"type": "regex", "pattern": "[a-z]"})

    async def many() -> Counter[int]:
        worker = NoiseWorker(compiler, seed=0)
        firsts = [ids_of(await collect(worker, ask(spec=spec, seed=None)))[0] for _ in range(5200)]
        return Counter(firsts)

    counts = run(many())
    assert set(counts) == set(range(ord("a"), ord("z") + 1))
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 60  # 25 degrees: p < 0.0001


def test_a_seed_repeats_and_temperature_has_no_effect(compiler: Compiler) -> None:
    worker = NoiseWorker(compiler)
    first = run(collect(worker, ask(spec=LETTERS)))
    same = run(collect(worker, ask(spec=LETTERS, temperature=0.0, top_p=0.01)))
    other = run(collect(worker, ask(spec=LETTERS, seed=2)))
    assert first == same
    assert ids_of(first) != ids_of(other)


@pytest.mark.parametrize(
    ("options", "least"),
    [(SamplingOptions(min_tokens=199), 199), (SamplingOptions(ignore_eos=True), 200)],
)
def test_no_stop_token_comes_before_the_least_number_of_tokens(
    compiler: Compiler, options: SamplingOptions, least: int
) -> None:
    """One token in about a hundred would be a stop token, so 200 tokens without one are rare."""
    stops = set(compiler.vocabulary.stop_token_ids)
    for seed in range(8):
        chunks = run(
            collect(
                NoiseWorker(compiler),
                ask(spec=None, seed=seed, max_tokens=200, sampling=options),
            )
        )
        check_invariants(chunks)
        assert len(ids_of(chunks)) >= least
        assert not stops & set(ids_of(chunks)[:least])


def test_a_forced_end_comes_whatever_the_least_number_of_tokens_is(compiler: Compiler) -> None:
    spec = tag({"type": "regex", "pattern": "ab"})
    generation = ask(spec=spec, max_tokens=50, sampling=SamplingOptions(min_tokens=50))
    chunks = run(collect(NoiseWorker(compiler), generation))
    assert chunks[-1].finish_reason == "stop"
    assert ids_of(chunks)[-1] in compiler.vocabulary.stop_token_ids


def test_the_workers_seed_repeats_a_sequence(compiler: Compiler) -> None:
    async def two(seed: int | None) -> list[list[int]]:
        worker = NoiseWorker(compiler, seed=seed)
        return [ids_of(await collect(worker, ask(spec=LETTERS, seed=None))) for _ in range(2)]

    assert run(two(5)) == run(two(5))
    assert run(two(None)) != run(two(None))
    once, twice = run(two(5))
    assert once != twice


PROGRAM = """
import asyncio
from adapters.workers import Generation, NoiseWorker, noise_vocabulary
from engine import Compiler, Vocabulary
v = noise_vocabulary.load()
special = sorted(v.special.values())
compiler = Compiler(Vocabulary(v.tokens, stop_token_ids=v.stop_ids, special_token_ids=special))
async def main():
    for g in (Generation("a", "p", None, 300, seed=7), Generation("a", "p", None, 300)):
        worker = NoiseWorker(compiler, seed=3)
        print([i async for chunk in worker.generate(g) for i in chunk.token_ids])
asyncio.run(main())
"""


def test_hash_seeds_have_no_effect() -> None:
    """Another process with another PYTHONHASHSEED draws the same tokens."""
    texts = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(texts) == 1


@pytest.mark.parametrize("limit", [1, 15, 16, 17, 100])
def test_max_tokens(compiler: Compiler, limit: int) -> None:
    spec = tag({"type": "regex", "pattern": "[a-z ]{5000}"})
    chunks = run(collect(NoiseWorker(compiler), ask(spec=spec, max_tokens=limit)))
    check_invariants(chunks)
    assert chunks[-1].finish_reason == "length"
    assert len(ids_of(chunks)) == limit


def test_prompt_tokens_are_counted(compiler: Compiler) -> None:
    worker = NoiseWorker(compiler)
    assert run(collect(worker, ask(max_tokens=1)))[0].prompt_tokens == 3
    assert run(collect(worker, ask(max_tokens=1, prompt=[1] * 9)))[0].prompt_tokens == 9


@pytest.mark.parametrize(("size", "own"), [(SHORT_PROMPT, False), (SHORT_PROMPT + 1, True)])
def test_a_long_prompt_is_counted_off_the_event_loop(size: int, own: bool) -> None:
    """REGRESSION: a prompt of 4 MB stopped the event loop for 2 to 15 s."""
    threads: list[str] = []

    def encode(text: str) -> list[int]:
        threads.append(threading.current_thread().name)
        return NOISE.encode(text)

    vocabulary = Vocabulary(NOISE.tokens, stop_token_ids=NOISE.stop_ids, encode=encode)
    worker = NoiseWorker(Compiler(vocabulary))
    threads.clear()
    chunks = run(collect(worker, ask(max_tokens=1, prompt="\0" * size)))
    assert chunks[0].prompt_tokens == size
    assert [name != "MainThread" for name in threads] == [own]


@pytest.mark.parametrize("seed", range(30))
def test_stop_strings(compiler: Compiler, seed: int) -> None:
    """The answer ends before the first stop string, and no earlier chunk showed a part of it."""
    stops = ("ab", "qu", "zz")
    plain = text_of(run(collect(NoiseWorker(compiler), ask(spec=LETTERS, seed=seed))))
    chunks = run(collect(NoiseWorker(compiler), ask(spec=LETTERS, seed=seed, stop=stops)))
    check_invariants(chunks)
    ends = [plain.find(stop.encode()) for stop in stops if stop.encode() in plain]
    if not ends:
        assert text_of(chunks) == plain
        return
    assert text_of(chunks) == plain[: min(ends)]
    assert chunks[-1].stop_text == plain[min(ends) : min(ends) + 2].decode()
    assert chunks[-1].finish_reason == "stop"
    last = b"".join(NOISE.tokens[number] for number in chunks[-1].token_ids)
    assert chunks[-1].trim <= len(last)


def test_a_bad_spec_is_refused_before_the_first_chunk(compiler: Compiler) -> None:
    with pytest.raises(WorkerError) as caught:
        run(collect(NoiseWorker(compiler), ask(spec=tag({"type": "nonsense"}))))
    assert (caught.value.status, caught.value.reason) == (400, "refused")


def test_many_requests_interleave(compiler: Compiler) -> None:
    """A long answer does not hold up a short one: once all have begun, chunks come in turn."""

    async def work() -> list[str]:
        worker, order = NoiseWorker(compiler, seed=1), []
        begun = asyncio.Barrier(21)

        async def read(name: str, limit: int) -> None:
            spec = tag({"type": "regex", "pattern": "[a-z ]{5000}"})
            chunks = worker.generate(ask(spec=spec, max_tokens=limit))
            await anext(chunks)
            # compiling may take one longer than another
            await begun.wait()
            async for _ in chunks:
                order.append(name)

        await asyncio.gather(read("long", 2000), *(read("short", 64) for _ in range(20)))
        return order

    order = run(work())
    assert order[-1] == "long"


def test_cancelling_and_closing(compiler: Compiler) -> None:
    async def work() -> None:
        worker = NoiseWorker(compiler)
        spec = tag({"type": "regex", "pattern": "[a-z ]{50000}"})
        stream = worker.generate(ask(spec=spec, max_tokens=40_000))
        await anext(stream)
        await stream.aclose()
        task = asyncio.create_task(collect(worker, ask(spec=spec, max_tokens=40_000)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        stream = worker.generate(ask(spec=spec, max_tokens=40_000))
        await anext(stream)
        assert (await worker.health()).ready
        await worker.aclose()
        assert not (await worker.health()).ready
        with pytest.raises(WorkerError, match="shutting down") as caught:
            await anext(stream)
        assert caught.value.status == 503

    run(work())


def test_it_says_what_it_is(compiler: Compiler) -> None:
    assert "no model" in NoiseWorker(compiler).description
    assert "512 tokens" in NoiseWorker(compiler).description
