"""Token ids of the segments of prompts, since clients send their whole history with each request.

A segment begins with a control token and goes up to the next one. A tokenizer encodes the text
between added tokens independently of the text around them, so the ids of a prompt are those of its
segments. All but the last ones of a conversation are those of the request before. Ten tools and
eight messages take 1.1 ms to encode with the vocabulary of Qwen 3, and 0.05 ms from kept segments.

Key         the client and the text. Clients never share entries, whatever namespaces are set: no
            client can measure what another one has said.
Bounds      MAX_BYTES of texts and ids (RecentValues).
Invariants  I1 the ids are those of the whole text: prompts are cut before certain added tokens only
            (``cuts_of``), and each segment but the first one begins with its token.
Threads     any.
Not here    which control tokens a prompt has (control).
"""

import sys
from array import array
from collections.abc import Collection, Sequence

from tokenizers import Tokenizer as Backend

from ..concurrency import RecentValues
from .control import begins_of, encoded_each

#: the context of a coding agent takes 0.2 to 1 MB
MAX_BYTES = 32 << 20
#: of an entry, beside its text and its ids
ENTRY_BYTES = 480
#: options of models with which they draw the ids of a text at random
_DRAWING = ("dropout", "alpha")


class PromptSegments:
    """See the file's header. ``texts``: of control tokens."""

    def __init__(
        self, backend: Backend, texts: Collection[str], *, most_bytes: int = MAX_BYTES
    ) -> None:
        self._backend = backend
        self._begins = begins_of(cuts_of(backend, texts))
        self._kept = RecentValues["array[int]"](most_bytes)

    def encode(self, client: str, text: str) -> list[int]:
        """Return the ids of a prompt, without those that the tokenizer puts around a text."""
        segments = self._segments(text)
        found: dict[str, array[int]] = {}
        missing: list[str] = []
        for segment in dict.fromkeys(segments):
            if (ids := self._kept.get((client, segment))) is not None:
                found[segment] = ids
            else:
                missing.append(segment)
        if missing:
            made = zip(missing, encoded_each(self._backend, missing), strict=True)
            for segment, ids in made:
                found[segment] = ids
                self._kept.keep((client, segment), ids, size_of(segment, ids))
        prompt: list[int] = []
        for segment in segments:
            prompt.extend(found[segment])
        return prompt

    def _segments(self, text: str) -> Sequence[str]:
        """Return the parts of a text, which may be one."""
        places = [match.start() for begin in self._begins for match in begin.finditer(text)]
        if len(self._begins) > 1:
            places.sort()
        segments, start = [], 0
        for end in places:
            if end:
                segments.append(text[start:end])
            start = end
        segments.append(text[start:])
        return segments


def size_of(segment: str, ids: "array[int]") -> int:
    """Return the bytes that an entry takes."""
    return sys.getsizeof(segment) + ids.itemsize * len(ids) + ENTRY_BYTES


def cuts_of(backend: Backend, texts: Collection[str]) -> frozenset[str]:
    """Return those of the texts before which a prompt may be cut.

    The tokenizer takes each of them for an added token wherever it stands, before it changes any
    text (``normalized``): no other added token that begins before it can reach into it. The token
    does not take white space before it away (``lstrip``).
    """
    added = backend.get_added_tokens_decoder().values()
    draws = any(getattr(backend.model, option, None) for option in _DRAWING)
    if draws or backend.encode_special_tokens or any(token.single_word for token in added):
        return frozenset()
    unfit = tuple(token.content for token in added if token.normalized or token.lstrip)
    contents = {token.content for token in added}
    ends = {text[at:] for text in contents for at in range(1, len(text))}
    inner = "\0".join(text[1:] for text in contents)

    def is_cut(text: str) -> bool:
        if text not in contents or text in inner or any(each.startswith(text) for each in unfit):
            return False
        return not any(text[:end] in ends for end in range(1, len(text)))

    return frozenset(filter(is_cut, texts))
