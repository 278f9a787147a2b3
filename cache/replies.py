"""What Redis answers to an operator's questions, looked at before anything is made of it.

Each function takes a reply as it came, and gives what it says. What is no answer to the command is
``RedisUnusable``: who can stand in Redis' place can say anything.

Invariants  I1 no number is larger than ``MOST_NUMBER``, so that sums of them can be printed.
Not here    asking (namespace), what a value means (seal).
"""

from typing import Any, Final

from .entries import MOST_USES

#: Redis' own numbers have 64 bits
MOST_NUMBER: Final = (1 << 63) - 1
#: digits of a cursor, which has 64 bits too
_MOST_DIGITS: Final = 20
#: facts of INFO that are told
SERVER_FACTS: Final = (
    "redis_version",
    "used_memory",
    "maxmemory",
    "maxmemory_policy",
    "evicted_keys",
)
#: letters of one fact
_MOST_LETTERS: Final = 100


class RedisUnusable(Exception):
    """Redis can't be reached, or doesn't do what it is asked."""


def check_pong(reply: Any) -> None:
    """Of PING."""
    if reply != b"PONG":
        raise _no_answer_to("PING")


def keys_of(reply: Any) -> tuple[int, list[bytes]]:
    """Of SCAN: where it goes on, 0 at the end, and keys."""
    match reply:
        case [bytes(cursor), list(keys)] if cursor.isdigit() and len(cursor) <= _MOST_DIGITS:
            if all(isinstance(key, bytes) for key in keys):
                return int(cursor), keys
    raise _no_answer_to("SCAN")


def sealed_of(reply: Any) -> bytes | None:
    """Of GETRANGE: nothing for a key that is not there, None where no string lies."""
    if is_of_another_type(reply):
        return None
    if not isinstance(reply, bytes):
        raise _no_answer_to("GETRANGE")
    return reply


def size_of(reply: Any) -> int | None:
    """Of MEMORY USAGE: bytes, or None for a key that is not there."""
    return None if reply is None else _number(reply, 0, "MEMORY USAGE")


def ttl_of(reply: Any) -> int | None:
    """Of TTL: seconds, -1 for ever, or None for a key that is not there."""
    ttl = _number(reply, -2, "TTL")
    return None if ttl == -2 else ttl


def uses_of(reply: Any) -> int:
    """Of ZSCORE; 0 where none are counted, or a number that can't be one of uses."""
    if reply is None or is_of_another_type(reply):
        return 0
    return _uses(reply, "ZSCORE")


def count_of(reply: Any) -> int:
    """Of ZCARD; 0 where no sorted set lies."""
    return 0 if is_of_another_type(reply) else _number(reply, 0, "ZCARD")


def most_uses_of(reply: Any) -> int:
    """Of ZREVRANGE with scores, of which the first counts."""
    if is_of_another_type(reply) or reply == []:
        return 0
    match reply:
        case [bytes(), score]:
            return _uses(score, "ZREVRANGE")
    raise _no_answer_to("ZREVRANGE")


def check_noted(reply: Any) -> None:
    """Of ZADD; where something else lies than a sorted set, no uses are counted."""
    if not is_of_another_type(reply):
        _number(reply, 0, "ZADD")


def facts_of(reply: Any) -> dict[str, str]:
    """Of INFO: those of ``SERVER_FACTS``."""
    if not isinstance(reply, bytes):
        raise _no_answer_to("INFO")
    parts = (line.partition(b":") for line in reply.splitlines())
    told = {name: value[:_MOST_LETTERS].decode("utf-8", "replace") for name, _, value in parts}
    found = {name: told[name.encode()] for name in SERVER_FACTS if name.encode() in told}
    if not found:
        raise _no_answer_to("INFO")
    return found


def is_of_another_type(reply: Any) -> bool:
    """Redis says that something else lies there: an answer, and no failure of Redis."""
    return isinstance(reply, Exception) and str(reply).startswith("WRONGTYPE")


def _number(reply: Any, least: int, command: str) -> int:
    if type(reply) is not int or not least <= reply <= MOST_NUMBER:
        raise _no_answer_to(command)
    return reply


def _uses(score: Any, command: str) -> int:
    """Who can write to Redis can write any score."""
    try:
        uses = float(score) if isinstance(score, bytes) else None
    except ValueError:
        uses = None
    if uses is None:
        raise _no_answer_to(command)
    return int(uses) if 0 <= uses <= MOST_USES else 0


def _no_answer_to(command: str) -> RedisUnusable:
    return RedisUnusable(f"Redis answered {command} with what is no answer to it")
