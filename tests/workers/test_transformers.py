"""The transformers worker on a tiny random model: the grammar holds, seeds repeat, one at a
time.
"""

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest

torch = pytest.importorskip("torch", reason="the extra 'embedded' is not installed")
transformers = pytest.importorskip("transformers", reason="the extra 'embedded' is not installed")

from adapters.workers import (  # noqa: E402
    Chunk,
    Generation,
    SamplingOptions,
    TransformersWorker,
    WorkerError,
)
from engine import Compiler  # noqa: E402

from .helpers import Held, check_invariants, collect, ids_of, run, started, tag  # noqa: E402
from .tiny_model import CONTEXT, PADDED  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 10}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
JSON = tag({"type": "json_schema", "json_schema": SCHEMA})
LETTERS = tag({"type": "regex", "pattern": "[a-z]{400}"})


def ask(**changes: Any) -> Generation:
    values: dict[str, Any] = {"rid": "r", "prompt": "def f(", "spec": JSON, "max_tokens": 400}
    return Generation(**values | {"seed": 1} | changes)


def answers(directory: Path, compiler: Compiler, *asked: Generation) -> list[list[Chunk]]:
    async def work() -> list[list[Chunk]]:
        worker = await started(directory, compiler)
        try:
            assert (await worker.health()).ready
            return list(await asyncio.gather(*(collect(worker, one) for one in asked)))
        finally:
            await worker.aclose()

    return run(work())


def test_json_is_valid_at_any_temperature(directory: Path, compiler: Compiler) -> None:
    settings = [(0.0, 1.0), (0.7, 0.9), (1.0, 1.0), (2.0, 0.5)]
    asked = [ask(temperature=t, top_p=p, seed=n) for n, (t, p) in enumerate(settings) for _ in "ab"]
    tokens = compiler.vocabulary.tokens
    for chunks in answers(directory, compiler, *asked):
        check_invariants(chunks)
        assert chunks[-1].finish_reason in ("stop", "length")
        text = b"".join(tokens[number] for number in ids_of(chunks))
        if chunks[-1].finish_reason == "stop":
            jsonschema.validate(json.loads(text.removesuffix(b"<|end|>")), SCHEMA)


def test_seeds_repeat_and_greedy_needs_none(directory: Path, compiler: Compiler) -> None:
    free = {"spec": LETTERS, "max_tokens": 40}
    same, again, other, greedy, greedy_too = answers(
        directory, compiler, ask(**free), ask(**free), ask(**free, seed=2),
        ask(**free, temperature=0.0), ask(**free, temperature=0.0, seed=None),
    )  # fmt: skip
    assert same == again
    assert ids_of(same) != ids_of(other)
    assert ids_of(greedy) == ids_of(greedy_too)


def test_sampling_options_reach_the_model(directory: Path, compiler: Compiler) -> None:
    """A random model's logits lie closer together than a penalty of 2; a bias of 100 decides."""
    asked: dict[str, Any] = {"spec": LETTERS, "max_tokens": 20, "temperature": 0.0}
    letter = compiler.vocabulary.tokens.index(b"q")
    options = [
        SamplingOptions(presence_penalty=2.0),
        SamplingOptions(logit_bias=((letter, 100.0),)),
    ]
    distinct, same = answers(
        directory, compiler, *(ask(**asked, sampling=option) for option in options)
    )
    assert len(set(ids_of(distinct))) == 20
    assert ids_of(same) == [letter] * 20


def test_the_cache_changes_nothing(directory: Path, compiler: Compiler) -> None:
    """Greedy tokens of the worker = the best allowed ones of a pass over all that came before."""
    encode = compiler.vocabulary.encode
    assert encode is not None
    prompt = list(encode("import json"))
    forced = {"type": "const_string", "value": "\x01\x02\x03"}
    letter = {"type": "regex", "pattern": "[a-z]{400}"}
    spec = tag({"type": "sequence", "elements": [forced, letter]})
    (chunks,) = answers(
        directory, compiler, ask(prompt=prompt, spec=spec, temperature=0.0, max_tokens=20)
    )
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    letters = [n for n, t in enumerate(compiler.vocabulary.tokens) if t.isalpha() and t.islower()]
    ids = list(prompt)
    for n, number in enumerate(ids_of(chunks)):
        if n >= 3:  # before these the grammar leaves one token each
            with torch.inference_mode():
                logits = model(input_ids=torch.tensor([ids])).logits[0, -1, letters]
            assert number == letters[int(logits.argmax())]
        ids.append(number)
    assert len(ids_of(chunks)) == 20


def test_a_gpu_that_is_not_there_is_named(directory: Path, compiler: Compiler) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    worker = TransformersWorker(directory, compiler, device="cuda")
    assert worker.description.endswith("in bfloat16 on cuda, one answer at a time")
    with pytest.raises(WorkerError, match="torch finds no CUDA device for cuda"):
        run(worker.start())


def test_stop_strings_and_the_context(directory: Path, compiler: Compiler) -> None:
    long = ask(spec=LETTERS, max_tokens=100_000, prompt=[5] * (CONTEXT - 10))
    stopped, cut = answers(directory, compiler, ask(spec=LETTERS, stop=("e", "t")), long)
    text = b"".join(compiler.vocabulary.tokens[n] for n in ids_of(stopped))
    shown = text[: len(text) - stopped[-1].trim]
    assert b"e" not in shown
    assert b"t" not in shown
    assert stopped[-1].stop_text in ("e", "t")
    assert (cut[-1].finish_reason, len(ids_of(cut))) == ("length", 10)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"prompt": [5] * CONTEXT}, "the model's context of 512"),
        ({"prompt": []}, "at least one token"),
        ({"prompt": [PADDED]}, "below 640"),
        ({"spec": tag({"type": "nonsense"})}, "nonsense"),
    ],
)
def test_refusals(directory: Path, compiler: Compiler, changes: Any, words: str) -> None:
    with pytest.raises(WorkerError, match=words) as caught:
        answers(directory, compiler, ask(**changes))
    assert caught.value.status == 400


@pytest.mark.parametrize("threads", [1, 2])
def test_torch_uses_as_many_threads_as_asked(
    tmp_path: Path, compiler: Compiler, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    asked: list[int] = []
    monkeypatch.setattr("adapters.workers.transformers.torch.set_num_threads", asked.append)

    async def work() -> None:
        worker = TransformersWorker(tmp_path, compiler, threads=threads)
        with pytest.raises(WorkerError):
            await worker.start()
        await worker.aclose()

    run(work())
    assert asked == [threads]


def test_a_directory_without_a_model(tmp_path: Path, compiler: Compiler) -> None:
    async def work() -> None:
        worker = TransformersWorker(tmp_path, compiler)
        with pytest.raises(WorkerError, match="cannot load a model"):
            await worker.start()
        health = await worker.health()
        assert not health.ready
        assert "cannot load a model" in health.reason
        with pytest.raises(WorkerError, match="cannot load a model"):
            await collect(worker, ask())
        await worker.aclose()

    run(work())


def test_cancelling_frees_the_thread(directory: Path, compiler: Compiler) -> None:
    """After a client has gone at most the pass under way is finished; the next request is
    served.
    """

    async def work() -> None:
        worker = await started(directory, compiler)
        held = worker._model = Held(worker._model)
        task = asyncio.create_task(collect(worker, ask(spec=LETTERS)))
        while not held.passes:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.go.set()
        chunks = await collect(worker, ask(spec=LETTERS, max_tokens=5))
        assert len(ids_of(chunks)) == 5
        assert held.passes <= 6
        await worker.aclose()

    run(work())


def test_the_queue_is_bounded(directory: Path, compiler: Compiler) -> None:
    """One request runs, two wait, and the fourth is refused."""

    async def work() -> None:
        worker = await started(directory, compiler, max_waiting=2)
        held = worker._model = Held(worker._model)
        tasks = [asyncio.create_task(collect(worker, ask(max_tokens=2))) for _ in range(3)]
        while len(worker._running) < 3:
            await asyncio.sleep(0.001)
        with pytest.raises(WorkerError, match="waiting") as caught:
            await collect(worker, ask())
        assert (caught.value.status, caught.value.reason) == (503, "unavailable")
        held.go.set()
        assert [len(ids_of(chunks)) for chunks in await asyncio.gather(*tasks)] == [2, 2, 2]
        await worker.aclose()

    run(work())


def test_closing_ends_what_runs(directory: Path, compiler: Compiler) -> None:
    async def work() -> None:
        worker = await started(directory, compiler)
        held = worker._model = Held(worker._model)
        tasks = [asyncio.create_task(collect(worker, ask(spec=LETTERS))) for _ in range(3)]
        while not held.passes or len(worker._running) < 3:
            await asyncio.sleep(0.001)
        closing = asyncio.create_task(worker.aclose())
        await asyncio.sleep(0)
        held.go.set()
        await closing
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert [getattr(end, "status", None) for end in ends] == [503] * 3
        with pytest.raises(WorkerError, match="shutting down"):
            await collect(worker, ask())

    run(work())


def test_a_model_that_fails_is_an_error(directory: Path, compiler: Compiler) -> None:
    async def work() -> None:
        worker = await started(directory, compiler)
        good, worker._model = worker._model, Held(worker._model)
        worker._model.model = lambda **inputs: 1 / 0
        worker._model.go.set()
        with pytest.raises(WorkerError, match="ZeroDivisionError") as caught:
            await collect(worker, ask())
        assert caught.value.status == 502
        worker._model = good
        assert await collect(worker, ask(max_tokens=3))
        await worker.aclose()

    run(work())


def test_each_token_has_its_log_probability(directory: Path, compiler: Compiler) -> None:
    """Those of certain tokens are 0; asking changes no draw."""
    options = SamplingOptions(logprobs=3)
    with_them, without = answers(directory, compiler, ask(sampling=options), ask())
    assert ids_of(with_them) == ids_of(without)
    assert all(chunk.logprobs == () for chunk in without)
    pairs = [pair for c in with_them for pair in zip(c.token_ids, c.logprobs, strict=True)]
    certain = [found for _, found in pairs if len(found.top) == 1]
    assert {found.logprob for found in certain} == {0.0}
    assert 0 < len(certain) < len(pairs)
    for token, found in pairs:
        assert sum(math.exp(value) for _, value in found.top) <= 1 + 1e-5
        assert dict(found.top).get(token, found.logprob) == pytest.approx(found.logprob, abs=1e-5)
