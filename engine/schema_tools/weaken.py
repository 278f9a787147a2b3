"""Weakening: removal of keywords from a JSON Schema so that it never becomes narrower.

A schema is weaker than another one if it accepts every value that the other one accepts. Deleting a
keyword is not enough:

    inside not, if, oneOf, and contains with maxContains, a weaker schema makes the outer one
    narrower properties, patternProperties and prefixItems determine to which values their
    neighbours apply unevaluated... depends on the keywords of the schemas that are applied in place
    a definition may be used in all of these positions, by reference

So `Weakening.take_out` also changes other keywords if necessary: ``oneOf`` becomes ``anyOf``
(unless the schema has one), and ``not``, ``if`` or ``contains`` are removed instead.

Representation   a *segment* leads from the root, or from the target of a reference, down to a
                 keyword, each step into a subschema that the schema above applies. References with
                 unknown targets count as references to every schema.

Proof. Expand the schema into a tree in which every reference is replaced by its target; a finite
part of that tree judges a value. Each path from the root to a changed keyword is a chain of
segments, joined by references, and `Weakening._uses` visits all of them.
  I1  On each segment, the applicators that are not monotone are changed too, from the outside in:
      oneOf becomes anyOf, and the next one is visited; any other one is removed with its contents.
      So no such applicator remains above a changed keyword.
  I2  By induction from the leaves, every schema of the changed tree accepts at least its former
      values. All other applicators are monotone in their subschemas; anyOf of weaker branches
      accepts what oneOf accepted; a removed keyword accepts everything.
  I3  A keyword that evaluates properties or items is removed together with every unevaluated...
      that depends on it: those of its own schema and of the schemas that apply it in place. For all
      others, branches that hold more often evaluate more.
  I4  Neighbours: additionalProperties is removed with properties and patternProperties, items with
      prefixItems, contains with minContains (its default is 1), then and else with if, and the
      boolean exclusive form with minimum and maximum.
Nothing is changed if a remaining reference would lose its target, or if a reference names something
that is not a schema.

Keywords have their meaning of 2020-12, which the engine gives to all dialects: a $ref applies
together with its neighbours.

Cost     finding the references is linear and happens once; a removal takes the depth of the keyword
         times the number of references to its schemas.
Not here which keywords are unenforceable (the front end), how often to try (relax).
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..json_pointer import Path, path_of, pointer_of
from .document import (
    Reference,
    Step,
    extended,
    find_references,
    renamed,
    schemas_below,
    steps_down,
    value_at,
    without,
)
from .keywords import CONSTRAINTS, IN_PLACE, KNOWN, SEEN_BY

#: keyword -> keywords of the same schema that become narrower without it
NEIGHBOURS: dict[str, tuple[str, ...]] = {
    "properties": ("additionalProperties",),
    "patternProperties": ("additionalProperties",),
    "prefixItems": ("items",),
    "if": ("then", "else"),
    "minContains": ("contains",),
}
#: the boolean form of draft 4, which has no effect alone
EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}

#: maximum steps for one schema, 1 to 4 us each; removing a keyword from a definition that is used
#: 1,000 times takes a few thousand
MAX_STEPS = 1_000_000


@dataclass(slots=True)
class _Uses:
    """Keywords that must change too: applicators instead of a keyword, unevaluated... with it."""

    tainted: set[Path] = field(default_factory=set)
    unevaluated: set[Path] = field(default_factory=set)


class Weakening:
    """A schema that becomes weaker step by step; the original does not change.

    ``schema`` is the current result.
    """

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self._anyofs: set[Path] = set()  # schemas whose anyOf was a oneOf
        self._left: dict[Path, list[int]] = {}  # enum -> former positions of its values
        self._refer(find_references(schema))
        self._is_odd = not all(map(self._is_schema, self._named))
        self._steps = 0

    def take_out(self, pointer: str, keyword: str) -> tuple[str, ...] | None:
        """Takes the keyword out, or what must go or change before it can.

        Args:
            pointer: into the schema as it is now: the keyword's place or one inside of it, or its
                schema's. Where the keyword is not there, it was met through schemas applied in
                place, and is looked for in these; where it isn't there either, the first of the
                applicators is taken out, and where there is none, all but the schema's type.
            keyword: its name; "": all of the schema at the pointer.

        Returns:
            The places that were changed, as pointers into the schema that was given. None: nothing
            can be taken out without harm; then nothing was changed.
        """
        wanted = set() if self._is_odd else self._locate(path_of(pointer), keyword)
        changes = self._uses(wanted).tainted or wanted
        changed = {path for path in changes if self._may_be_any_of(path)}
        gone = changes - changed
        gone |= self._uses(gone).unevaluated.union(*map(self._neighbours, gone))
        gone = {path for path in gone if not _has_prefix(path[:-1], gone)}
        changed = {path for path in changed if not _has_prefix(path, gone)}
        places = sorted(gone | changed)
        if not places or self._is_named(gone | changed) or self._steps > MAX_STEPS:
            return None
        given = tuple(pointer_of(self._given(path)) for path in places)
        self._change(gone, changed)
        return given

    def leave_out(self, pointer: str) -> tuple[str, ...] | None:
        """Take one value out of an enum of several; return its pointer into the given schema.

        This weakens the schema only if the value cannot occur. None: the pointer leads to no such
        value.
        """
        path = path_of(pointer)
        values = value_at(self.schema, path[:-1])
        is_value = path[-2:-1] == ("enum",) and isinstance(values, list) and len(values) > 1
        if not is_value or not path[-1].isdecimal() or int(path[-1]) >= len(values):
            return None
        given = pointer_of(self._given(path))
        self._left.setdefault(path[:-1], list(range(len(values)))).pop(int(path[-1]))
        self.schema = without(self.schema, path)
        return (given,)

    def narrow(self, holder: Path, keywords: dict[str, Any]) -> None:
        """Add keywords that a removed one implied to its schema, which keeps its own.

        Only after ``take_out`` changed nothing else: then the schema's uses are monotone, and the
        result is still weaker than the original.
        """
        self.schema = extended(self.schema, holder, keywords)

    def given(self, pointer: str) -> str:
        """Return the pointer into the original schema for one into the current schema."""
        return pointer_of(self._given(path_of(pointer)))

    # -- locating the keyword ----------------------------------------------------------------------
    def _locate(self, path: Path, keyword: str) -> set[Path]:
        """Return the members to remove; several only if a whole schema must be removed."""
        starts = [path[:n] for n in range(len(path) + 1) if not n or path[:n] in self._named]
        steps, rest = steps_down(self.schema, starts[-1], path, through_definitions=True)
        holder = path[: len(path) - len(rest)]
        schema = value_at(self.schema, holder)
        if not isinstance(schema, dict):
            return {steps[-1].place} if steps else set()
        if rest and rest[0] in schema:
            keyword = rest[0]
        elif keyword and keyword not in schema and steps and keyword in steps[-1].keyword:
            return {steps[-1].place}  # patternProperties, reported at a name or a pattern in it
        if keyword in ("$id", "id") and keyword in schema:
            # an inner base prevents the resolution of the references below it
            return {each.path for each in self._references if each.path[: len(holder)] == holder}
        if keyword in schema:
            return {(*holder, keyword)} if keyword in CONSTRAINTS else set()
        for place in self._applied_in_place(holder):
            if keyword in CONSTRAINTS and keyword in value_at(self.schema, place):
                return {(*place, keyword)}
        first = [(*holder, name) for name in schema if name in IN_PLACE][:1]
        others = CONSTRAINTS - {"type"}
        return set(first) or {(*holder, name) for name in schema if name in others}

    def _applied_in_place(self, holder: Path) -> Iterator[Path]:
        """Yield the schemas that judge the same value as the one at ``holder``, breadth first."""
        known, queue = {holder}, [holder]
        for place in queue:
            schema = value_at(self.schema, place)
            below = [at for _, at in schemas_below(schema, place) if at[len(place)] in IN_PLACE]
            for at in [*self._naming.get(place, ()), *below]:
                if at not in known and isinstance(value_at(self.schema, at), dict):
                    known.add(at)
                    queue.append(at)
                    yield at

    # -- uses of the keyword -----------------------------------------------------------------------
    def _uses(self, paths: set[Path]) -> _Uses:
        """Return the effects of removing the keywords on the uses of their schemas."""
        found = _Uses()
        todo = [(path, SEEN_BY.get(path[-1], frozenset())) for path in paths]
        done = set(todo)
        anywhere: set[frozenset[str]] = set()  # for the references with unknown targets
        while todo and self._steps <= MAX_STEPS:
            end, seen_by = todo.pop()
            for start in self._starts(end):
                self._steps += 1 + len(end)
                steps, rest = steps_down(self.schema, start, end[:-1])
                if rest:
                    continue  # a part of the path is not applied
                found.tainted.update(self._tainted(steps))
                seen_above = self._see(found, steps, end[:-1], seen_by)
                users = {(user, seen_above) for user in self._named.get(start, ())} - done
                if seen_above not in anywhere:
                    anywhere.add(seen_above)
                    users |= {(user, seen_above) for user in self._unknown} - done
                done |= users
                todo += users
        return found

    def _starts(self, path: Path) -> list[Path]:
        """Return the possible starts of segments that end at the path."""
        prefixes = [path[:n] for n in range(len(path))]
        if self._unknown:
            return [prefix for prefix in prefixes if self._is_schema(prefix)]
        return [prefix for prefix in prefixes if not prefix or prefix in self._named]

    def _is_schema(self, place: Path) -> bool:
        """Whether the path leads to a schema, judged by the keywords on the path."""
        _, rest = steps_down(self.schema, (), place, through_definitions=True)
        return not rest or rest[0] not in KNOWN

    def _tainted(self, steps: list[Step]) -> Iterator[Path]:
        """Yield the applicators of I1 in the file's header."""
        for step in steps:
            holder = value_at(self.schema, step.holder)
            is_count = step.keyword == "contains" and "maxContains" in holder
            if is_count or step.keyword in ("not", "if", "oneOf"):
                yield step.place
                if not self._may_be_any_of(step.place):
                    return

    def _may_be_any_of(self, path: Path) -> bool:
        holder = value_at(self.schema, path[:-1])
        return path[-1] == "oneOf" and isinstance(holder["oneOf"], list) and "anyOf" not in holder

    def _see(
        self, found: _Uses, steps: list[Step], holder: Path, seen_by: frozenset[str]
    ) -> frozenset[str]:
        """Collect dependent unevaluated keywords from the holder up (I3).

        Return those that may occur above the start.
        """
        above = [step.holder for step in steps]
        for at, step in zip(reversed([*above, holder]), [*reversed(steps), None], strict=True):
            schema = value_at(self.schema, at)
            found.unevaluated |= {(*at, keyword) for keyword in seen_by if keyword in schema}
            if step is not None and step.keyword not in IN_PLACE:
                return frozenset()
        return seen_by

    def _neighbours(self, path: Path) -> set[Path]:
        """Return the neighbours of I4 in the file's header."""
        holder, keyword = value_at(self.schema, path[:-1]), path[-1]
        names = [name for name in NEIGHBOURS.get(keyword, ()) if name in holder]
        if keyword != "minContains":
            names = [name for name in names if holder[name] is not True and holder[name] != {}]
        exclusive = EXCLUSIVE.get(keyword)
        if exclusive is not None and holder.get(exclusive) is True:
            names.append(exclusive)
        return {(*path[:-1], name) for name in names}

    # -- changing ----------------------------------------------------------------------------------
    def _is_named(self, changed: set[Path]) -> bool:
        """Whether a remaining reference points to a changed keyword or below it."""
        return any(
            not all(_has_prefix(user, changed) for user in users)
            for size in {len(path) for path in changed}
            for target, users in self._named.items()
            if target[:size] in changed
        )

    def _change(self, gone: set[Path], changed: set[Path]) -> None:
        """Remove ``gone``, and turn ``changed`` into anyOf."""
        for path in gone:
            self.schema = without(self.schema, path)
        for path in sorted(changed, key=len, reverse=True):
            self.schema = renamed(self.schema, path, "anyOf")
        kept = self._references
        for size in {len(path) for path in gone}:
            # only some of thousands of references are below them
            kept = [each for each in kept if each.path[:size] not in gone]
        if changed:
            holders = self._anyofs | {path[:-1] for path in changed}
            self._anyofs = {_moved(holder, changed) for holder in holders}
            self._left = {_moved(path, changed): left for path, left in self._left.items()}
            kept = [replace(each, path=_moved(each.path, changed)) for each in kept]
        if changed or len(kept) < len(self._references):
            self._refer(kept)

    def _refer(self, references: list[Reference]) -> None:
        self._references = references
        self._named: dict[Path, list[Path]] = defaultdict(list)
        self._naming: dict[Path, list[Path]] = defaultdict(list)  # schema -> what it refers to
        self._unknown = [each.path for each in references if each.may_be_any]
        for each in references:
            if each.target is not None:
                self._named[each.target].append(each.path)
                self._naming[each.path[:-1]].append(each.target)

    def _given(self, path: Path) -> Path:
        left = self._left.get(path[:-1])
        if left is not None and path[-1].isdecimal() and int(path[-1]) < len(left):
            path = (*path[:-1], str(left[int(path[-1])]))
        return tuple(
            "oneOf" if step == "anyOf" and path[:n] in self._anyofs else step
            for n, step in enumerate(path)
        )


def _moved(path: Path, changed: set[Path]) -> Path:
    """Return the path after the oneOfs at ``changed`` have become anyOfs."""
    return tuple("anyOf" if path[: n + 1] in changed else step for n, step in enumerate(path))


def _has_prefix(path: Path, others: set[Path]) -> bool:
    """Whether one of the others is a prefix of the path."""
    return any(path[:n] in others for n in range(len(path) + 1))
