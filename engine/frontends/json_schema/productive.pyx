"""Rules without any text: see the header file."""

from libc.stdint cimport uint32_t

from ...ir import ALT, EMPTY, FAIL, GRAPH, REF, REPEAT, SEQ


cdef bint is_productive(grammar, uint32_t node) except -1:
    """A least fixpoint over what ``node`` refers to. Linear for schemas, whose inner rules come
    after the outer ones.
    """
    cdef set known = set()
    cdef Py_ssize_t before = -1
    nodes, rules = grammar.nodes, grammar.rules
    order = reachable(nodes, rules, node)
    while before < len(known):
        before = len(known)
        for rule in reversed(order):
            if rule not in known and has_word(nodes, rules[rule], known):
                known.add(rule)
    return has_word(nodes, node, known)


cdef list reachable(nodes, rules, node):
    """The rules below a node, outer ones first."""
    cdef dict found = {}
    seen, todo = {node}, [node]
    for at in todo:
        kind, *fields = nodes[at]
        below = []
        if kind == REF:
            if fields[0] not in found:
                found[fields[0]] = None
                below.append(rules[fields[0]])
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


cdef bint has_word(nodes, node, set known) except -1:
    kind, *fields = nodes[node]
    if kind == REF:
        return fields[0] in known
    if kind == SEQ:
        for part in fields[0]:
            if not has_word(nodes, part, known):
                return False
        return True
    if kind == ALT:
        for part in fields[0]:
            if has_word(nodes, part, known):
                return True
        return False
    if kind == REPEAT:
        return fields[1] == 0 or has_word(nodes, fields[0], known)
    if kind == GRAPH:
        return reaches(nodes, fields[1], fields[2], known)
    return bool(kind == EMPTY or kind != FAIL)


cdef bint reaches(nodes, edges, finals, set known) except -1:
    cdef dict leaving = {}
    for source, node, target in edges:
        leaving.setdefault(source, []).append((node, target))
    seen, todo = {0}, [0]
    for state in todo:
        for node, target in leaving.get(state, ()):
            if target not in seen and has_word(nodes, node, known):
                seen.add(target)
                todo.append(target)
    return not seen.isdisjoint(finals)
