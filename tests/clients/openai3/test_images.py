"""Images as the libraries send them, on a model that sees them: its answers name what it saw."""

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import litellm
import openai
import pytest
from agents import (
    Agent,
    Model,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    ToolOutputImage,
    function_tool,
    set_tracing_disabled,
)
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import BinaryContent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticResponses
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from tests.app.pictures import base64_of, data_url, png

from ..node.scripted import scripted
from ..served import Served

RED = png(3)
SEEN = f"seen: {data_url(RED)}"
QUESTION = "What is this?"
# LiteLLM's own types are such that Pydantic warns of them
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings"),
]


@pytest.fixture(scope="module")
def seeing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway whose model calls ``look`` once, if it may, and then says what it saw."""
    place = tmp_path_factory.mktemp("seeing")
    with scripted(place, [{"name": "look", "arguments": {}}], "It is: ", sees_images=True) as one:
        yield one


def of_langchain(chat: Callable[[Served], Any]) -> Callable[[Served], str]:
    block = {"type": "image", "base64": base64_of(RED), "mime_type": "image/png"}
    asked = HumanMessage([{"type": "text", "text": QUESTION}, block])
    return lambda served: str(chat(served).invoke([asked]).text)


def of_pydantic(model: Callable[[Served], Any]) -> Callable[[Served], str]:
    asked = [QUESTION, BinaryContent(RED, media_type="image/png")]
    return lambda served: str(PydanticAgent(model(served)).run_sync(asked).output)


def of_litellm(model: str) -> Callable[[Served], str]:
    def answer(served: Served) -> str:
        image = {"type": "image_url", "image_url": {"url": data_url(RED)}}
        content = [{"type": "text", "text": QUESTION}, image]
        base = served.address if model.startswith("anthropic/") else served.url
        made: Any = litellm.completion(
            model=model,
            api_base=base,
            api_key="none",
            num_retries=0,
            messages=[{"role": "user", "content": content}],
        )
        return str(made.choices[0].message.content)

    return answer


OPENAI = {"model": "noise", "api_key": "none", "max_retries": 0}
ASKS: dict[str, Callable[[Served], str]] = {
    "LangChain": of_langchain(lambda served: ChatOpenAI(base_url=served.url, **OPENAI)),
    "LangChain, responses": of_langchain(
        lambda served: ChatOpenAI(base_url=served.url, use_responses_api=True, **OPENAI)
    ),
    "LangChain for Anthropic": of_langchain(
        lambda served: ChatAnthropic(base_url=served.address, max_tokens=500, **OPENAI)
    ),
    "Pydantic AI": of_pydantic(
        lambda served: OpenAIChatModel(
            "noise", provider=OpenAIProvider(base_url=served.url, api_key="none")
        )
    ),
    "Pydantic AI, responses": of_pydantic(
        lambda served: PydanticResponses(
            "noise", provider=OpenAIProvider(base_url=served.url, api_key="none")
        )
    ),
    "Pydantic AI, messages": of_pydantic(
        lambda served: AnthropicModel(
            "noise", provider=AnthropicProvider(base_url=served.address, api_key="none")
        )
    ),
    "LiteLLM": of_litellm("openai/noise"),
    "LiteLLM, responses": of_litellm("openai/responses/noise"),
    "LiteLLM, messages": of_litellm("anthropic/noise"),
}


@pytest.mark.parametrize("name", ASKS)
def test_the_model_sees_an_image_in_a_message(seeing: Served, name: str) -> None:
    assert SEEN in ASKS[name](seeing)


def test_the_official_clients(seeing: Served) -> None:
    client = openai.OpenAI(base_url=seeing.url, api_key="none", max_retries=0)
    text = {"type": "text", "text": QUESTION}
    image = {"type": "image_url", "image_url": {"url": data_url(RED), "detail": "high"}}
    messages: Any = [{"role": "user", "content": [text, image]}]
    chat = client.chat.completions.create(model="noise", messages=messages)
    assert SEEN in (chat.choices[0].message.content or "")
    parts = [{"type": "input_text", "text": QUESTION}]
    parts += [{"type": "input_image", "image_url": data_url(RED), "detail": "high"}]
    items: Any = [{"role": "user", "content": parts}]
    assert SEEN in client.responses.create(model="noise", input=items).output_text
    own = anthropic.Anthropic(base_url=seeing.address, api_key="none", max_retries=0)
    source = {"type": "base64", "media_type": "image/png", "data": base64_of(RED)}
    asked: Any = [{"role": "user", "content": [text, {"type": "image", "source": source}]}]
    message = own.messages.create(model="noise", max_tokens=500, messages=asked)
    assert SEEN in "".join(block.text for block in message.content if block.type == "text")


@function_tool
def look() -> ToolOutputImage:
    """Look out of the window."""
    return ToolOutputImage(image_url=data_url(RED))


@pytest.mark.parametrize("kind", [OpenAIChatCompletionsModel, OpenAIResponsesModel])
def test_the_result_of_a_function_of_openai_agents(seeing: Served, kind: type[Model]) -> None:
    """Over chat completions, the framework leaves the image out."""
    set_tracing_disabled(True)
    client = openai.AsyncOpenAI(base_url=seeing.url, api_key="none", max_retries=0)
    model: Any = kind
    agent = Agent(name="Guide", model=model(model="noise", openai_client=client), tools=[look])
    said = Runner.run_sync(agent, QUESTION).final_output
    assert (SEEN in said) is (kind is OpenAIResponsesModel), said
