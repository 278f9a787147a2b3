"""The account of stored values in Redis: who holds how many bytes, and which values make room.

Its meaning is that of the store in memory (byte_store): the values of all gateways together have a
bound, and the owner with the most bytes loses its least recently used values.

Representation   names by the time at which they expire, in all and of each owner; owners by their
                 bytes; bytes and owner of each name; the bytes of all; and the names whose values
                 are to be deleted. All of these keys have one hash tag, so that one script changes
                 them at once, also in a cluster, where the values are on several nodes.
Invariants       I1 a value is stored before it is in the account: otherwise another gateway could
                    delete it before it is there. A gateway that dies in between leaves a value that
                    lives for its time. A name is among those to delete until its value is gone.
                 I2 only the clock of Redis counts. Expired values leave the account.
                 I3 a key of another type or a number out of range, which no gateway wrote, counts
                    as empty. So does a key that Redis has evicted. Values that the account does not
                    know live for their time.
Cost             a script per call: some 10 us for each name, and 30 for each value that makes room.
                 See docs/adr/0021-shares-of-stored-responses.md.
"""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

#: bytes that an entry takes in Redis besides its key and value, account included: measured for
#: names of responses with Redis 7.0
ENTRY_BYTES: Final = 900

#: ARGV: what to do, and the time to live in ms. "take": an owner, the most bytes of all, then names
#: with their bytes; returns names to delete. "use", "forget": names
SCRIPT: Final = """
local expiries, owners, entries, total, leaving = unpack(KEYS)
local act, ttl = ARGV[1], tonumber(ARGV[2])
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
local expiry = string.format('%.0f', now + ttl * 1000)

local function typed(key, kind)
  local found = redis.call('TYPE', key).ok
  if found ~= kind and found ~= 'none' then redis.call('DEL', key) end
  return key
end
typed(expiries, 'zset') typed(owners, 'zset') typed(entries, 'hash')
typed(total, 'string') typed(leaving, 'set')
local seen = {}
local function of(owner)
  seen[owner] = seen[owner] or typed(expiries .. ':' .. owner, 'zset')
  return seen[owner]
end
local function number(given)
  local found = tonumber(given or '')
  -- not a number is not even equal to itself
  if found == nil or found ~= found or found < 0 or found > 1e15 then return 0 end
  return found
end
-- the sum of the owners' bytes, which is added up again each minute
local counted = redis.call('PTTL', total)
local held = number(redis.call('GET', total))
if counted < 0 then
  counted, held = 60000, 0
  local each = redis.call('ZRANGE', owners, 0, -1, 'WITHSCORES')
  for at = 2, #each, 2 do held = held + number(each[at]) end
end

local function charge(owner, bytes)
  local before = number(redis.call('ZSCORE', owners, owner))
  local after = math.max(0, before + bytes)
  if after > 0 then redis.call('ZADD', owners, after, owner)
  else redis.call('ZREM', owners, owner) end
  held = held + after - before
end
local function entry(name)
  return string.match(redis.call('HGET', entries, name) or '', '^(%d+) (%x+)$')
end
local function drop(name)
  local bytes, owner = entry(name)
  redis.call('HDEL', entries, name)
  redis.call('ZREM', expiries, name)
  if owner then
    redis.call('ZREM', of(owner), name)
    charge(owner, -number(bytes))
  end
end
-- 'owner' holds these names, as used now
local function keep(owner, names)
  for first = 1, #names, 1000 do
    local scored = {}
    for at = first, math.min(first + 999, #names) do
      scored[#scored + 1] = expiry
      scored[#scored + 1] = names[at]
    end
    redis.call('ZADD', expiries, unpack(scored))
    redis.call('ZADD', of(owner), unpack(scored))
  end
end
local function evict(owner)
  local name = redis.call('ZRANGE', of(owner), 0, 0)[1]
  if not name then return false end
  redis.call('ZREM', of(owner), name)
  if entry(name) then
    redis.call('SADD', leaving, name)
    drop(name)
  end
  return true
end

local function forget(owner, score)
  charge(owner, -number(score))
  redis.call('ZREM', owners, owner)
end
-- the new values of 'owner', which need these bytes, have no names yet
local function make_room(owner, need, most)
  while held > most do
    local top = redis.call('ZREVRANGE', owners, 0, 1, 'WITHSCORES')
    local first = top[1]
    if not first then return end
    if not evict(first) then
      if first ~= owner then
        forget(first, top[2])
      elseif number(top[2]) ~= need then
        forget(first, top[2])
        charge(owner, need)
      elseif not top[3] then
        return
      elseif not evict(top[3]) then
        forget(top[3], top[4])
      end
    end
  end
end

local reply = {}
if act == 'take' then
  local owner, need = ARGV[3], 0
  for at = 5, #ARGV, 2 do
    drop(ARGV[at])
    need = need + ARGV[at + 1]
  end
  local gone = redis.call('ZRANGEBYSCORE', expiries, '-inf', now, 'LIMIT', 0, 1000)
  for _, name in ipairs(gone) do
    redis.call('SADD', leaving, name)
    drop(name)
  end
  charge(owner, need)
  make_room(owner, need, tonumber(ARGV[4]))
  local names = {}
  for at = 5, #ARGV, 2 do
    redis.call('HSET', entries, ARGV[at], ARGV[at + 1] .. ' ' .. owner)
    redis.call('SREM', leaving, ARGV[at])
    names[#names + 1] = ARGV[at]
  end
  keep(owner, names)
  reply = redis.call('SRANDMEMBER', leaving, 10000)
elseif act == 'use' then
  local held_by = {}
  for at = 3, #ARGV do
    local _, owner = entry(ARGV[at])
    if owner then
      held_by[owner] = held_by[owner] or {}
      table.insert(held_by[owner], ARGV[at])
    end
  end
  for owner, names in pairs(held_by) do keep(owner, names) end
else
  for at = 3, #ARGV do drop(ARGV[at]) end
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ttl) end
for _, key in pairs(seen) do redis.call('PEXPIRE', key, ttl) end
redis.call('SET', total, string.format('%.0f', held), 'PX', math.max(counted, 1))
return reply
"""


class RedisAccount:
    """Adds calls of the script, and others, to pipelines. See the file's header.

    Args:
        prefix: begins the keys of the account.
        most_bytes: of all values.
    """

    def __init__(self, prefix: str, *, most_bytes: int, ttl_s: int) -> None:
        names = ("expiries", "owners", "entries", "total", "leaving")
        self._keys = [f"{prefix}{{account}}:{name}" for name in names]
        self._most_bytes = most_bytes
        self._ttl_ms = 1000 * ttl_s

    def take(self, pipe: Any, owner: str, sizes: Mapping[str, int]) -> None:
        """Add new values of these bytes. The reply: names of values to delete now."""
        # names in Redis do not reveal clients
        holder = sha256(owner.encode()).hexdigest()[:32]
        pairs = [part for pair in sizes.items() for part in pair]
        self._run(pipe, "take", [holder, self._most_bytes, *pairs])

    def deleted(self, pipe: Any, names: Sequence[str | bytes]) -> None:
        """Note that the values are gone that ``take`` named."""
        pipe.srem(self._keys[-1], *names)

    def use(self, pipe: Any, names: Sequence[str]) -> None:
        """Note that the values were used now."""
        self._run(pipe, "use", names)

    def forget(self, pipe: Any, names: Sequence[str]) -> None:
        """Remove values that were deleted."""
        self._run(pipe, "forget", names)

    def _run(self, pipe: Any, act: str, arguments: Sequence[Any]) -> None:
        pipe.eval(SCRIPT, len(self._keys), *self._keys, act, self._ttl_ms, *arguments)
