"""The fields of chat completions besides messages, which clients repeat with each turn: they are
validated once, and so is all that later steps make of them (``ChatRequest.made``).

Ten tools take 0.03 ms to validate and 0.1 ms in later steps, a look-up 0.02 ms.

Key         the client, and all of a body but its messages and the fields that no step reads, as
            bytes that differ wherever JSON differs: types, the order of keys, 1 and 1.0. Clients
            never share entries: no client can measure what another one has sent.
Bounds      MAX_BYTES of bodies as objects, with all that is made of them (RecentValues), but for
            tools as templates get them, which have a bound of their own (kept_tools).
Threads     any.
Not here    errors: an invalid body is validated as a whole.
"""

import marshal
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from ..concurrency import RecentValues, bytes_of_json
from ..protocol import ChatRequest, UnknownFields

MAX_BYTES = 32 << 20
#: of an entry, and of each tool, beside their JSON
ENTRY_BYTES, TOOL_BYTES = 6_000, 900


class RepeatedFields:
    """See the file's header."""

    def __init__(self, most_bytes: int = MAX_BYTES) -> None:
        self._kept = RecentValues[ChatRequest](most_bytes)

    def read(
        self,
        client: str,
        body: Any,
        validate: Callable[[], ChatRequest],
        unknown: UnknownFields,
    ) -> ChatRequest:
        """Return what ``validate`` returns. ``unknown``: fields that it has ignored. Raises as it
        does.
        """
        fields = ChatRequest.repeated_in(body)
        if fields is None:
            return validate()
        # a version without references, which equal values may have in other places
        key = client, marshal.dumps(fields, 2)
        kept = self._kept.get(key)
        if kept is not None:
            try:
                return kept.with_messages(body["messages"])
            except ValidationError:
                return validate()
        request = validate()
        if not unknown.listed(request, body):
            tools = [*(request.tools or ()), *(request.functions or ())]
            size = bytes_of_json(key[1]) + ENTRY_BYTES + TOOL_BYTES * len(tools)
            self._kept.keep(key, request.repeating(), size)
        return request
