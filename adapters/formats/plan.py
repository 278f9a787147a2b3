"""The plan of one answer: the spec for the engine and the workers, and the way back from it.

Representation   spec is the structural tag, spec_json the same as compact ASCII JSON (equal asks
                 give equal bytes; the order of a schema's keys is kept, for it decides the order of
                 the answer's).
Invariants       I1 every node of the spec has a role. I2 blame is total: any pointer leads to some
                 place, or to None.
Not here         families (tags.py, harmony.py), reading (reader.py).
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from .base import Ask, FormatError, Tool
from .objects import argument_schema
from .parts import ARGUMENTS, VALUE, Kind, Marks, Origin, Part, Role, json_value, lower
from .reader import Layout, Reader

#: a tool's name as the format writes it; None: it can't
Spelling = Callable[[str], str | None]

_SCHEMA_FIELD = "/json_schema"


@dataclass(frozen=True)
class Plan:
    """``stop_texts``: tokens that end the answer. ``fallback``: to blame where no origin is."""

    spec: dict[str, Any]
    spec_json: str
    stop_texts: tuple[str, ...]
    roles: Mapping[str, Role]
    origins: Mapping[str, Origin]
    layout: Layout
    fallback: str | None = None

    def reader(self) -> Reader:
        return Reader(self.roles, self.layout)

    def blame(self, pointer: str) -> tuple[str | None, str]:
        """The place that the spec's ``pointer`` was made from: (param, pointer inside of it).

        ("tools[0].function.parameters", "/properties/a") or ("response_format", ""); (None, "") if
        the request has no such place.
        """
        place, rest = pointer, ""
        while place and place not in self.origins:
            place, _, step = place.rpartition("/")
            rest = f"/{step}{rest}"
        if not place:
            return self.fallback, ""
        origin = self.origins[place]
        return origin.param, rest.removeprefix(_SCHEMA_FIELD) if origin.is_schema else ""

    def with_schemas(self, change: Callable[[str, Any], Any]) -> "Plan":
        """The same plan for other schemas: ``change`` gets each with its place in the request.

        Arguments stay objects.
        """
        spec: Any = self.spec
        for pointer, origin in self.origins.items():
            if origin.is_schema:
                steps = [*pointer.split("/")[1:], "json_schema"]
                schema = reduce(lambda value, step: value[_key(value, step)], steps, spec)
                made = change(origin.param, schema)
                if self.roles[pointer].kind is Kind.ARGUMENTS:
                    made = argument_schema(made or {"type": "object"}, origin.param)
                spec = _put(spec, steps, made)
        return replace(self, spec=spec, spec_json=_compact(spec))


def make_plan(root: Part, ask: Ask, *, stop_texts: tuple[str, ...], layout: Layout) -> Plan:
    """``root`` written out.

    Raises:
        FormatError: a schema that is no JSON, or nested too deep to be written.
    """
    marks = Marks()
    spec = {"type": "structural_tag", "format": lower(root, "/format", marks)}
    fallback = _fallback(ask, marks)
    try:
        text = _compact(spec)
    except RecursionError:
        raise FormatError("the schema is nested too deep", fallback) from None
    except (TypeError, ValueError) as error:
        raise FormatError(f"the schema is not JSON: {error}", fallback) from None
    return Plan(spec, text, stop_texts, marks.roles, marks.origins, layout, fallback)


def _compact(spec: Any) -> str:
    return json.dumps(spec, separators=(",", ":"), allow_nan=False)


def _key(value: Any, step: str) -> Any:
    return int(step) if isinstance(value, list) else step


def _put(value: Any, steps: Sequence[str], made: Any) -> Any:
    """A copy with ``made`` at the end of the steps."""
    if not steps:
        return made
    copy = value.copy()
    key = _key(value, steps[0])
    copy[key] = _put(value[key], steps[1:], made)
    return copy


def _fallback(ask: Ask, marks: Marks) -> str | None:
    if any(role.kind is Kind.CALL for role in marks.roles.values()):
        return "tools"
    return None if ask.response_schema is None else "response_format"


# -- what every family needs -----------------------------------------------------------------------


@dataclass(frozen=True)
class OfferedTool:
    """A tool as it stands in the spec. ``spelled``: its name as the format writes it."""

    tool: Tool
    spelled: str
    param: str

    def arguments(self) -> Part:
        param = f"{self.param}.parameters"
        return json_value(argument_schema(self.tool.parameters, param), ARGUMENTS, param)

    @property
    def role(self) -> Role:
        return Role(Kind.CALL, self.tool.name)

    @property
    def origin(self) -> Origin:
        return Origin(self.param)


def answer_value(ask: Ask) -> Part | None:
    """The content as a JSON value, or None for free text."""
    if ask.response_schema is None:
        return None
    return json_value(ask.response_schema, VALUE, "response_format")


def must_call(ask: Ask) -> bool:
    return ask.tool_choice in ("required", "named")


def one_call_only(ask: Ask) -> bool:
    return ask.tool_choice == "named" or not ask.parallel_tool_calls


def _offered(ask: Ask) -> list[tuple[int, Tool]]:
    """The tools that may be called, with their numbers in the ask.

    Raises:
        FormatError: a choice that names no tool of the ask, or tools of one name.
    """
    names = [tool.name for tool in ask.tools]
    first = {name: number for number, name in reversed(list(enumerate(names)))}
    for number, name in enumerate(names):
        if first[name] != number:
            raise FormatError(f"a second tool named {name!r}", f"tools[{number}].function.name")
    if ask.tool_choice == "none":
        return []
    if ask.tool_choice == "named":
        if ask.tool_name not in names:
            raise FormatError(f"no tool is named {ask.tool_name!r}", "tool_choice")
        number = names.index(ask.tool_name)
        return [(number, ask.tools[number])]
    if ask.tool_choice == "required" and not names:
        raise FormatError("a call is required but there are no tools", "tool_choice")
    return list(enumerate(ask.tools))


# -- special tokens --------------------------------------------------------------------------------

#: a special token with a number: what stands before it, if that has enough letters
_NUMBERED = re.compile(r"(\W*[A-Za-z]{3}.*?)\d+\D*")
#: from how many of a kind on they are named by what they have in common
_MANY = 8


def unwritable(texts: Iterable[str], marks: Iterable[str] = ()) -> list[str]:
    """What free text must not hold so that it holds none of ``texts``, in few words.

    Vocabularies reserve hundreds of tokens such as <|reserved_special_token_17|>; the text before
    the number stands for all of them, but where it would stand in the way of a mark. (o200k has
    1,091 special tokens: with three tools 76 KB of spec and 17 ms to compile became 5 KB and 1 ms.)
    White space is always allowed.
    """
    kinds: dict[str, str] = {}
    for text in dict.fromkeys(texts):
        numbered = _NUMBERED.fullmatch(text)
        kinds[text] = numbered[1] if numbered else text
    count = Counter(kinds.values())
    common = {k for k, n in count.items() if n >= _MANY and not any(k in mark for mark in marks)}
    named = (kind if kind in common else text for text, kind in kinds.items())
    return [text for text in dict.fromkeys(named) if text.strip()]


# -- names -----------------------------------------------------------------------------------------

_WORD = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")


def word_name(name: str) -> str | None:
    """``name`` where the format writes it bare: only what can't be taken for syntax."""
    return name if name and _WORD.issuperset(name) else None


def json_name(name: str) -> str | None:
    """``name`` as the inside of a JSON string."""
    if not name or any("\ud800" <= character <= "\udfff" for character in name):
        return None
    return json.dumps(name, ensure_ascii=False)[1:-1]


def offered_tools(ask: Ask, spell: Spelling, marks: Sequence[str]) -> list[OfferedTool]:
    """The offered tools with their names spelled. ``marks``: texts that no name may hold.

    Raises:
        FormatError: a name the format can't write without being misread.
    """
    found = []
    for number, tool in _offered(ask):
        param = f"tools[{number}].function"
        spelled = spell(tool.name)
        if spelled is None or any(mark in tool.name or mark in spelled for mark in marks if mark):
            raise FormatError(f"this format can't spell the name {tool.name!r}", f"{param}.name")
        found.append(OfferedTool(tool, spelled, param))
    return found
