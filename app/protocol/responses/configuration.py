"""Items of the input that change the responses after them."""

from typing import Any, Literal

from ..thinking_fields import ReasoningEffort
from ..validation import Exact, Lenient
from .client_items import ItemId
from .tools import ResponseTextFormat, shown_format


class UpdatedReasoning(Exact):
    effort: ReasoningEffort | None = None


class UpdatedText(Exact):
    format: ResponseTextFormat


class ConfigurationItem(Exact):
    """Settings that replace those of the request, and of earlier updates."""

    type: Literal["configuration_update"]
    id: ItemId | None = None
    reasoning: UpdatedReasoning | None = None
    text: UpdatedText | None = None

    def listed(self) -> dict[str, Any]:
        """Return the settings as the API lists them."""
        shown: dict[str, Any] = {}
        if self.reasoning is not None:
            shown["reasoning"] = self.reasoning.model_dump(exclude_none=True)
        if self.text is not None:
            shown["text"] = {"format": shown_format(self.text.format)}
        return shown


class CompactionTriggerItem(Lenient):
    """As the last item: the response is the conversation in short."""

    type: Literal["compaction_trigger"]
