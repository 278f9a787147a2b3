from typing import Any

from ..limits import Limits

class SpecHash:
    def __init__(self, limits: Limits) -> None: ...
    def of(self, kind: str, spec: Any) -> bytes:
        """Return the digest of a spec and its kind, 16 bytes.

        Raises:
            LimitExceeded: spec_bytes or spec_depth.
            SpecError: not a JSON value.
        """
