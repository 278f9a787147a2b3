"""Detours: allowed tokens that the tokenizer never writes before anything that may follow.

After `"paid":` only ` true` and ` false` may follow. A lone space is a prefix of both, so it is
allowed. But it is a token for other texts: a model that means ` 200` takes it, and has to write
`true` after it, a text that it has never seen. Masks leave such tokens out.

Rule             Token t with bytes b is a detour in a configuration c if after b
                 (a) the text may not end, no token edge is possible, and no bound on tokens counts;
                 (b) for each byte x that may follow, b + x are the bytes of another token;
                 (c) for each such x and each y that may follow x, the tokenizer never writes t
                     before x y (detour_table).
Proof            Masks are never empty, and every text can still be written, by (a) and (b) alone.
                 Let w be a text that may follow c, or its part before a token edge. Take the
                 longest token that w begins with; there is one, because all bytes of tokens are
                 tokens. It is allowed: its bytes begin w. It is not a detour: by (a) w goes on
                 after it with a byte x, and by (b) there is a longer token. The rest of w is
                 shorter, so the same holds after this token.
                 A text with a bound on tokens may need one more, where a token that runs into it
                 is no longer possible.
Forced tokens    are what the tokenizer writes whatever follows, so (c) keeps them.
Where            rows with at most MAX_LIVE next bytes. In free text tokens end anywhere.
Not here         accepting tokens: a matcher accepts detours, because texts of clients have them.
Cost             nothing in a row where no detour begins, and in a cached mask a bit for each. Else
                 a few steps, which the mask has made already.
Threads          under the arena's mutex.
"""

from libc.stdint cimport uint32_t

from ..earley.rows cimport Arena
from ..native.pool cimport vector
from ..vocabulary.detour_table cimport DetourTable
from ..vocabulary.vocabulary cimport Vocabulary

cdef void list_detours(
    Arena arena, Vocabulary vocabulary, DetourTable table, uint32_t configuration, vector[uint32_t]* out
) noexcept nogil
