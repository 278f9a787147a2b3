"""The path of plain text, compiled: from a server's bytes to the client's event, in one call.

bytes of the stream -> token ids -> the engine's parser -> text -> an encoded event -> the transport

Nearly all chunks of an answer only add text where the last one did: to its content, to a thought,
to the arguments of a call. Others show nothing yet: they are in a mark of the format, or may be.
Such chunks need no Chunk, no event of the parser and no delta. All others take the general path, in
Python: adapters.workers reads them, app.generation decodes them, app.writers encodes them. The
general path opens this one after a chunk, at the place where it stands, and finds itself at the
place where this one ended. ``read_new_ids`` is the first step alone, for the general path.

Contract     1 ``TextPath.push`` takes whole events from the front of what it is given, and says how
               many bytes; the general path would have written the same text for them.
             2 what it does not take has changed nothing: a fault, an end, the end of a mark, an
               unusual event are all the general path's.
             3 ``TokenCounts`` and ``last_at`` count and time all tokens that passed, also those
               that show nothing, for records and deadlines.
Oracle       the general path itself (tests/text_path).
Not here     when the path may be open (app.generation.choices), sockets (adapters.workers).
"""

# the library with all compiled modules
import engine as _engine

from .chunked_text import ChunkedBody, TextEvent
from .plain_text import TextPath, TokenCounts, TokenStarts
from .sglang_events import read_new_ids
