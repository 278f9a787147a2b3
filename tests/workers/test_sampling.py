"""Drawing from masked logits: only allowed tokens, in the right proportions."""

from collections import Counter

import pytest

torch = pytest.importorskip("torch", reason="the extra 'embedded' is not installed")


from adapters.workers import SamplingOptions  # noqa: E402
from adapters.workers.sampling import (  # noqa: E402
    SAMPLER_OPTIONS,
    Sampler,
    masked,
    nucleus,
    shifted,
    unpacked,
)


def packed(bits: str) -> bytearray:
    """One character a token, first token first."""
    return bytearray(int(bits[at : at + 8][::-1], 2) for at in range(0, len(bits), 8))


def test_masked_logits() -> None:
    """Forbidden, padded and broken numbers are out; a model narrower than the mask is cut to
    fit.
    """
    nan = float("nan")
    logits = torch.tensor([5.0, 1.0, nan, 3.0, 9.0])
    assert masked(logits, packed("01110000")).tolist()[1:] == [
        1.0,
        float("-inf"),
        3.0,
        float("-inf"),
    ]
    assert masked(torch.zeros(20), packed("11111111")).shape == (8,)
    with pytest.raises(ValueError, match="no probability"):
        masked(logits, packed("00000111"))


def test_nucleus_keeps_the_smallest_set_that_reaches_top_p() -> None:
    chances = torch.tensor([0.1, 0.5, 0.15, 0.25])
    for top_p, kept in [
        (0.0001, [1]),
        (0.5, [1]),
        (0.51, [1, 3]),
        (0.8, [1, 2, 3]),
        (0.999, [0, 1, 2, 3]),
    ]:
        assert nucleus(chances, top_p).nonzero().flatten().tolist() == kept


def test_samples_follow_the_probabilities() -> None:
    """4,000 draws at temperature 2 from logits 0, 2, 4 under a mask that forbids the best token."""
    sampler = Sampler(2.0, 1.0, 0)
    logits = torch.tensor([0.0, 2.0, 4.0, 99.0])
    drawn = [sampler.draw(logits, packed("11100000")) for _ in range(4000)]
    expected = torch.softmax(torch.tensor([0.0, 1.0, 2.0]), 0) * 4000
    assert max(abs(drawn.count(n) - float(expected[n])) for n in range(3)) < 150


#: options, and the logits 2, -2, 1, 4 under them after an answer of the tokens 0, 0, 1
SHIFTED = [
    (SamplingOptions(), [2.0, -2.0, 1.0, 4.0]),
    (SamplingOptions(frequency_penalty=0.5), [1.0, -2.5, 1.0, 4.0]),
    (SamplingOptions(presence_penalty=-0.5), [2.5, -1.5, 1.0, 4.0]),
    (SamplingOptions(repetition_penalty=2.0), [1.0, -4.0, 1.0, 4.0]),
    (SamplingOptions(logit_bias=((0, 1.0), (2, -3.0), (9, 5.0))), [3.0, -2.0, -2.0, 4.0]),
    (SamplingOptions(repetition_penalty=2.0, frequency_penalty=0.5), [0.0, -4.5, 1.0, 4.0]),
]


@pytest.mark.parametrize(("options", "expected"), SHIFTED)
def test_penalties_count_the_answer_and_biases_shift_logits(
    options: SamplingOptions, expected: list[float]
) -> None:
    logits = torch.tensor([2.0, -2.0, 1.0, 4.0])
    assert shifted(logits, options, Counter([0, 0, 1])).tolist() == expected
    assert logits.tolist() == [2.0, -2.0, 1.0, 4.0]


@pytest.mark.parametrize(
    ("options", "drawn"),
    [
        (SamplingOptions(), {0, 1, 2, 3}),
        (SamplingOptions(top_k=1), {0}),
        (SamplingOptions(top_k=2), {0, 1}),
        (SamplingOptions(top_k=99), {0, 1, 2, 3}),
        (SamplingOptions(min_p=0.5), {0, 1}),
        (SamplingOptions(min_p=1.0), {0}),
        (SamplingOptions(logit_bias=((0, -100.0), (4, 100.0))), {1, 2, 3}),
    ],
)
def test_options_leave_only_some_of_the_allowed_tokens(
    options: SamplingOptions, drawn: set[int]
) -> None:
    """The mask forbids token 4, the likeliest; a bias can't lift that."""
    logits = torch.tensor([3.0, 2.5, 1.5, 1.0, 9.0, 0.0, 0.0, 0.0])
    sampler = Sampler(1.0, 1.0, 0, options)
    assert {sampler.draw(logits, packed("11110000")) for _ in range(400)} == drawn


def test_every_option_that_acts_on_logits_is_named() -> None:
    names = {name for options, _ in SHIFTED for name in options.active}
    assert names | {"top_k", "min_p"} == set(SAMPLER_OPTIONS)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 2.0])
def test_log_probabilities_are_those_of_the_masked_and_heated_logits(temperature: float) -> None:
    """Before top_k and min_p; greedy at temperature 1; the forbidden token 3 is absent."""
    logits = torch.tensor([3.0, 1.0, 2.0, 9.0, 0.0, 0.0, 0.0, 0.0])
    options = SamplingOptions(top_k=1, min_p=0.5, logprobs=4)
    sampler = Sampler(temperature, 0.5, 0, options)
    assert sampler.draw(logits, packed("11100000")) == 0
    wanted = torch.log_softmax(torch.tensor([3.0, 1.0, 2.0]) / (temperature or 1.0), 0).tolist()
    assert sampler.logprob is not None
    assert sampler.logprob.logprob == pytest.approx(wanted[0])
    assert [number for number, _ in sampler.logprob.top] == [0, 2, 1]
    assert [value for _, value in sampler.logprob.top] == pytest.approx(
        [wanted[0], wanted[2], wanted[1]]
    )


def test_everything_of_a_draw_lies_on_the_device_of_the_logits() -> None:
    """The device "meta" computes nothing, but refuses to mix its tensors with those of a CPU."""
    options = SamplingOptions(top_k=3, frequency_penalty=0.5, logit_bias=((1, 2.0),))
    logits = torch.zeros(8, device="meta", dtype=torch.bfloat16)
    assert shifted(logits, options, Counter({2: 1})).device.type == "meta"
    assert unpacked(packed("11110110"), logits.device).device.type == "meta"
