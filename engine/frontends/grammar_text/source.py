"""The text of a grammar, with a position, and the rules that it names.

Errors quote the line and column. Rules of the IR are declared at the first use of a name and
defined once. Literals of all notations share their escapes.

Cost    every word is read by ``Source.scan``, which spends steps of the request's budget by the
        characters that it takes. One match takes at most a few milliseconds for a text of
        ``Limits.spec_bytes``: patterns repeat without backtracking (``*+``), and a group at most
        ``PIECES`` times.
"""

import re

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ...grammar.ir import Grammar, Node
from ...limits import Limits
from ...native.resources import WorkBudget
from ..regex.regex_syntax import Tree, parse
from .left_recursion import left_recursive

#: hexadecimal digits after the letter of an escape
HEX_ESCAPES = {"x": 2, "u": 4, "U": 8}
HEX = frozenset("0123456789abcdefABCDEF")
#: the largest count of a repetition; the engine's registers have 32 bits
MAX_COUNT = 2**31 - 1
#: excluded from the dot of regular expressions, as in Python and Rust
NEWLINE = ((0x0A, 0x0A),)
#: characters that are matched in about a microsecond
CHARS_PER_STEP = 64
#: repetitions of a group in one match: more keep the GIL for too long
PIECES = 256

_DIGITS = re.compile("[0-9]+")


def blanks_of(characters: str, comments: str) -> re.Pattern[str]:
    """Return the pattern of blanks and comments, which ends after ``PIECES`` of them."""
    return re.compile(f"(?:[{characters}]++|(?:{comments})[^\\n]*+){{1,{PIECES}}}+")


class Source:
    """A text and the position ``at`` of its next character."""

    def __init__(self, text: str, limits: Limits, budget: WorkBudget, pointer: str) -> None:
        self.text, self.limits, self.budget, self.pointer = text, limits, budget, pointer
        self.at = 0
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise self.error("half of a surrogate pair", error.start) from None

    # -- errors -----------------------------------------------------------------------------------
    def place(self, at: int | None = None) -> str:
        at = self.at if at is None else at
        line = self.text.count("\n", 0, at) + 1
        return f"line {line}, column {at - self.text.rfind(chr(10), 0, at)}"

    def error(self, message: str, at: int | None = None) -> SpecError:
        return SpecError(f"{self.place(at)}: {message}", self.pointer)

    def refuse(self, construct: str, at: int | None = None, why: str = "") -> UnsupportedSchema:
        message = f"{self.place(at)}: {construct} can't be enforced{why and ': ' + why}"
        return UnsupportedSchema(self.pointer, construct, message)

    def within(self, error: SpecError, at: int) -> SpecError:
        """Return an error of an embedded pattern or schema with its position in this text."""
        message = f"{self.place(at)}: {error.message}"
        if isinstance(error, UnsupportedSchema):
            return UnsupportedSchema(error.pointer, error.keyword, message)
        return SpecError(message, error.pointer)

    def check_token(self, token: int, size: int, at: int) -> None:
        if token >= size:
            raise self.error(f"token id {token} is not in a vocabulary of {size}", at)

    def check(self, limit: str, count: int) -> None:
        """Raise LimitExceeded if a count is above the limit of this name."""
        most = getattr(self.limits, limit)
        if count > most:
            raise LimitExceeded(limit, most, count, self.pointer)

    # -- characters -------------------------------------------------------------------------------
    def peek(self, n: int = 1) -> str:
        return self.text[self.at : self.at + n]

    def scan(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Take a match of a pattern at the position; return None if there is none."""
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.budget.spend(1 + (found.end() - self.at) // CHARS_PER_STEP)
            self.at = found.end()
        return found

    def pattern(self, pattern: str, flags: str) -> Tree:
        """Return the tree of a regular expression, without look-around."""
        return parse(
            pattern, pointer=self.pointer, limits=self.limits, budget=self.budget, looks=False,
            flags=flags, line_ends=NEWLINE,
        )  # fmt: skip

    def skip(self, blanks: re.Pattern[str]) -> None:
        """Take any number of matches of a pattern of ``blanks_of``."""
        while self.scan(blanks) is not None:
            pass

    def take(self, text: str) -> bool:
        if self.text.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def want(self, text: str) -> None:
        if not self.take(text):
            raise self.error(f"{text!r} is missing")

    def count(self) -> int:
        """Read a whole number."""
        start = self.at
        found = self.scan(_DIGITS)
        if found is None:
            raise self.error("a number is missing")
        return self.checked_count(found[0], start)

    def checked_count(self, number: str, at: int | None = None) -> int:
        digits = number.lstrip("0")
        if len(digits) > len(str(MAX_COUNT)) or int(digits or "0") > MAX_COUNT:
            raise self.error(f"a count must not be above {MAX_COUNT:,}", at)
        return int(digits or "0")

    def escape(self, short: dict[str, str]) -> str:
        """Read the rest of an escape, after the backslash."""
        start = self.at - 1
        letter = self.peek()
        self.at += 1
        self.budget.spend(1)
        if letter in short:
            return short[letter]
        if letter not in HEX_ESCAPES:
            raise self.error(f"the escape {chr(92) + letter!r} does not exist", start)
        digits = self.peek(HEX_ESCAPES[letter])
        if len(digits) < HEX_ESCAPES[letter] or not HEX.issuperset(digits):
            message = f"\\{letter} needs {HEX_ESCAPES[letter]} hexadecimal digits"
            raise self.error(message, start)
        self.at += len(digits)
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise self.error(f"U+{code:04X} is no character", start)
        return chr(code)


class Rules:
    """Rules of the IR by name, declared at the first use of a name and defined once."""

    def __init__(self, grammar: Grammar, source: Source) -> None:
        self.grammar, self.source = grammar, source
        self._rules: dict[str, int] = {}
        self._first_use: dict[str, int] = {}  # position
        self._defined: set[str] = set()

    def ref(self, name: str, at: int) -> Node:
        if name not in self._rules:
            self.source.check("grammar_rules", len(self._rules) + 1)
            self._rules[name] = self.grammar.declare(name)
            self._first_use[name] = at
        return self.grammar.ref(self._rules[name])

    def is_declared(self, name: str) -> bool:
        return name in self._rules

    def define(self, name: str, node: Node, at: int) -> None:
        self.check_new(name, at)
        self.ref(name, at)
        self._defined.add(name)
        self.grammar.define(self._rules[name], node)

    def define_alternatives(self, name: str, ways: list[list[Node]], at: int) -> None:
        """Define a rule as alternatives, each a sequence.

        Direct left recursion becomes a loop: ``a ::= a x | y`` equals ``a ::= y x*``. Masks allow
        left recursion, but the event parser descends from rule to rule.
        """
        g, own = self.grammar, self.ref(name, at)
        first: list[list[Node]] = []
        more: list[list[Node]] = []
        for parts in ways:
            g.budget.spend(1)
            if parts[:1] == [own]:
                more.append(parts[1:])
            else:
                first.append(parts)
        node = g.choice(first)
        if more:
            node = g.seq(node, g.repeat(g.choice(more), 0, None))
        self.define(name, node, at)

    def check_new(self, name: str, at: int) -> None:
        if name in self._defined:
            raise self.source.error(f"the rule {name!r} is defined twice", at)

    def finish(self, root: str, *, readable: bool) -> Node:
        """Return a reference to the root rule.

        Raises:
            SpecError: an undefined name.
            UnsupportedSchema: ``readable``, and a rule is left-recursive (left_recursion).
        """
        for name, at in self._first_use.items():
            self.source.budget.spend(1)
            if name not in self._defined:
                raise self.source.error(f"there is no rule {name!r}", at)
        if root not in self._defined:
            raise self.source.error(f"there is no rule {root!r}, the grammar's root", 0)
        if readable:
            self._check_readable()
        return self.grammar.ref(self._rules[root])

    def _check_readable(self) -> None:
        names = {rule: name for name, rule in self._rules.items()}
        found = left_recursive(self.grammar, list(names))
        if found is not None:
            name = names.get(found, "")
            why = f"a text of {name!r} may begin with another one, which cannot be read back"
            raise self.source.refuse("left recursion", self._first_use.get(name, 0), why)
