PATTERNS: str

class Fragments:
    name: str
    def forget(self) -> None: ...

TABLES: list[Fragments]
