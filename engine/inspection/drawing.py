"""Graphviz drawings of a snapshot: the graph of rows, and the automaton of a rule.

A row is a box with its kernel items and, below a line, its predicted items. A double border means
that the text may end here. Rows with one byte in and one byte out, which are the origin of no open
item, are not drawn: the edge that replaces them shows their bytes.
"""

from collections.abc import Sequence
from html import escape

from .values import Diagram, DiagramEdge, DiagramNode, Move, Registers, Row, Rule, Snapshot, State
from .wording import Wording, byte_class, literal

#: maximum items of a row, and pairs of registers of an edge, in a drawing
ITEMS = 8
PAIRS = 2

_HEAD = """digraph {} {{
  graph [rankdir=TB, bgcolor=white, fontname="Helvetica", nodesep=0.3, ranksep=0.45];
  node [fontname="Helvetica", fontsize=11];
  edge [fontname="Courier", fontsize=11, color="#555555"];
"""


def draw_rows(snapshot: Snapshot, wording: Wording, most: int) -> str:
    """Return a drawing of the first ``most`` rows reached from the start."""
    ways, inner = _join_chains(snapshot)
    shown = [row for row in snapshot.rows[: snapshot.reached] if row.number not in inner]
    numbers = {row.number for row in shown[:most]}
    lines = [_row(row, snapshot, wording) for row in shown[:most]]
    for source, target, label in ways:
        if source in numbers and target in numbers:
            lines.append(f"  row{source} -> row{target} [label={_quote(label)}];")
    hidden = len(shown) - len(numbers)
    if hidden:
        lines.append(f'  rest [shape=plaintext, label="{hidden} more rows"];')
    return _HEAD.format("rows") + "\n".join(lines) + "\n}\n"


def draw_automaton(snapshot: Snapshot, rule: Rule, wording: Wording) -> str:
    """Return a drawing of a rule's states; dotted edges lead to the state that one is like."""
    lines = []
    for state in snapshot.states.values():
        if state.rule != rule.number:
            continue
        border = 2 if state.is_final else 1
        style = "solid" if state.is_built else "dashed"
        lines.append(
            f'  s{state.number} [shape=circle, label="{state.number - rule.start}",'
            f" peripheries={border}, style={style}];"
        )
        for target, label in _labels(state, wording).items():
            lines.append(f"  s{state.number} -> s{target} [label={_quote(label)}];")
        if state.like:
            lines.append(f'  s{state.number} -> s{state.like} [style=dotted, label="like"];')
    return _HEAD.format("automaton") + "\n".join(lines) + "\n}\n"


def rows_diagram(snapshot: Snapshot, wording: Wording, most: int) -> Diagram:
    """Return the drawing of ``draw_rows`` as values."""
    ways, inner = _join_chains(snapshot)
    shown = [row for row in snapshot.rows[: snapshot.reached] if row.number not in inner]
    here = snapshot.here[0] if snapshot.here else None
    nodes = tuple(
        DiagramNode(
            row.number,
            f"row {row.number}",
            tuple(wording.item(item, row.number) for item in (*row.kernel, *row.predicted)[:ITEMS]),
            row.accepts,
            row.number == here,
        )
        for row in shown[:most]
    )
    numbers = {node.number for node in nodes}
    edges = tuple(DiagramEdge(*way) for way in ways if {*way[:2]} <= numbers)
    return Diagram(nodes, edges, len(shown) - len(nodes))


def automaton_diagram(snapshot: Snapshot, rule: Rule, wording: Wording, most: int) -> Diagram:
    """Return the drawing of ``draw_automaton`` as values."""
    states = [state for state in snapshot.states.values() if state.rule == rule.number]
    nodes = tuple(
        DiagramNode(
            state.number,
            str(state.number - rule.start),
            (wording.place(state.number),),
            state.is_final,
            False,
        )
        for state in states[:most]
    )
    numbers = {node.number for node in nodes}
    edges = []
    for state in states[:most]:
        labels = _labels(state, wording) | ({state.like: "like"} if state.like else {})
        edges += [DiagramEdge(state.number, *each) for each in labels.items() if each[0] in numbers]
    return Diagram(nodes, tuple(edges), len(states) - len(nodes))


def move_text(move: Move, wording: Wording | None = None) -> str:
    """Return the input of a move, and its effect on the registers."""
    parts = []
    if move.ranges:
        parts.append(byte_class(move.ranges))
    if move.tokens and wording:
        parts.append(wording.tokens(move.tokens))
    if move.ends_token:
        parts.append("end of a token")
    text = " | ".join(parts)
    pairs = [f"{registers(a)}→{registers(b)}" for a, b in move.registers[:PAIRS]]
    if len(move.registers) > PAIRS:
        pairs.append("…")
    return f"{text}  {', '.join(pairs)}" if pairs else text


def registers(values: Registers) -> str:
    """Return the values of registers in brackets."""
    return f"[{' '.join(map(str, values))}]"


def _labels(state: State, wording: Wording) -> dict[int, str]:
    """Return the labels of a state's edges, by target."""
    targets: dict[int, list[str]] = {}
    ranges: dict[int, list[tuple[int, int]]] = {}
    for edge in state.edges:
        if edge.kind == "bytes":
            ranges.setdefault(edge.target, []).append((edge.low, edge.high))
        else:
            targets.setdefault(edge.target, []).append(str(wording.edge(edge)))
    for target, found in ranges.items():
        targets.setdefault(target, []).insert(0, byte_class(found))
    return {target: " | ".join(texts) for target, texts in targets.items()}


def _row(row: Row, snapshot: Snapshot, wording: Wording) -> str:
    title = f"row {row.number}"
    if row.registers:
        title += f"  {', '.join(map(registers, row.registers[:PAIRS]))}"
        title += ", …" if len(row.registers) > PAIRS else ""
    color = "#cfe3f7" if snapshot.here and snapshot.here[0] == row.number else "#eeeeee"
    cells = [f'<tr><td bgcolor="{color}"><b>{escape(title)}</b></td></tr>']
    kernel = [escape(wording.item(item, row.number)) for item in row.kernel]
    predicted = [escape(wording.item(item, row.number)) for item in row.predicted]
    cells += _cell(kernel, "black") + _cell(predicted, "#666666")
    border = 3 if row.accepts else 1
    table = f'<table border="{border}" cellborder="1" cellspacing="0" cellpadding="3">'
    return f"  row{row.number} [shape=plaintext, label=<{table}{''.join(cells)}</table>>];"


def _cell(texts: list[str], color: str) -> list[str]:
    """Return a cell of items, one per line."""
    if not texts:
        return []
    if len(texts) > ITEMS:
        texts = [*texts[: ITEMS - 1], f"{len(texts) - ITEMS + 1} more"]
    lines = '<br align="left"/>'.join(f'<font color="{color}">{text}</font>' for text in texts)
    return [f'<tr><td align="left" balign="left">{lines}</td></tr>']


def _join_chains(snapshot: Snapshot) -> tuple[list[tuple[int, int, str]], set[int]]:
    """Return the edges with their labels, and the rows that they replace."""
    out: dict[int, list[Move]] = {}
    into: dict[int, list[Move]] = {}
    for move in snapshot.moves:
        out.setdefault(move.source, []).append(move)
        into.setdefault(move.target, []).append(move)
    origins = {
        item.origin for row in snapshot.rows for item in row.kernel if item.origin != row.number
    }
    inner = {
        row.number
        for row in snapshot.rows[1 : snapshot.reached]
        if not row.accepts
        and row.number not in origins
        and not (snapshot.here and snapshot.here[0] == row.number)
        and _is_one_byte(out.get(row.number, []))
        and _is_one_byte(into.get(row.number, []))
    }
    ways = []
    for move in snapshot.moves:
        if move.source in inner:
            continue
        if move.target not in inner:
            ways.append((move.source, move.target, move_text(move)))
            continue
        data, at = [move.ranges[0][0]], move.target
        while at in inner:
            data.append(out[at][0].ranges[0][0])
            at = out[at][0].target
        ways.append((move.source, at, literal(data)))
    return ways, inner


def _is_one_byte(moves: Sequence[Move]) -> bool:
    if len(moves) != 1 or moves[0].tokens or moves[0].ends_token or moves[0].registers:
        return False
    ranges = moves[0].ranges
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _quote(text: str) -> str:
    """Return a label in DOT's quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
