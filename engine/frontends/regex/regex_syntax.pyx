"""Regular expressions (ECMA-262): constructors of trees, the parser, and emission as IR."""

cimport cython
from libc.stdint cimport uint32_t

from ...grammar.ir cimport CHARS, JSON_CHARS, Grammar, product_of_counts
from ...native.pool cimport vector
from ...native.resources cimport WorkBudget, spend
from .char_classes cimport RANGES_PER_STEP, union_of

from functools import lru_cache

from ...errors import InternalError, LimitExceeded, SpecError, UnsupportedSchema
from ...grammar.ir import ANY_CHAR
from .char_classes import (
    CLASSES, CONTROLS, LINE_ENDS, WORD, any_case, complement, normalise, property_ranges,
)

#: parts of a tree that are joined or emitted in about a microsecond
cdef enum:
    PARTS_PER_STEP = 8
    # ranges whose characters are found in any case in about a microsecond
    CASED_PER_STEP = 4
    # ranges that become a node in about a microsecond
    EMITTED_PER_STEP = 128
    # cached complements and sets in any case of one pattern, of at most some thousand ranges of 250 bytes
    DERIVED_SETS = 16


cdef class Tree:
    def __eq__(self, other):
        return type(self) is type(other) and content(self) == content(<Tree>other)

    def __hash__(self):
        return hash((type(self), content(self)))


cdef tuple content(Tree tree):
    """Return the fields that two equal trees of one class share."""
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


cpdef Tree cat(parts, WorkBudget budget=None):
    cdef list flat = []
    if len(parts) == 1:
        return parts[0]
    for part in parts:
        if isinstance(part, Cat):
            flat.extend((<Cat>part).parts)
        else:
            flat.append(part)
    if budget is not None:
        spend(budget, len(flat) // PARTS_PER_STEP)
    if len(flat) < 2:
        return flat[0] if flat else EMPTY
    return new_cat(flat)


cpdef Tree alt(parts, WorkBudget budget=None):
    cdef list flat = [], sets = []
    cdef Alt made
    cdef Tree each
    if len(parts) == 1:
        return parts[0]
    for part in parts:
        for each in (<Alt>part).parts if isinstance(part, Alt) else (part,):
            if isinstance(each, Chars):
                sets.append((<Chars>each).ranges)
            else:
                flat.append(each)
    if budget is not None:
        spend(budget, (len(flat) + len(sets)) // PARTS_PER_STEP)
    if sets:
        flat.insert(0, Chars(union_of(sets, budget) if len(sets) > 1 else sets[0]))
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
        # a body without characters holds or fails; repeating it has no effect
        return body if minimum and body.anchored else EMPTY
    if minimum == maximum == 1:
        return body
    if isinstance(body, Repeat):
        counts = product_of_counts((<Repeat>body).minimum, (<Repeat>body).maximum, minimum, maximum)
        if counts is not None:
            return repeat((<Repeat>body).body, *counts)
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


def factored(Tree tree, WorkBudget budget):
    spend(budget, 1)
    if isinstance(tree, Cat):
        return cat([factored(part, budget) for part in (<Cat>tree).parts], budget)
    if isinstance(tree, Repeat):
        return repeat(factored((<Repeat>tree).body, budget), (<Repeat>tree).minimum, (<Repeat>tree).maximum)
    if isinstance(tree, Alt):
        branches = [factored(part, budget) for part in (<Alt>tree).parts]
        return trie([(<Cat>each).parts if isinstance(each, Cat) else (each,) for each in branches], budget)
    return tree


cdef Tree trie(list branches, WorkBudget budget):
    """Return alternatives, given as tuples of parts, with common beginnings factored out."""
    cdef dict by_first = {}
    cdef list found = [], group, rests
    cdef Py_ssize_t common, least
    for branch in branches:
        # comparing a set takes as long as reading it
        spend(budget, 1 + (ranges_in(branch[0]) // RANGES_PER_STEP if branch else 0))
        by_first.setdefault(branch[:1], []).append(branch)
    for group in by_first.values():
        common, least = 0, min([len(each) for each in group])
        while common < least and all([each[common] == group[0][common] for each in group]):
            spend(budget, len(group) * (1 + ranges_in(group[0][common]) // RANGES_PER_STEP))
            common += 1
        rests = [each[common:] for each in group] if len(group) > 1 and common else []
        spend(budget, sum([len(each) for each in rests]) // PARTS_PER_STEP)
        found.append(cat([*group[0][:common], trie(rests, budget)] if rests else group[0]))
    return alt(found, budget)


cdef Py_ssize_t ranges_in(Tree tree):
    return len((<Chars>tree).ranges) if isinstance(tree, Chars) else 0


ANYTHING = repeat(Chars(ANY_CHAR), 0, None)


# -- parser ------------------------------------------------------------------------------------------

HEX = frozenset("0123456789abcdefABCDEF")
#: digits of a count; the engine's counters have 32 bits
COUNT_DIGITS = 9

cdef enum:
    # kinds of groups; LOOKS may be combined with BEHIND and NEGATED; NO_GROUP: flags without a group
    PLAIN = 0
    LOOKS = 1
    BEHIND = 2
    NEGATED = 4
    NO_GROUP = 8
    # sets of more ranges share them (``shared``)
    FEW_RANGES = 64
    # flags
    ANY_CASE = 1
    LINES = 2
    ALL_DOTS = 4

#: escapes of other dialects -> what they are, and what to write instead. Their meaning differs between dialects, or
#: no pattern can express it: \\h is a hexadecimal digit in Ruby, \\Z in Python is the end of the text alone
cdef dict FOREIGN_ESCAPES = {
    "Z": ("an end of the text that may ignore a line break", "$"),
    "h": ("horizontal white space", r"[\t\p{Zs}]"),
    "H": ("anything but horizontal white space", r"[^\t\p{Zs}]"),
    "R": ("a line break", r"(?:\r\n|[\n-\r\u0085\u2028\u2029])"),
    "X": ("a character with its marks", r"\P{M}\p{M}*"),
    "G": ("the end of the last match", "^"),
    "K": ("a new beginning of the match", "a look-behind"),
    "Q": ("quoted text", "a backslash before each sign"),
}

cdef dict FLAGS = {"i": ANY_CASE, "m": LINES, "s": ALL_DOTS}


def parse(
    str pattern, *, str pointer, limits, WorkBudget budget=None, bint looks=True, str flags="",
    tuple line_ends=LINE_ENDS,
):
    cdef PatternParser parser
    if len(pattern) > limits.pattern_chars:
        raise LimitExceeded("pattern_chars", limits.pattern_chars, len(pattern), pointer)
    budget = WorkBudget(limits) if budget is None else budget
    parser = PatternParser(pattern, pointer, limits.spec_depth, budget, looks, line_ends)
    for flag in flags:
        parser.flags |= <int>FLAGS[flag]
    return parser.tree()


cdef class PatternParser:
    """A parser with an explicit stack of open groups.

    ``at`` is the position of the next character, ``behind`` the number of open look-behind groups, ``flags`` the
    flags in effect. Each character costs a step of the budget, and sets by their ranges.
    """
    cdef str text, pointer
    cdef WorkBudget budget
    cdef Py_ssize_t at, paid, depth, behind
    cdef bint looks
    cdef int flags
    cdef tuple line_ends
    cdef dict classes   # cache of classes by text and flags
    cdef dict known     # ranges of large sets, by themselves
    cdef dict derived   # the last complements and sets in any case, by function and set

    def __init__(
        self, str pattern, str pointer, Py_ssize_t depth, WorkBudget budget, bint looks, tuple line_ends
    ):
        self.text, self.pointer, self.depth, self.looks = pattern, pointer, depth, looks
        self.budget, self.paid = budget, 0
        self.line_ends, self.classes, self.known, self.derived = line_ends, {}, {}, {}
        self.at = self.behind = self.flags = 0

    # -- structure --------------------------------------------------------------------------------
    cdef Tree tree(self):
        cdef list open_groups = [], parts = [], branches = []
        cdef Py_UCS4 c
        cdef int kind = PLAIN, opened, flags
        while self.at < len(self.text):
            c = self.text[self.at]
            self.at += 1
            self.pay()
            if c == "(":
                flags = self.flags
                opened = self.group()
                if opened == NO_GROUP:
                    continue
                open_groups.append((branches, parts, kind, flags))
                kind = opened
                if len(open_groups) > self.depth:
                    raise LimitExceeded("spec_depth", self.depth, len(open_groups), self.pointer)
                branches, parts = [], []
            elif c == "|":
                branches.append(cat(parts, self.budget))
                parts = []
            elif c == ")":
                if not open_groups:
                    raise self.error("unmatched )", 1)
                group = self.closed(self.either(branches, parts), kind)
                branches, parts, kind, self.flags = open_groups.pop()
                parts.append(group)
            else:
                parts.append(self.quantified(self.atom(c), False))
        if open_groups:
            raise self.error("missing )")
        self.pay()
        return self.either(branches, parts)

    cdef Tree either(self, list branches, list parts):
        """Return the alternatives of a group, the last of which is given as its parts."""
        return alt([*branches, cat(parts, self.budget)], self.budget)

    cdef int pay(self) except -1:
        """Count the characters read so far."""
        spend(self.budget, self.at - self.paid)
        self.paid = self.at
        return 0

    cdef tuple paid_set(self, tuple ranges):
        """Count a set, whether it is new or cached."""
        spend(self.budget, len(ranges) // RANGES_PER_STEP)
        return ranges

    cdef tuple derive(self, function, tuple ranges):
        """Return the complement of a set, or the set in any case."""
        key = function, ranges
        found = self.derived.get(key)
        if found is None:
            if len(self.derived) >= DERIVED_SETS:
                self.derived.clear()
            found = self.derived[key] = function(ranges)
        return found

    cdef error(self, str message, Py_ssize_t back=0):
        return SpecError(f"pattern, position {self.at - back}: {message}", self.pointer)

    cdef refuse(self, str what):
        message = f"pattern, position {self.at}: {what} can't be enforced"
        return UnsupportedSchema(self.pointer, "pattern", message)

    cdef foreign(self, str what, str instead):
        """Refuse syntax of another dialect by name."""
        refusal = self.refuse(what)
        message = f"{refusal.message}; ECMA-262 with the flag u does not have it, write {instead}"
        return UnsupportedSchema(self.pointer, "pattern", message)

    cdef str peek(self, Py_ssize_t n=1):
        return self.text[self.at : self.at + n]

    cdef bint is_next(self, Py_UCS4 c):
        return self.at < len(self.text) and self.text[self.at] == c

    cdef bint take(self, str text) except -1:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    cdef int group(self) except -1:
        """Read the start of a group after the (, and return its kind."""
        if not self.is_next("?"):
            return PLAIN
        if self.peek(3) in ("?<=", "?<!"):
            self.check_look("look-behind", True)
            self.at += 3
            self.behind += 1
            return LOOKS | BEHIND | (NEGATED if self.text[self.at - 1] == "!" else 0)
        if self.peek(2) in ("?=", "?!"):
            self.check_look("look-ahead", False)
            self.at += 2
            return LOOKS | (NEGATED if self.text[self.at - 1] == "!" else 0)
        if not (self.take("?<") or self.take("?P<")):
            self.at += 1
            return self.flag_group()
        end = self.text.find(">", self.at)
        if end < 0 or not self.text[self.at : end].replace("$", "_").isidentifier():
            raise self.error("a group needs a name between < and >")
        self.at = end + 1
        return PLAIN

    cdef int flag_group(self) except -1:
        """Read flags after (?, up to the : of a group or the ) without a group."""
        cdef Py_UCS4 c
        cdef bint is_off = False
        cdef Py_ssize_t start = self.at
        cdef str taken = ""
        while self.at < len(self.text):
            c = self.text[self.at]
            self.at += 1
            if c in FLAGS:
                if c in taken:
                    raise self.error(f"the flag {c} is repeated", 1)
                taken += c
                self.flags = self.flags & ~<int>FLAGS[c] if is_off else self.flags | <int>FLAGS[c]
            elif c == "-" and not is_off:
                is_off = True
            elif c == ":" and (taken or not is_off):
                return PLAIN
            elif c == ")" and taken:
                return NO_GROUP
            elif c.isalpha():
                raise self.refuse(f"the flag {c}")
            elif self.at == start + 1 and c not in ":)-":
                if c == ">":
                    raise self.foreign("an atomic group", "(?:...)")
                raise self.refuse(f"a group that begins with (?{c}")
            else:
                raise self.error("a group needs flags after (?", 1)
        raise self.error("missing )")

    cdef Tree closed(self, Tree body, int kind):
        """Return the tree of a group after its )."""
        if not kind & LOOKS:
            return self.quantified(body, True)
        if not kind & BEHIND:
            return self.quantified(look(body, True, kind & NEGATED != 0), True)
        self.behind -= 1
        if self.quantifier() is not None:
            raise self.error("nothing to repeat")
        return look(body, False, kind & NEGATED != 0)

    cdef int check_look(self, str what, bint is_behind) except -1:
        """Refuse look-around if it is not allowed, or inside look-behind, which must not look further."""
        if not self.looks:
            raise self.refuse(what)
        if self.behind and not is_behind:
            raise self.refuse(f"{what} within look-behind")
        return 0

    # -- quantifiers ------------------------------------------------------------------------------
    cdef Tree quantified(self, Tree body, bint is_group):
        cdef tuple bounds = self.quantifier()
        if bounds is None:
            return body
        if body.most == 0 and not is_group:
            raise self.error("nothing to repeat")
        low, high = bounds
        if high is not None and high < low:
            raise self.error("numbers out of order in {} quantifier")
        if not self.take("?") and self.take("+"):
            if self.peek() and self.peek() in "*+?":
                raise self.error("nothing to repeat")
            raise self.foreign("a possessive quantifier", "it without the second +")
        if self.peek() and self.peek() in "*+?":
            raise self.error("nothing to repeat")
        return repeat(body, low, high)

    cdef tuple quantifier(self):
        cdef Py_UCS4 c
        if self.at >= len(self.text):
            return None
        c = self.text[self.at]
        if c not in "*+?{":
            return None
        if c != "{":
            self.at += 1
            return (0, None) if c == "*" else (1, None) if c == "+" else (0, 1)
        end = self.text.find("}", self.at)
        low, comma, high = self.text[self.at + 1 : max(end, 0)].partition(",")
        if end < 0 or not (is_number(low) and (not high or is_number(high))):
            if end > 0 and comma and not low and is_number(high):
                raise self.foreign("a quantifier {,n}", "{0,n}")
            return None
        if max(len(low), len(high)) > COUNT_DIGITS:
            raise self.error(f"a count of more than {COUNT_DIGITS} digits")
        self.at = end + 1
        return int(low), (int(high) if high else None) if comma else int(low)

    # -- atoms ------------------------------------------------------------------------------------
    cdef Tree atom(self, Py_UCS4 c):
        if c == "[":
            return self.class_here()
        if c == ".":
            return Chars(ANY_CHAR if self.flags & ALL_DOTS else self.derive(complement, self.line_ends))
        if c == "^":
            return self.anchor(START, False)
        if c == "$":
            if self.behind:
                raise self.refuse("$ within look-behind")
            return self.anchor(END, True)
        if c == "\\":
            if self.peek() and self.peek() in "bB":
                self.check_look("a word boundary", False)
                sign = self.peek()
                self.at += 1
                return boundaries(self.cased(WORD))[sign]
            if self.peek() and self.peek() in "Az":
                return self.text_edge()
            return Chars(self.cased(self.escape(False)))
        if c in "*+?":
            raise self.error("nothing to repeat", 1)
        if c == "{":
            self.at -= 1
            if self.quantifier() is not None:
                raise self.error("nothing to repeat")
            self.at += 1
        return Chars(self.cased(literal(c)))

    cdef Tree text_edge(self):
        """Read the A or z after a backslash. ECMA-262 has neither, but all dialects that do agree: \\A is the
        beginning of the text, \\z its end, with the flag ``m``, too.
        """
        if self.is_next("z") and self.behind:
            raise self.refuse(r"\z within look-behind")
        self.at += 1
        return START if self.text[self.at - 1] == "A" else END

    cdef tuple cased(self, tuple ranges):
        """Apply the flag ``i`` to a set."""
        if not self.flags & ANY_CASE:
            return ranges
        spend(self.budget, len(ranges) // CASED_PER_STEP)
        return self.shared(self.derive(any_case, ranges))

    cdef tuple shared(self, tuple ranges):
        """Return a set of many ranges with the tuples of earlier sets, so that thousands of similar
        classes take 8 bytes for each range instead of 130.
        """
        if len(ranges) <= FEW_RANGES:
            return ranges
        return tuple([self.known.setdefault(each, each) for each in ranges])

    cdef Tree anchor(self, Tree edge, bint ahead):
        """Return an edge of the text or, with the flag ``m``, of a line."""
        if not self.flags & LINES:
            return edge
        if not self.looks:
            raise self.refuse("an edge of a line")
        return alt([edge, look(Chars(self.line_ends), ahead, False)])

    cdef Tree class_here(self):
        """Read a class after its [; equal classes are parsed once."""
        cdef Py_ssize_t end = self.at
        cdef Tree found
        cdef str text
        while end < len(self.text) and self.text[end] != "]":
            end += 2 if self.text[end] == "\\" else 1
        text = self.text[self.at : end]
        found = self.classes.get((text, self.flags))
        if found is None:
            found = self.classes[text, self.flags] = Chars(self.char_class())
        else:
            self.at = end + 1
        return found

    cdef tuple char_class(self):
        """Parse a class after its [."""
        cdef bint negated = self.take("^")
        cdef list found = []
        while not self.take("]"):
            self.pay()
            low, single = self.class_atom()
            if single and self.is_next("-") and self.peek(2) not in ("-]", "-"):
                self.at += 1
                high, also_single = self.class_atom()
                if also_single:
                    found.append(self.class_range(low, high))
                    continue
                found.append(literal(0x2D))
                found.append(literal(high) if isinstance(high, int) else high)
            found.append(literal(low) if isinstance(low, int) else low)
        ranges = self.cased(union_of(found, self.budget))
        return self.shared(self.derive(complement, self.paid_set(ranges)) if negated else ranges)

    cdef tuple class_range(self, int low, int high):
        if high < low:
            raise self.error("range out of order in a class")
        return normalise(((low, high),))

    cdef tuple class_atom(self):
        """Read a member of a class: (code, True) for a character, (set, False) for a class escape."""
        cdef Py_UCS4 c
        if self.at >= len(self.text):
            raise self.error("missing ]")
        c = self.text[self.at]
        self.at += 1
        if c != "\\":
            return <int>c, True
        kind = self.peek()
        if kind and kind in "dDwWsSpP":
            return self.escape(True), False
        if kind == "-":
            self.at += 1
            return 0x2D, True
        return self.code(True), True

    cdef tuple escape(self, bint in_class):
        """Read an escape after its backslash, as a set."""
        c = self.peek()
        if c in CLASSES:
            self.at += 1
            return self.derive(complement, self.cased(WORD)) if c == "W" else CLASSES[c]
        if c and c in "pP":
            return self.category(c == "P")
        return literal(self.code(in_class))

    cdef int code(self, bint in_class) except -1:
        """Read an escape of one character, which may be a lone surrogate."""
        cdef int code
        c = self.peek()
        if not c:
            raise self.error("a backslash at the end")
        self.at += 1
        if c == "b" and in_class:
            return 0x08
        if c == "k" or (c in "123456789" and not in_class):
            raise self.refuse("a back-reference")
        if c in CONTROLS and not (c == "0" and self.peek().isdecimal()):
            return CONTROLS[c]
        if c == "c" and self.peek().isascii() and self.peek().isalpha():
            self.at += 1
            return ord(self.text[self.at - 1]) % 32
        if c == "x":
            code = self.hexadecimal(2)
            if code >= 0:
                return code
        if c == "u":
            return self.unicode_escape()
        if c in FOREIGN_ESCAPES and (not in_class or c in "hH"):
            what, instead = FOREIGN_ESCAPES[c]
            raise self.foreign(f"\\{c} ({what})", instead)
        if c.isascii() and c.isalnum():
            raise self.error(f"unknown escape \\{c}")
        return ord(c)

    cdef int hexadecimal(self, Py_ssize_t n) except -2:
        """Read n hexadecimal digits; -1: there are fewer."""
        digits = self.peek(n)
        if len(digits) != n or not set(digits) <= HEX:
            return -1
        self.at += n
        return int(digits, 16)

    cdef int unicode_escape(self) except -1:
        cdef int code
        if self.take("{"):
            end = self.text.find("}", self.at)
            digits = self.text[self.at : max(end, 0)]
            if not digits or not set(digits) <= HEX or int(digits, 16) > 0x10FFFF:
                raise self.error(
                    "\\u{} needs the hexadecimal digits of a character"
                )
            self.at = end + 1
            return int(digits, 16)
        code = self.hexadecimal(4)
        if code < 0:
            raise self.error("\\u needs four hexadecimal digits")
        if 0xD800 <= code <= 0xDBFF and self.peek(2) == "\\u":
            return self.pair(code)
        return code

    cdef int pair(self, int high) except -1:
        """Read the second escape of a surrogate pair, which forms one character with the first."""
        cdef Py_ssize_t at = self.at
        cdef int low
        self.at += 2
        low = self.hexadecimal(4)
        if not 0xDC00 <= low <= 0xDFFF:
            self.at = at
            return high
        return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)

    cdef tuple category(self, bint negated):
        end = self.text.find("}", self.at)
        if self.peek(2)[1:] != "{" or end < 0:
            raise self.error("a property needs a name between { and }")
        name = self.text[self.at + 2 : end]
        ranges = property_ranges(name)
        if ranges is None:
            raise self.refuse(f"the property {name!r}")
        self.at = end + 1
        return self.derive(complement, self.paid_set(ranges)) if negated else ranges


@lru_cache(maxsize=2)
def boundaries(tuple word):
    """Return ``\\b`` and ``\\B``, each a look at both sides, cached because looks compare by identity. There are two
    sets of characters of words: one for each case.
    """
    cdef Tree char = Chars(word)
    before, no_before = look(char, False, False), look(char, False, True)
    behind, no_behind = look(char, True, False), look(char, True, True)
    return {
        "b": alt([cat([before, no_behind]), cat([no_before, behind])]),
        "B": alt([cat([before, behind]), cat([no_before, no_behind])]),
    }


cdef tuple literal(int c):
    """Return the set of one character; a lone surrogate gives the empty set."""
    return () if 0xD800 <= c <= 0xDFFF else ((c, c),)


cdef bint is_number(str text) except -1:
    return text.isascii() and text.isdecimal()


# -- emission ----------------------------------------------------------------------------------------

cpdef uint32_t emit(Grammar grammar, Tree tree, bint inside_json) except? 0xFFFFFFFF:
    cdef vector[uint32_t] words
    cdef Tree part
    if isinstance(tree, Chars):
        spend(grammar.budget, len((<Chars>tree).ranges) // EMITTED_PER_STEP)
        for low, high in (<Chars>tree).ranges:
            words.push_back(low)
            words.push_back(high)
        return grammar.add_set(JSON_CHARS if inside_json else CHARS, words.data(), words.size() // 2)
    if isinstance(tree, Repeat):
        return grammar.repeat(
            emit(grammar, (<Repeat>tree).body, inside_json), (<Repeat>tree).minimum, (<Repeat>tree).maximum)
    if isinstance(tree, Cat):
        return row(grammar, <Cat>tree, inside_json)
    if isinstance(tree, Automaton):
        return (<Automaton>tree).states.to_node(grammar, inside_json=inside_json)
    if not isinstance(tree, Alt):
        raise InternalError("an anchor cannot be emitted")
    for part in (<Alt>tree).parts:
        spend(grammar.budget, 1)
        words.push_back(emit(grammar, part, inside_json))
    return grammar.add_alt(words.data(), words.size())


cdef uint32_t row(Grammar grammar, Cat tree, bint inside_json) except? 0xFFFFFFFF:
    """Emit a sequence; adjacent characters become one literal."""
    cdef vector[uint32_t] nodes
    cdef list literal = []
    cdef Tree part
    cdef str c
    cdef Py_ssize_t k
    for k, part in enumerate(tree.parts):
        if k % PARTS_PER_STEP == 0:
            spend(grammar.budget, 1)
        c = only(part)
        if c is not None:
            literal.append(c)
            continue
        if literal:
            nodes.push_back(text_node(grammar, literal, inside_json))
            literal = []
        nodes.push_back(emit(grammar, part, inside_json))
    if literal:
        nodes.push_back(text_node(grammar, literal, inside_json))
    return grammar.add_seq(nodes.data(), nodes.size())


cdef uint32_t text_node(Grammar grammar, list literal, bint inside_json) except? 0xFFFFFFFF:
    cdef str text = "".join(literal)
    cdef bytes data
    if inside_json:
        return grammar.add_text(text)
    data = text.encode()
    return grammar.add_bytes(data, len(data))


cdef str only(Tree tree):
    """Return the only character that the tree matches, or None."""
    cdef tuple ranges, one
    if not isinstance(tree, Chars):
        return None
    ranges = (<Chars>tree).ranges
    if len(ranges) != 1:
        return None
    one = <tuple>ranges[0]
    return chr(<int>one[0]) if one[0] == one[1] else None
