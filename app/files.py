"""Files: bounded reads, and a file that appears as a whole."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO


def read_bytes(file: Path, max_bytes: int) -> bytes:
    """Return the bytes of a file. Raises ValueError, which names the file and quotes none."""
    try:
        with file.open("rb") as opened:
            data = opened.read(max_bytes + 1)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"{file} cannot be read: {reason}") from None
    if len(data) > max_bytes:
        raise ValueError(f"{file} is larger than {max_bytes:,} bytes, the maximum")
    return data


def read_text(file: Path, max_bytes: int) -> str:
    """Return the text of a file. Raises ValueError, see ``read_bytes``; also if it is not UTF-8."""
    data = read_bytes(file, max_bytes)
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not UTF-8 text") from None


@contextmanager
def replacing(file: Path) -> Iterator[BinaryIO]:
    """Yield a temporary file, readable by its owner only, that replaces ``file`` at the end, or is
    deleted after an error. Raises OSError.
    """
    # a short name, and known before the file exists, so that a signal at any moment removes it
    part = file.parent / f".switchyard-{token_hex(8)}.part"
    try:
        with open(part, "xb", opener=_private) as out:
            yield out
        part.replace(file)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
