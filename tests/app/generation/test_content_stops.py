"""Stop strings end free text and nothing else, whatever was asked for.

`make conformance` tries 2,000 random pairs of a stop string and a request, other runs 200.
"""

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from adapters.workers import noise_vocabulary
from adapters.workers.noise import BATCH
from tests.app.examples import body
from tests.app.gateway import Gateway
from tests.app.generation.stopping import (
    ANSWER,
    PARAMETERS,
    Told,
    expected,
    is_text,
    random_request,
    random_stops,
    shown,
    without_empty,
)
from tests.app.messages import added_up, events, whole

FORMATS = ("plain", "hermes", "llama3_json", "llama3_function", "harmony")
PAIRS = 2000 if os.environ.get("EVERY_TEMPLATE") else 200
LONGEST_TOKEN = max(map(len, noise_vocabulary.load().tokens))


@pytest.fixture(scope="module", params=FORMATS)
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    with Gateway(format=request.param, reasoning="on") as running:
        yield running


def test_random_stop_strings_cut_text_and_nothing_else(gateway: Gateway) -> None:
    name = gateway.get("/version").json()["formats"][0]
    chance = random.Random(name)
    hits = 0
    for _ in range(PAIRS // len(FORMATS)):
        asked = random_request(chance)
        hits += check(gateway, asked, chance)
    # else the test proves nothing
    assert hits > PAIRS // len(FORMATS) // 8
    gateway.eventually(lambda: gateway.metric("switchyard_workers_running") == 0)


def check(gateway: Gateway, asked: dict[str, Any], chance: random.Random) -> bool:
    """Asks without stop strings, with them, and for a stream; says whether one was found."""
    chunks = events(gateway.post(body(**asked, stream=True)).text)
    told, (unstopped,) = Told.of(chunks), added_up(chunks)
    finish = unstopped["finish_reason"]
    stops = random_stops(chance, unstopped)
    stop = stops[0] if len(stops) == 1 else stops
    pair = shown({"stop": stop, **asked})
    answer = gateway.post(body(**asked, stop=stop)).json()
    assert "choices" in answer, (pair, answer)
    (message,) = whole(answer)
    (streamed,) = added_up(events(gateway.post(body(**asked, stop=stop, stream=True)).text))
    assert streamed == message, pair
    if finish == "length" and {"response_format", "tools"} <= asked.keys() and not told.calls:
        # truncated JSON, and text before a call that never came, are ambiguous
        check_calls(message)
        return False
    wanted = expected(asked, told, finish, stops)
    assert without_empty(message) == wanted, pair
    check_calls(message)
    content = message.get("content", "")
    if is_text(asked, told):
        assert not any(text in content for text in stops), pair
    elif finish != "length":
        value = json.loads(content)
        jsonschema.validate(value, ANSWER if "name" in value else {"type": "object"})
    return wanted["finish_reason"] != finish or wanted.get("content", "") != told.content


def check_calls(message: dict[str, Any]) -> None:
    """Calls are whole; only the output limit cuts the last one."""
    calls = message.get("tool_calls", [])
    if message["finish_reason"] == "length":
        calls = calls[:-1]
    for call in calls:
        jsonschema.validate(json.loads(call["arguments"]), PARAMETERS[call["name"]])


def test_a_stop_string_ends_the_workers_generation(gateway: Gateway) -> None:
    """No more than the batch in which it came is drawn."""
    text = {"seed": 5, "max_completion_tokens": 3000, "reasoning_effort": "none"}
    unstopped = gateway.post(body(**text)).json()
    content = unstopped["choices"][0]["message"]["content"]
    stop = content[len(content) // 8 :][:2]
    stopped = gateway.post(body(**text, stop=stop)).json()
    assert stopped["choices"][0]["message"]["content"] == content[: content.index(stop)]
    behind = len(content[content.index(stop) :].encode()) // LONGEST_TOKEN
    used, drawn = (each["usage"]["completion_tokens"] for each in (stopped, unstopped))
    assert used <= drawn - behind + BATCH
