"""Choices: exactly one of several texts."""

from collections.abc import Sequence

from ..errors import LimitExceeded, SpecError
from ..grammar.ir import Grammar, Node


def build_choice(grammar: Grammar, choices: Sequence[str]) -> Node:
    """Add the choices and return their node.

    Raises:
        SpecError: there are no choices, or one is not text; the pointer names it.
        LimitExceeded: ``enum_values``.
    """
    if not choices:
        raise SpecError("at least one choice is needed")
    if len(choices) > grammar.limits.enum_values:
        raise LimitExceeded("enum_values", grammar.limits.enum_values, len(choices))
    nodes = []
    for number, choice in enumerate(choices):
        if not isinstance(choice, str):
            raise SpecError(f"a choice must be a string, not {type(choice).__name__}", f"/{number}")
        try:
            nodes.append(grammar.bytes(choice.encode()))
        except UnicodeEncodeError:
            raise SpecError("a lone surrogate is not text", f"/{number}") from None
    return grammar.alt(*nodes)
