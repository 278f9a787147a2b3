"""Fields that a request has and this server does not know.

    refused   the default; the error names the nearest field that is known there
    ignored   as if they were absent, and named to the client; a name near to that of a constraint
              is refused, too: it may be a typo, and the answer would lack the constraint

Representation   one object for one request. Objects without unknown names (validation.Exact)
                 report their unknown ones to it as the context of validation.
"""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from difflib import get_close_matches
from functools import cache
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel

#: different names that are ignored in one request, and characters of one: further ones are refused
MAX_IGNORED, NAME_CHARS = 32, 64
#: values that mean "off" whatever the field is: they are not named
NOTHING: tuple[Any, ...] = (None, False, "", [], {})
#: share of equal letters (difflib) from which an error names a field
NEARNESS = 0.8
#: names of fields, also of other servers, without which an answer has another form, another end or
#: another question
CONSTRAINTS = (
    *("allowed_callers", "allowed_token_ids", "allowed_tools", "bad_words", "banned_strings"),
    *("banned_tokens", "best_of", "budget_tokens", "choice", "disable_parallel_tool_use", "ebnf"),
    *("echo", "effort", "enable_thinking", "format", "function", "function_call", "functions"),
    *("grammar", "guided_choice", "guided_grammar", "guided_json", "guided_regex"),
    *("guided_whitespace_pattern", "ignore_eos"),
    *("input", "input_schema", "instructions", "json", "json_layout", "json_mode"),
    *("json_object", "json_schema"),
    "logit_bias",
    *("logprobs", "max_completion_tokens", "max_length", "max_new_tokens", "max_output_tokens"),
    *("max_tokens", "max_tokens_to_sample", "messages", "min_tokens", "model", "n", "n_predict"),
    *("num_predict", "output_config", "output_format", "parallel_tool_calls", "parameters"),
    *("previous_response_id", "prompt", "reasoning", "reasoning_effort", "regex"),
    *("response_format", "response_schema", "schema", "stop", "stop_regex", "stop_sequences"),
    *("stop_token_ids", "strict", "structural_tag", "structured_outputs", "suffix", "system"),
    *("text", "thinking", "thinking_budget", "thinking_token_budget", "tool_choice", "tools"),
    "top_logprobs",
)


def _plain(name: str) -> str:
    """Return a name without the marks of its style: responseFormat is response_format."""
    return "".join(filter(str.isalnum, name.lower()))


_PLAIN = {_plain(name): name for name in CONSTRAINTS}


def distance(one: str, other: str) -> int:
    """Return the least number of letters to insert, delete, replace or swap with the next one."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, wanted in enumerate(other, 1):
            cost = min(before[j] + 1, row[-1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
    return row[-1]


def near_constraint(name: str) -> str | None:
    """Return the constraint that may be meant."""
    return _near(name, _PLAIN)


def _near(name: str, names: Mapping[str, str]) -> str | None:
    """Return the name that may be meant: at most two typos away, fewer if it is short. ``names``:
    by themselves without the marks of their style.
    """
    plain = _plain(name[:NAME_CHARS])
    if plain in names:
        return names[plain]
    for known, shown in names.items():
        typos = (0 if len(known) < 4 else 1) if len(known) < 6 else 2
        if abs(len(known) - len(plain)) <= typos and distance(plain, known) <= typos:
            return shown
    return None


def _is_needed(name: str, own: Mapping[str, str] | None) -> bool:
    """Whether an unknown name may stand for a constraint; ``own``: the names of options, which may
    have others that are near to one.
    """
    if own is None:
        return near_constraint(name) is not None
    return _plain(name) in _PLAIN or _near(name, own) is not None


@cache
def known_names(kind: type[BaseModel]) -> dict[str, str]:
    """Return the names that an object may have, with those of its attributes."""
    return {each.alias or name: name for name, each in kind.model_fields.items()}


def _plain_names(kind: type[BaseModel]) -> dict[str, str]:
    return {_plain(name): name for name in known_names(kind)}


@dataclass(slots=True)
class UnknownFields:
    """See the file's header."""

    _: KW_ONLY
    is_ignoring: bool = False
    #: objects and names, with whether any value says something
    _dropped: dict[tuple[type[BaseModel], str], bool] = field(default_factory=dict)
    _refused: dict[str, type[BaseModel]] = field(default_factory=dict)

    def dropped(
        self, kind: type[BaseModel], fields: Mapping[str, Any], *, are_options: bool
    ) -> set[str]:
        """Return those of an object's unknown fields that count as absent; the others are errors.

        ``are_options``: of an object whose unknown names are always ignored, unless they are near
        to one of its own, or those of constraints.
        """
        own = _plain_names(kind) if are_options else None
        gone: set[str] = set()
        for name, value in fields.items():
            entry = (kind, name)
            if entry in self._dropped or (
                (self.is_ignoring or are_options)
                and name not in self._refused
                and len(self._dropped) < MAX_IGNORED
                and not _is_needed(name, own)
            ):
                gone.add(name)
                self._dropped[entry] = self._dropped.get(entry, False) or value not in NOTHING
            else:
                self._refused.setdefault(name, kind)
        return gone

    def nearest(self, name: str) -> str | None:
        """Return the known field whose name is nearest, of the same object or else a constraint;
        None: none is near.
        """
        kind, constraint = self._refused.get(name), near_constraint(name)
        known = {} if kind is None else _plain_names(kind)
        if constraint in known.values():
            return constraint
        if near := get_close_matches(_plain(name[:NAME_CHARS]), known, n=1, cutoff=NEARNESS):
            return known[near[0]]
        return None if constraint == name else constraint

    def listed(self, request: BaseModel, body: Any) -> list[str]:
        """Return the fields that were ignored, each with its first place in the body."""
        if not self._dropped:
            return []
        first: dict[tuple[type[BaseModel], str], str] = {}
        for entry, place in self._places(request, body, ""):
            first.setdefault(entry, place)
        return [f"{first.get(entry, _shown(entry[1]))} field" for entry in self._sorted()]

    def _sorted(self) -> list[tuple[type[BaseModel], str]]:
        named = [entry for entry, is_named in self._dropped.items() if is_named]
        return sorted(named, key=lambda entry: (entry[0].__name__, entry[1]))

    def _places(
        self, value: Any, body: Any, place: str
    ) -> Iterator[tuple[tuple[type[BaseModel], str], str]]:
        """Yield the ignored fields with their places. ``value``: what was read from the body."""
        if isinstance(value, BaseModel) and isinstance(body, Mapping):
            kind, known = type(value), known_names(type(value))
            for name in body:
                if (kind, name) in self._dropped:
                    yield (kind, name), f"{place}{_shown(name)}"
                elif name in known:
                    yield from self._places(
                        getattr(value, known[name]), body[name], f"{place}{name}/"
                    )
        elif isinstance(value, list) and isinstance(body, list):
            for number, (each, below) in enumerate(zip(value, body, strict=False)):
                yield from self._places(each, below, f"{place}{number}/")


def _shown(name: str) -> str:
    return quote(name[:NAME_CHARS], safe="")
