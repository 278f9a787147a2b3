"""Format plans that were made before, because clients send their tools with every request.

A plan and its dialect take 0.45 ms for ten tools, a look-up 0.03 ms.

Key         the format and the special texts, which are the same objects for all requests of a
            model, and the digest of all that the plan depends on (``identity``).
Bounds      MAX_BYTES of specs as JSON text. A plan takes thirteen times its text, because it holds
            the client's schemas and the spec in the engine's dialect: 13 MB at the bound.
Isolation   part of the caches of a namespace, as grammars are (tenant_caches). A plan has nothing
            of a request but what is in the key.
Threads     any.
Not here    compiled grammars (engine). Refusals: a format that refuses an output does it again.
"""

import threading
from collections import OrderedDict
from dataclasses import fields
from operator import attrgetter
from typing import Any, NamedTuple

from adapters.formats import Format, FormatPlan, OutputSpec, Tool
from engine import LimitExceeded, Limits, SpecError, SpecHash

#: a set of ten tools takes 3.5 KB, so 230 of them; whole requests of coding agents have 5 to 90 KB
MAX_BYTES = 1 << 20
#: of a plan, beside its spec
ENTRY_BYTES = 1_000

#: fields of outputs and tools that only prompts show. A description often has a date in it
PROMPT_FIELDS = frozenset(
    (
        *("response_name", "response_description", "schema_in_prompt", "schema_style"),
        *("instructions", "effort", "description"),
    )
)
#: fields whose values are objects, which ``identity`` takes apart
_OBJECTS = ("tools", "response_grammar", "json_rules")
_PLAIN = attrgetter(
    *(each.name for each in fields(OutputSpec) if each.name not in (*PROMPT_FIELDS, *_OBJECTS))
)
_OF_TOOL = attrgetter(
    *(each.name for each in fields(Tool) if each.name not in (*PROMPT_FIELDS, "input"))
)


class _Kept(NamedTuple):
    """``wire``, ``special_texts``: of the key, which has their ids; these stay theirs meanwhile."""

    plan: FormatPlan
    wire: Format
    special_texts: tuple[str, ...]
    size: int


class FormatPlans:
    """See the file's header."""

    def __init__(self, limits: Limits | None = None, *, most_bytes: int = MAX_BYTES) -> None:
        self._digest, self._most_bytes = SpecHash(limits or Limits()), most_bytes
        self._kept: OrderedDict[tuple[int, int, bytes], _Kept] = OrderedDict()
        self._held = 0
        self._guard = threading.Lock()

    def of(self, wire: Format, special_texts: tuple[str, ...], output: OutputSpec) -> FormatPlan:
        """Return ``wire.plan(output, special_texts)``. Raises FormatError."""
        digest = output.made.get(self._digest)
        if digest is None:
            try:
                digest = self._digest.of("format plan", identity(output))
            except (SpecError, LimitExceeded):
                # the compiler says why it takes no such schema
                return wire.plan(output, special_texts)
            output.made[self._digest] = digest
        key = (id(wire), id(special_texts), digest)
        with self._guard:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                return kept.plan
        plan = wire.plan(output, special_texts)
        self._keep(key, _Kept(plan, wire, special_texts, ENTRY_BYTES + len(plan.spec_json)))
        return plan

    def _keep(self, key: tuple[int, int, bytes], made: _Kept) -> None:
        with self._guard:
            # another thread may have made it, too
            if key in self._kept or made.size > self._most_bytes:
                return
            self._kept[key] = made
            self._held += made.size
            while self._held > self._most_bytes:
                self._held -= self._kept.popitem(last=False)[1].size


def identity(output: OutputSpec) -> tuple[Any, ...]:
    """Return all that the plan of an output depends on, in JSON's types, tuples among them.

    It leaves out PROMPT_FIELDS, so that equal tools are found with other descriptions.
    """
    grammar, rules = output.response_grammar, output.json_rules
    layout = None if rules.layout is None else (*rules.layout,)
    return (
        _PLAIN(output),
        [(*_OF_TOOL(tool), _input_of(tool)) for tool in output.tools],
        None if grammar is None else (grammar.kind, grammar.value, grammar.param),
        (
            *(layout, rules.element_space, rules.extra_keys, rules.argument_order),
            *(rules.max_items, rules.max_length),
        ),
    )


def _input_of(tool: Tool) -> tuple[str, ...] | None:
    given = tool.input
    return None if given is None else (given.syntax, given.definition, given.param)
