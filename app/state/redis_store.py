"""Named bytes in Redis, which replicas share.

Representation   a value is a string "<PREFIX><name>", sealed for this key (cache.Seal). The prefix
                 is not that of the cache, whose entries operators list and export.
Invariants       I1 a call takes at most ``CALL_SECONDS``, and every failure is StateUnavailable; no
                    cancellation is lost.
                 I2 at most ``MAX_CALLS`` run at once; further ones wait, within the same seconds.
                 I3 a reply has at most ``max_bytes`` of values.
                 I4 a value that was not sealed with the key of this deployment counts as missing.
                 I5 the values of all gateways exceed ``room_bytes`` by those of running calls only:
                    see redis_account.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from math import ceil
from typing import Any, TypeVar

from cache import NAMESPACE, RedisAddress, Seal, connect_async

from ..observability import Logger
from .byte_store import StateUnavailable
from .redis_account import ENTRY_BYTES, RedisAccount

Result = TypeVar("Result")

#: begins all keys
PREFIX = f"{NAMESPACE}-state:"
#: seconds of one call: answers wait for it
CALL_SECONDS = 2.0
#: calls at once, each with a connection of its own
MAX_CALLS = 32
#: bytes of a reply besides its values: MACs and the replies to other commands, for 2,048 values
REPLY_OVERHEAD = 1 << 20


class RedisStore:
    """See the file's header. Connects on first use.

    Args:
        max_bytes: of the values that one call reads.
        room_bytes: of all values.

    Raises:
        ValueError: an invalid URL, or one with an option that redis-py's asyncio clients lack.
    """

    place = "redis"

    def __init__(
        self,
        url: str,
        *,
        secret: bytes | None,
        ttl_s: int,
        max_bytes: int,
        room_bytes: int,
        logger: Logger,
    ) -> None:
        address = RedisAddress.of(url)
        self._is_cluster = address.kind == "cluster"
        self._seal = Seal(secret)
        self._ttl_s = ttl_s
        self._room_bytes = room_bytes
        self._account = RedisAccount(PREFIX, most_bytes=room_bytes, ttl_s=ttl_s)
        self._logger = logger
        self._calls = asyncio.Semaphore(MAX_CALLS)
        self._client = connect_async(address, reply_bytes=max_bytes + REPLY_OVERHEAD, retries=1)

    async def set(self, owner: str, values: Mapping[str, bytes]) -> None:
        """Store values. After a failure some may be there: a reader needs all of them."""
        sealed = {name: self._seal.wrap(_key(name), value) for name, value in values.items()}
        sizes = {name: _weight(name, value) for name, value in sealed.items()}
        if sum(sizes.values()) > self._room_bytes:
            raise StateUnavailable("the values are larger than the whole room")

        async def run(pipe: Any) -> None:
            for name, value in sealed.items():
                pipe.set(_key(name), value, ex=self._ttl_s)
            if self._is_cluster:
                # the nodes of a cluster run a pipeline in no order
                await pipe.execute()
            self._account.take(pipe, owner, sizes)
            *_, leaving = await pipe.execute()
            if leaving:
                for name in leaving:
                    pipe.delete(PREFIX.encode() + name)
                self._account.deleted(pipe, leaving)
                await pipe.execute()

        await self._call(run)

    async def sizes(self, names: Sequence[str]) -> list[int]:
        """Return the bytes of values; 0: missing."""

        async def run(pipe: Any) -> list[Any]:
            for name in names:
                pipe.strlen(_key(name))
            return [_value(reply) for reply in await pipe.execute(raise_on_error=False)]

        found = await self._call(run)
        return [size if isinstance(size, int) else 0 for size in found]

    async def get(self, names: Sequence[str]) -> list[bytes | None]:
        keys = [_key(name) for name in names]

        async def run(pipe: Any) -> list[Any]:
            # one command takes a third of the time; keys of a cluster are on several nodes
            if self._is_cluster:
                for key in keys:
                    pipe.get(key)
            else:
                pipe.mget(keys)
            for key in keys:
                pipe.expire(key, self._ttl_s)
            self._account.use(pipe, names)
            # a server that rejects writes still answers reads
            replies = await pipe.execute(raise_on_error=False)
            found = replies[: len(keys)] if self._is_cluster else replies[:1]
            values = [_value(reply) for reply in found]
            return values if self._is_cluster else list(values[0])

        found = await self._call(run)
        return [self._opened(key, value) for key, value in zip(keys, found, strict=True)]

    async def delete(self, names: Sequence[str]) -> None:
        async def run(pipe: Any) -> None:
            for name in names:
                pipe.delete(_key(name))
            self._account.forget(pipe, names)
            await pipe.execute()

        await self._call(run)

    async def claim(self, name: str, seconds: float) -> bool:
        async def run(pipe: Any) -> bool:
            pipe.set(_key(name), b"", nx=True, ex=ceil(seconds))
            (is_free,) = await pipe.execute()
            return bool(is_free)

        return await self._call(run)

    async def release(self, name: str) -> None:
        async def run(pipe: Any) -> None:
            pipe.delete(_key(name))
            await pipe.execute()

        await self._call(run)

    async def aclose(self) -> None:
        await self._client.aclose()

    def _opened(self, key: bytes, value: Any) -> bytes | None:
        return self._seal.unwrap(key, value) if isinstance(value, bytes) else None

    async def _call(self, run: Callable[[Any], Awaitable[Result]]) -> Result:
        task = asyncio.current_task()
        assert task is not None
        cancelling = task.cancelling()
        try:
            async with asyncio.timeout(CALL_SECONDS), self._calls:
                return await run(self._client.pipeline(transaction=False))
        except Exception as error:
            # the type only: a message may quote an address or data of the server
            reason = type(error).__name__
            self._logger.warning("stored responses: redis failed", reason=reason)
            raise StateUnavailable(reason) from None
        finally:
            if task.cancelling() > cancelling:
                # redis-py uses asyncio.wait_for, which may lose it before Python 3.12
                raise asyncio.CancelledError


def _value(reply: Any) -> Any:
    """Return a reply; None for a value of another type, which counts as missing. Raises errors."""
    if not isinstance(reply, Exception):
        return reply
    if "WRONGTYPE" in str(reply):
        return None
    raise reply


def _weight(name: str, sealed: bytes) -> int:
    return len(_key(name)) + len(sealed) + ENTRY_BYTES


def _key(name: str) -> bytes:
    return f"{PREFIX}{name}".encode()
