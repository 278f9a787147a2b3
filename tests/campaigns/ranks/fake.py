"""A worker with data-parallel ranks: each has its own cached prompts, and can be bad alone.

Words and status of the refusal of a rank that does not exist are SGLang's.
"""

import asyncio
from collections import Counter
from typing import Any, Literal

from engine import Vocabulary
from tests.campaigns.workers.fake import FakeWorker, Reply

#: "fails": 500 before the first output; "hangs": no answer; "cuts": the connection
RankFault = Literal["fails", "hangs", "cuts"]


class RankedWorker(FakeWorker):
    """``ranks``: how many it has. ``said``: what /server_info says of them; None: the truth.

    ``bad``: faults by rank. ``leaks``: salts do not separate. ``keeps``: there is a cache.
    ``served``: whole answers by rank.
    ``named``: generations that named a rank. ``gone``: those that named one it does not have.
    """

    def __init__(self, vocabulary: Vocabulary, ranks: int = 2) -> None:
        super().__init__(vocabulary)
        self.bad: dict[int, RankFault] = {}
        self.leaks, self.keeps = False, True
        self.served: Counter[int] = Counter()
        self.named = self.gone = 0
        self._cached: set[tuple[Any, ...]] = set()
        self._next = 0
        self.restart(ranks)

    def restart(self, ranks: int, said: Any = None) -> None:
        """Begin with so many ranks, whose caches are empty."""
        self.ranks = ranks
        self._cached.clear()
        self.info["dp_size"] = ranks if said is None else said

    async def _good(self, reply: Reply) -> None:
        if reply.path != "/generate":
            await super()._good(reply)
            return
        rank = reply.body.get("routed_dp_rank")
        self.named += rank is not None
        if rank is None:
            self._next += 1
            rank = self._next % self.ranks
        elif not 0 <= rank < self.ranks:
            self.gone += 1
            message = f"routed_dp_rank={rank} out of range [0, {self.ranks})"
            await self._refuse(reply, message)
            return
        match self.bad.get(rank):
            case "fails":
                await reply.whole(500, b'{"error": {"message": "the rank is broken"}}')
                return
            case "hangs":
                await asyncio.Event().wait()
            case "cuts":
                raise ConnectionResetError
        self._look_up(reply, rank)
        await super()._good(reply)
        self.served[rank] += 1

    def _look_up(self, reply: Reply, rank: int) -> None:
        salt = None if self.leaks else reply.body.get("cache_salt")
        ids = reply.body.get("input_ids") or [reply.body.get("text")]
        key = (rank, salt, *ids)
        reply.cached_tokens = reply.prompt_tokens - 1 if key in self._cached else 0
        if self.keeps:
            self._cached.add(key)

    async def _refuse(self, reply: Reply, message: str) -> None:
        await reply.begin()
        await reply.event({"error": {"message": message, "code": 400, "retryable": False}})
        await reply.piece(b"data: [DONE]\n\n")
        await reply.end()
