from collections.abc import Sequence
from typing import Any

from .matcher import Matcher

def fill_bitmask_batch(
    matchers: Sequence[Matcher],
    bitmask: Any,
    rows: Sequence[int],
    *,
    threads: int | None = None,
) -> None: ...
