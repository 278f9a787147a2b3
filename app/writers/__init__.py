"""Writers of answers: the items of choices as the objects and events of each API.

A service makes a writer for one answer, and the generation gives it the items in order (writer).
"""

from .chat_objects import Envelope, finish_reason
from .chat_types import ChatCompletion, ChatCompletionEvent
from .chat_writers import ChunkWriter, CompletionWriter
from .events import named_event
from .logprobs import text_of
from .message_types import MessageEvent, MessageObject, MessagesError
from .message_writers import (
    MESSAGES_STATUSES,
    PING,
    MessageBlocks,
    MessageEventWriter,
    MessageWriter,
    begun_message,
    error_object,
)
from .response_object import compacted_response, immediate_response, response_object
from .response_replay import replayed
from .response_types import (
    CompactedResponse,
    CompactionOutput,
    ListedItem,
    ResponseEvent,
    ResponseObject,
)
from .response_writers import ENDED, ResponseEventWriter, ResponseWriter, Save
from .text_completions import TextChunkWriter, TextCompletion, TextCompletionEvent, TextWriter
from .writer import Batch, EventWriter, WholeWriter
