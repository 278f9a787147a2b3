"""The weight of a request decides whether reading it needs a thread."""

import pytest

from app.concurrency.offload import SMALL_BYTES
from app.generation import Call, GenerationRequest, Message, Text
from app.service.generation_service import PAIR_BYTES, TURN_BYTES, weight_of

#: from which on a further turn weighs the same
MANY = TURN_BYTES // PAIR_BYTES


def chat(messages: int, calls: int = 0) -> GenerationRequest:
    said = [Message("user", (Text("a"),)) for _ in range(messages - 1)]
    answer = Message("assistant", tuple(Call("f", "{}") for _ in range(calls)))
    return GenerationRequest(messages=(*said, answer))


@pytest.mark.parametrize(
    ("turns", "weight"),
    [
        (1, PAIR_BYTES),
        (2, 4 * PAIR_BYTES),
        (MANY - 1, (MANY - 1) ** 2 * PAIR_BYTES),
        (MANY, MANY * TURN_BYTES),
        (MANY + 1, (MANY + 1) * TURN_BYTES),
        (2048, 2048 * TURN_BYTES),
    ],
)
def test_few_turns_weigh_by_their_pairs_and_many_by_their_number(turns: int, weight: int):
    assert weight_of(chat(turns), 100) == 100 + weight


def test_calls_weigh_as_messages_do():
    assert weight_of(chat(3, calls=2), 100) == weight_of(chat(5), 100)


def test_a_chat_of_eight_short_messages_needs_no_thread():
    assert weight_of(chat(8), 500) < SMALL_BYTES
