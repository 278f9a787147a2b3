"""Parser of the expressions of Lark grammars, and of the parameters of their rules.

    elements   "text"  "text"i  "a".."z"  /regex/is  name  name::param  ( ... | ... )  [ optional ]
               %json { a JSON Schema }  %regex { a substring }  %lark { a grammar }
               <|special token|>  <[1,5-7]>  <[^1]>  <[*]>  ~element
    suffixes   ? * + ~3 ~2..5 {3} {2,} {,5} {2,5}
    operators  |  &

Parameters are those of llguidance: 64-bit numbers, with expressions and conditions.

    start: perm::0x0
    perm::_: ""                    %if is_ones([0:2])
           | "a" perm::set_bit(0)  %if bit_clear(0)
           | "b" perm::set_bit(1)  %if bit_clear(1)

Source     llguidance, docs/parametric.md.
Not here   the syntax tree (lark_expressions), statements and definitions (lark).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from ...errors import SpecError
from ...grammar.ir import Grammar, Node
from ..regex.char_automaton import Bound
from ..regex.char_classes import any_case, normalise
from ..regex.char_nfa import from_tree
from ..regex.front_end import whole
from ..regex.regex_syntax import END, START, Chars, Tree, accepted, cat
from ..structural_tag.tag_vocabulary import TagVocabulary
from .lark_builder import ParameterExpression, Part, is_terminal
from .lark_expressions import (
    Alternative,
    Alternatives,
    Complement,
    Concatenation,
    Condition,
    Literal,
    Name,
    OpaqueTerminal,
    Regular,
    Repeated,
    Substring,
)
from .macros import chars_of, check_chunks, suffix_automaton, words_of
from .source import Source, blanks_of

T = TypeVar("T")
#: the front end for JSON Schemas: a grammar, a schema and its pointer -> a node
BuildSchema = Callable[..., Node]

ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "b": "\b", "0": "\0", "a": "\a",
           "\\": "\\", '"': '"', "'": "'", "/": "/"}  # fmt: skip
_BLANK, _BLANK_LINES = blanks_of(r" \t\r\f", "//|#"), blanks_of(r" \t\r\f\n", "//|#")
#: a name may contain hyphens, except that of an arrow
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?!(?<=-)>)")
_COUNT = re.compile(r"~[ \t\r\f]*+[0-9]")
_PLAIN = re.compile(r'[^"\\\n]+')
_FLAGS = re.compile("[a-z]*")
_REGEX = re.compile(r"/((?:[^/\\\n\[]++|\\.|\[(?:[^\]\\\n]++|\\.)*+\])++)/")
_TOKEN = re.compile(r"<[^<>\s\[\]][^<>\s]*+>")
_ANY_TOKEN = re.compile(r" *\* *(?=\]>)")
_TOKENS = re.compile(r" *([0-9]{1,9}) *+(?:- *([0-9]{1,9}) *+)?(?=[,\]])")
_JSON = json.JSONDecoder()
#: steps for a JSON value, and characters of it that are decoded in about a microsecond
JSON_STEPS = 8
JSON_CHARS_PER_STEP = 32
#: steps for a group, and for a part of a sequence
GROUP_STEPS = 8
PART_STEPS = 5
#: steps for a pattern, besides those of its characters
PATTERN_STEPS = 12
_SURROGATE = re.compile("[\ud800-\udfff]")
_CHUNKS: dict[str, Callable[[str, Source], list[str]]] = {"words": words_of, "chars": chars_of}


class Expressions:
    """Reads expressions at the position of the source.

    Args:
        library: returns the definition of a name that must be expanded, or None.
        nested: reads a nested grammar up to its }, given its depth.
        depth: the depth of this grammar.
    """

    def __init__(
        self,
        grammar: Grammar,
        source: Source,
        vocabulary: TagVocabulary,
        *,
        build_schema: BuildSchema | None,
        nested: Callable[[int], Callable[[], Node]],
        library: Callable[[str], Alternatives | None] | None = None,
        depth: int = 0,
    ) -> None:
        self.g, self.s, self.vocabulary = grammar, source, vocabulary
        self._library = library
        self._build_schema, self._nested, self._depth = build_schema, nested, depth
        self._parameters = ParameterReader(source)

    # -- words ------------------------------------------------------------------------------------
    def blanks(self, *, lines: bool = False) -> None:
        self.s.skip(_BLANK_LINES if lines else _BLANK)

    def name(self, what: str) -> str:
        found = self.s.scan(_NAME)
        if not found:
            raise self.s.error(f"{what} is missing")
        return found.group()

    def json_value(self, at: int) -> Any:
        self.blanks(lines=True)
        start = self.s.at
        try:
            value, self.s.at = _JSON.raw_decode(self.s.text, self.s.at)
        except (ValueError, RecursionError):
            raise self.s.error("JSON is missing", at) from None
        self.s.budget.spend(JSON_STEPS + (self.s.at - start) // JSON_CHARS_PER_STEP)
        return value

    # -- expressions ------------------------------------------------------------------------------
    def alternatives(self, depth: int = 0) -> Alternatives:
        """Read alternatives up to a ), ], } or the end of the statement."""
        self.s.check("spec_depth", self._depth + depth + 1)
        self.s.budget.spend(GROUP_STEPS)
        alternatives = [self._alternative(depth)]
        while self._take_bar(depth):
            alternatives.append(self._alternative(depth))
        return Alternatives(alternatives)

    def _take_bar(self, depth: int) -> bool:
        """Take a |, which may also begin the next line."""
        start = self.s.at
        self.blanks(lines=True)
        if self.s.take("|"):
            return True
        if depth == 0:
            self.s.at = start
        return False

    def _alternative(self, depth: int) -> Alternative:
        self.s.budget.spend(PART_STEPS)
        start, lines = self.s.at, depth > 0
        operands = [self._concatenation(depth)]
        while self.s.take("&"):
            operands.append(self._concatenation(depth))
        if self.s.take("->"):
            self.blanks()
            self.name("an alias")
            self.blanks(lines=lines)
        at = self.s.at
        if not self.s.take("%if"):
            return Alternative(operands, start)
        self.blanks()
        condition = self._parameters.whole_condition()
        self.blanks(lines=lines)
        return Alternative(operands, at, condition)

    def _concatenation(self, depth: int) -> Concatenation:
        parts: list[Part] = []
        self.s.budget.spend(1)
        self.blanks(lines=depth > 0)
        while self.s.peek() and self.s.peek() not in "|&)]}\n" and not self._is_over():
            parts.append(self._repeated(depth))
            self.blanks(lines=depth > 0)
        if depth == 0 and self.s.peek() and self.s.peek() in ")]":
            raise self.s.error(f"unmatched {self.s.peek()}")
        return Concatenation(parts)

    def _is_over(self) -> bool:
        return self.s.peek(2) == "->" or self.s.peek(3) == "%if"

    def _repeated(self, depth: int) -> Part:
        self.s.budget.spend(PART_STEPS)
        part = self._element(depth)
        while True:
            self.blanks()
            sign = self.s.peek()
            if not sign or (sign not in "?*+{" and not _COUNT.match(self.s.text, self.s.at)):
                return part
            self.s.budget.spend(PART_STEPS)
            part = Repeated(part, *self._bounds())

    def _bounds(self) -> tuple[int, int | None]:
        at = self.s.at
        sign = self.s.peek()
        self.s.at += 1
        if sign in "?*+":
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        self.blanks()
        if sign == "~":
            low = self.s.count()
            high: int | None = self.s.count() if self.s.take("..") else low
        else:
            if not (self.s.peek().isdigit() or self.s.peek() == ","):
                raise self.s.refuse("a template", at)
            low = 0 if self.s.peek() == "," else self.s.count()
            high = low
            self.blanks()
            if self.s.take(","):
                self.blanks()
                high = None if self.s.peek() == "}" else self.s.count()
                self.blanks()
            self.s.want("}")
        if high is not None and high < low:
            raise self.s.error("the numbers of a repetition are out of order", at)
        return low, high

    def _element(self, depth: int) -> Part:
        c, at = self.s.peek(), self.s.at
        if c == "%":
            return self._inline(depth, at)
        if c and c in "([":
            self.s.at += 1
            part = self.alternatives(depth + 1)
            if not self.s.take(")" if c == "(" else "]"):
                raise self.s.error(f"a {c} is never closed", at)
            return part if c == "(" else Repeated(part, 0, 1)
        if c == "~":
            self.s.at += 1
            self.s.check("spec_depth", self._depth + depth + 1)
            return Complement(self._element(depth + 1))
        return self.value()

    def value(self) -> Part:
        """Read a terminal or a name."""
        c, at = self.s.peek(), self.s.at
        if c == '"':
            return self._literal()
        if c == "/":
            return self._pattern()
        if c == "<":
            return self._token()
        if c == "@":
            raise self.s.refuse("a nested grammar")
        if not c or not _NAME.match(c):
            raise self.s.error(f"{c!r} is no element")
        name = self.name("a name")
        written_out = self._library(name) if self._library is not None else None
        if written_out is not None:
            return written_out
        if not self.s.take("::"):
            return Name(name, at)
        if is_terminal(name):
            raise self.s.error("a terminal has no parameter", at)
        return Name(name, at, self._parameters.expression())

    # -- terminals --------------------------------------------------------------------------------
    def text(self) -> str:
        start = self.s.at
        self.s.want('"')
        made: list[str] = []
        while not self.s.take('"'):
            plain = self.s.scan(_PLAIN)
            if plain is not None:
                made.append(plain[0])
            elif self.s.take("\\"):
                made.append(self.s.escape(ESCAPES))
            else:
                raise self.s.error("a literal is never closed", start)
        return "".join(made)

    def _literal(self) -> Part:
        at = self.s.at
        text = self.text()
        if self.s.take(".."):
            last = self.text()
            if len(text) != 1 or len(last) != 1 or last < text:
                raise self.s.error("a range needs two characters in order", at)
            return Regular(Chars(normalise(((ord(text), ord(last)),))))
        return Regular(self._in_any_case(text)) if self._flags("i") else Literal(text)

    def _in_any_case(self, text: str) -> Tree:
        """Return the tree of a literal in any letter case, which is a pattern."""
        self.s.check("pattern_chars", len(text))
        self.s.budget.spend(len(text))
        found = {c: Chars(any_case(((ord(c), ord(c)),))) for c in set(text)}
        return cat([found[c] for c in text])

    def _flags(self, known: str) -> str:
        """Read flags, each of which is returned once."""
        at = self.s.at
        found = self.s.scan(_FLAGS)
        flags = found[0] if found else ""
        unknown = flags.lstrip(known)[:1]
        if unknown:
            self.s.at = at
            raise self.s.refuse(f"the flag {unknown}")
        return "".join(flag for flag in known if flag in flags)

    def _pattern(self) -> Part:
        at, limit = self.s.at, self.s.limits.pattern_chars
        self.s.budget.spend(PATTERN_STEPS)
        # no further than the longest pattern
        found = _REGEX.match(self.s.text, at, at + limit + 2)
        if not found:
            if "\n" not in self.s.text[at : at + limit + 2] and len(self.s.text) > at + limit + 2:
                self.s.check("pattern_chars", limit + 1)
            raise self.s.error("a pattern is empty or never closed", at)
        self.s.at = found.end()
        flags = self._flags("imsu").replace("u", "")
        try:
            return Regular(self._whole(found[1], flags))
        except SpecError as error:
            raise self.s.within(error, at) from None

    def _whole(self, pattern: str, flags: str) -> Tree:
        """Return the tree of a pattern, without look-around, which would leave the terminal."""
        tree = self.s.pattern(pattern, flags)
        plain = whole(tree, search=False)
        if plain is not None:
            return plain
        bound = Bound(self.s.limits.pattern_states, self.s.pointer, self.g.budget)
        return accepted(from_tree(cat((START, tree, END)), bound, search=False))

    # -- tokens -----------------------------------------------------------------------------------
    def _token(self) -> Part:
        at = self.s.at
        self.s.budget.spend(PART_STEPS)
        if self.s.take("<["):
            return self._token_set(at)
        named = self.s.scan(_TOKEN)
        if not named:
            raise self.s.error("a special token is never closed", at)
        token = self.vocabulary.special_tokens.get(named.group())
        if token is None:
            raise self.s.error(f"there is no special token {named.group()!r}", at)
        return OpaqueTerminal(lambda: self.g.tokens([token]), "a token", at)

    def _token_set(self, at: int) -> Part:
        """Read ranges of ids, which stay ranges: one may have all ids of the vocabulary."""
        negated = self.s.take("^")
        ranges: list[tuple[int, int]] = []
        if negated or self.s.scan(_ANY_TOKEN) is None:
            ranges.append(self._token_range(at))
            while self.s.take(","):
                ranges.append(self._token_range(at))
        self.s.want("]>")
        if ranges and not negated:
            return OpaqueTerminal(lambda: self.g.token_ranges(ranges), "a token", at)
        return OpaqueTerminal(lambda: self.vocabulary.tokens_outside(self.g, ranges), "a token", at)

    def _token_range(self, at: int) -> tuple[int, int]:
        found = self.s.scan(_TOKENS)
        if found is None:
            raise self.s.error("a set of tokens is made of numbers and ranges", at)
        low, high = int(found[1]), int(found[2] or found[1])
        if high < low:
            raise self.s.error("a range of tokens is out of order", at)
        self.s.check_token(high, self.vocabulary.size, at)
        return low, high

    # -- other languages --------------------------------------------------------------------------
    def _inline(self, depth: int, at: int) -> Part:
        self.s.at += 1
        word = self.name("the name of an inline language")
        if word == "regex":
            return self._substring(at)
        if word == "lark":
            self.blanks(lines=True)
            self.s.want("{")
            return OpaqueTerminal(self._nested(self._depth + depth), "%lark", at)
        if word != "json" or self._build_schema is None:
            raise self.s.refuse(f"%{word}", at)
        build, schema = self._build_schema, self.json_value(at)

        def make() -> Node:
            try:
                return build(self.g, schema, pointer=f"{self.s.pointer}/%json")
            except SpecError as error:
                raise self.s.within(error, at) from None

        return OpaqueTerminal(make, "%json", at)

    def _substring(self, at: int) -> Part:
        value = self.json_value(at)
        kind = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else ""
        what, _, unit = kind.partition("_")
        if what != "substring" or unit not in (*_CHUNKS, "chunks"):
            known = "substring_chunks, substring_words, substring_chars"
            raise self.s.refuse("%regex", at, f"it needs exactly one of {known}")
        given = value[kind]
        texts = given if unit == "chunks" else [given]
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            needed = "a list of strings" if unit == "chunks" else "a string"
            raise self.s.error(f"{kind} needs {needed}", at)
        chunks = texts if unit == "chunks" else _CHUNKS[unit](given, self.s)
        if any(map(_SURROGATE.search, chunks)):
            raise self.s.error("half of a surrogate pair", at)
        check_chunks(len(chunks), self.s)
        return Substring(*suffix_automaton(chunks, self.s.budget))


# -- parameters ------------------------------------------------------------------------------------
BITS = 64
_ALL_BITS = 2**BITS - 1
#: steps to read a test of a condition; tests that are evaluated in about a microsecond
TEST_STEPS = 16
TESTS_PER_STEP = 4
_PARAMETER_WORD = re.compile(r"[a-z_]+")
_PARAMETER_NUMBER = re.compile(r"0x[0-9a-fA-F]+|[0-9]+")

#: comparisons of bits, or of their number, with a constant
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}


class ParameterReader:
    """Reads expressions and conditions at the position of the source; blanks may separate words."""

    def __init__(self, source: Source) -> None:
        self.s = source
        self._tests = 0  # of the current condition

    # -- expressions ------------------------------------------------------------------------------
    def expression(self) -> ParameterExpression:
        at = self.s.at
        if self.s.peek().isascii() and self.s.peek().isdigit():
            constant = self._number(_ALL_BITS)
            return lambda value: constant
        change = self._change(at)

        def changed(value: int | None) -> int:
            if value is None:
                raise self.s.error("only a rule with a parameter may contain this", at)
            return change(value)

        return changed

    def _change(self, at: int) -> Callable[[int], int]:
        word = self._word()
        if word == "_":
            return lambda p: p
        if word in ("set_bit", "clear_bit"):
            bit = 1 << self._argument(lambda: self._number(BITS - 1))
            return (lambda p: p | bit) if word == "set_bit" else (lambda p: p & ~bit)
        if word in ("bit_and", "bit_or"):
            mask = self._argument(lambda: self._number(_ALL_BITS))
            return (lambda p: p & mask) if word == "bit_and" else (lambda p: p | mask)
        if word not in ("incr", "decr"):
            raise self.s.error(f"there is no expression {word!r} of a parameter", at)
        low, high = self._argument(self._bits)
        mask, one = (1 << high) - (1 << low), 1 << low
        if word == "incr":
            return lambda p: p if p & mask == mask else p + one
        return lambda p: p if p & mask == 0 else p - one

    # -- conditions -------------------------------------------------------------------------------
    def whole_condition(self) -> Condition:
        """Read a condition, whose every evaluation spends steps by the number of its tests."""
        self._tests = 0
        holds = self.condition()
        steps, budget = 1 + self._tests // TESTS_PER_STEP, self.s.budget

        def paid(value: int) -> bool:
            budget.spend(steps)
            return holds(value)

        return paid

    def condition(self, depth: int = 0) -> Condition:
        self.s.check("spec_depth", depth + 1)
        self.s.budget.spend(TEST_STEPS)
        self._tests += 1
        at = self.s.at
        word = self._word()
        if word == "true":
            self._blanks()
            if self.s.take("("):
                self._want(")")
            return lambda p: True
        if word in ("and", "or", "not"):
            return self._combined(word, depth)
        if word in ("bit_clear", "bit_set"):
            bit, expected = self._argument(lambda: self._number(BITS - 1)), word == "bit_set"
            return lambda p: bool(p >> bit & 1) == expected
        if word in ("is_ones", "is_zeros"):
            low, high = self._argument(self._bits)
            wanted = (1 << high - low) - 1 if word == "is_ones" else 0
            return lambda p: _cut(p, low, high) == wanted
        compare = _COMPARED.get(word.removeprefix("bit_count_"))
        if compare is None:
            raise self.s.error(f"there is no condition {word!r}", at)
        return self._comparison(compare, counts=word.startswith("bit_count_"))

    def _combined(self, word: str, depth: int) -> Condition:
        self._want("(")
        first = self.condition(depth + 1)
        if word == "not":
            self._want(")")
            return lambda p: not first(p)
        self._want(",")
        second = self.condition(depth + 1)
        self._want(")")
        if word == "and":
            return lambda p: first(p) and second(p)
        return lambda p: first(p) or second(p)

    def _comparison(self, compare: Callable[[int, int], bool], *, counts: bool) -> Condition:
        self._want("(")
        low, high = self._bits()
        self._want(",")
        number = self._number(BITS - 1 if counts else _ALL_BITS)
        self._want(")")
        if counts:
            return lambda p: compare(_cut(p, low, high).bit_count(), number)
        return lambda p: compare(_cut(p, low, high), number)

    # -- words ------------------------------------------------------------------------------------
    def _blanks(self) -> None:
        self.s.skip(_BLANK)

    def _want(self, sign: str) -> None:
        self._blanks()
        self.s.want(sign)
        self._blanks()

    def _argument(self, read: Callable[[], T]) -> T:
        self._want("(")
        found = read()
        self._blanks()
        self.s.want(")")
        return found

    def _word(self) -> str:
        found = self.s.scan(_PARAMETER_WORD)
        if found is None:
            raise self.s.error("an expression of a parameter is missing")
        return found[0]

    def _number(self, most: int) -> int:
        at = self.s.at
        found = self.s.scan(_PARAMETER_NUMBER)
        if found is None:
            raise self.s.error("a number is missing")
        if len(found[0]) > 20 or int(found[0], 0 if "x" in found[0] else 10) > most:
            raise self.s.error(f"a number must not be above {most}", at)
        return int(found[0], 0 if "x" in found[0] else 10)

    def _bits(self) -> tuple[int, int]:
        """Read ``[0:3]`` or ``_`` as a half-open range of bits."""
        at = self.s.at
        if self.s.take("_"):
            return 0, BITS
        self._want("[")
        low = self._number(BITS - 1)
        self._want(":")
        high = self._number(BITS)
        self._want("]")
        if high <= low:
            raise self.s.error("bits are out of order", at)
        return low, high


def _cut(value: int, low: int, high: int) -> int:
    return value >> low & (1 << high - low) - 1
