"""The fields of one JSON object, taken one by one; what is left over at the end is refused.

Places are given as steps and joined only where something is wrong with them.
"""

from typing import Any

from ..errors import SpecError, UnsupportedSchema

Place = str | int


class Fields:
    """``taken`` counts the fields of ``value`` that were asked for; none is asked for twice."""

    __slots__ = ("pointer", "taken", "value")

    def __init__(self, value: Any, pointer: str) -> None:
        if not isinstance(value, dict):
            raise SpecError("must be an object", pointer)
        self.value = value
        self.pointer = pointer
        self.taken = 0

    # -- errors -----------------------------------------------------------------------------------
    def place(self, *steps: Place) -> str:
        return "/".join((self.pointer, *map(str, steps)))

    def error(self, message: str, *steps: Place) -> SpecError:
        return SpecError(message, self.place(*steps))

    def fault(self, name: str, message: str) -> SpecError:
        return SpecError(f"{name} {message}", f"{self.pointer}/{name}")

    def finish(self, *known: str) -> None:
        """``known`` are all fields that there are.

        Raises:
            UnsupportedSchema: another one.
        """
        if len(self.value) != self.taken:
            name = next(name for name in self.value if name not in known)
            raise UnsupportedSchema(self.pointer, name)

    # -- values -----------------------------------------------------------------------------------
    def get(self, name: str, default: Any = None) -> Any:
        if name not in self.value:
            return default
        self.taken += 1
        return self.value[name]

    def item(self, name: str) -> Any:
        """A field that must be there."""
        self.taken += 1
        try:
            return self.value[name]
        except KeyError:
            raise SpecError(f"the field {name!r} is missing", self.pointer) from None

    def items(self, name: str) -> list[Any]:
        """The elements of a list that must be there and must not be empty."""
        value = self.item(name)
        if not isinstance(value, list) or not value:
            raise self.fault(name, "must be a list with at least one element")
        return value

    def optional_items(self, name: str) -> list[Any]:
        """The same for a list that may be absent or empty."""
        if name not in self.value or self.value[name] == []:
            return self.get(name, [])  # type: ignore[no-any-return]
        return self.items(name)

    def text(self, name: str) -> str:
        return as_text(self.item(name), self.pointer, name)

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.get(name, default)
        if value is not True and value is not False:
            raise self.fault(name, "must be true or false")
        return value

    def count(self, name: str, low: int, high: int) -> int:
        value = self.item(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.fault(name, f"must be an integer from {low} to {high:,}")
        return value

    def bound(self, name: str, high: int) -> int | None:
        """A count that may be absent."""
        if self.value.get(name) is None:
            self.get(name)
            return None
        return self.count(name, 0, high)


def as_text(value: Any, pointer: str, *steps: Place, filled: bool = False) -> str:
    """A string that can be written in UTF-8; ``steps`` lead to it from ``pointer``."""
    if not isinstance(value, str) or (filled and not value):
        message = "must be a string" + " that is not empty" * filled
        raise SpecError(message, "/".join((pointer, *map(str, steps))))
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            place = "/".join((pointer, *map(str, steps)))
            raise SpecError("holds half of a surrogate pair", place) from None
    return value


def as_texts(items: list[Any], pointer: str, *steps: Place) -> tuple[str, ...]:
    """Strings that are not empty."""
    return tuple(
        [as_text(value, pointer, *steps, k, filled=True) for k, value in enumerate(items)]
    )


def as_schema(value: Any, pointer: str) -> Any:
    if not isinstance(value, dict | bool):
        raise SpecError("must be a JSON Schema, an object or a boolean", pointer)
    return value
