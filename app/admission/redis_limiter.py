"""Token buckets in Redis, which all gateways share. One script call per count is atomic.

Representation   "switchyard:limit:<client id>" is a hash: levels of requests (r) and tokens (t),
                 and the time of Redis at which they were true (at, ms). It expires when the buckets
                 are full, because a missing hash means full buckets.
Invariants       I1 only the clock of Redis counts, so the gateways' clocks may differ or jump. If
                    the clock of Redis goes back, buckets do not refill until the next call and
                    then go on from the new time.
                 I2 Redis delays a request by SECONDS at most. After a failure no request asks it
                    until a probe in the background succeeds; meanwhile ``on_failure`` decides:
                    "open" counts in this process, "closed" refuses.
                 I3 a value that no gateway wrote affects its client alone: one of another type is
                    replaced, a number out of range is that of a full bucket.
Threads          the event loop only.
"""

import asyncio
from collections.abc import Awaitable
from typing import Any, Final, Literal

from cache import NAMESPACE, RedisAddress, connect_async

from ..access import Client
from ..concurrency import cancel
from ..errors import unavailable
from ..observability import Logger
from .rate_limits import MAX_DEBT, Levels, LimitName, MemoryLimiter, needed

#: seconds of one call; a Redis in the same network answers within a millisecond
SECONDS: Final = 0.1
#: seconds between two probes of a Redis that failed
PROBE_SECONDS: Final = 1.0

#: ARGV: limits of requests and tokens per minute (0: none), tokens to take, tokens that must be
#: there, 1 to count a request, 0 to settle one, and MAX_DEBT
SCRIPT: Final = """
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local rpm, tpm = tonumber(ARGV[1]), tonumber(ARGV[2])
local take, need, counts = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1'
local held = redis.pcall('HMGET', KEYS[1], 'r', 't', 'at')
if held.err then
  if not string.find(held.err, 'WRONGTYPE', 1, true) then return held end
  local gone = redis.pcall('DEL', KEYS[1])
  -- without the right to delete: this client alone is counted elsewhere
  if type(gone) == 'table' then return held end
  held = {}
end
local function number(given, least)
  local found = tonumber(given or '')
  -- not a number is not even equal to itself
  if found == nil or found ~= found or found < least or found > 1e15 then return nil end
  return found
end
local debt = tonumber(ARGV[6])
local passed = math.max(0, now - (number(held[3], 0) or now))
local requests = math.min(rpm, (number(held[1], 0) or rpm) + rpm * passed / 60000)
local tokens = math.min(tpm, (number(held[2], -debt) or tpm) + tpm * passed / 60000)
local refused = ''
if counts and tpm > 0 and tokens < need then refused = 'tokens' end
if counts and rpm > 0 and requests < 1 then refused = 'requests' end
if refused == '' then
  if counts then requests = requests - 1 end
  tokens = math.max(-debt, math.min(tpm, tokens - take))
end
local full = 0
if rpm > 0 then full = math.max(full, (rpm - requests) * 60000 / rpm) end
if tpm > 0 then full = math.max(full, (tpm - tokens) * 60000 / tpm) end
local function text(number) return string.format('%.6f', number) end
local function kept(limit, level) if limit > 0 then return text(level) else return '' end end
local function whole(number) return string.format('%.0f', number) end
redis.call('HSET', KEYS[1], 'r', kept(rpm, requests), 't', kept(tpm, tokens), 'at', whole(now))
redis.call('PEXPIRE', KEYS[1], whole(full + 1000))
return {refused, text(requests), text(tokens)}
"""

_REFUSALS: Final[dict[bytes, LimitName | None]] = {
    b"": None,
    b"requests": "requests",
    b"tokens": "tokens",
}


class RedisLimiter:
    """Counts in Redis. See the file's header."""

    def __init__(
        self,
        address: RedisAddress,
        *,
        on_failure: Literal["open", "closed"],
        logger: Logger | None = None,
    ) -> None:
        self._address = address
        self._on_failure = on_failure
        self._logger = logger
        self._client: Any = None
        self._script: Any = None
        self._local = MemoryLimiter()
        self._probing: asyncio.Task[None] | None = None
        self._failures = 0

    async def charge(self, client: Client, tokens: int) -> Levels:
        limit = client.tokens_per_minute
        levels = await self._call(client, tokens, needed(limit, tokens), counts=True)
        if levels is not None:
            return levels
        if self._on_failure == "open":
            return await self._local.charge(client, tokens)
        raise unavailable(
            "The limits of this API key cannot be checked at the moment. Please try again.",
            "limits_unavailable",
        )

    async def settle(self, client: Client, tokens: int) -> None:
        if await self._call(client, tokens, 0, counts=False) is None:
            await self._local.settle(client, tokens)

    async def aclose(self) -> None:
        await cancel(self._probing)
        if self._client is not None:
            await self._client.aclose()

    def stats(self) -> dict[str, int]:
        """Return failed calls since start, and whether Redis is not asked at the moment."""
        return {"failures": self._failures, "circuit_open": int(self._is_open)}

    @property
    def _is_open(self) -> bool:
        return self._probing is not None and not self._probing.done()

    async def _call(self, client: Client, take: int, need: float, *, counts: bool) -> Levels | None:
        """Run the script; return None if Redis fails, or failed a moment ago."""
        if self._is_open:
            return None
        limits = (client.requests_per_minute or 0, client.tokens_per_minute or 0)
        arguments = [*limits, take, need, int(counts), MAX_DEBT]
        try:
            async with asyncio.timeout(SECONDS):
                reply = await self._run([f"{NAMESPACE}:limit:{client.id}"], arguments)
                return _levels(reply)
        except Exception as error:
            self._fail(error)
            return None

    def _run(self, keys: list[str], arguments: list[Any]) -> Awaitable[Any]:
        if self._script is None:
            self._client = connect_async(self._address)
            self._script = self._client.register_script(SCRIPT)
        running: Awaitable[Any] = self._script(keys=keys, args=arguments)
        return running

    def _fail(self, error: Exception) -> None:
        self._failures += 1
        # one client's value is no failure of Redis
        if self._is_open or "WRONGTYPE" in str(error):
            return
        self._probing = asyncio.create_task(self._probe())
        if self._logger is not None:
            # the type only: a message may quote an address or data of the server
            reason = type(error).__name__
            self._logger.error("limits: Redis failed", reason=reason, mode=self._on_failure)

    async def _probe(self) -> None:
        """Return as soon as Redis answers."""
        while True:
            await asyncio.sleep(PROBE_SECONDS)
            try:
                async with asyncio.timeout(SECONDS):
                    await self._client.ping()
            except Exception:
                self._failures += 1
                continue
            if self._logger is not None:
                self._logger.info("limits: Redis answers again")
            return


def _levels(reply: Any) -> Levels:
    """Return the levels of a reply. Raises if it is no reply of the script."""
    refused, requests, tokens = reply
    return Levels(float(requests), float(tokens), _REFUSALS[refused])
