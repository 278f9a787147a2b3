"""The use case of /v1/grammars/explain: the grammar of a request, and what it does to an output.

The constraint is compiled as for a completion, in any format whose tokens the vocabulary has. The
answer lists what is enforced, relaxed or refused, the grammar's rules and a drawing
(grammar_outline), and the trace of an output (output_trace). Both use copies of the grammar, so
that they neither show what other requests visited nor make them wait.

Bounds     one budget for the constraint, the reports on schemas, the copies, the trace and the
           drawing, in this order; parts that it does not reach are left out. MOST_*, and the bounds
           of requests, outlines and traces; lists say how much is left out.
Threads    the event loop; compiling, drawing and tracing run in compile threads.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from adapters.formats import FORMATS, Format, Location, get_format
from engine import Compiled, Compiler, LimitExceeded, Limits, WorkBudget

from ..common_form import common_grammar
from ..concurrency import Offload
from ..constraints import (
    CompileScheduler,
    ConstraintPlan,
    ConstraintPlanner,
    ConstraintRefused,
    Found,
    OneBudget,
    TenantCaches,
    TenantNamespaces,
    caches_of,
    requested_output,
)
from ..conversation import Tokenizer, check_fit, shown_answers
from ..errors import ApiError, ErrorObject, bad_request
from ..protocol import ExplainRequest, JsonSchemaFormat
from ..settings import ModelSettings
from .grammar_outline import EXPLORED_BYTES, GrammarOutline, outline
from .output_trace import OutputTrace, trace
from .schema_report import SchemaFindings, schema_report, shortened

#: schemas whose keywords are listed, and entries of each list about one
MAX_SCHEMAS, MAX_KEYWORDS = 16, 100
#: characters of the structural tag that are shown
MAX_SPEC = 32_768


class ExplainedError(ErrorObject):
    pointer: Annotated[str, Field(description="A JSON pointer into the request.")]


class SchemaReport(SchemaFindings):
    param: str
    pointer: Annotated[
        str, Field(description="The schema in the request; other pointers start there.")
    ]
    more_refused: int


class SchemaReports(TypedDict):
    schemas: list[SchemaReport]
    more_schemas: int


class RelaxedPlace(TypedDict):
    pointer: Annotated[str, Field(description="A JSON pointer into the request.")]
    keyword: str
    reason: str


class ExplainedGrammar(GrammarOutline):
    backend: str
    spec: Annotated[str, Field(description="The structural tag, or the schema, that workers get.")]
    more_spec: Annotated[int, Field(description="Characters left out.")]


class ExplainedPlan(TypedDict):
    relaxed: list[RelaxedPlace]
    more_relaxed: int
    grammar: ExplainedGrammar | None


class GrammarExplanation(SchemaReports, ExplainedPlan):
    """The grammar of a request; `grammar` is null if the request is refused."""

    object: Literal["grammar.explanation"]
    format: str
    formats: Annotated[list[str], Field(description="Formats whose tokens the vocabulary has.")]
    error: Annotated[
        ExplainedError | None, Field(description="The error that a completion would get.")
    ]
    trace: OutputTrace | None


@dataclass(frozen=True, slots=True)
class _Copies:
    """A request's own copies of its grammar. None: no grammar, one too large to be drawn, or no
    output.
    """

    drawn: Compiled | None = None
    traced: Compiled | None = None


@dataclass(slots=True, kw_only=True)
class ExplainService:
    """Explanations of grammars with the vocabulary of one model."""

    settings: ModelSettings
    tokenizer: Tokenizer
    planner: ConstraintPlanner
    namespaces: TenantNamespaces
    scheduler: CompileScheduler
    offload: Offload
    formats: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.formats = [name for name in FORMATS if self._fits(get_format(name))]

    async def explain(self, request: ExplainRequest, size: int, client: str) -> GrammarExplanation:
        """Return the explanation as JSON values; ``size``: bytes of the request's body.

        A refused constraint is part of the answer.

        Raises:
            ApiError: 400 for an unknown format or rule, 429 (see ``CompileScheduler.run``).
        """
        own = self.tokenizer
        wire, scheduler = self._wire(request.format), OneBudget(self.scheduler)
        shown = shown_answers(wire, own.profile if wire.name == own.wire.name else None)
        plan: ConstraintPlan | None = None
        refused: ApiError | None = None
        try:
            planner = await self.planner.explaining(wire, scheduler).of_client(client)

            def step() -> Found:
                asked = common_grammar(request, request.tool_choice)
                output = requested_output(asked, self.settings, shown)
                # the request has no messages, whose calls numbers would continue
                return planner.find(replace(output, calls_before=None))

            plan = await planner.compiled(await self.offload.run(client, size, step), client)
        except ApiError as error:
            if error.status != 400:
                raise
            refused = error
        _, caches = await caches_of(client, self.namespaces, self.scheduler)
        run = partial(scheduler.run, client)
        reports = await run(partial(_reports, request, plan, caches))
        copies = _Copies()
        if plan is not None:
            copies = await run(partial(_copies, request, plan, caches))
        traced = await run(partial(self._traced, request, copies))
        drawn = await run(partial(_drawn, request, plan, copies))
        return {
            "object": "grammar.explanation",
            "format": wire.name,
            "formats": self.formats,
            "error": None if refused is None else _described(refused),
            **reports,
            **drawn,
            "trace": traced,
        }

    # -- formats -----------------------------------------------------------------------------------
    def _fits(self, wire: Format) -> bool:
        try:
            check_fit(wire, self.tokenizer.special_texts, is_prompt_written=False)
        except ValueError:
            return False
        return True

    def _wire(self, name: str | None) -> Format:
        if name is None or name == self.tokenizer.wire.name:
            return self.tokenizer.wire
        if name not in self.formats:
            known = ", ".join(self.formats)
            raise bad_request(
                f"Invalid value: '{name}'. Formats of this vocabulary are: {known}.",
                "format",
                "invalid_value",
            )
        return get_format(name)

    # -- in a compile thread -----------------------------------------------------------------------
    def _traced(
        self, request: ExplainRequest, copies: _Copies, budget: WorkBudget
    ) -> OutputTrace | None:
        if request.output is None or copies.traced is None:
            return None
        ids = self.tokenizer.encode(request.output, add_special_tokens=False)
        return trace(copies.traced, ids, budget, request.at)


def _drawn(
    request: ExplainRequest, plan: ConstraintPlan | None, copies: _Copies, budget: WorkBudget
) -> ExplainedPlan:
    """Return what is relaxed, and the grammar."""
    if plan is None:
        return {"relaxed": [], "more_relaxed": 0, "grammar": None}
    relaxed: list[RelaxedPlace] = [
        {
            "pointer": f"/{each.location.path}{each.relaxed.pointer}",
            "keyword": each.relaxed.keyword,
            "reason": each.relaxed.reason,
        }
        for each in plan.relaxed[:MAX_KEYWORDS]
    ]
    return {
        "relaxed": shortened(relaxed),
        "more_relaxed": len(plan.relaxed) - len(relaxed),
        "grammar": _grammar(plan, copies.drawn, request.rule, budget),
    }


def _copies(
    request: ExplainRequest, plan: ConstraintPlan, caches: TenantCaches, budget: WorkBudget
) -> _Copies:
    """Compile the grammar once for the output, and once for the drawing."""
    limits = caches.compiler.limits
    copy = partial(_copy, caches.compiler, plan.compiled, budget)
    traced = None if request.output is None else copy(limits)
    return _Copies(copy(replace(limits, most_generation_bytes=EXPLORED_BYTES)), traced)


def _copy(
    compiler: Compiler, compiled: Compiled, budget: WorkBudget, limits: Limits
) -> Compiled | None:
    try:
        return compiler.copy_structural_tag(compiled, limits=limits, budget=budget)
    except LimitExceeded:
        return None


def _reports(
    request: ExplainRequest, plan: ConstraintPlan | None, caches: TenantCaches, budget: WorkBudget
) -> SchemaReports:
    """Return the reports on schemas, as many as the budget reaches."""
    schemas = list(_schemas(request))
    reports: list[SchemaReport] = []
    for param, schema in schemas[:MAX_SCHEMAS]:
        if budget.spent > budget.limit:
            break
        report = _report(param, schema, caches, budget)
        if budget.spent > budget.limit and plan is not None:
            # its mistake is that of the explanation: the schema has been compiled
            break
        reports.append(report)
    return {"schemas": reports, "more_schemas": len(schemas) - len(reports)}


def _report(param: str, schema: Any, caches: TenantCaches, budget: WorkBudget) -> SchemaReport:
    report = schema_report(schema, caches, budget, is_measured=False)
    refused, without_effect = report["refused"], report["annotations"]
    return {
        "param": param,
        "pointer": f"/{Location(param).path}",
        "is_enforced": report["is_enforced"],
        "enforced": report["enforced"],
        "refused": refused[:MAX_KEYWORDS],
        "more_refused": max(0, len(refused) - MAX_KEYWORDS),
        "mistake": report["mistake"],
        "annotations": without_effect[:MAX_KEYWORDS],
        "more_annotations": report["more_annotations"] + max(0, len(without_effect) - MAX_KEYWORDS),
    }


def _schemas(request: ExplainRequest) -> Iterator[tuple[str, Any]]:
    """Yield the schemas of tools, and that of the response format, each with its field."""
    for number, tool in enumerate(request.tools or ()):
        if tool.type == "function" and tool.function.parameters is not None:
            yield f"tools[{number}].function.parameters", tool.function.parameters
    wanted = request.response_format
    if isinstance(wanted, JsonSchemaFormat):
        yield "response_format", wanted.json_schema.schema_


def _described(error: ApiError) -> ExplainedError:
    """Return an error object with the place in the request as a JSON pointer."""
    location = error.location if isinstance(error, ConstraintRefused) else Location(error.param)
    path = f"/{location.path}" if location.path else ""
    found: ErrorObject = shortened(error.body()["error"])
    return {**found, "pointer": shortened(path + location.pointer)}


def _grammar(
    plan: ConstraintPlan, copy: Compiled | None, rule: str | None, budget: WorkBudget
) -> ExplainedGrammar:
    spec = plan.spec or ""
    return {
        "backend": plan.backend,
        "spec": spec[:MAX_SPEC],
        "more_spec": max(0, len(spec) - MAX_SPEC),
        **outline(copy, rule, budget),
    }
