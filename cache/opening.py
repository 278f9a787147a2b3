"""Opens the log of one process as its settings describe it: gateways and workers share one.

The key of the MACs is given as itself, or as the path of a file that an orchestrator mounts: a
secret of Compose or Kubernetes. White space at the file's ends is not part of the key.
"""

from pathlib import Path
from typing import Final, Literal

from .address import RedisAddress
from .redis_log import RedisLog
from .seal import MIN_SECRET_BYTES, Seal

#: what separates our entries from others' in one Redis
NAMESPACE: Final = "switchyard"
#: bytes of a file that is still taken for a key and not for a mistake
MOST_BYTES: Final = 4096


def may_use_redis(key: bytes | None, trust: str) -> bool:
    """Whether values from Redis may be believed: they are sealed, or nobody else can write them."""
    return key is not None or trust == "network"


def open_store(
    *,
    redis_url: str | None,
    key: bytes | None,
    ttl_s: int,
    trust: Literal["key", "network"] = "key",
) -> RedisLog | None:
    """The log in Redis; None where no Redis is set, or it may not be used. Nothing is connected.

    Raises:
        ValueError: an invalid URL, time to live or key.
    """
    if redis_url is None or not may_use_redis(key, trust):
        return None
    address = RedisAddress.of(redis_url)
    return RedisLog(address, namespace=NAMESPACE, seal=Seal(key), ttl_s=ttl_s)


def key_of(key: str | None, file: Path | None) -> str | None:
    """The key, however it was given; None if it was not.

    Raises:
        ValueError: both are given and differ, the file can't be read or holds no text, or the key
            is shorter than ``MIN_SECRET_BYTES`` or, in a file, longer than ``MOST_BYTES``. The
            message quotes no key.
    """
    held = None if file is None else _read(file)
    if held is not None and key is not None and held != key:
        raise ValueError("the key and the file with the key are both given, and differ")
    found = held if key is None else key
    if found is not None and len(found.encode()) < MIN_SECRET_BYTES:
        where = "" if held is None else f" in {file}"
        raise ValueError(
            f"the key{where} needs {MIN_SECRET_BYTES} bytes or more, got {len(found.encode())}"
        )
    return found


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{file} can't be read: {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise ValueError(f"{file} is larger than the {MOST_BYTES:,} bytes that a key may have")
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        raise ValueError(f"{file} holds no UTF-8 text") from None
