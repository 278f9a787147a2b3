"""Whether a rule has any text at all: recursion without a way out has none."""

from ...ir import ALT, EMPTY, FAIL, GRAPH, REF, REPEAT, SEQ, Grammar, Node


def is_productive(grammar: Grammar, node: Node) -> bool:
    """A least fixpoint over what ``node`` refers to. Linear for schemas, whose inner rules come
    after the outer ones.
    """
    order = _reachable(grammar, node)
    known: set[int] = set()
    before = -1
    while before < len(known):
        before = len(known)
        for rule in reversed(order):
            if rule not in known and _has_word(grammar, grammar.rules[rule], known):
                known.add(rule)
    return _has_word(grammar, node, known)


def _reachable(grammar: Grammar, node: Node) -> list[int]:
    """The rules below a node, outer ones first."""
    found: dict[int, None] = {}
    seen, todo = {node}, [node]
    for at in todo:
        kind, *fields = grammar.nodes[at]
        below: list[Node] = []
        if kind == REF:
            if fields[0] not in found:
                found[fields[0]] = None
                below.append(grammar.rules[fields[0]])
        elif kind in (SEQ, ALT):
            below += fields[0]
        elif kind == REPEAT:
            below.append(fields[0])
        elif kind == GRAPH:
            below += [edge[1] for edge in fields[1]]
        fresh = [each for each in dict.fromkeys(below) if each not in seen]
        seen.update(fresh)
        todo += fresh
    return list(found)


def _has_word(grammar: Grammar, node: Node, known: set[int]) -> bool:
    kind, *fields = grammar.nodes[node]
    if kind == REF:
        return fields[0] in known
    if kind == SEQ:
        return all(_has_word(grammar, part, known) for part in fields[0])
    if kind == ALT:
        return any(_has_word(grammar, part, known) for part in fields[0])
    if kind == REPEAT:
        return fields[1] == 0 or _has_word(grammar, fields[0], known)
    if kind == GRAPH:
        return _reaches(grammar, fields[1], fields[2], known)
    return bool(kind == EMPTY or kind != FAIL)


def _reaches(
    grammar: Grammar,
    edges: tuple[tuple[int, Node, int], ...],
    finals: tuple[int, ...],
    known: set[int],
) -> bool:
    leaving: dict[int, list[tuple[Node, int]]] = {}
    for source, node, target in edges:
        leaving.setdefault(source, []).append((node, target))
    seen, todo = {0}, [0]
    for state in todo:
        for node, target in leaving.get(state, ()):
            if target not in seen and _has_word(grammar, node, known):
                seen.add(target)
                todo.append(target)
    return not seen.isdisjoint(finals)
