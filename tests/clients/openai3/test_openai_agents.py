"""OpenAI Agents on both APIs: runs with tools, hand-offs, typed output, streams, stored chains."""

from typing import Any

import openai
import pytest
from agents import (
    Agent,
    AgentOutputSchema,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIProvider,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai.types.shared import Reasoning
from pydantic import BaseModel

from ..served import ALIASES, Served
from ..shapes import PROMPT, SHAPES, STRICT_SHAPES, Place, Short, Sky, Weather

#: what users set; nothing of it may be refused
OPTIONS: dict[str, Any] = {
    "temperature": 0.2,
    "top_p": 0.9,
    "frequency_penalty": 0.1,
    "presence_penalty": 0.1,
    "max_tokens": 30_000,
    "reasoning": Reasoning(effort="high"),
    "metadata": {"run": "1"},
    "store": False,
    "include_usage": True,
    "parallel_tool_calls": True,
    "extra_body": {"top_k": 40, "min_p": 0.05},
}
#: without a seed noise says something else in every turn, so it ends long before
TURNS = 50
CALLS: list[str] = []


@function_tool
def locate(name: Short, country: str | None = None) -> str:
    """Say where a place is.

    Args:
        name: of the place
        country: where it may lie
    """
    CALLS.append("locate")
    return f"{name} lies north of {country}"


@function_tool
async def report(place: Place, sky: Sky, celsius: float) -> dict[str, Any]:
    """Note the weather of a place."""
    assert isinstance(place, Place)
    CALLS.append("report")
    return {"sky": sky.value, "celsius": celsius}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    """Traces would go to OpenAI."""
    set_tracing_disabled(True)
    CALLS.clear()


#: by the name of their API; the second one is the default of the framework
APIS: dict[str, Any] = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}


@pytest.fixture(params=APIS)
def model(request: pytest.FixtureRequest, served: Served) -> Model:
    """A model of the gateway, behind each API."""
    client = openai.AsyncOpenAI(base_url=served.url, api_key="none", max_retries=0)
    made: Model = APIS[request.param](model="noise", openai_client=client)
    return made


def settings(**more: Any) -> ModelSettings:
    return ModelSettings(**{**OPTIONS, **more})


@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_run_with_tools(model: Model, is_streamed: bool) -> None:
    """The first turn must call; then the runner itself goes back to "auto"."""
    agent = Agent(
        name="Guide", instructions="Be brief.", model=model, tools=[locate, report],
        model_settings=settings(tool_choice="required"),
    )  # fmt: skip
    if is_streamed:
        streamed = Runner.run_streamed(agent, PROMPT, max_turns=TURNS)
        kinds = {event.type async for event in streamed.stream_events()}
        assert {"raw_response_event", "run_item_stream_event"} <= kinds
        output, answers = streamed.final_output, streamed.raw_responses
    else:
        result = await Runner.run(agent, PROMPT, max_turns=TURNS)
        output, answers = result.final_output, result.raw_responses
    assert isinstance(output, str)
    assert CALLS
    assert len(answers) >= 2
    assert all(answer.usage.output_tokens > 0 for answer in answers)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_typed_output(model: Model, shape: type[BaseModel], is_streamed: bool) -> None:
    """A strict schema is parsed strictly."""
    output = AgentOutputSchema(shape, strict_json_schema=shape in STRICT_SHAPES)
    agent = Agent(
        name="Guide", model=model, tools=[locate], output_type=output,
        model_settings=settings(tool_choice="locate"),
    )  # fmt: skip
    if is_streamed:
        streamed = Runner.run_streamed(agent, PROMPT, max_turns=TURNS)
        assert [event async for event in streamed.stream_events()]
        assert isinstance(streamed.final_output, shape)
    else:
        assert isinstance((await Runner.run(agent, PROMPT, max_turns=TURNS)).final_output, shape)
    assert CALLS


async def test_hand_off_and_a_second_question(model: Model) -> None:
    """The other agent gets the whole history; the next run starts from all of it."""
    other = Agent(name="Sailor", model=model, output_type=Weather, model_settings=settings())
    first = Agent(
        name="Guide", model=model, handoffs=[other], tools=[],
        model_settings=settings(tool_choice="transfer_to_sailor", parallel_tool_calls=False),
    )  # fmt: skip
    result = await Runner.run(first, PROMPT, max_turns=TURNS)
    assert result.last_agent is other
    assert isinstance(result.final_output, Weather)
    again = [*result.to_input_list(), {"role": "user", "content": "And in Bergen?"}]
    second = await Runner.run(other, again, max_turns=TURNS)
    assert isinstance(second.final_output, Weather)


@pytest.mark.parametrize("model", ["responses"], indirect=True)
async def test_a_chain_that_the_gateway_keeps(model: Model) -> None:
    """Each turn sends new items only; the gateway has the others."""
    agent = Agent(
        name="Guide", model=model, tools=[locate],
        model_settings=settings(tool_choice="required", store=True),
    )  # fmt: skip
    first = await Runner.run(agent, PROMPT, max_turns=TURNS, auto_previous_response_id=True)
    assert CALLS
    second = await Runner.run(
        agent, "And in Bergen?", max_turns=TURNS, previous_response_id=first.last_response_id
    )
    assert isinstance(second.final_output, str)


@pytest.mark.parametrize("name", [*ALIASES, None])
@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("output", [str, Weather])
async def test_names_that_the_framework_has_settings_for(
    served: Served, api: str, name: str | None, output: Any
) -> None:
    """REGRESSION: with a name that begins with gpt-5, its default too, it asks for a verbosity."""
    client = openai.AsyncOpenAI(base_url=served.url, api_key="none", max_retries=0)
    provider = OpenAIProvider(openai_client=client, use_responses=api == "responses")
    agent = Agent(name="Guide", model=name, tools=[locate], output_type=output)
    assert agent.model_settings.verbosity == "low"
    config = RunConfig(model_provider=provider)
    result = await Runner.run(agent, PROMPT, max_turns=TURNS, run_config=config)
    assert isinstance(result.final_output, output)
    again = [*result.to_input_list(), {"role": "user", "content": "And in Bergen?"}]
    streamed = Runner.run_streamed(agent, again, max_turns=TURNS, run_config=config)
    assert [event async for event in streamed.stream_events()]
    assert isinstance(streamed.final_output, output)
