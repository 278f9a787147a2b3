"""Trees of regular expressions: see the header file."""

cimport cython

from .charset import union

cdef tuple ANY_CHAR = ((0, 0xD7FF), (0xE000, 0x10FFFF))
#: no text has as many characters: an upper bound from here on bounds nothing
cdef object COUNTLESS = 1 << 31


cdef class Tree:
    def __eq__(self, other):
        return type(self) is type(other) and content(self) == content(<Tree>other)

    def __hash__(self):
        return hash((type(self), content(self)))


cdef tuple content(Tree tree):
    """What makes two trees of one class equal; the facts follow from it."""
    if isinstance(tree, Chars):
        return ((<Chars>tree).ranges,)
    if isinstance(tree, Cat):
        return (<Cat>tree).parts
    if isinstance(tree, Alt):
        return (<Alt>tree).parts
    if isinstance(tree, Repeat):
        return (<Repeat>tree).body, (<Repeat>tree).minimum, (<Repeat>tree).maximum
    if isinstance(tree, Automaton):
        return ((<Automaton>tree).states,)
    if isinstance(tree, Look):
        return (<Look>tree).body, (<Look>tree).ahead, (<Look>tree).negated
    return ((<Anchor>tree).sign,)


@cython.final
cdef class Chars(Tree):
    def __cinit__(self, tuple ranges):
        self.ranges, self.least, self.most, self.anchored = ranges, 1, 1, False


@cython.final
cdef class Cat(Tree):
    pass


@cython.final
cdef class Alt(Tree):
    pass


@cython.final
cdef class Repeat(Tree):
    pass


@cython.final
cdef class Anchor(Tree):
    def __cinit__(self, str sign):
        self.sign, self.least, self.most, self.anchored = sign, 0, 0, True


@cython.final
cdef class Look(Tree):
    pass


@cython.final
cdef class Automaton(Tree):
    def __cinit__(self, states):
        self.states, self.most, self.anchored = states, None, False
        self.least = 0 if states.accepts("") else 1


cdef Cat new_cat(list parts):
    cdef Cat made = Cat.__new__(Cat)
    cdef Tree part
    least, most, made.anchored = 0, 0, False
    for part in parts:
        least += part.least
        most = None if most is None or part.most is None else most + part.most
        made.anchored |= part.anchored
    made.parts, made.least, made.most = tuple(parts), least, most
    return made


EMPTY = new_cat([])
START, END = Anchor("^"), Anchor("$")


cpdef Tree cat(parts):
    cdef list flat = []
    for part in parts:
        if isinstance(part, Cat):
            flat.extend((<Cat>part).parts)
        else:
            flat.append(part)
    if len(flat) < 2:
        return flat[0] if flat else EMPTY
    return new_cat(flat)


cpdef Tree alt(parts):
    """Single characters among the alternatives become one set."""
    cdef list flat = [], sets = []
    cdef Alt made
    cdef Tree each
    for part in parts:
        for each in (<Alt>part).parts if isinstance(part, Alt) else (part,):
            if isinstance(each, Chars):
                sets.append((<Chars>each).ranges)
            else:
                flat.append(each)
    if sets:
        flat.insert(0, Chars(union(*sets) if len(sets) > 1 else sets[0]))
    if len(flat) == 1:
        return flat[0]
    made = Alt.__new__(Alt)
    least, most, made.anchored = (<Tree>flat[0]).least, 0, False
    for each in flat:
        least = min(least, each.least)
        most = None if most is None or each.most is None else max(most, each.most)
        made.anchored |= each.anchored
    made.parts, made.least, made.most = tuple(flat), least, most
    return made


cpdef Tree repeat(Tree body, minimum, maximum):
    cdef Repeat made
    if maximum == 0:
        return EMPTY
    if body.most == 0:
        # what has no characters holds once or not at all: no count, however large, says more
        return body if minimum and body.anchored else EMPTY
    if minimum == maximum == 1:
        return body
    if isinstance(body, Repeat) and is_one_count(<Repeat>body, minimum, maximum):
        least, most = product(<Repeat>body, minimum, maximum)
        return repeat((<Repeat>body).body, least, most)
    made = Repeat.__new__(Repeat)
    made.body, made.minimum, made.maximum = body, minimum, maximum
    made.least, made.anchored = body.least * minimum, body.anchored
    made.most = None if body.most is None or maximum is None else body.most * maximum
    return made


cpdef Tree look(Tree body, bint ahead, bint negated):
    cdef Look made
    if body.least == 0 and not body.anchored:
        return Chars(()) if negated else EMPTY
    made = Look.__new__(Look)
    made.body, made.ahead, made.negated = body, ahead, negated
    made.least, made.most, made.anchored = 0, 0, True
    return made


def accepted(states):
    if not states.size:
        return Chars(())
    return EMPTY if states.size == 1 and not states.edges[0] else Automaton(states)


cdef bint is_one_count(Repeat inner, minimum, maximum) except -1:
    """Whether counts of counts reach every number between the smallest and the largest: n times
    a..b must touch n + 1 times a..b. Texts have many readings under two counts, and one under one.
    """
    if minimum * inner.minimum >= COUNTLESS:
        return False
    if minimum == maximum or inner.maximum is None:
        return minimum > 0 or inner.minimum <= 1
    return minimum * (inner.maximum - inner.minimum) + 1 >= inner.minimum


cdef tuple product(Repeat inner, minimum, maximum):
    if maximum is None or inner.maximum is None:
        return inner.minimum * minimum, None
    most = inner.maximum * maximum
    return inner.minimum * minimum, most if most < COUNTLESS else None


def factored(Tree tree):
    if isinstance(tree, Cat):
        return cat([factored(part) for part in (<Cat>tree).parts])
    if isinstance(tree, Repeat):
        return repeat(factored((<Repeat>tree).body), (<Repeat>tree).minimum, (<Repeat>tree).maximum)
    if isinstance(tree, Alt):
        branches = [factored(part) for part in (<Alt>tree).parts]
        return trie([(<Cat>each).parts if isinstance(each, Cat) else (each,) for each in branches])
    return tree


cdef Tree trie(list branches):
    """Alternatives that are given as their parts."""
    cdef dict by_first = {}
    cdef list found = [], group, rests
    cdef Py_ssize_t common, least
    for branch in branches:
        by_first.setdefault(branch[:1], []).append(branch)
    for group in by_first.values():
        common, least = 0, min([len(each) for each in group])
        while common < least and all([each[common] == group[0][common] for each in group]):
            common += 1
        rests = [each[common:] for each in group] if len(group) > 1 and common else []
        found.append(cat([*group[0][:common], trie(rests)] if rests else group[0]))
    return alt(found)


ANYTHING = repeat(Chars(ANY_CHAR), 0, None)
