"""The plan of one answer in one format: its structural tag, and the way back from the tag.

Representation   spec is the structural tag as plain JSON values, with the keys of schemas in their
                 given order, which is the order of the answer's keys.
Invariants       I1 every node of the spec has a role. I2 every pointer into the spec has a
                 location, which may be unknown.
Not here         building specs (families), reading answers (reader), dialects (dialects).
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

from .argument_schema import argument_schema
from .location import UNKNOWN, Location, split_pointer
from .output_spec import NO_RULES, FormatError, JsonRules, OutputSpec
from .parts import Kind, Origin, Part, Role, SpecIndex, lower
from .reading.reader import Reader, TagWhitespace
from .reading.traced_reader import TracedReader

_SCHEMA_FIELD = "/json_schema"


@dataclass(frozen=True)
class FormatPlan:
    """See the file's header. ``stop_texts``: tokens that end the answer. ``default_location``: of
    spec nodes that stem from no field of the request. ``json_rules``: for dialects that have them.
    ``style_layout``: options of json_schema nodes with a style, where it has a layout of its own.
    """

    spec: dict[str, Any]
    stop_texts: tuple[str, ...]
    roles: Mapping[str, Role]
    origins: Mapping[str, Origin]
    whitespace: TagWhitespace
    default_location: Location = UNKNOWN
    json_rules: JsonRules = NO_RULES
    style_layout: Mapping[str, Any] = field(default_factory=dict)
    _derived: dict[Callable[..., Any], "FormatPlan"] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def derived(self, make: "Callable[[FormatPlan], FormatPlan]") -> "FormatPlan":
        """Return ``make(self)``, made once. ``make``: a function of a module, such as a dialect."""
        found = self._derived.get(make)
        if found is None:
            found = self._derived[make] = make(self)
        return found

    def reader(self, taken_ids: Iterable[str] = ()) -> Reader:
        """Return a reader of one answer. ``taken_ids``: see Reader."""
        return Reader(self.roles, self.whitespace, taken_ids)

    def traced_reader(self, taken_ids: Iterable[str] = ()) -> TracedReader:
        """Return a reader of one answer that tells where its content comes from."""
        return TracedReader(self.roles, self.whitespace, taken_ids)

    @cached_property
    def spec_json(self) -> str:
        """The spec as compact ASCII JSON, written once; equal outputs give equal bytes.

        Raises:
            FormatError: a schema is not JSON, or nested too deeply.
        """
        try:
            return json.dumps(self.spec, separators=(",", ":"), allow_nan=False)
        except RecursionError:
            problem = "the schema is nested too deeply"
        except (TypeError, ValueError) as error:
            problem = f"the schema is not JSON: {error}"
        raise FormatError(problem, self.default_location.param)

    def locate(self, pointer: str) -> Location:
        """Return the location in the request from which this node of the spec was made."""
        node, rest = pointer, ""
        while node and node not in self.origins:
            node, _, step = node.rpartition("/")
            rest = f"/{step}{rest}"
        if not node:
            return self.default_location
        origin = self.origins[node]
        inside = ""
        if origin.is_schema:
            inside = rest.removeprefix(_SCHEMA_FIELD)
        elif origin.what == "structural tag":
            inside = f"/format{rest}"
        return Location(origin.param, inside, origin.what)

    @cached_property
    def has_client_grammar(self) -> bool:
        """Whether a grammar of the client, which may be ambiguous, constrains a part."""
        return any(origin.what != "schema" for origin in self.origins.values())

    @property
    def constrained(self) -> str | None:
        """The pointer of the content that a grammar of the client constrains, if any."""
        # a node comes before the nodes inside it
        kinds = ((at, role.kind) for at, role in self.roles.items())
        return next((at for at, kind in kinds if kind is Kind.CONSTRAINED), None)

    def constrained_schemas(self) -> Iterator[tuple[str, Any]]:
        """Yield the schemas in the client's grammar, if it is a structural tag, with pointers."""
        if self.constrained is None:
            return
        todo = [(self.constrained, node_at(self.spec, self.constrained))]
        while todo:
            pointer, node = todo.pop()
            if isinstance(node, dict) and "json_schema" in node:
                yield pointer + _SCHEMA_FIELD, node["json_schema"]
            elif isinstance(node, dict):
                todo += [(f"{pointer}/{key}", child) for key, child in node.items()]
            elif isinstance(node, list):
                todo += [(f"{pointer}/{number}", child) for number, child in enumerate(node)]

    def with_schemas(self, change: Callable[[Origin, Any], Any]) -> "FormatPlan":
        """Return the same plan for other schemas: ``change`` maps each schema with its origin.

        Arguments stay objects.
        """
        spec: Any = self.spec
        for pointer, origin in self.origins.items():
            if origin.is_schema:
                changed = change(origin, node_at(spec, pointer)["json_schema"])
                if self.roles[pointer].kind is Kind.ARGUMENTS:
                    changed = argument_schema(changed or {"type": "object"}, origin.param)
                spec = put(spec, [*split_pointer(pointer), "json_schema"], changed)
        return replace(self, spec=spec)


def make_plan(
    root: Part,
    output: OutputSpec,
    *,
    stop_texts: tuple[str, ...],
    whitespace: TagWhitespace,
    style_layout: Mapping[str, Any] | None = None,
) -> FormatPlan:
    """Return the plan of ``root`` as a structural tag."""
    index = SpecIndex()
    spec = {"type": "structural_tag", "format": lower(root, "/format", index)}
    default = _default_location(output, index)
    return FormatPlan(
        spec,
        stop_texts,
        index.roles,
        index.origins,
        whitespace,
        default,
        output.json_rules,
        style_layout or {},
    )


def node_at(spec: Any, pointer: str) -> Any:
    """Return the node of a spec at a JSON pointer."""
    return reduce(lambda value, step: value[_key(value, step)], split_pointer(pointer), spec)


def _key(value: Any, step: str) -> Any:
    return int(step) if isinstance(value, list) else step


def put(value: Any, steps: Sequence[str], made: Any) -> Any:
    """Return a copy with ``made`` at the end of the path."""
    if not steps:
        return made
    copy = value.copy()
    key = _key(value, steps[0])
    copy[key] = put(value[key], steps[1:], made)
    return copy


def _default_location(output: OutputSpec, index: SpecIndex) -> Location:
    if any(role.kind is Kind.CALL for role in index.roles.values()):
        return Location("tools")
    if output.response_grammar is not None:
        return Location(output.response_grammar.param, what="grammar")
    return UNKNOWN if output.response_schema is None else Location(output.response_param)
