"""The use case of /v1/grammars/explain: the grammar of a request, and what it does to an output.

The constraint is compiled as for a completion, in any format whose tokens the vocabulary has. The
answer lists what is enforced, relaxed or refused, the grammar's rules, a drawing, and the trace of
an output (output_trace).

Bounds     MOST_* and EXPLORED, and those of requests and of compiles; lists say how much is left
           out.
Threads    the event loop; compiling, drawing and tracing run in compile threads.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from adapters.formats import FORMATS, Format, Location, get_format
from engine import (
    Compiled,
    Inspection,
    LimitExceeded,
    WorkBudget,
    check_json_schema,
    inspect,
)

from ..constraints.compile_scheduler import CompileScheduler
from ..constraints.constraint_plan import ConstraintPlan
from ..constraints.planner import ConstraintPlanner
from ..constraints.refusals import ConstraintRefused
from ..constraints.requested_output import requested_output
from ..constraints.tenant_caches import TenantCaches, TenantNamespaces, caches_of
from ..conversation.tokenizer import Tokenizer, check_fit
from ..errors import ApiError, bad_request
from ..protocol.explain_request import ExplainRequest
from ..server.offload import Offload
from ..settings import ModelSettings
from .output_trace import trace

#: schemas whose keywords are listed, and entries of each list about one
MOST_SCHEMAS, MOST_KEYWORDS = 16, 100
#: rules that are listed, and characters of each text
MOST_RULES, TEXT_CHARS = 200, 200
#: nodes and edges of a drawing: more fit on no screen
MOST_NODES, MOST_EDGES = 60, 240
#: positions visited before the drawing
EXPLORED = 300
#: characters of the structural tag that are shown
MOST_SPEC = 32_768


@dataclass(frozen=True, slots=True)
class _Schema:
    """A schema of the request, and its field."""

    param: str
    value: Any


class ExplainService:
    """Explanations of grammars with the vocabulary of one model."""

    def __init__(
        self,
        *,
        settings: ModelSettings,
        tokenizer: Tokenizer,
        planner: ConstraintPlanner,
        namespaces: TenantNamespaces,
        scheduler: CompileScheduler,
        offload: Offload,
    ) -> None:
        self._settings = settings
        self._tokenizer = tokenizer
        self._planner = planner
        self._namespaces = namespaces
        self._scheduler = scheduler
        self._offload = offload
        self._formats = [name for name in FORMATS if self._fits(get_format(name))]

    async def explain(
        self, request: ExplainRequest, size: int, *, client: str = ""
    ) -> dict[str, Any]:
        """Return the explanation as JSON values; ``size``: bytes of the request's body.

        A refused constraint is part of the answer.

        Raises:
            ApiError: 400 for an unknown format or rule, 429 (see ``CompileScheduler.run``).
        """
        wire = self._wire(request.format)
        plan: ConstraintPlan | None = None
        refused: ApiError | None = None
        try:
            step = partial(requested_output, request.chat(), self._settings)
            output = await self._offload.run(size, step)
            plan = await self._planner.explaining(wire).plan(output, client)
        except ApiError as error:
            if error.status != 400:
                raise
            refused = error
        _, caches = await caches_of(client, self._namespaces, self._scheduler)
        explain = partial(self._explain, request, plan, caches)
        made = await self._scheduler.run(client, explain)
        return {
            "object": "grammar.explanation",
            "format": wire.name,
            "formats": self._formats,
            "error": None if refused is None else _described(refused),
            **made,
        }

    # -- formats -----------------------------------------------------------------------------------
    def _fits(self, wire: Format) -> bool:
        try:
            check_fit(wire, self._tokenizer.special_texts, is_prompt_written=False)
        except ValueError:
            return False
        return True

    def _wire(self, name: str | None) -> Format:
        if name is None or name == self._tokenizer.wire.name:
            return self._tokenizer.wire
        if name not in self._formats:
            known = ", ".join(self._formats)
            raise bad_request(
                f"Invalid value: '{name}'. Formats of this vocabulary are: {known}.",
                "format",
                "invalid_value",
            )
        return get_format(name)

    # -- in a compile thread -----------------------------------------------------------------------
    def _explain(
        self,
        request: ExplainRequest,
        plan: ConstraintPlan | None,
        caches: TenantCaches,
        budget: WorkBudget,
    ) -> dict[str, Any]:
        schemas = list(_schemas(request))
        found: dict[str, Any] = {
            "schemas": [_report(each, caches, budget) for each in schemas[:MOST_SCHEMAS]],
            "more_schemas": max(0, len(schemas) - MOST_SCHEMAS),
            "relaxed": [],
            "more_relaxed": 0,
            "grammar": None,
            "trace": None,
        }
        if plan is None:
            return found
        relaxed = [
            {
                "pointer": f"/{each.location.path}{each.relaxed.pointer}",
                "keyword": each.relaxed.keyword,
                "reason": each.relaxed.reason,
            }
            for each in plan.relaxed[:MOST_KEYWORDS]
        ]
        found |= {"relaxed": relaxed, "more_relaxed": len(plan.relaxed) - len(relaxed)}
        found["grammar"] = _grammar(plan, request.rule)
        if request.output is not None:
            ids = self._tokenizer.encode(request.output, add_special_tokens=False)
            found["trace"] = trace(plan.compiled, ids, budget, request.at)
        return found


def _report(schema: _Schema, caches: TenantCaches, budget: WorkBudget) -> dict[str, Any]:
    report = check_json_schema(
        schema.value, caches.compiler, relaxations=caches.relaxations, budget=budget
    ).as_dict()
    refused, without_effect = report["refused"], report["annotations"]
    return {
        "param": schema.param,
        "pointer": f"/{Location(schema.param).path}",
        "is_enforced": report["is_enforced"],
        "enforced": report["enforced"],
        "refused": refused[:MOST_KEYWORDS],
        "more_refused": max(0, len(refused) - MOST_KEYWORDS),
        "mistake": report["mistake"],
        "annotations": without_effect[:MOST_KEYWORDS],
        "more_annotations": report["more_annotations"]
        + max(0, len(without_effect) - MOST_KEYWORDS),
    }


def _schemas(request: ExplainRequest) -> Iterator[_Schema]:
    """Yield the schemas of tools, and that of the response format."""
    for number, tool in enumerate(request.tools or ()):
        if tool.type == "function" and tool.function.parameters is not None:
            yield _Schema(f"tools[{number}].function.parameters", tool.function.parameters)
    wanted = request.response_format
    if wanted is not None and wanted.type == "json_schema":
        schema = getattr(getattr(wanted, "json_schema", None), "schema_", None)
        if schema is not None:
            yield _Schema("response_format", schema)


def _described(error: ApiError) -> dict[str, Any]:
    """Return an error object with the place in the request as a JSON pointer."""
    location = error.location if isinstance(error, ConstraintRefused) else Location(error.param)
    path = f"/{location.path}" if location.path else ""
    return {**error.body()["error"], "pointer": path + location.pointer}


def _grammar(plan: ConstraintPlan, rule: str | None) -> dict[str, Any]:
    compiled = plan.compiled
    found = _inspected(compiled)
    spec = plan.spec or ""
    names = {each.name for each in found.rules}
    if rule is not None and rule not in names:
        raise bad_request(f"Invalid value: there is no rule '{rule}'.", "rule", "invalid_value")
    sizes: dict[int, int] = {}
    for state in found.states.values():
        sizes[state.rule] = sizes.get(state.rule, 0) + 1
    rules = [
        {
            "name": each.name,
            "kind": each.kind,
            "automaton": each.automaton,
            "minimum": each.minimum,
            "maximum": each.maximum,
            "states": sizes.get(each.number, 0),
            "text": found.rule_text(each)[:TEXT_CHARS],
        }
        for each in found.rules[:MOST_RULES]
    ]
    return {
        "backend": plan.backend,
        "spec": spec[:MOST_SPEC],
        "more_spec": max(0, len(spec) - MOST_SPEC),
        "rules": rules,
        "more_rules": len(found.rules) - len(rules),
        "drawing": _drawing(found, rule),
    }


def _inspected(compiled: Compiled) -> Inspection:
    try:
        return inspect(compiled, explore=EXPLORED)
    except LimitExceeded:
        return inspect(compiled)


def _drawing(found: Inspection, rule: str | None) -> dict[str, Any]:
    diagram = found.diagram(rule=rule, most=MOST_NODES)
    edges = diagram.edges[:MOST_EDGES]
    return {
        "rule": rule,
        "nodes": [
            {
                "id": node.number,
                "title": node.title,
                "lines": [line[:TEXT_CHARS] for line in node.lines],
                "is_final": node.is_final,
            }
            for node in diagram.nodes
        ],
        "edges": [
            {"source": edge.source, "target": edge.target, "label": edge.label[:TEXT_CHARS]}
            for edge in edges
        ],
        "hidden_nodes": diagram.hidden,
        "hidden_edges": len(diagram.edges) - len(edges),
    }
