"""``switchyard keys create``, ``list`` and ``revoke``: API keys in a file or in Redis."""

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import ValidationError

from ..access import KeyEntry, KeyFile, KeysUnreadable, RedisKeys, digest_of, new_key, parse_time
from ..composition import make_redis_keys
from ..settings import GatewaySettings
from .environment import Unusable
from .terminal import plain, table

Result = TypeVar("Result")


def run_keys(settings: GatewaySettings, given: argparse.Namespace) -> int:
    """Run the command; return the exit status. Raises Unusable."""
    command = {"create": create, "list": show, "revoke": revoke}[given.what]
    try:
        return command(_place(settings, given), given)
    except KeysUnreadable as error:
        print(f"switchyard: {plain(str(error))}", file=sys.stderr)
        return 1


class RedisPlace:
    """Keys in Redis, with the methods of KeyFile. Each call connects anew."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings

    def entries(self) -> list[KeyEntry]:
        return self._call(lambda keys: keys.entries())

    def add(self, entry: KeyEntry) -> None:
        self._call(lambda keys: keys.add(entry))

    def remove(self, name: str) -> bool:
        return self._call(lambda keys: keys.remove(name))

    def _call(self, request: Callable[[RedisKeys], Awaitable[Result]]) -> Result:
        def warn(reason: str) -> None:
            print(f"switchyard: {plain(reason)}", file=sys.stderr)

        async def run() -> Result:
            keys = make_redis_keys(self._settings, warn)
            try:
                return await request(keys)
            finally:
                await keys.aclose()

        return asyncio.run(run())


Place = KeyFile | RedisPlace


def _place(settings: GatewaySettings, given: argparse.Namespace) -> Place:
    """Return the place that the command or else the settings name. Raises Unusable."""
    file = given.file or (None if given.redis else settings.keys_file)
    in_redis = given.redis or (settings.keys_redis and given.file is None)
    if file is not None and in_redis:
        raise Unusable("keys are in a file and in Redis: choose --file or --redis")
    if file is not None:
        return KeyFile(file)
    if not in_redis:
        raise Unusable("no place of keys: set SWITCHYARD_KEYS_FILE, or choose --file or --redis")
    return RedisPlace(settings)


def create(place: Place, given: argparse.Namespace) -> int:
    """Store a new key's hash, and print the key."""
    key = new_key()
    place.add(_entry(given, key))
    print(key)
    print("switchyard: this key is not shown again", file=sys.stderr)
    return 0


def _entry(given: argparse.Namespace, key: str) -> KeyEntry:
    try:
        return KeyEntry(
            name=given.name,
            sha256=digest_of(key).hex(),
            expires=None if given.expires is None else parse_time(given.expires),
            models=given.model,
            max_running=given.max_running,
            requests_per_minute=given.requests_per_minute,
            tokens_per_minute=given.tokens_per_minute,
            priority=given.priority,
        )
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        raise Unusable(f"{problem['loc'][0]}: {problem['msg']}") from None
    except ValueError:
        raise Unusable(f"--expires {given.expires!r} is not an ISO time") from None


def show(place: Place, given: argparse.Namespace) -> int:
    """Print a table of the keys."""
    head = ("name", "sha256", "expires", "models", "running", "requests/min", "tokens/min", "class")
    print(table([head, *map(_row, place.entries())]))
    return 0


def _row(entry: KeyEntry) -> tuple[Any, ...]:
    expires = None if entry.expires is None else entry.expires.isoformat()
    if entry.has_expired(time.time()):
        expires = f"{expires} (expired)"
    return (
        entry.name,
        entry.sha256[:8],
        expires,
        None if entry.models is None else ", ".join(entry.models),
        entry.max_running,
        entry.requests_per_minute,
        entry.tokens_per_minute,
        entry.priority,
    )


def revoke(place: Place, given: argparse.Namespace) -> int:
    """Delete a key."""
    if not place.remove(given.name):
        print(f"switchyard: no key has the name {plain(given.name)!r}", file=sys.stderr)
        return 1
    print(f"revoked {given.name}")
    return 0
