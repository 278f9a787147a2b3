"""Pages of stored items."""

from collections.abc import Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from ..errors import bad_request
from ..writers import ListedItem


class ItemPage(TypedDict):
    """Items of a response or of a conversation. ``first_id``, ``last_id``: empty if it has none."""

    object: Literal["list"]
    data: list[ListedItem]
    first_id: str
    last_id: str
    has_more: bool


def page_of(items: Sequence[Any], *, limit: int, after: str | None, newest_first: bool) -> ItemPage:
    """Return a page; ``after``: the id of the last item of the page before. Raises ApiError 400."""
    if newest_first:
        items = items[::-1]
    if after is not None:
        at = next((n for n, item in enumerate(items) if item.get("id") == after), None)
        if at is None:
            raise bad_request(f"No item with id '{after[:100]}' found.", "after")
        items = items[at + 1 :]
    page = list(items[:limit])
    return {
        "object": "list",
        "data": page,
        "first_id": page[0].get("id", "") if page else "",
        "last_id": page[-1].get("id", "") if page else "",
        "has_more": len(items) > limit,
    }
