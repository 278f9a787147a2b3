"""Rows of the loop: real tool sets, and the tokens that a row draws.

A random model writes noise and would end no string, so most rows are *steered*: the logit of the
next token of the true call is raised before the mask is applied, and the mask must allow it. So all
backends write the same real calls, of real lengths. Every FREE_EVERY-th row is steered up to its
first argument and then drawn from random logits, in which only tokens of punctuation are likely:
only the grammar keeps it valid.

Invariants   I1 rows depend on their number alone: every backend, and the loop without grammars,
                runs the same rows for as many tokens.
             I2 no two rows have one grammar: the names of the tools end with the row's number.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain

import jsonschema

from ...data import ToolCase
from ...engines import structural_tag
from ...formats import LLAMA, Tag
from ...vocabularies import Loaded
from ..judging import misfit
from .device_queue import FREE

FREE_EVERY = 8
#: numbers of rows are below
MAX_ROWS = 1_000_000
#: rows in memory: those of a round
MAX_KEPT = 8192
#: characters of tokens that end a value, and the bytes of the longest such token
_ENDS, _LONGEST = frozenset(b'"}],:'), 3
_CALL = re.compile(r"<function=([^>]+)>(.*?)</function>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Row:
    """``wanted``: a token for each step, FREE where it is drawn freely; its length is the row's.
    ``truth``: the tokens of a steered row; None: a free row. ``spec``: the structural tag.
    """

    case: ToolCase
    tags: list[Tag]
    spec: str
    wanted: Sequence[int]
    truth: Sequence[int] | None


def likely_tokens(loaded: Loaded) -> list[int]:
    """Return tokens of punctuation, which end the values of JSON."""
    tokens = enumerate(loaded.tokens)
    return [n for n, text in tokens if 0 < len(text) <= _LONGEST and _ENDS.issuperset(text)]


class Rows:
    """The rows by their number. ``most``: tokens of a row, and those of a free one."""

    def __init__(self, cases: Sequence[ToolCase], loaded: Loaded, most: int) -> None:
        self._loaded, self._most = loaded, most
        self.stop = loaded.stop
        self._cases = [
            case
            for case in cases
            if _is_sound(case) and len(self._answer(_renamed(case, MAX_ROWS))) <= most
        ]
        if not self._cases:
            raise ValueError(f"no answer has at most {most} tokens")
        self.row = lru_cache(MAX_KEPT)(self._row)

    def make(self, first: int, count: int) -> None:
        """Make rows before they are needed: it takes 0.1 ms for each."""
        for number in range(first, first + count):
            self.row(number)

    def _row(self, number: int) -> Row:
        case = _renamed(self._cases[number % len(self._cases)], number)
        tags = LLAMA.tags(case)
        spec = json.dumps(structural_tag(LLAMA, tags))
        if number % FREE_EVERY == FREE_EVERY - 1:
            called = next(k for k, (name, _) in enumerate(case.tools) if name == case.calls[0][0])
            ids = LLAMA.encode(self._loaded, LLAMA.before + tags[called].begin)
            free = [FREE] * (self._most - len(ids))
            return Row(case, tags, spec, [*ids, *free], None)
        ids = self._answer(case)
        return Row(case, tags, spec, ids, ids)

    def _answer(self, case: ToolCase) -> list[int]:
        return [*LLAMA.encode(self._loaded, LLAMA.answer(case)), self.stop]

    def text(self, tokens: Sequence[int]) -> str:
        """Return the text before the first stop token."""
        ids = list(tokens)
        shown = ids[: ids.index(self.stop)] if self.stop in ids else ids
        return b"".join(self._loaded.tokens[number] for number in shown).decode(errors="replace")

    @cached_property
    def likely(self) -> list[int]:
        """Tokens that are likely in free rows; the stop token, which counts twice, even more."""
        return [*likely_tokens(self._loaded), self.stop, self.stop]


@dataclass
class Judged:
    """Answers of a backend. ``checked``: those with a complete call."""

    rows: Rows
    answers: int = 0
    checked: int = 0
    wrong: list[str] = field(default_factory=list)

    def add(self, row: Row, tokens: Sequence[int]) -> None:
        """Judge the tokens of a row."""
        self.answers += 1
        text = self.rows.text(tokens)
        schemas = dict(row.case.tools)
        calls = _CALL.findall(text)
        self.checked += bool(calls)
        found = [misfit(schemas.get(name), arguments) for name, arguments in calls]
        if row.truth is not None and list(tokens) != list(row.truth):
            found.append("not the true call")
        self.wrong += [f"{each} in {text[:300]!r}" for each in found if each is not None]


def _is_sound(case: ToolCase) -> bool:
    """Whether the true calls fit their schemas; a few of BFCL's do not."""
    schemas = dict(case.tools)
    try:
        return bool(case.calls) and all(
            name in schemas and jsonschema.Draft202012Validator(schemas[name]).is_valid(arguments)
            for name, arguments in case.calls
        )
    except jsonschema.SchemaError:
        return False


def _renamed(case: ToolCase, number: int) -> ToolCase:
    names = {name for name, _ in chain(case.tools, case.calls)}
    new = {name: f"{name}_{number}" for name in names}
    return ToolCase(
        f"{case.name} {number}",
        [(new[name], schema) for name, schema in case.tools],
        [(new[name], arguments) for name, arguments in case.calls],
    )
