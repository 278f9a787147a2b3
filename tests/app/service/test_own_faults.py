"""A fault in a layer of ours, while a worker's answer is read, leaves the worker's record clean."""

from collections.abc import Callable
from typing import Any

import pytest

from adapters.formats import FormatPlan, Reader
from adapters.formats.reading.traced_reader import TracedReader
from adapters.workers import Chunk, TokenLogprob
from app.constraints.constraint_plan import ConstraintPlan
from app.errors import ApiError
from app.generation import choice_decoder
from app.generation.choice_decoder import ChoiceDecoder
from app.generation.choices import Choices
from app.generation.content_logprobs import ContentLogprobs
from app.generation.content_stops import ContentStops
from app.observability.request_record import RequestRecord
from app.pool.member import EJECT_AFTER
from app.writers.chat_objects import MessageBuilder
from tests.app.service.scripted import Service, Step, tokens

#: (owner, name) of a function in each layer that reads an answer
LAYERS: list[tuple[Any, str]] = [
    (ConstraintPlan, "parser"),
    (FormatPlan, "traced_reader"),
    (choice_decoder, "ChoiceDeltas"),
    (choice_decoder, "ChoiceEnd"),
    (Reader, "feed"),
    (Reader, "finish"),
    (TracedReader, "take_runs"),
    (ContentStops, "cut"),
    (ContentStops, "flush"),
    (ContentLogprobs, "feed"),
    (ContentLogprobs, "of"),
    (RequestRecord, "count"),
    (RequestRecord, "asked"),
    (Choices, "send_to"),
    (Choices, "_wait"),
    (ChoiceDecoder, "feed"),
    (MessageBuilder, "__init__"),
]
FAULTS: list[Callable[[], Exception]] = [
    lambda: IndexError("pop from an empty deque"),
    lambda: TimeoutError("ours"),
    lambda: OSError("ours"),
]


def answer() -> list[Step]:
    ids = tokens("a b<|im_end|>")
    numbers = tuple(TokenLogprob(-1.0) for _ in ids)
    return [
        Chunk(ids[:-1], None, 1, len(ids) - 1, logprobs=numbers[:-1]),
        Chunk(ids[-1:], "stop", 1, len(ids), logprobs=numbers[-1:]),
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda made: type(made()).__name__)
@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: f"{layer[0].__name__}.{layer[1]}")
async def test_no_layer_blames_the_worker(
    monkeypatch: pytest.MonkeyPatch, layer: tuple[Any, str], fault: Callable[[], Exception]
):
    """REGRESSION: an exception of the reader ejected the worker that had answered."""
    service = Service(answer(), reasoning="off")
    (member,) = service.pool.members
    member.worker.supported_sampling = frozenset({"logprobs"})
    await service.complete(logprobs=True)

    def broken(*_: Any, **__: Any) -> Any:
        raise fault()

    monkeypatch.setattr(*layer, broken)
    for _ in range(EJECT_AFTER + 1):
        with pytest.raises(ApiError) as caught:
            await service.complete(logprobs=True)
        assert caught.value.status >= 500
    assert (member.failures, member.outcomes.failures.total) == (0, 0)
    assert (member.state, service.pool.status) == ("closed", "ok")
