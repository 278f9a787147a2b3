"""Log probabilities of workers: one for each token, of the distribution it was drawn from."""

import math
from typing import Any

import pytest

from adapters.workers import Chunk, Generation, NoiseWorker, SamplingOptions, WorkerError
from adapters.workers.sglang_run import most_bytes
from engine import Compiler, Matcher

from .helpers import check_invariants, collect, ids_of, noise_compiler, run, tag
from .sglang_fakes import Server, ask, event, streamed

SPECS = {
    "letters": tag({"type": "regex", "pattern": "[a-c]{9}(xyz){3}[0-9]*"}),
    "json": tag({"type": "json_schema", "json_schema": {"enum": ["ab", "ac", 12]}}),
    "text": None,
}


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return noise_compiler()


def noise(compiler: Compiler, spec: str | None, top: int | None, **more: Any) -> list[Chunk]:
    options = SamplingOptions(logprobs=top)
    asked = Generation("r", "a", spec, 60, seed=3, sampling=options, **more)
    return run(collect(NoiseWorker(compiler), asked))


@pytest.mark.parametrize("top", [0, 1, 20])
@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS)
def test_noise_reports_a_distribution_over_the_allowed_tokens(
    compiler: Compiler, spec: str | None, top: int
) -> None:
    """The drawn token is present, forbidden ones are absent, the sum is at most 1, and 1 if all
    allowed tokens are listed.
    """
    chunks = noise(compiler, spec, top)
    check_invariants(chunks)
    any_text = tag({"type": "any_text"})
    matcher = Matcher(compiler.compile_structural_tag(spec or any_text))
    for chunk in chunks:
        for token, found in zip(chunk.token_ids, chunk.logprobs, strict=True):
            listed = dict(found.top)
            assert len(listed) == len(found.top) <= top
            assert all(_accepts(matcher, other) for other in listed)
            assert listed.get(token, found.logprob) == found.logprob
            assert token in listed or not top
            total = sum(map(math.exp, listed.values()))
            assert total <= 1 + 1e-9
            if len(listed) < top:
                assert total == pytest.approx(1)
            assert matcher.accept_token(token)


def _accepts(matcher: Matcher, token: int) -> bool:
    if not matcher.accept_token(token):
        return False
    if not matcher.is_terminated():
        matcher.rollback(1)
        return True
    matcher.rollback(1)
    return True


def test_what_was_not_asked_for_is_not_reported(compiler: Compiler) -> None:
    """And asking does not change the draws."""
    without = noise(compiler, SPECS["letters"], None)
    assert all(chunk.logprobs == () for chunk in without)
    assert ids_of(without) == ids_of(noise(compiler, SPECS["letters"], 20))


def test_tokens_held_back_for_a_stop_string_keep_their_log_probabilities(
    compiler: Compiler,
) -> None:
    plain, stopped = (noise(compiler, SPECS["letters"], 2, stop=stop) for stop in ((), ("zx",)))
    flat = [found for chunk in stopped for found in chunk.logprobs]
    assert len(flat) == len(ids_of(stopped)) < len(ids_of(plain))
    assert flat == [found for chunk in plain for found in chunk.logprobs][: len(flat)]


# -- SGLang ----------------------------------------------------------------------------------------

LOWEST = -3.4028234663852886e38
#: (log probability, id, text) of two tokens, and of the most likely ones at their positions
TOKENS: list[Any] = [[-0.5, 5, None], [-20000, 6, None]]
TOPS: list[Any] = [[[-0.5, 5, None], [-1.5, 9, None], [LOWEST, 8, None]], [[-0.25, 7, None]]]


def with_logprobs(made: dict[str, Any], tokens: list[Any], tops: list[Any]) -> dict[str, Any]:
    made["meta_info"] |= {"output_token_logprobs": tokens, "output_top_logprobs": tops}
    return made


END = {"type": "length", "length": 2}
CUMULATIVE = (
    with_logprobs(event([5], 1), TOKENS[:1], TOPS[:1]),
    with_logprobs(event([5, 6], 2, END), TOKENS, TOPS),
)
INCREMENTAL = (
    with_logprobs(event([5], 1), TOKENS[:1], TOPS[:1]),
    with_logprobs(event([6], 2, END), TOKENS[1:], TOPS[1:]),
)


def sglang(server: Server, top: int | None, **more: Any) -> list[Chunk]:
    return run(collect(server.worker(), ask(sampling=SamplingOptions(logprobs=top), **more)))


@pytest.mark.parametrize("events", [CUMULATIVE, INCREMENTAL], ids=["cumulative", "incremental"])
@pytest.mark.parametrize("stop", [(), ("never",)])
def test_sglangs_log_probabilities(events: Any, stop: tuple[str, ...]) -> None:
    """Forbidden tokens are dropped; -9999 is the lowest value."""
    chunks = sglang(streamed(*events), 3, stop=stop)
    check_invariants(chunks)
    assert ids_of(chunks) == [5, 6]
    assert [found for chunk in chunks for found in chunk.logprobs] == [
        (-0.5, ((5, -0.5), (9, -1.5))),
        (-9999.0, ((7, -0.25),)),
    ]


def test_the_request_for_log_probabilities() -> None:
    """A server that repeats all of them in each event is asked for larger events."""
    bodies = []
    for top, info in [(None, {}), (0, {}), (7, {}), (7, {"incremental_streaming_output": True})]:
        server = streamed(*CUMULATIVE)
        worker = server.worker()
        worker._judge({"grammar_backend": "switchyard", **info})
        run(collect(worker, ask(sampling=SamplingOptions(logprobs=top), max_tokens=640)))
        bodies += server.sent("/generate")
    assert [
        (
            body.get("return_logprob"),
            body.get("top_logprobs_num"),
            body["sampling_params"].get("stream_interval"),
        )
        for body in bodies
    ] == [(None, None, None), (True, 0, 5), (True, 7, 5), (True, 7, None)]


def test_events_may_be_larger_with_log_probabilities() -> None:
    without, few, many = (
        most_bytes(ask(max_tokens=1000, sampling=SamplingOptions(logprobs=top)))
        for top in (None, 0, 20)
    )
    assert many - few == 20 * (few - without)
    assert few - without >= 1000 * len("[-0.00012345678901234567,2147483647,null],")


BROKEN: dict[str, tuple[Any, Any]] = {
    "none": (None, TOPS),
    "too few": ([], TOPS),
    "of another token": ([[-0.5, 7, None]], TOPS),
    "text": ([["-0.5", 5, None]], TOPS),
    "null": ([[None, 5, None]], TOPS),
    "true": ([[True, 5, None]], TOPS),
    "a number": ([-0.5], TOPS),
    "an object": ({"0": 1}, TOPS),
    "no tops": (TOKENS, None),
    "too few tops": (TOKENS, []),
    "a top without an id": (TOKENS, [[[-0.5]]]),
    "a negative id": (TOKENS, [[[-0.5, -5, None]]]),
    "a top of null": (TOKENS, [[[None, 5, None]]]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_log_probabilities_of_a_broken_server_are_refused(name: str) -> None:
    tokens, tops = BROKEN[name]
    with pytest.raises(WorkerError, match="not an event of SGLang") as caught:
        sglang(streamed(with_logprobs(event([5], 1, END), tokens, tops)), 3)
    assert (caught.value.status, caught.value.reason) == (502, "protocol")


def test_ids_beyond_the_vocabulary_are_dropped_from_the_most_likely() -> None:
    """A model's logits may be wider than its vocabulary."""
    tops = [[[-0.5, 5, None], [-0.7, 10**6, None]]]
    (chunk,) = sglang(streamed(with_logprobs(event([5], 1, END), TOKENS[:1], tops)), 2)
    assert chunk.logprobs[0].top == ((5, -0.5),)
