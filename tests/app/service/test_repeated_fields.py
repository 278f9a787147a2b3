"""A request whose fields were read before is prepared as if they were not."""

import gc
import json
import tracemalloc
from functools import partial
from typing import Any

import pytest

from adapters.workers import SAMPLING_OPTIONS
from app.api.body import parse
from app.api.repeated_fields import RepeatedFields
from app.common_form import common_chat
from app.constraints import requested_output
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


def allowed(names: list[str]) -> dict[str, Any]:
    tools = [{"type": "function", "function": {"name": name}} for name in names]
    return {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": tools}}


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **fields}}


NAMES = [f"f{number}" for number in range(100)]
#: fields whose values are small in JSON and large as objects
LARGE: dict[str, dict[str, Any]] = {
    "none": {},
    "tools": {"tools": [tool(name) for name in NAMES]},
    "custom": {"tools": [{"type": "custom", "custom": {"name": name}} for name in NAMES]},
    "functions": {"functions": [tool(name)["function"] for name in NAMES]},
    "allowed": {"tools": [tool("a")], "tool_choice": allowed(["a"] * 500)},
    "lists": {"tools": [tool("a", parameters={"enum": [[True] for _ in range(2_000)]})]},
    "members": {"tools": [tool("a", parameters={"enum": [{f"{n:x}": 1} for n in range(2_000)]})]},
    "choices": {"guided_choice": [f"{n:x}" for n in range(500)]},
    "biases": {"logit_bias": {str(n): 1 for n in range(100)}},
}


@pytest.mark.share  # each collects all garbage of the process twice
@pytest.mark.parametrize("fields", LARGE.values(), ids=LARGE.keys())
def test_kept_fields_take_no_more_memory_than_counts_for_them(fields: dict[str, Any]) -> None:
    """REGRESSION: tools with nothing but names took twice as much."""
    kept, settings = RepeatedFields(), Service([]).generation.settings
    body = json.dumps({"messages": [USER], **fields}).encode()

    def prepare(client: str) -> None:
        repeated = partial(kept.read, client)
        request = common_chat(
            parse(ChatRequest, body, max_values=MAX_JSON_VALUES, repeated=repeated)[0]
        )
        output = requested_output(request, settings)
        if request.made is not None:
            request.made["output"] = output

    prepare("first")
    counted = kept._kept.held
    tracemalloc.start()
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    for client in ("second", "third", "fourth"):
        prepare(client)
    gc.collect()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert kept._kept.held == 4 * counted
    assert taken <= 3 * counted
