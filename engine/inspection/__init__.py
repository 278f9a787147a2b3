"""Inspection of what the engine has built for a grammar: rules, automata, rows and masks.

    found = engine.inspect(compiled, explore=200)
    print(found.text())
    pathlib.Path("rows.dot").write_text(found.dot())      # then: dot -Tsvg rows.dot

It shows the current state: automata and rows are built when they are visited, and `explore` visits
some first. It is for people who debug grammars; nothing here runs while tokens are decoded.
"""

from ..native.resources import WorkBudget
from ..runtime.compiled import Compiled
from ..runtime.matcher import Matcher
from .drawing import (
    automaton_diagram,
    draw_automaton,
    draw_rows,
    move_text,
    registers,
    rows_diagram,
)
from .snapshot import count_states, take
from .values import (
    Diagram,
    DiagramEdge,
    DiagramNode,
    Edge,
    Item,
    Mask,
    Move,
    Row,
    Rule,
    Snapshot,
    State,
    TokenMask,
)
from .wording import Wording

__all__ = [
    "Diagram",
    "DiagramEdge",
    "DiagramNode",
    "Edge",
    "Inspection",
    "Item",
    "Mask",
    "Move",
    "Row",
    "Rule",
    "State",
    "TokenMask",
    "count_states",
    "inspect",
]


def inspect(
    subject: Compiled | Matcher,
    *,
    explore: int = 0,
    escapes: bool = False,
    budget: WorkBudget | None = None,
) -> "Inspection":
    """Return what the engine has built for a grammar so far.

    Args:
        subject: a compiled grammar, or a matcher, whose position is then marked.
        explore: maximum number of positions (rows with registers) to visit first, byte by byte
            from the start and breadth first.
        escapes: whether exploring follows all spellings of characters in JSON strings.
        budget: pays for the work; None: no budget. With one, explore grammars of your own only:
            matchers of the grammar wait until the budget lets the work go on.

    Raises:
        LimitExceeded: exploring would exceed a limit; ``compile_steps``.
        Cancelled: the budget was cancelled.
    """
    return Inspection(subject, take(subject, explore, escapes, budget))


class Inspection:
    """A grammar's rules, automata, rows, token masks and masks at one moment."""

    def __init__(self, subject: Compiled | Matcher, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        #: rules and, of the visited ones, states, by number; rows, row 0 is the start
        self.rules, self.states, self.rows = snapshot.rules, snapshot.states, snapshot.rows
        #: transitions between rows that were computed so far
        self.moves = snapshot.moves
        #: token masks of automaton states, and cached masks of rows
        self.token_masks, self.masks = snapshot.token_masks, snapshot.masks
        #: the matcher's row and its registers
        self.here = snapshot.here
        compiled = subject.compiled if isinstance(subject, Matcher) else subject
        self._wording = Wording(snapshot.rules, snapshot.states, compiled.vocabulary.tokens)

    def item_text(self, item: Item, row: int) -> str:
        """Return an item of a row as text: ``name -> path so far · continuation``."""
        return self._wording.item(item, row)

    def dot(self, *, rule: str | None = None, most: int = 200) -> str:
        """Return a drawing for Graphviz: the rows reached from the start, or a rule's automaton.

        Args:
            rule: the rule's name.
            most: maximum rows in the drawing, breadth first; it shows how many are left out.

        Raises:
            KeyError: no such rule.
        """
        if rule is None:
            return draw_rows(self._snapshot, self._wording, most)
        return draw_automaton(self._snapshot, self._rule(rule), self._wording)

    def diagram(self, *, rule: str | None = None, most: int = 200) -> Diagram:
        """Return the drawing of ``dot`` as values; ``most`` also bounds the states of a rule."""
        if rule is None:
            return rows_diagram(self._snapshot, self._wording, most)
        return automaton_diagram(self._snapshot, self._rule(rule), self._wording, most)

    def rule_text(self, rule: Rule) -> str:
        """Return the start of a visited rule as text; "" for others."""
        return self._wording.place(rule.start) if rule.start in self.states else ""

    def _rule(self, name: str) -> Rule:
        for known in self.rules:
            if known.name == name:
                return known
        raise KeyError(name)

    def text(self) -> str:
        """Return everything as text."""
        parts = [
            self._rules_text(),
            self._rows_text(),
            self._token_masks_text(),
            self._masks_text(),
        ]
        return "\n".join(parts)

    def _rules_text(self) -> str:
        sizes: dict[int, int] = {}
        for state in self.states.values():
            sizes[state.rule] = sizes.get(state.rule, 0) + 1
        lines = ["rules"]
        for rule in self.rules:
            bounds = ""
            if rule.kind in ("counted", "bounded"):
                bounds = f" {rule.minimum}..{'' if rule.maximum is None else rule.maximum}"
            size = f", {sizes[rule.number]} states" if rule.number in sizes else ""
            lines.append(f"  {rule.name}: {rule.kind}{bounds}, {rule.automaton}{size}")
        return "\n".join(lines) + "\n"

    def _rows_text(self) -> str:
        ways: dict[int, list[Move]] = {}
        for move in self.moves:
            ways.setdefault(move.source, []).append(move)
        lines = ["rows"]
        for row in self.rows:
            marks = ["may end"] if row.accepts else []
            if row.registers:
                marks.append(f"registers {', '.join(map(registers, row.registers))}")
            if self.here and self.here[0] == row.number:
                marks.append(f"here {registers(self.here[1])}" if self.here[1] else "here")
            if row.number >= self._snapshot.reached:
                marks.append("reached by no transition")
            lines.append(f"  row {row.number}{': ' if marks else ''}{'; '.join(marks)}")
            lines += [f"    {self.item_text(item, row.number)}" for item in row.kernel]
            lines += [f"    + {self.item_text(item, row.number)}" for item in row.predicted]
            for move in ways.get(row.number, ()):
                lines.append(f"    {move_text(move, self._wording)} => row {move.target}")
        return "\n".join(lines) + "\n"

    def _token_masks_text(self) -> str:
        lines = ["token_masks"]
        for number, token_mask in enumerate(self.token_masks):
            place = self._wording.place(token_mask.state)
            where = f" below node {token_mask.node}" if token_mask.node else ""
            shared = "shared" if token_mask.is_shared else "not shared"
            lines.append(
                f"  {number}: {place}{where}: {token_mask.accepted} accepted,"
                f" {token_mask.uncertain} uncertain"
                f" ({token_mask.exits} exits, {token_mask.suffixes} suffixes),"
                f" {token_mask.triggers} triggers, {shared}"
            )
        return "\n".join(lines) + "\n"

    def _masks_text(self) -> str:
        lines = ["masks"]
        for mask in self.masks:
            parts = [f"token_mask {number}" for number in mask.token_masks]
            parts += [f"{taken} of its uncertain tokens" for taken in mask.outside]
            parts += ["a bitset"] if mask.is_bitset else []
            parts += [f"{mask.single} one by one"] if mask.single else []
            where = f" {registers(mask.registers)}" if mask.registers else ""
            whole = " + ".join(parts) or "nothing"
            whole += f" - {mask.detours} detours" if mask.detours else ""
            lines.append(f"  row {mask.row}{where}: {mask.allowed} tokens = {whole}")
        return "\n".join(lines) + "\n"
