"""GBNF, as llama.cpp's grammars/README describes it, and xgrammar's EBNF, which is almost equal.

    root ::= "literal" [a-z] [^a-z] ( ... | ... ) name     # to the end of the line
    suffixes of an element: * + ? {2} {2,} {2,5}

               GBNF                                    EBNF
    lines      a rule ends with its line, except       a rule ends where the next one begins
               inside parentheses and after a |
    empty      an alternative may be empty             "" and () are empty
    any        . is any character
    tokens     <[12]> or <text>; preceded by ! any     macros
               other token
    names      letters, digits, - and _                letters, digits, - _ and ., no digit first
    of a rule  nothing                                 name[max_chars=5], (= ...)

A look-ahead (= ...) at the end of a rule is parsed and ignored. xgrammar's matcher does not enforce
it either, but assumes it when it computes masks ahead of time.
"""

import re
from typing import NamedTuple

from ...grammar.ir import ANY_CHAR, Grammar, Node
from ..regex.char_classes import complement, normalise
from ..structural_tag.tag_vocabulary import TagVocabulary
from .macros import Bounds, Macros
from .source import Rules, Source, blanks_of

LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
DIGITS = frozenset("0123456789")


#: blanks and comments, with and without line ends
SPACE, BLANKS = blanks_of(r" \t\r\n", "#"), blanks_of(r" \t", "#")
#: plain characters of literals
PLAIN, GBNF_PLAIN = re.compile(r'[^"\\\n]+'), re.compile(r'[^"\\]+')

#: between a rule's name and its ::=. Whether a rule begins is asked at each name, so attributes
#: are short
ATTRIBUTES = re.compile(r'\[((?:[^\]"\n]{1,250}+|"[^"\n]{0,250}+"){0,50}+)\](?=[ \t]*+::=)')
ATTRIBUTE = re.compile(r"[ \t]*(max_tokens|max_chars)[ \t]*=[ \t]*([0-9]+)[ \t]*")


class Notation(NamedTuple):
    first: frozenset[str]  # characters at the start of a name
    inner: frozenset[str]  # later characters of a name
    escapes: dict[str, str]
    is_gbnf: bool
    name: re.Pattern[str]
    head: re.Pattern[str]  # a name and ::=


def _notation(
    first: frozenset[str], inner: frozenset[str], escapes: dict[str, str], is_gbnf: bool
) -> Notation:
    name = f"[{re.escape(''.join(sorted(first)))}][{re.escape(''.join(sorted(inner)))}]*+"
    head = rf"{name}[ \t]*+::=" if is_gbnf else rf"{name}(?:{ATTRIBUTES.pattern}|[ \t]*+::=)"
    return Notation(first, inner, escapes, is_gbnf, re.compile(name), re.compile(head))


_SHORT = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"'}
GBNF = _notation(
    LETTERS | DIGITS | {"-"},
    LETTERS | DIGITS | {"-"},
    {**_SHORT, "[": "[", "]": "]", "-": "-"},
    True,
)
EBNF = _notation(
    LETTERS,
    LETTERS | DIGITS | {"-", "."},
    {**_SHORT, "'": "'", "?": "?", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0",
     "e": "\x1b"},
    False,
)  # fmt: skip
#: additional escapes in a class
IN_GBNF_CLASS = {"-": "-", "]": "]", "[": "[", "^": "^"}
IN_CLASS = {**IN_GBNF_CLASS, **{sign: sign for sign in "$.*+(){}|/"}}
#: steps for a group, a part of a sequence, a member of a class, and to look for a rule
GROUP_STEPS = 4
PART_STEPS = 3
MEMBER_STEPS = 2
HEAD_STEPS = 2
#: attributes of rules in xgrammar
KNOWN_ATTRIBUTES = (
    "max_tokens", "max_chars", "capture", "stop_capture", "lazy", "temperature", "suffix", "stop",
)  # fmt: skip


def parse_ebnf(
    grammar: Grammar,
    text: str,
    notation: Notation,
    vocabulary: TagVocabulary,
    pointer: str,
    *,
    readable: bool = False,
) -> Node:
    """Add a grammar and return the node of ``root``. Raises as ``build_grammar``."""
    source = Source(text, grammar.limits, grammar.budget, pointer)
    return _Parser(grammar, source, notation, vocabulary).parse(readable=readable)


class _Parser:
    """Parses and adds nodes in one pass; ``depth`` counts open parentheses."""

    def __init__(
        self, grammar: Grammar, source: Source, notation: Notation, vocabulary: TagVocabulary
    ) -> None:
        self.g, self.s, self.notation, self.vocabulary = grammar, source, notation, vocabulary
        self.rules = Rules(grammar, source)
        self.macros = Macros(grammar, source, vocabulary, self.rules)

    def parse(self, *, readable: bool) -> Node:
        self.space()
        while self.s.peek():
            at = self.s.at
            name = self.name()
            if self.s.text[self.s.text.rfind("\n", 0, at) + 1 : at].strip():
                raise self.s.error("a rule must begin on a new line", at)
            bounds = self._attributes()
            self.space(lines=False)
            self.s.want("::=")
            self.rules.check_new(name, at)
            self.space()
            ways = self._alternatives(0) if bounds == Bounds() else self._bounded(bounds, at)
            self.rules.define_alternatives(name, ways, at)
            self._look_ahead()
            if self.notation.is_gbnf and self.s.peek() not in ("", "\n", "\r"):
                raise self.s.error(f"{self.s.peek()!r} is no element")
            self.space()
        return self.rules.finish("root", readable=readable)

    # -- words ------------------------------------------------------------------------------------
    def space(self, *, lines: bool = True) -> None:
        self.s.skip(SPACE if lines else BLANKS)

    def name(self) -> str:
        found = self.s.scan(self.notation.name)
        if found is None:
            raise self.s.error("the name of a rule is missing")
        return found[0]

    def _starts_rule(self) -> bool:
        """Whether a rule begins here."""
        self.s.budget.spend(HEAD_STEPS)
        return self.notation.head.match(self.s.text, self.s.at) is not None

    # -- rules ------------------------------------------------------------------------------------
    def _attributes(self) -> Bounds:
        """Read the attributes in brackets after the name of a rule."""
        found = None if self.notation.is_gbnf else ATTRIBUTES.match(self.s.text, self.s.at)
        if found is None:
            return Bounds()
        made: dict[str, int] = {}
        for part in found[1].split(","):
            name = part.strip().partition("=")[0].strip()
            value = ATTRIBUTE.fullmatch(part)
            if value is None and name in KNOWN_ATTRIBUTES[2:]:
                raise self.s.refuse(name)
            if value is None or name in made:
                raise self.s.error("an attribute is max_tokens=N or max_chars=N, each once")
            made[name] = self.s.checked_count(value[2])
        self.s.at = found.end()
        return Bounds(**made)

    def _bounded(self, bounds: Bounds, at: int) -> list[list[Node]]:
        """Read the body of a rule of bounded text, which must be a single TagDispatch."""
        start = self.s.at
        if self._name_or_none() == "TagDispatch" and self.s.peek() == "(":
            node = self.macros.node(self, "TagDispatch", start, bounds)
            self.space()
            if not self.s.peek() or self.s.peek(2) == "(=" or self._starts_rule():
                return [[node]]
        name = "max_chars" if bounds.max_chars is not None else "max_tokens"
        raise self.s.refuse(name, at, "of anything but a TagDispatch without tags")

    def _name_or_none(self) -> str | None:
        return self.name() if self.notation.name.match(self.s.text, self.s.at) else None

    def _look_ahead(self) -> None:
        if self.notation.is_gbnf or not self.s.take("(="):
            return
        at = self.s.at - 2
        self.space()
        self._alternatives(1)
        if not self.s.take(")"):
            raise self.s.error("a ( is never closed", at)
        self.space()
        if self.s.peek() and not self._starts_rule():
            raise self.s.error("a look-ahead is allowed only at the end of a rule", at)

    # -- structure --------------------------------------------------------------------------------
    def _alternatives(self, depth: int) -> list[list[Node]]:
        self.s.check("spec_depth", depth + 1)
        self.s.budget.spend(GROUP_STEPS)
        made = [self._sequence(depth)]
        while self.s.take("|"):
            self.space()
            made.append(self._sequence(depth))
        return made

    def _sequence(self, depth: int) -> list[Node]:
        """Read a sequence up to a |, a ), or the end of the rule."""
        lines = depth > 0 or not self.notation.is_gbnf
        start = self.s.at
        parts: list[Node] = []
        while self.s.peek() and self.s.peek() not in "|)\r\n":
            if lines and self.s.peek() in self.notation.first and self._starts_rule():
                break
            if depth == 0 and parts and not self.notation.is_gbnf and self.s.peek(2) == "(=":
                break
            parts.append(self._repeated(depth, lines))
        if not parts and not self.notation.is_gbnf:
            raise self.s.error("an element is missing", start)
        if depth == 0 and self.s.peek() == ")":
            raise self.s.error("unmatched )")
        return parts

    def _repeated(self, depth: int, lines: bool) -> Node:
        self.s.budget.spend(PART_STEPS)
        node = self._element(depth)
        self.space(lines=lines)
        sign = self.s.peek()
        if sign and sign in "*+?{":
            at = self.s.at
            node = self.g.repeat(node, *self._bounds())
            self.space(lines=lines)
            if self.s.peek() and self.s.peek() in "*+?{":
                raise self.s.error("an element can be repeated only once; use parentheses", at)
        return node

    def _bounds(self) -> tuple[int, int | None]:
        sign = self.s.peek()
        self.s.at += 1
        if sign != "{":
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        at = self.s.at
        self.space()
        low = self.s.count()
        high: int | None = low
        self.space()
        if self.s.take(","):
            self.space()
            is_open = self.s.peek() == "}" or (not self.notation.is_gbnf and self.s.take("-1"))
            high = None if is_open else self.s.count()
            self.space()
        self.s.want("}")
        if high is not None and high < low:
            raise self.s.error("the numbers of a repetition are out of order", at)
        return low, high

    def _element(self, depth: int) -> Node:
        c = self.s.peek()
        at = self.s.at
        if c == '"':
            return self.vocabulary.spelling.add_mark(self.g, self.literal())
        if c == "[":
            return self.g.chars(self._class())
        if c == "(":
            return self._group(depth)
        if self.notation.is_gbnf and c == ".":
            self.s.at += 1
            return self.g.chars(ANY_CHAR)
        if self.notation.is_gbnf and (c == "<" or self.s.peek(2) == "!<"):
            return self._token()
        if c in self.notation.first:
            name = self.name()
            if not self.notation.is_gbnf and self.s.peek() == "(" and self.s.peek(2) != "(=":
                return self.macros.node(self, name, at, Bounds())
            return self.rules.ref(name, at)
        raise self.s.error(f"{c!r} is no element")

    def _group(self, depth: int) -> Node:
        at = self.s.at
        self.s.at += 1
        if not self.notation.is_gbnf and self.s.peek() == "=":
            raise self.s.error("a look-ahead is allowed only at the end of a rule", at)
        self.space()
        if not self.notation.is_gbnf and self.s.take(")"):
            return self.g.empty()
        node = self.g.choice(self._alternatives(depth + 1))
        if not self.s.take(")"):
            raise self.s.error("a ( is never closed", at)
        return node

    # -- characters -------------------------------------------------------------------------------
    def literal(self) -> str:
        start = self.s.at
        self.s.at += 1
        plain = GBNF_PLAIN if self.notation.is_gbnf else PLAIN
        made: list[str] = []
        while not self.s.take('"'):
            found = self.s.scan(plain)
            if found is None:
                made.append(self._character(self.notation.escapes, start, "a literal"))
            else:
                made.append(found[0])
        return "".join(made)

    def _class(self) -> tuple[tuple[int, int], ...]:
        start = self.s.at
        self.s.at += 1
        negated = self.s.take("^")
        more = IN_GBNF_CLASS if self.notation.is_gbnf else IN_CLASS
        escapes = {**self.notation.escapes, **more}
        ranges: list[tuple[int, int]] = []
        while not self.s.take("]"):
            self.s.budget.spend(MEMBER_STEPS)
            self.s.check("pattern_chars", len(ranges) + 1)
            low = high = ord(self._character(escapes, start, "a class"))
            at = self.s.at
            if self.s.peek() == "-" and self.s.peek(2) != "-]":
                self.s.at += 1
                high = ord(self._character(escapes, start, "a class"))
            if high < low:
                raise self.s.error("a range of characters is out of order", at)
            ranges.append((low, high))
        if not ranges:
            raise self.s.error("a class must not be empty", start)
        return complement(normalise(ranges)) if negated else normalise(ranges)

    def _character(self, escapes: dict[str, str], start: int, what: str) -> str:
        c = self.s.peek()
        if not c or (c == "\n" and not self.notation.is_gbnf):
            raise self.s.error(f"{what} is never closed", start)
        self.s.at += 1
        return self.s.escape(escapes) if c == "\\" else c

    # -- tokens -----------------------------------------------------------------------------------
    def _token(self) -> Node:
        """Read ``<[12]>`` or ``<text>``, or with a leading ! any other token."""
        at = self.s.at
        other = self.s.take("!")
        end = self.s.text.find(">", self.s.at)
        if end < 0:
            raise self.s.error("a < is never closed", at)
        if self.s.take("<["):
            token = self._token_id()
            self.s.want("]>")
        else:
            text = self.s.text[self.s.at : end + 1]
            if text not in self.vocabulary.special_tokens:
                raise self.s.error(f"there is no special token {text!r}", at)
            token = self.vocabulary.special_tokens[text]
            self.s.at = end + 1
        if other:
            return self.vocabulary.other_tokens(self.g, [token])
        return self.g.tokens([token])

    def _token_id(self) -> int:
        at = self.s.at
        token = self.s.count()
        self.s.check_token(token, self.vocabulary.size, at)
        return token
