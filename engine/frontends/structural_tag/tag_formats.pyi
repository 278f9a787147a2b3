from typing import TypeAlias

Mark: TypeAlias = str | int
