class FragmentCache:
    def forget(self) -> None: ...

TABLES: list[FragmentCache]
