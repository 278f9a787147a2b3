"""Entries of keys for tests."""

import json
from typing import Any

from app.access.key_entry import digest_of


def entry(key: str, name: str | None = None, **more: Any) -> str:
    """The line of a key."""
    sha256 = digest_of(key).hex()
    return json.dumps({"name": name or f"name-of-{key}", "sha256": sha256, **more})


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}
