"""The use cases of stored responses: read, send again, cancel, delete, list the input.

All models share the store.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from ..errors import bad_request
from ..state import ResponseStore
from ..writers import named_event, replayed
from .background_responses import BackgroundResponses
from .background_run import is_open
from .generation_service import Completion
from .pages import ItemPage, page_of


class ResponseDeleted(TypedDict):
    id: str
    object: Literal["response"]
    deleted: bool


class StoredResponses:
    """The stored responses of one app; a client finds its own only."""

    def __init__(self, store: ResponseStore, background: BackgroundResponses) -> None:
        self._store = store
        self._background = background

    async def retrieve(self, number: str, client: str) -> Completion:
        """Return a stored response, and the headers that its answer had. Raises ApiError 404 or
        503.
        """
        response, run = await self._background.current(number, client)
        return Completion(response, run.headers if run else {})

    async def replay(
        self, number: str, client: str, *, after: int | None
    ) -> AsyncGenerator[bytes, None]:
        """Return the events of a stored response; ``after``: the number of the last one that the
        client has. Raises ApiError 400, 404 or 503.
        """
        response, run = await self._background.current(number, client)
        if run is not None and run.streams:
            return self._background.follow(number, client, after=-1 if after is None else after)
        if is_open(response):
            raise bad_request(
                "This response cannot be streamed while it runs, since it was created without "
                "'stream': true.",
                "stream",
            )
        events = list(replayed(response))
        begin = 0 if after is None else after + 1
        if begin > len(events):
            raise bad_request(
                f"Invalid 'starting_after': the last event of this response has the number "
                f"{len(events) - 1}, got {after}.",
                "starting_after",
                "invalid_value",
            )
        return _encoded(events[begin:])

    async def delete(self, number: str, client: str) -> ResponseDeleted:
        """Delete a stored response. Raises ApiError 404 or 503."""
        response = await self._store.response(client, number)
        if response.get("background"):
            await self._background.delete(number, client)
        else:
            await self._store.delete(client, number)
        return {"id": number, "object": "response", "deleted": True}

    async def cancel(self, number: str, client: str) -> dict[str, Any]:
        """End a response in the background, and return it; one that has ended stays as it is.

        Raises:
            ApiError: 400, it did not run in the background; 404 or 503.
        """
        response = await self._background.cancel(number, client)
        if not response.get("background"):
            raise bad_request("Cannot cancel a synchronous response.")
        return response

    async def input_items(
        self, number: str, client: str, *, limit: int, after: str | None, newest_first: bool
    ) -> ItemPage:
        """Return a page of the input items of a response. Raises ApiError 400, 404 or 503."""
        items = await self._store.input_items(client, number)
        return page_of(items, limit=limit, after=after, newest_first=newest_first)


async def _encoded(events: Sequence[dict[str, Any]]) -> AsyncGenerator[bytes, None]:
    for event in events:
        yield named_event(event)
