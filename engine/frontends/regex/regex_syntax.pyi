from ...grammar.ir import Ranges
from ...limits import Limits
from .regex_tree import Tree

def parse(
    pattern: str,
    *,
    pointer: str,
    limits: Limits,
    looks: bool = True,
    flags: str = "",
    line_ends: Ranges = ...,
) -> Tree:
    """
    Args:
        looks: whether there may be look-around and word boundaries.
        flags: those that hold from the beginning, of "ims".
        line_ends: what the dot leaves out, and where lines end for the flag ``m``; those of the
            standard if it is not given.

    Raises:
        SpecError: not a regular expression; the message names the position.
        UnsupportedSchema: a construct that can't be enforced, by name.
        LimitExceeded: ``pattern_chars`` or, for nested groups, ``spec_depth``.
    """
