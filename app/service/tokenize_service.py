"""The use cases of /tokenize and /detokenize.

A text of 4 MiB may have a million tokens. They are encoded off the event loop, in pieces, between
which other threads run.
"""

import json
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial

from typing_extensions import TypedDict

from ..common_form import common_chat
from ..concurrency import Offload
from ..conversation import Tokenizer
from ..errors import bad_request
from ..generation import GenerationRequest
from ..pool import Pool
from ..protocol import DetokenizeRequest, TokenizeRequest
from ..writers import text_of
from .generation_service import GenerationService, weight_of

#: tokens of one answer, more than any context has; as JSON they are up to 20 MB
MAX_TOKENS = 1_000_000
#: values encoded in one call, which holds the GIL for about 0.2 ms
PIECE = 2_048


class TokenizeResponse(TypedDict):
    count: int
    max_model_len: int | None
    tokens: list[int]
    token_strs: list[str] | None


class DetokenizeResponse(TypedDict):
    prompt: str


@dataclass(frozen=True, slots=True)
class TokenizeService:
    """The tokenizer of one model for clients."""

    generation: GenerationService
    _: KW_ONLY
    tokenizer: Tokenizer
    pool: Pool
    offload: Offload

    async def tokenize(self, request: TokenizeRequest, size: int, client: str) -> bytes:
        """Return a TokenizeResponse as JSON; ``size``: bytes of the body. Raises ApiError."""
        request.check()
        asked = request.chat
        if asked is None:
            return await self.offload.run(client, size, partial(self._answer, request, None))
        chat = await self.generation.read(partial(common_chat, asked), client, size)
        step = partial(self._answer, request, chat)
        return await self.offload.run(client, weight_of(chat, size), step)

    def _answer(self, request: TokenizeRequest, chat: GenerationRequest | None) -> bytes:
        """``chat``: the request's messages in the common form."""
        if chat is not None:
            ids = self.generation.prompt(chat)
        else:
            special = request.add_special_tokens is not False
            ids = self.tokenizer.encode(request.prompt or "", add_special_tokens=special)
        if len(ids) > MAX_TOKENS:
            param = "prompt" if request.messages is None else "messages"
            raise bad_request(
                f"Invalid '{param}': at most {MAX_TOKENS:,} tokens are allowed, got {len(ids):,}.",
                param,
                "invalid_value",
            )
        tokens = self.tokenizer.vocabulary.tokens
        texts = [text_of(tokens[number]) for number in ids] if request.return_token_strs else None
        limit = json.dumps(self.pool.max_model_len)
        return (
            f'{{"count":{len(ids)},"max_model_len":{limit},"tokens":{_array(ids)},'
            f'"token_strs":{"null" if texts is None else _array(texts)}}}'
        ).encode()

    async def detokenize(
        self, request: DetokenizeRequest, size: int, client: str
    ) -> DetokenizeResponse:
        """Return the answer; ``size``: bytes of the request's body. Raises ApiError."""
        most = self.tokenizer.vocabulary.size
        for at, number in enumerate(request.tokens):
            if number >= most:
                raise bad_request(
                    f"Invalid 'tokens[{at}]': expected token ids below {most}, got {number}.",
                    f"tokens[{at}]",
                    "invalid_value",
                )
        step = partial(self.tokenizer.decode, request.tokens)
        return {"prompt": await self.offload.run(client, size, step)}


def _array(values: Sequence[int] | Sequence[str]) -> str:
    """Return a JSON array."""
    pieces = (
        json.dumps(values[at : at + PIECE], separators=(",", ":"))[1:-1]
        for at in range(0, len(values), PIECE)
    )
    return f"[{','.join(pieces)}]"
