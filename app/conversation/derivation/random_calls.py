"""Random calls of random tools, made of what a chat template and a family both write."""

from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Any

from adapters.formats import Tool

from .answers import Call

#: what random texts are made of
PIECES = (
    *"aB7 -_.,:'\"\\/&<>{}[]=é漢😀",
    *("word", "two words", "a\nb", "{{x}}"),
    *"%#|",
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_NESTED = ("array", "object")


class RandomCalls:
    """A source of random calls.

    ``kinds``: the types of values. ``depth``: the levels of lists and objects inside of others.
    ``pieces``: of :data:`PIECES`. ``barred``: texts that no string has. ``most``: calls at once.
    """

    def __init__(
        self,
        chance: Random,
        kinds: Sequence[str],
        *,
        depth: int,
        pieces: Sequence[str],
        barred: Collection[str],
        most: int,
    ) -> None:
        self._chance = chance
        self._kinds = kinds
        self._depth = depth
        self._pieces = pieces
        self._barred = barred
        self._most = most

    def draw(self) -> tuple[list[Tool], list[Call]]:
        """Return tools and a call of each."""
        chance, tools, calls = self._chance, [], []
        count = chance.randint(1, self._most) if self._most > 1 else 1
        for number in range(count):
            name = f"{self._name()}{number}"
            values = {self._name(): chance.choice(self._kinds) for _ in range(chance.randint(0, 5))}
            properties = {key: {"type": kind} for key, kind in values.items()}
            shown = {k: self._value(v) for k, v in values.items() if chance.random() < 0.8}
            tools.append(described_tool(name, properties, [*shown]))
            calls.append(Call(name, shown))
        return tools, calls

    def _value(self, kind: str, depth: int = 0) -> Any:
        chance = self._chance
        if kind == "string":
            return self._text()
        if kind == "integer":
            return chance.choice([0, 7, -1, chance.randint(-(10**12), 10**12)])
        if kind == "number":
            return chance.choice([0.5, -2.25, 1234.0625, chance.randint(-9, 9)])
        if kind == "boolean":
            return chance.random() < 0.5
        if kind == "null":
            return None
        inner = [each for each in self._kinds if depth < self._depth or each not in _NESTED]
        values = [self._value(chance.choice(inner), depth + 1) for _ in range(chance.randint(0, 3))]
        if kind == "array":
            return values
        return {f"{self._name()}{number}": value for number, value in enumerate(values)}

    def _text(self) -> str:
        chance = self._chance
        inside = "".join(chance.choice(self._pieces) for _ in range(chance.randint(0, 8)))
        text = f"{chance.choice(_LETTERS)}{inside}{chance.choice(_LETTERS)}"
        return "word" if any(barred in text for barred in self._barred) else text

    def _name(self) -> str:
        letters = [self._chance.choice(_LETTERS) for _ in range(self._chance.randint(2, 7))]
        return "".join(letters) + self._chance.choice(["", "_", "_of"])


def described_tool(name: str, properties: Mapping[str, Any], required: Sequence[str]) -> Tool:
    """Return a tool with descriptions, without which some templates fail."""
    described = {key: {"description": "word", **each} for key, each in properties.items()}
    parameters = {"type": "object", "properties": described, "required": list(required)}
    return Tool(name, parameters, "word")
