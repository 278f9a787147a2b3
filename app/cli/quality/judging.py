"""The judge: a chat completion against its case.

complete    the answer ended by itself (not by the limit of tokens, a filter or a fault).
valid       complete, and its JSON satisfies the schema, by the package ``jsonschema`` with its
            formats; every call names an offered tool.
function    the first call names the right tool.
arguments   the first call is the right one by the rules of BFCL's checker for Python: types match
            (an integer may stand for a number), texts are equal without case, spaces and
            ``,./-_*^``, an argument without an acceptable value "" is required, others are wrong.
fields      of the values that an extraction should have, the share that it has; 0 if incomplete.
invented    keys that no ``properties`` of the schema lists where it lists some.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from .cases import Case, Schema

#: finish reasons of answers that ended by themselves
ENDED = ("stop", "tool_calls", "function_call")
#: what the checker of BFCL leaves out of texts
_UNREAD = re.compile(r"[ ,./\-_*^]")


@dataclass(frozen=True)
class Verdict:
    """See the file's header. None: not asked, or ``jsonschema`` is not installed (``valid``)."""

    complete: bool
    cut: bool
    valid: bool | None
    function: bool | None
    arguments: bool | None
    fields: float | None
    invented: int
    calls: int
    text: str


class Judge:
    """Judges answers. ``validates``: whether ``jsonschema`` is installed."""

    def __init__(self) -> None:
        try:
            from jsonschema import Draft202012Validator
        except ModuleNotFoundError:
            self._validator: Any = None
        else:
            formats = Draft202012Validator.FORMAT_CHECKER
            self._validator = partial(Draft202012Validator, format_checker=formats)

    @property
    def validates(self) -> bool:
        return self._validator is not None

    def judge(self, case: Case, completion: dict[str, Any]) -> Verdict:
        """Return the verdict on a chat completion with one choice. Raises LookupError for another
        object.
        """
        choice = completion["choices"][0]
        message, finish = choice["message"], choice["finish_reason"]
        if case.is_call:
            return self._calls(case, message, finish)
        return self._extraction(case, message.get("content") or "", finish)

    def _calls(self, case: Case, message: dict[str, Any], finish: str | None) -> Verdict:
        complete = finish in ENDED
        calls = [call["function"] for call in message.get("tool_calls") or ()]
        values = [(call["name"], parsed(call["arguments"])) for call in calls]
        known = [
            (name, value) for name, value in values if value is not None and name in case.schemas
        ]
        name, value = values[0] if values else ("", None)
        right = name == case.function
        return Verdict(
            complete=complete,
            cut=finish == "length",
            valid=self._valid(complete and bool(calls), len(known) == len(calls), case, known),
            function=right,
            arguments=right and _is_right(case, value),
            fields=None,
            invented=sum(invented(case.schemas[name], value) for name, value in known),
            calls=len(calls),
            text=json.dumps(calls) if calls else message.get("content") or "",
        )

    def _extraction(self, case: Case, text: str, finish: str | None) -> Verdict:
        value, complete = parsed(text), finish in ENDED
        return Verdict(
            complete=complete,
            cut=finish == "length",
            valid=self._valid(complete, value is not None, case, [("", value)]),
            function=None,
            arguments=None,
            fields=field_score(case.expected, value) if complete and value is not None else 0.0,
            invented=0 if value is None else invented(case.schemas[""], value),
            calls=0,
            text=text,
        )

    def _valid(
        self, complete: bool, readable: bool, case: Case, values: list[tuple[str, Any]]
    ) -> bool | None:
        if self._validator is None:
            return None
        return (
            complete
            and readable
            and all(self._validator(case.schemas[name]).is_valid(value) for name, value in values)
        )


def parsed(text: str) -> Any:
    """Return the value of a JSON text; None: it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# -- calls ----------------------------------------------------------------------------------------


def _is_right(case: Case, value: Any) -> bool:
    """Whether these are the right arguments. See the file's header."""
    properties = case.schemas[case.function].get("properties", {})
    required = case.schemas[case.function].get("required", ())
    if not isinstance(value, dict) or not all(name in value for name in required):
        return False
    if any(name not in properties or name not in case.expected for name in value):
        return False
    return all(
        _fits(properties[name], value[name], accepted) if name in value else "" in accepted
        for name, accepted in case.expected.items()
    )


def _fits(schema: Schema, value: Any, accepted: list[Any]) -> bool:
    """Whether a value has its type, and is an acceptable one."""
    if schema.get("type") == "integer" and isinstance(value, float):
        return False
    return any(_equal(value, one) for one in accepted)


def _equal(value: Any, one: Any) -> bool:
    """Whether a value is the acceptable one. In an object, each key has acceptable values again."""
    if isinstance(value, dict) and isinstance(one, dict):
        return all(
            name in one and any(_equal(part, each) for each in _choices(one[name]))
            for name, part in value.items()
        ) and all(name in value or "" in _choices(one[name]) for name in one)
    if isinstance(value, list) and isinstance(one, list):
        return len(value) == len(one) and all(map(_equal, value, one))
    return bool(_plain(value) == _plain(one))


def _choices(accepted: Any) -> list[Any]:
    return accepted if isinstance(accepted, list) else [accepted]


def _plain(value: Any) -> Any:
    """Return a value for comparison: texts as BFCL reads them, and no boolean equals a number."""
    if isinstance(value, str):
        return _UNREAD.sub("", value).lower().replace("'", '"')
    return (bool, value) if isinstance(value, bool) else value


# -- extractions ----------------------------------------------------------------------------------


def field_score(expected: Any, value: Any) -> float:
    """Return the share of the expected values that are at their place."""
    there = dict(_leaves(value))
    wanted = list(_leaves(expected))
    hits = [place in there and bool(there[place] == leaf) for place, leaf in wanted]
    return sum(hits) / len(hits) if hits else 1.0


def _leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield (place, value) of all that is neither an object nor an array."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, (*place, name))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _leaves(part, (*place, number))
    else:
        yield place, _plain(value)


def invented(schema: Any, value: Any) -> int:
    """Return how many keys of a value no ``properties`` lists, where the schema lists some."""
    if not isinstance(schema, dict):
        return 0
    if isinstance(value, list):
        return sum(invented(schema.get("items"), part) for part in value)
    listed = schema.get("properties")
    if not (isinstance(value, dict) and listed):
        return 0
    return sum(
        invented(listed[name], part) if name in listed else 1 for name, part in value.items()
    )
