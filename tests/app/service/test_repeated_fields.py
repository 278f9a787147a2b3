"""A request whose fields were read before is prepared as if they were not."""

import json
from functools import partial
from typing import Any

import pytest

from adapters.workers import SAMPLING_OPTIONS
from app.api.body import parse
from app.api.repeated_fields import RepeatedFields
from app.common_form import common_chat
from app.errors import ApiError
from app.protocol import ChatRequest
from app.settings import MAX_JSON_VALUES
from tests.app.service.scripted import Service, context

USER = {"role": "user", "content": "Hello"}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
SCHEMA = {"name": "a", "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}


class Prepared:
    """Prepares requests of one client."""

    def __init__(self, *, keeps: bool = True, **settings: Any) -> None:
        self.service = Service([], **settings)
        self.service.worker.supported_sampling = frozenset(SAMPLING_OPTIONS)
        self.kept = RepeatedFields() if keeps else None

    async def of(self, **asked: Any) -> tuple[Any, ...]:
        """All that a request becomes; or its error."""
        body = json.dumps({"messages": [USER], **asked}).encode()
        repeated = None if self.kept is None else partial(self.kept.read, "me")
        request = parse(ChatRequest, body, max_values=MAX_JSON_VALUES, repeated=repeated)[0]
        try:
            ready, prompts = await self.service.generation._prepare(
                partial(common_chat, request), context()
            )
        except ApiError as error:
            return ("error", error.body())
        spec = ready.constraint.spec
        relaxed = ready.constraint.relaxed
        return repr(ready.output), ready.sampling, spec, ready.choices, prompts, relaxed


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"tools": TOOLS},
        {"tools": TOOLS, "tool_choice": "required", "parallel_tool_calls": False},
        {"tools": TOOLS, "tool_choice": "none"},
        {"response_format": {"type": "json_schema", "json_schema": SCHEMA}},
        {"response_format": {"type": "json_object"}},
        {"guided_choice": ["a", "b"]},
        {"n": 2, "seed": 7, "temperature": 0.5, "stop": ["x"], "logit_bias": {"1": 2}},
        {"enable_thinking": False},
        {"reasoning_effort": "high", "verbosity": "low"},
        {"max_tokens": 1_000_000},
        {"tools": [*TOOLS, *TOOLS]},
        {"min_tokens": 5, "guided_choice": ["a"]},
    ],
)
async def test_repeated_fields_are_prepared_alike(asked: dict[str, Any]) -> None:
    kept, alone = Prepared(), Prepared(keeps=False)
    for messages in ([USER], [USER, USER], [{**USER, "content": "Hello in JSON"}], [USER]):
        wanted = await alone.of(messages=messages, **asked)
        assert await kept.of(messages=messages, **asked) == wanted


async def test_each_conversation_has_to_mention_json() -> None:
    """REGRESSION: fields that were kept of a conversation that does would stand for others."""
    prepared = Prepared(include_schema_in_prompt=False)
    asked: dict[str, Any] = {"response_format": {"type": "json_object"}}
    said = [{**USER, "content": "Hello in JSON"}]
    assert (await prepared.of(messages=said, **asked))[0] != "error"
    assert (await prepared.of(**asked))[0] == "error"
    assert (await prepared.of(messages=said, **asked))[0] != "error"


async def test_options_are_refused_once_a_worker_lacks_them() -> None:
    prepared = Prepared()
    asked = {"top_k": 5}
    assert (await prepared.of(**asked))[0] != "error"
    prepared.service.worker.supported_sampling = frozenset()
    assert (await prepared.of(**asked))[0] == "error"


async def test_models_share_nothing_that_their_settings_decide() -> None:
    one, other = Prepared(), Prepared(name="other", reasoning="off")
    other.kept = one.kept
    assert (await one.of())[0] != (await other.of())[0]
