class TripleTable:
    max_bytes: int
    hits: int
    misses: int
    evictions: int
    def __init__(self, max_bytes: int) -> None: ...
    def stats(self) -> dict[str, int]: ...
