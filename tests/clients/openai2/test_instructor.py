"""Instructor: its modes for OpenAI's API, and streams of partial models."""

from collections.abc import Iterable
from typing import Any

import instructor
import openai
import pytest
from instructor import Mode
from pydantic import BaseModel

from ..served import Served
from ..shapes import PROMPT, SHAPES, STRICT_SHAPES, Place, Weather

#: what users set; nothing of it may be refused
OPTIONS: dict[str, Any] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "max_tokens": 30_000,
    "presence_penalty": 0.1,
    "extra_body": {"top_k": 40, "min_p": 0.05},
}
#: for an answer that only chance brings
TRIES = 100
MESSAGES: Any = [{"role": "user", "content": PROMPT}]


def client(served: Served, mode: Mode) -> instructor.Instructor:
    plain = openai.OpenAI(base_url=served.url, api_key="none", max_retries=0)
    return instructor.from_openai(plain, mode=mode)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mode", [Mode.TOOLS, Mode.JSON_SCHEMA])
@pytest.mark.parametrize("seed", range(3))
def test_a_type(served: Served, seed: int, mode: Mode, shape: type[BaseModel]) -> None:
    """Without retries: what noise writes must fit at the first try."""
    answer = client(served, mode).create(
        model="noise", messages=MESSAGES, response_model=shape, max_retries=0, seed=seed,
        **OPTIONS,
    )  # fmt: skip
    assert isinstance(answer, shape)


@pytest.mark.filterwarnings("ignore:Mode.TOOLS_STRICT is deprecated")
@pytest.mark.parametrize("shape", STRICT_SHAPES)
def test_strict_tools(served: Served, shape: type[BaseModel]) -> None:
    for seed in range(3):
        answer = client(served, Mode.TOOLS_STRICT).create(
            model="noise", messages=MESSAGES, response_model=shape, max_retries=0, seed=seed
        )
        assert isinstance(answer, shape)


def test_json_mode(served: Served) -> None:
    """The schema stands in the prompt only: a type that every object is of."""

    class Anything(BaseModel):
        pass

    answer = client(served, Mode.JSON).create(
        model="noise", messages=MESSAGES, response_model=Anything, max_retries=0, seed=1
    )
    assert isinstance(answer, Anything)


def test_parallel_tools(served: Served) -> None:
    """Instructor asks with ``auto``; noise, which mostly answers with text, is asked again."""
    answers = list(
        client(served, Mode.PARALLEL_TOOLS).create(
            model="noise", messages=MESSAGES, response_model=Iterable[Weather | Place],
            max_retries=TRIES,
        )
    )  # fmt: skip
    assert answers
    assert {type(answer) for answer in answers} <= {Weather, Place}


@pytest.mark.parametrize("mode", [Mode.TOOLS, Mode.JSON_SCHEMA])
def test_a_stream_of_partial_models(served: Served, mode: Mode) -> None:
    parts = list(
        client(served, mode).create_partial(
            model="noise", messages=MESSAGES, response_model=Weather, max_retries=0, seed=2,
            strict=False, **OPTIONS,
        )
    )  # fmt: skip
    Weather.model_validate(parts[-1].model_dump())
