class Fragments:
    def forget(self) -> None: ...

TABLES: list[Fragments]
