"""Items of the input that bring tools: results of a search for tools, and additional tools."""

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from ..validation import unknown_type
from .client_items import HistoryItem
from .tools import TOOL_TYPES, ResponseTool

LOADED_TOOLS = ("tool_search_output", "additional_tools")
_TOOL: TypeAdapter[ResponseTool] = TypeAdapter(ResponseTool)


class LoadedToolsItem(HistoryItem):
    """Tools that the model may call from here on; ``tools``: as the client sent them."""

    type: Literal[LOADED_TOOLS]  # type: ignore[valid-type]
    call_id: Any = None
    execution: Any = None
    role: Any = None
    tools: list[Any]

    def read(self) -> Iterator[ResponseTool | str]:
        """Yield each tool; how answers name one that cannot be read."""
        for tool in self.tools:
            try:
                yield _TOOL.validate_python(tool)
            except ValidationError:
                kind = tool.get("type") if isinstance(tool, dict) else None
                if not isinstance(kind, str):
                    yield "tool"
                else:
                    yield kind if kind in TOOL_TYPES else unknown_type(kind, "tool")
