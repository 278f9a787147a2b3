"""The white space of calls, found in a prompt.

A template shows a past call with known arguments. Each layout writes these arguments in another
way, so the text in the prompt tells the layout. JSON may also be a part of the call only: the value
of an argument that is an element. Some templates write Python there, with apostrophes.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from adapters.formats import JsonLayout

#: arguments that show all white space of a layout, and some without nested values
NESTED = {"wordouter": {"wordinner": ["wordleft", 1]}, "wordnumber": 2}
FLAT = {"wordone": 1, "wordtwo": 2}
_ON_ONE_LINE = ((", ", ": "), (",", ":"), (",", ": "), (", ", ":"))
_INDENTS = (2, 4, 1, 3, 8, "\t")
#: levels of indentation around arguments
_DEPTHS = range(5)


def layouts() -> Iterator[JsonLayout]:
    for separators in _ON_ONE_LINE:
        yield JsonLayout(separators=separators)
    for indent in _INDENTS:
        for depth in _DEPTHS:
            yield JsonLayout(indent, (",", ": "), depth)


def layout_in(prompt: str, arguments: dict[str, Any]) -> JsonLayout | None:
    """Return the layout in which a prompt shows arguments, or the first of them; None: in none."""
    prompt = prompt.replace("'", '"')
    for value in (arguments, next(iter(arguments.values()))):
        for layout in layouts():
            if layout.written(value) in prompt:
                return layout
    return None


def same_space(call: str, prompt: str, keys: Iterable[str]) -> bool:
    """Whether a prompt shows a call with the same texts between the keys of its arguments, and
    behind the last one.
    """
    first = next(iter(keys))
    return call[call.index(first) :].rstrip() in prompt


def as_described(layout: JsonLayout | None) -> dict[str, Any] | None:
    """Return a layout as JSON."""
    return None if layout is None else layout._asdict()
