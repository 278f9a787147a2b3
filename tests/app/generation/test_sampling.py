"""Sampling options: carried to the worker, refused by name where the workers lack them."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from adapters.workers import Chunk, SamplingOptions, TokenLogprob
from app.errors import ApiError
from tests.app.examples import TOOLS, json_schema
from tests.app.service.scripted import Service, script

ROOT = Path(__file__).parents[3]
END = "<|im_end|>"
#: (name, value, the option that the worker gets)
OPTIONS: list[tuple[str, Any, Any]] = [
    ("top_k", 40, 40),
    ("min_p", 0.05, 0.05),
    ("frequency_penalty", 0.5, 0.5),
    ("presence_penalty", -1, -1),
    ("repetition_penalty", 1.1, 1.1),
    ("logit_bias", {"5": -100, "511": 0.5, "7": 0}, ((5, -100), (511, 0.5))),
    ("min_tokens", 3, 3),
    ("ignore_eos", True, True),
    ("stop_token_ids", [5, 5, 6, 494], (5, 6)),
]
NAMES = [name for name, _, _ in OPTIONS]
#: values that leave the output as it is
OFF: list[tuple[str, Any]] = [
    *((name, None) for name in NAMES),
    ("top_k", -1),
    ("top_k", 0),
    ("top_k", 512),
    ("min_p", 0),
    ("frequency_penalty", 0),
    ("presence_penalty", 0.0),
    ("repetition_penalty", 1),
    ("logit_bias", {}),
    ("logit_bias", {"5": 0}),
    ("min_tokens", 0),
    ("ignore_eos", False),
    ("stop_token_ids", []),
    ("stop_token_ids", [494, 505]),
]


def service(*supported: str, **settings: Any) -> Service:
    made = Service(script(f"a{END}"), **settings)
    made.worker.supported_sampling = frozenset(supported)
    return made


async def refused(made: Service, **asked: Any) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await made.complete(**asked)
    assert caught.value.status == 400
    assert made.worker.asked == []
    return caught.value


def test_a_field_that_shapes_probabilities_has_three_sources():
    """CONTRIBUTING.md lists them for a new field: all other files know it from these."""
    sources = {
        str(path.relative_to(ROOT))
        for room in ("app", "adapters", "cache")
        for path in (ROOT / room).rglob("*.py")
        if re.search(r"\bmin_p\b", path.read_text("utf-8"))
    }
    assert sources == {
        "app/protocol/sampling_fields.py",
        "adapters/workers/base.py",
        "adapters/workers/sampling.py",
    }


@pytest.mark.parametrize(("name", "value", "carried"), OPTIONS, ids=NAMES)
async def test_an_option_is_carried_to_a_worker_that_supports_it(
    name: str, value: Any, carried: Any
):
    made = service(name)
    await made.complete(**{name: value})
    (asked,) = made.worker.asked
    assert asked.sampling == SamplingOptions(**{name: carried})


@pytest.mark.parametrize(("name", "value", "carried"), OPTIONS, ids=NAMES)
async def test_an_option_that_the_workers_lack_is_refused_by_name(
    name: str, value: Any, carried: Any
):
    others = [other for other in NAMES if other != name]
    error = await refused(service(*others), **{name: value})
    assert (error.param, error.code) == (name, "unsupported_parameter")
    assert f"'{name}' is not supported by the workers" in error.message


@pytest.mark.parametrize(("name", "value"), OFF)
async def test_a_value_that_is_off_needs_no_support(name: str, value: Any):
    made = service()
    await made.complete(**{name: value})
    assert made.worker.asked[0].sampling == SamplingOptions()


@pytest.mark.parametrize("name", ["logit_bias", "stop_token_ids"])
async def test_ids_beyond_the_vocabulary_are_refused(name: str):
    made = service(*NAMES)
    value: Any = {"512": 1} if name == "logit_bias" else [512]
    error = await refused(made, **{name: value})
    assert error.param == name
    assert "below 512, got 512" in error.message


async def test_min_tokens_are_at_most_max_tokens():
    made = service("min_tokens")
    error = await refused(made, min_tokens=78, max_completion_tokens=77)
    assert (error.param, error.code) == ("min_tokens", "integer_above_max_value")
    assert "<= 77" in error.message
    await made.complete(min_tokens=77, max_completion_tokens=77)


@pytest.mark.parametrize("name", ["min_tokens", "ignore_eos"])
@pytest.mark.parametrize(
    "constraint",
    [
        {"tools": TOOLS},
        {"response_format": json_schema({"type": "object"})},
        {"response_format": {"type": "json_object"}, "messages": [
            {"role": "user", "content": "JSON"}]},
    ],
    ids=["tools", "schema", "object"],
)  # fmt: skip
async def test_the_end_of_a_constrained_answer_is_its_grammars(
    name: str, constraint: dict[str, Any]
):
    """A server that forbids the only token that the grammar allows draws an arbitrary one."""
    value = 2 if name == "min_tokens" else True
    error = await refused(service(name), **{name: value}, **constraint)
    assert (error.param, error.code) == (name, "unsupported_parameter")
    assert "beside tools or a response format" in error.message


@pytest.mark.parametrize("reasoning", ["on", "off"])
def test_free_text_may_be_told_when_to_end(reasoning: str):
    made = service(*NAMES, reasoning=reasoning)
    asyncio.run(made.complete(min_tokens=2, tools=TOOLS, tool_choice="none"))
    assert made.worker.asked[0].sampling.min_tokens == 2


#: fields, and the number of most likely tokens that the worker gets
LOGPROBS: list[tuple[dict[str, Any], int | None]] = [
    ({}, None),
    ({"logprobs": None, "top_logprobs": None}, None),
    ({"logprobs": False}, None),
    ({"logprobs": False, "top_logprobs": 0}, None),
    ({"logprobs": True}, 0),
    ({"logprobs": True, "top_logprobs": None}, 0),
    ({"logprobs": True, "top_logprobs": 11}, 11),
]


@pytest.mark.parametrize(("fields", "top"), LOGPROBS)
async def test_log_probabilities_are_carried_to_the_worker(fields: dict[str, Any], top: int | None):
    made = service("logprobs")
    steps = [
        step._replace(logprobs=(TokenLogprob(0.0),) * len(step.token_ids))
        for step in made.worker.scripts[0]
        if isinstance(step, Chunk)
    ]
    made.worker.scripts = (list(steps),)
    await made.complete(**fields)
    assert made.worker.asked[0].sampling == SamplingOptions(logprobs=top)


@pytest.mark.parametrize("top", [None, 0, 3])
async def test_workers_without_log_probabilities_refuse_them_by_name(top: int | None):
    error = await refused(service(*NAMES), logprobs=True, top_logprobs=top)
    assert (error.param, error.code) == ("logprobs", "unsupported_parameter")
    assert "'logprobs' is not supported by the workers" in error.message


@pytest.mark.parametrize("fields", [{"top_logprobs": 3}, {"logprobs": False, "top_logprobs": 1}])
async def test_alternatives_without_log_probabilities_are_refused(fields: dict[str, Any]):
    error = await refused(service("logprobs"), **fields)
    assert error.param == "top_logprobs"
    assert "only allowed when 'logprobs' is enabled" in error.message
