"""A case: what is asked, which schemas the answer must satisfy, and which answers are right."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

#: how calls are asked for: the value of ``tool_choice``, or the name of the right tool
Asking = Literal["required", "auto", "named"]
WAYS_OF_ASKING: tuple[Asking, ...] = ("required", "auto", "named")
#: the half of the cases: for tuning, or for the figures that are reported
Share = Literal["tuning", "reported", "all"]

Schema = dict[str, Any]
Item = TypeVar("Item")


@dataclass(frozen=True)
class Case:
    """A case of a set.

    ``tools``     of the request; none: an extraction, whose answer is JSON.
    ``schemas``   of the arguments by tool, or of the answer by "".
    ``expected``  the values of the answer by name. In a set of calls: the acceptable ones of each,
                  "" among them where the argument may be absent.
    ``function``  the right tool; "": there are none.
    """

    id: str
    set: str
    messages: list[dict[str, Any]]
    schemas: dict[str, Schema]
    expected: dict[str, Any]
    tools: tuple[dict[str, Any], ...] = ()
    function: str = ""

    @property
    def is_call(self) -> bool:
        return bool(self.tools)

    def request(self, asking: Asking, **options: Any) -> dict[str, Any]:
        """Return the body of a chat completion. ``options``: further fields."""
        body: dict[str, Any] = {"messages": self.messages, **options}
        if not self.is_call:
            form = {"name": "answer", "schema": self.schemas[""]}
            return {**body, "response_format": {"type": "json_schema", "json_schema": form}}
        choice: Any = asking
        if asking == "named":
            choice = {"type": "function", "function": {"name": self.function}}
        return {**body, "tools": list(self.tools), "tool_choice": choice}


def halved(items: Sequence[Item], share: Share) -> list[Item]:
    """Return the items of a share: those with an even index are for tuning, the others for
    reporting.
    """
    first, step = {"tuning": (0, 2), "reported": (1, 2), "all": (0, 1)}[share]
    return list(items[first::step])


def spread(items: Sequence[Item], most: int) -> list[Item]:
    """Return at most ``most`` items, evenly spaced, so that few cases are of many kinds."""
    count = min(most, len(items))
    return [items[number * len(items) // count] for number in range(count)]
