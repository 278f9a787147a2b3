"""State that outlives a request, in Redis or in memory: stored responses, those that run in the
background, and conversations.
"""

from .byte_store import ByteStore, MemoryStore, StateUnavailable
from .conversation_store import (
    ConversationStore,
    StoredConversation,
    conversation_not_found,
    new_conversation,
)
from .redis_store import RedisStore
from .response_store import (
    MAX_CHAIN_ITEMS,
    Chain,
    ResponseStore,
    previous_not_found,
    state_unavailable,
    store_needed,
)
from .run_store import EVENTS_RATIO, RunState, RunStore
