from ..limits import Limits
from .regex_tree import Tree

def parse(pattern: str, *, pointer: str, limits: Limits, looks: bool = True) -> Tree:
    """
    Args:
        looks: whether there may be look-around and word boundaries.

    Raises:
        SpecError: not a regular expression; the message names the position.
        UnsupportedSchema: a construct that can't be enforced, by name.
        LimitExceeded: ``pattern_chars`` or, for nested groups, ``spec_depth``.
    """
