"""Relaxation: removal of all keywords of a JSON Schema that cannot be enforced.

    relaxation = relax(schema)
    relaxation.schema       the enforceable rest, which accepts all values of the schema (in a
                            style, all that it can write)
    relaxation.places       the removed keywords, with locations and reasons
    relaxation.error        the remaining refusal; None: there is none

Relaxed are ``UnsupportedSchema``, and limits that one keyword or place exceeds
(``LIMITS_OF_PLACES``). A schema that is invalid, unsatisfiable or beyond another limit, such as
``compile_steps``, stays refused.

A style of arguments (structural_tag.tag_styles) refuses more than JSON does. A value of an enum
that the style cannot write is left out alone, so that the others stay enforced. Of a const, or the
last value of an enum, the type and the beginning that can be written stay enforced.

``Relaxations`` caches results, because clients send their schemas with every request.

Cost     one run of the front end per removed keyword, without automata of rules, charged to the
         request's budget. Patterns and numbers are built and charged once for all these runs, and
         so are those that exceed a limit: ten of zod's host names took all steps of a request.
Not here the removal of one keyword (weaken).
"""

import json
import re
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..errors import LimitExceeded, SpecError, UnsupportedSchema
from ..frontends.json_schema import build_json_schema
from ..frontends.json_schema.arguments import build_arguments
from ..frontends.structural_tag.style_reader import style_of
from ..frontends.structural_tag.tag_styles import Style
from ..grammar.ir import FragmentCache, Grammar, Node
from ..grammar.lowered import LoweredGrammar
from ..json_pointer import Path, path_of, pointer_of
from ..limits import Limits
from ..native.resources import WorkBudget
from ..sharing.grammar_cache import again
from ..sharing.spec_hash import SpecHash
from .document import count_values, value_at
from .keywords import CONSTRAINTS, KNOWN, OF_LIST
from .weaken import Weakening

#: refusals of one schema that are relaxed; real schemas have fewer than ten, and each costs a run
#: of the front end
MAX_ROUNDS = 64
#: values that all these runs together may read, in about three seconds; a schema of 1 MB has about
#: 100,000 values and gets twenty runs
MAX_VALUES = 2_000_000
#: the style of schemas whose values are JSON text
JSON = "json"
#: limits on the work for one keyword, or for all of one place, at which the error points
LIMITS_OF_PLACES = frozenset(
    ("pattern_states", "pattern_chars", "enum_values", "value_checks", "rule_edges")
)
#: characters of a constant's beginning that stay enforced
MAX_BEGINNING = 200
#: bytes of cached relaxed schemas as JSON text; a real schema takes about 5 KB
KEPT_BYTES = 16 << 20
#: bytes of a cached relaxation besides its texts
ENTRY_BYTES = 500


@dataclass(frozen=True, slots=True)
class Relaxed:
    """A keyword or a value of an enum that was removed, or a oneOf that became an anyOf.

    ``pointer``  its location in the original schema.
    ``refused``  the location of the unenforceable keyword, ``refused_keyword`` its name, ``reason``
                 why it is refused. It differs from ``pointer`` if removing only that keyword would
                 have made the schema narrower.
    """

    pointer: str
    refused: str
    refused_keyword: str
    reason: str

    @property
    def keyword(self) -> str:
        *above, last = path_of(self.pointer)
        return "enum" if last.isdecimal() and above[-1:] == ["enum"] else last

    @property
    def outline(self) -> str:
        """The pointer with a * for each name that is not a keyword.

        It is for logs, which must not contain text of clients.
        """
        steps = path_of(self.pointer)
        return pointer_of(
            tuple(step if step in KNOWN or step.isdecimal() else "*" for step in steps)
        )


@dataclass(frozen=True, slots=True)
class Relaxation:
    """See the file's header. Pointers refer to the original schema."""

    schema: Any
    places: tuple[Relaxed, ...]
    error: SpecError | LimitExceeded | None


def relax(
    schema: Any,
    *,
    limits: Limits | None = None,
    extra_keys: str = "anywhere",
    style: str | Style = JSON,
    most: int = MAX_ROUNDS,
    budget: WorkBudget | None = None,
    attempts: FragmentCache | None = None,
) -> Relaxation:
    """Remove unenforceable keywords, as far as the schema only becomes weaker.

    Args:
        limits: bounds on work.
        extra_keys: see ``build_json_schema``.
        style: of the arguments that the schema describes, or its name; JSON: of any value.
        most: maximum number of relaxed refusals; fewer for large schemas, see ``MAX_VALUES``.
        budget: the request's budget; None: a new one.
        attempts: of the request, see ``attempts_of``; None: new ones.

    Raises:
        Cancelled: the budget was cancelled.
    """
    places: list[Relaxed] = []
    budget = WorkBudget(limits) if budget is None else budget
    fragments = attempts_of(limits or Limits()) if attempts is None else attempts
    error = refusal(schema, limits, extra_keys, budget, fragments, style=style)
    if not is_relaxable(error):
        return Relaxation(schema, (), error)
    weakening = Weakening(schema)
    values = count_values(schema)
    for _ in range(min(most, MAX_VALUES // values)):
        if error is None or not is_relaxable(error):
            break
        refused, keyword = weakening.given(error.pointer), keyword_of(error)
        taken = weakening.leave_out(error.pointer) if style != JSON else None
        if taken is None:
            constant = _constant(weakening.schema, path_of(error.pointer), style)
            taken = weakening.take_out(error.pointer, keyword)
            if constant is not None and taken == (pointer_of(constant.path),):
                weakening.narrow(constant.path[:-1], constant.kept)
        if taken is None:
            break
        named = keyword or path_of(taken[0])[-1]
        places += (Relaxed(place, refused, named, reason_of(error)) for place in taken)
        error = refusal(
            weakening.schema, limits, extra_keys, budget, fragments, style=style, weighed=values
        )
    return Relaxation(weakening.schema, tuple(places), _moved(error, weakening))


def is_relaxable(error: Exception | None) -> bool:
    """Whether removing a keyword repairs the refusal."""
    return isinstance(error, UnsupportedSchema) or (
        isinstance(error, LimitExceeded) and error.limit in LIMITS_OF_PLACES and error.pointer != ""
    )


def attempts_of(limits: Limits) -> FragmentCache:
    """Return a new cache for all attempts at the schemas of one request."""
    return FragmentCache(limits.fragment_bytes, is_of_attempts=True)


def keyword_of(error: Any) -> str:
    """Return the keyword that a relaxable error refuses; "": all of a place."""
    if isinstance(error, UnsupportedSchema):
        return error.keyword
    *above, last = path_of(error.pointer)
    if above and (above[-1] == "patternProperties" or (last.isdecimal() and above[-1] in OF_LIST)):
        return above[-1]
    return last if last in CONSTRAINTS else ""


def reason_of(error: Any) -> str:
    """Return why a schema is refused, without its location."""
    if isinstance(error, LimitExceeded):
        return f"{error.limit}: at most {error.maximum:,} allowed, got {error.got:,}"
    return str(error.message)


class _Constant(NamedTuple):
    """A constant that a style cannot write: its keyword, and keywords that enforce a part of it."""

    path: Path
    kept: dict[str, Any]


def _constant(schema: Any, path: Path, style: str | Style) -> _Constant | None:
    """Return the constant with a refused value; None: the path leads to none in a style."""
    if path and path[-1].isdecimal():
        path = path[:-1]
    if style == JSON or path[-1:] not in (("const",), ("enum",)):
        return None
    value = value_at(schema, path)
    if path[-1] == "enum":
        value = value[0] if isinstance(value, list) and len(value) == 1 else None
    if isinstance(value, dict | list):
        return _Constant(path, {"type": "object" if isinstance(value, dict) else "array"})
    if not isinstance(value, str):
        return None
    kept = {"type": "string"}
    end = style_of(style).value_end
    if end and end in value:
        # without the last character of the text that ends the element
        beginning = value[: value.index(end) + len(end) - 1][:MAX_BEGINNING]
        kept["pattern"] = "^" + re.sub(r"[\^$.*+?()[\]{}|/\\]", r"\\\g<0>", beginning)
    return _Constant(path, kept)


class Relaxations:
    """A bounded LRU cache of relaxations by schema and options. Thread-safe.

    Invariants   results that depend on a partly spent budget are never cached.
    """

    def __init__(self, limits: Limits, *, most_bytes: int = KEPT_BYTES) -> None:
        self._limits, self._most_bytes = limits, most_bytes
        self._digest = SpecHash(limits)
        # the relaxation without its schema; the schema as JSON text if it changed; bytes
        self._kept: OrderedDict[bytes, tuple[Relaxation, str | None, int]] = OrderedDict()
        self._held = 0
        self._guard = threading.Lock()
        self._counts = {"relaxations_made": 0, "relaxation_hits": 0}

    def of(
        self,
        schema: Any,
        *,
        extra_keys: str = "anywhere",
        style: str | Style = JSON,
        most: int = MAX_ROUNDS,
        budget: WorkBudget,
        attempts: FragmentCache | None = None,
    ) -> Relaxation:
        """Return ``relax(schema, ...)``; the schema must be JSON."""
        try:
            key = self._digest.of(f"relaxation {extra_keys} {style} {most}", schema)
        except (SpecError, LimitExceeded) as error:
            return Relaxation(schema, (), error)
        with self._guard:
            kept = self._kept.get(key)
            if kept is not None:
                self._kept.move_to_end(key)
                self._counts["relaxation_hits"] += 1
        if kept is not None:
            found, changed, _ = kept
            whole = schema if changed is None else json.loads(changed)
            return Relaxation(whole, found.places, found.error)
        is_whole = budget.spent == 0 and budget.limit == self._limits.compile_steps
        try:
            budget.spend(1)
        except LimitExceeded as error:
            return Relaxation(schema, (), again(error))
        made = relax(
            schema, limits=self._limits, extra_keys=extra_keys, style=style, most=most,
            budget=budget, attempts=attempts,
        )  # fmt: skip
        end = made.error
        is_steps = isinstance(end, LimitExceeded) and end.limit == "compile_steps"
        if is_whole or not is_steps:
            self._keep(key, made)
        return made

    def _keep(self, key: bytes, made: Relaxation) -> None:
        text = json.dumps(made.schema) if made.places else None
        places = (*made.places, *filter(None, [made.error]))
        size = ENTRY_BYTES + len(text or "") + sum(len(repr(place)) for place in places)
        if size > self._most_bytes:
            return
        with self._guard:
            self._counts["relaxations_made"] += 1
            if key in self._kept:
                return
            self._kept[key] = Relaxation(None, made.places, made.error), text, size
            self._held += size
            while self._held > self._most_bytes:
                self._held -= self._kept.popitem(last=False)[1][2]

    def stats(self) -> dict[str, int]:
        """Return counters and sizes."""
        with self._guard:
            sizes = {"relaxations": len(self._kept), "relaxation_bytes": self._held}
            return {**self._counts, **sizes}


class BytesOnly:
    """Adds the marks of styles as bytes: refusals do not depend on the vocabulary."""

    def add_mark(self, grammar: Grammar, text: str) -> Node:
        """See tag_vocabulary.Spelling."""
        return grammar.bytes(text.encode())


def refusal(
    schema: Any,
    limits: Limits | None,
    extra_keys: str,
    budget: WorkBudget,
    fragments: FragmentCache,
    *,
    style: str | Style = JSON,
    weighed: int = 0,
) -> SpecError | LimitExceeded | None:
    """Return the front end's refusal of the schema; None: it accepts the schema. ``weighed``: steps
    charged for weakening the schema, one per value.
    """
    grammar = Grammar(limits, budget, fragments)
    try:
        budget.spend(weighed)
        if style == JSON:
            node = build_json_schema(grammar, schema, extra_keys=extra_keys)
        else:
            node = build_arguments(
                grammar, schema, style=style_of(style), marks=BytesOnly(), label=""
            )
        grammar.root = grammar.rule("root", node)
        LoweredGrammar(grammar, None).check_edges(grammar.limits.rule_edges)
    except (SpecError, LimitExceeded) as error:
        # the traceback would keep the schema alive as long as the relaxation is cached
        return again(error)
    return None


def _moved(
    error: SpecError | LimitExceeded | None, weakening: Weakening
) -> SpecError | LimitExceeded | None:
    """Return the error with its location in the original schema."""
    match error:
        case UnsupportedSchema():
            return UnsupportedSchema(weakening.given(error.pointer), error.keyword, error.message)
        case SpecError():
            return SpecError(error.message, weakening.given(error.pointer))
        case LimitExceeded():
            place = weakening.given(error.pointer)
            return LimitExceeded(error.limit, error.maximum, error.got, place)
    return None
