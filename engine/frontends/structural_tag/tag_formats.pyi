from typing import Any, TypeAlias

Mark: TypeAlias = str | int

class Format:
    pointer: str

class JsonSchema(Format):
    schema: Any
    schema_pointer: str
    extra_keys: str
    spelling: str
    loose: bool
    style: str
    any_order: bool
    whitespace: str
    most_blanks: int
    indent: int | str | None
    separators: list[str] | None
    excludes: tuple[str, ...]
