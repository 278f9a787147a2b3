"""Opening the log from the settings of a gateway or worker.

The key of the MACs is given directly or in a file, for example a mounted secret of Compose or
Kubernetes. Whitespace at the beginning and end of the file is not part of the key.
"""

from pathlib import Path
from typing import Final, Literal

from .address import RedisAddress
from .redis_log import RedisLog
from .seal import MIN_SECRET_BYTES, Seal

#: prefix of all keys in Redis
NAMESPACE: Final = "switchyard"
#: maximum bytes of a key file; a larger one is a mistake
MAX_BYTES: Final = 4096


def may_use_redis(key: bytes | None, trust: str) -> bool:
    """Return whether Redis is trusted: values are sealed, or only trusted clients can write."""
    return key is not None or trust == "network"


def open_store(
    *,
    redis_url: str | None,
    key: bytes | None,
    ttl_s: int,
    trust: Literal["key", "network"] = "key",
) -> RedisLog | None:
    """Return the log in Redis, not yet connected; None if Redis is not set or not trusted.

    Raises:
        ValueError: an invalid URL, time to live or key.
    """
    if redis_url is None or not may_use_redis(key, trust):
        return None
    address = RedisAddress.of(redis_url)
    return RedisLog(address, namespace=NAMESPACE, seal=Seal(key), ttl_s=ttl_s)


def key_of(key: str | None, file: Path | None) -> str | None:
    """Return the key from either source; None if neither is given.

    Raises:
        ValueError: both are given and differ, the file cannot be read or is not UTF-8, or the key
            is shorter than ``MIN_SECRET_BYTES`` or, in a file, longer than ``MAX_BYTES``. The
            message never quotes a key.
    """
    in_file = None if file is None else _read(file)
    if in_file is not None and key is not None and in_file != key:
        raise ValueError("the key and the key in the file differ")
    chosen = in_file if key is None else key
    if chosen is not None and len(chosen.encode()) < MIN_SECRET_BYTES:
        where = "" if in_file is None else f" in {file}"
        raise ValueError(
            f"the key{where} needs {MIN_SECRET_BYTES} bytes or more, got {len(chosen.encode())}"
        )
    return chosen


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise ValueError(f"{file} is larger than {MAX_BYTES:,} bytes, the maximum of a key")
    try:
        return data.decode().strip()
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not UTF-8 text") from None
