"""Tools of LangChain, which the tests of its packages share."""

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool

from ..shapes import Place, Short, Sky


@tool
def locate(name: Short, country: str | None = None) -> str:
    """Say where a place is."""
    assert len(name) <= 8
    return f"{name} lies north of {country}"


@tool
def report(place: Place, sky: Sky, celsius: float) -> dict[str, Any]:
    """Note the weather of a place."""
    assert isinstance(place, Place)
    return {"sky": sky.value, "celsius": celsius}


TOOLS = {"locate": locate, "report": report}


def called(message: BaseMessage) -> list[BaseMessage]:
    """The tools' answers to a message that had to call some, with arguments that fit."""
    assert isinstance(message, AIMessage)
    assert message.tool_calls
    assert message.invalid_tool_calls == []
    return [TOOLS[call["name"]].invoke(call) for call in message.tool_calls]
