"""The bodies of /v1/conversations."""

from ..validation import Exact, Items
from .items import InputItem
from .request import Metadata


class ConversationRequest(Exact):
    """A conversation to store."""

    items: Items[InputItem] | None = None
    metadata: Metadata | None = None


class ConversationUpdate(Exact):
    """New metadata of a conversation."""

    metadata: Metadata | None


class ConversationItemsRequest(Exact):
    """Items to add to a conversation."""

    items: Items[InputItem]
