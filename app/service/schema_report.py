"""The engine's report on a schema, as JSON values of bounded length.

A pointer repeats all names above its keyword. Without a bound on texts, a body of 200 KB with one
long name gets an answer of 40 MB.

Not here   the report itself (engine.check_json_schema).
"""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from engine import WorkBudget, check_json_schema

from ..constraints import TenantCaches

#: characters of a pointer, a keyword or a reason in an answer: more than people read
MAX_TEXT = 1_024


class SchemaMistake(TypedDict):
    pointer: str
    reason: str


class KeywordWithoutEffect(TypedDict):
    pointer: str
    keyword: str
    reason: str


class RefusedKeyword(KeywordWithoutEffect):
    relaxed: list[str]


class GrammarCost(TypedDict):
    rules: int
    ir_nodes: int
    states: int
    edges: int
    bytes: int
    compile_ms: float
    first_mask_ms: float


class SchemaFindings(TypedDict):
    is_enforced: bool
    enforced: Annotated[dict[str, int], Field(description="Uses of each enforced keyword.")]
    refused: list[RefusedKeyword]
    mistake: SchemaMistake | None
    annotations: list[KeywordWithoutEffect]
    more_annotations: int


class EngineReport(SchemaFindings):
    """The report of the engine, as JSON values."""

    cost: GrammarCost | None


def schema_report(
    schema: Any, caches: TenantCaches, budget: WorkBudget, *, is_measured: bool = True
) -> EngineReport:
    """Return the report. ``is_measured``: whether it has the cost of the grammar.

    Raises:
        engine.Cancelled: the budget was cancelled.
    """
    report = check_json_schema(
        schema,
        caches.compiler,
        relaxations=caches.relaxations,
        budget=budget,
        is_measured=is_measured,
    )
    found: EngineReport = shortened(report.as_dict())
    return found


def shortened(value: Any, most: int = MAX_TEXT) -> Any:
    """Return a JSON value with its longer texts cut to ``most`` characters; they end with "…"."""
    if isinstance(value, str):
        return value if len(value) <= most else value[: most - 1] + "…"
    if isinstance(value, list):
        return [shortened(each, most) for each in value]
    if isinstance(value, dict):
        return {name: shortened(each, most) for name, each in value.items()}
    return value
