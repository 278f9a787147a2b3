""""""

from typing import Any

class Bitmask:
    height: int
    def __init__(self, buffer: Any) -> None: ...
    def allow_all(self) -> None: ...


# -- logits ------------------------------------------------------------------------------------------
#

def apply_bitmask(logits: Any, bitmask: Any) -> None: ...
def apply_bitmask_at(address: int, rows: int, width: int, bitmask: Any) -> None: ...
