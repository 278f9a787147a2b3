"""The rules of a grammar and a drawing of it, as JSON values of bounded size.

Invariants  I1 the grammar is a copy of its own (Compiler.copy_structural_tag): an inspection shows
               every position that was visited, and holds the lock that matchers wait for.
Bounds      MOST_*, EXPLORED*; lists say how much is left out.
Threads     any one.
"""

from contextlib import suppress
from functools import partial
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from engine import Compiled, Inspection, LimitExceeded, Matcher, WorkBudget, inspect

from ..errors import bad_request
from .schema_report import shortened

#: rules that are listed, and characters of each text
MAX_RULES, TEXT_CHARS = 200, 200
#: nodes and edges of a drawing: more fit on no screen
MAX_NODES, MAX_EDGES = 60, 240
#: positions visited before the drawing, and bytes of automata and rows after which that ends
EXPLORED, EXPLORED_BYTES = 300, 2 << 20
#: bytes of automata and rows that are inspected at most. 8 MB take 0.1 to 0.2 s, up to 0.07 s of it
#: with the interpreter lock, for which the event loop waits
MAX_INSPECTED = 6 << 20


_text = partial(shortened, most=TEXT_CHARS)


class GrammarRule(TypedDict):
    name: str
    kind: str
    automaton: str
    minimum: int
    maximum: int | None
    states: Annotated[int, Field(description="States of its automaton that were built.")]
    text: Annotated[str, Field(description="The start of the rule.")]


class DrawnNode(TypedDict):
    id: int
    title: str
    lines: list[str]
    is_final: bool


class DrawnEdge(TypedDict):
    source: int
    target: int
    label: str


class GrammarDrawing(TypedDict):
    rule: Annotated[
        str | None, Field(description="The rule whose automaton this is; null: the rows.")
    ]
    nodes: list[DrawnNode]
    edges: list[DrawnEdge]
    hidden_nodes: int
    hidden_edges: int


class GrammarOutline(TypedDict):
    rules: list[GrammarRule]
    more_rules: int
    drawing: Annotated[
        GrammarDrawing | None,
        Field(description="null: the grammar is too large; then no rules are listed either."),
    ]


def inspected(
    subject: Compiled | Matcher, budget: WorkBudget, explore: int = 0
) -> Inspection | None:
    """Return an inspection; None: too much was built, or no steps are left. The limits of the
    grammar end exploring.
    """
    compiled = subject.compiled if isinstance(subject, Matcher) else subject
    for most in sorted({explore, 0}, reverse=True):
        if compiled.stats()["bytes"] > MAX_INSPECTED:
            break
        with suppress(LimitExceeded):
            return inspect(subject, explore=most, budget=budget)
    return None


def outline(compiled: Compiled | None, rule: str | None, budget: WorkBudget) -> GrammarOutline:
    """Return the rules and the drawing of ``rule``; None: of the rows. Without a grammar, which is
    one too large to be drawn, there are none.

    Raises:
        ApiError: 400, there is no such rule.
    """
    found = None if compiled is None else inspected(compiled, budget, EXPLORED)
    if found is None:
        return {"rules": [], "more_rules": 0, "drawing": None}
    names = {shortened(each.name): each.name for each in found.rules}
    if rule is not None and rule not in names:
        raise bad_request(f"Invalid value: there is no rule '{rule}'.", "rule", "invalid_value")
    rules = _rules(found)
    return {
        "rules": rules,
        "more_rules": len(found.rules) - len(rules),
        "drawing": _drawing(found, rule, None if rule is None else names[rule]),
    }


def _rules(found: Inspection) -> list[GrammarRule]:
    sizes: dict[int, int] = {}
    for state in found.states.values():
        sizes[state.rule] = sizes.get(state.rule, 0) + 1
    return [
        {
            "name": shortened(each.name),
            "kind": each.kind,
            "automaton": each.automaton,
            "minimum": each.minimum,
            "maximum": each.maximum,
            "states": sizes.get(each.number, 0),
            "text": _text(found.rule_text(each)),
        }
        for each in found.rules[:MAX_RULES]
    ]


def _drawing(found: Inspection, shown: str | None, rule: str | None) -> GrammarDrawing:
    """Return a drawing; ``shown``: the name of ``rule`` in the answer."""
    diagram = found.diagram(rule=rule, most=MAX_NODES)
    edges = diagram.edges[:MAX_EDGES]
    nodes: list[DrawnNode] = [
        {
            "id": node.number,
            "title": node.title,
            "lines": _text([*node.lines]),
            "is_final": node.is_final,
        }
        for node in diagram.nodes
    ]
    return {
        "rule": shown,
        "nodes": nodes,
        "edges": [
            {"source": edge.source, "target": edge.target, "label": _text(edge.label)}
            for edge in edges
        ],
        "hidden_nodes": diagram.hidden,
        "hidden_edges": len(diagram.edges) - len(edges),
    }
