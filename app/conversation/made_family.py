"""A family made at start, from what a checkpoint shows of its answers."""

from dataclasses import dataclass

from adapters.formats import TagFamily


@dataclass(frozen=True)
class MadeFamily:
    """A family, and notes for operators: where its grammar differs from its source."""

    family: TagFamily
    notes: tuple[str, ...] = ()
