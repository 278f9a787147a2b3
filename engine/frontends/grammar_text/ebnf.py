"""GBNF, as llama.cpp's grammars/README describes it, and xgrammar's EBNF, which is nearly the same.

    root ::= "literal" [a-z] [^a-z] ( ... | ... ) name     # to the end of the line
    behind an element: * + ? {2} {2,} {2,5}

              GBNF                                    EBNF
    lines     a rule ends with its line, but inside   a rule ends where the next one begins
              parentheses and behind a |
    empty     an alternative may be empty             "" and () are empty
    any       . is any character
    tokens    <[12]> or <text>, and ! before it for   Token(1, 2), ExcludeToken(1, 2)
              any other token
    names     letters, digits, - and _                letters, digits, - _ and ., no digit first

Refused   of EBNF the macros that are formats of structural tags, and look-ahead.
"""

import re
from typing import NamedTuple

from ...ir import ANY_CHAR, Grammar, Node
from ..charset import complement, normalise
from ..tag_vocabulary import TagVocabulary
from .rules import Rules
from .source import Source

LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
DIGITS = frozenset("0123456789")


#: what the sign in a rule's head is to be told from, and the sign
SIGNS = re.compile(r'"(?:\\.|[^"\\\n])*"|\[(?:\\.|[^\]\\])*\]|#[^\n]*|(::=)')
#: blanks and comments, with ends of lines and without
SPACE, BLANKS = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*"), re.compile(r"(?:[ \t]|#[^\n]*)*")


class Dialect(NamedTuple):
    first: frozenset[str]  # characters that a name may begin with
    inner: frozenset[str]  # and go on with
    escapes: dict[str, str]
    is_gbnf: bool
    name: re.Pattern[str]
    head: re.Pattern[str]  # a name and ::=


def _dialect(
    first: frozenset[str], inner: frozenset[str], escapes: dict[str, str], is_gbnf: bool
) -> Dialect:
    name = f"[{re.escape(''.join(sorted(first)))}][{re.escape(''.join(sorted(inner)))}]*"
    head = rf"{name}[ \t]*::="
    return Dialect(first, inner, escapes, is_gbnf, re.compile(name), re.compile(head))


_SHORT = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"'}
GBNF = _dialect(
    LETTERS | DIGITS | {"-"},
    LETTERS | DIGITS | {"-"},
    {**_SHORT, "[": "[", "]": "]", "-": "-"},
    True,
)
EBNF = _dialect(
    LETTERS,
    LETTERS | DIGITS | {"-", "."},
    {**_SHORT, "'": "'", "?": "?", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "0": "\0",
     "e": "\x1b"},
    False,
)  # fmt: skip
#: in a class these may be escaped, too
IN_CLASS = {"-": "-", "]": "]", "[": "[", "^": "^"}
MACROS = ("TagDispatch", "TokenTagDispatch", "Regex", "JSONSchema")


def parse_ebnf(
    grammar: Grammar, text: str, dialect: Dialect, vocabulary: TagVocabulary, pointer: str
) -> Node:
    """The language of ``root``. Raises as ``build_grammar``."""
    source = Source(text, grammar.limits, pointer)
    return _Parser(grammar, source, dialect, vocabulary).parse()


class _Parser:
    """Emits nodes as it reads; ``depth`` counts open parentheses."""

    def __init__(
        self, grammar: Grammar, source: Source, dialect: Dialect, vocabulary: TagVocabulary
    ) -> None:
        self.g, self.s, self.dialect, self.vocabulary = grammar, source, dialect, vocabulary
        self.rules = Rules(grammar, source)

    def parse(self) -> Node:
        self.rules.check_count(self._count_heads())
        self._space()
        while self.s.peek():
            at = self.s.at
            name = self._name()
            if self.s.text[self.s.text.rfind("\n", 0, at) + 1 : at].strip():
                raise self.s.error("a rule must begin on a line of its own", at)
            self._space(lines=False)
            self.s.want("::=")
            self.rules.check_new(name, at)
            self._space()
            self.rules.define_alternatives(name, self._alternatives(0), at)
            if self.dialect.is_gbnf and self.s.peek() not in ("", "\n", "\r"):
                raise self.s.error(f"{self.s.peek()!r} is no element")
            self._space()
        return self.rules.finish("root")

    def _count_heads(self) -> int:
        """How many rules there are, about, without reading them."""
        found = self.s.text.count("::=")
        if found > self.s.limits.grammar_rules:
            found = sum(1 for sign in SIGNS.finditer(self.s.text) if sign[1])
        return found

    # -- words ------------------------------------------------------------------------------------
    def _space(self, *, lines: bool = True) -> None:
        found = (SPACE if lines else BLANKS).match(self.s.text, self.s.at)
        if found is not None:
            self.s.at = found.end()

    def _name(self) -> str:
        found = self.dialect.name.match(self.s.text, self.s.at)
        if found is None:
            raise self.s.error("the name of a rule must stand here")
        self.s.at = found.end()
        return found[0]

    def _starts_rule(self) -> bool:
        """Whether a name and ::= stand here."""
        return self.dialect.head.match(self.s.text, self.s.at) is not None

    # -- structure --------------------------------------------------------------------------------
    def _alternatives(self, depth: int) -> list[list[Node]]:
        self.s.check_depth(depth + 1)
        made = [self._sequence(depth)]
        while self.s.take("|"):
            self._space()
            made.append(self._sequence(depth))
        return made

    def _sequence(self, depth: int) -> list[Node]:
        """Up to a |, a ), or the end of the rule."""
        lines = depth > 0 or not self.dialect.is_gbnf
        start, parts = self.s.at, []
        while self.s.peek() and self.s.peek() not in "|)\r\n":
            if lines and self.s.peek() in self.dialect.first and self._starts_rule():
                break
            parts.append(self._repeated(depth, lines))
        if not parts and not self.dialect.is_gbnf:
            raise self.s.error("an element is missing", start)
        if depth == 0 and self.s.peek() == ")":
            raise self.s.error("unmatched )")
        return parts

    def _repeated(self, depth: int, lines: bool) -> Node:
        node = self._element(depth)
        self._space(lines=lines)
        sign = self.s.peek()
        if sign and sign in "*+?{":
            at = self.s.at
            node = self.g.repeat(node, *self._bounds())
            self._space(lines=lines)
            if self.s.peek() and self.s.peek() in "*+?{":
                raise self.s.error("an element can be repeated only once; use parentheses", at)
        return node

    def _bounds(self) -> tuple[int, int | None]:
        sign = self.s.peek()
        self.s.at += 1
        if sign != "{":
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        at = self.s.at
        self._space()
        low = self.s.count()
        high: int | None = low
        self._space()
        if self.s.take(","):
            self._space()
            high = None if self.s.peek() == "}" else self.s.count()
            self._space()
        self.s.want("}")
        if high is not None and high < low:
            raise self.s.error("the numbers of a repetition are out of order", at)
        return low, high

    def _element(self, depth: int) -> Node:
        c = self.s.peek()
        at = self.s.at
        if c == '"':
            return self.vocabulary.spelling.node(self.g, self._literal())
        if c == "[":
            return self.g.chars(self._class())
        if c == "(":
            return self._group(depth)
        if self.dialect.is_gbnf and c == ".":
            self.s.at += 1
            return self.g.chars(ANY_CHAR)
        if self.dialect.is_gbnf and (c == "<" or self.s.peek(2) == "!<"):
            return self._token()
        if c in self.dialect.first:
            name = self._name()
            if not self.dialect.is_gbnf and self.s.peek() == "(":
                return self._macro(name, at)
            return self.rules.ref(name, at)
        raise self.s.error(f"{c!r} is no element")

    def _group(self, depth: int) -> Node:
        at = self.s.at
        self.s.at += 1
        if not self.dialect.is_gbnf and self.s.peek() == "=":
            raise self.s.refuse("look-ahead", at)
        self._space()
        if not self.dialect.is_gbnf and self.s.take(")"):
            return self.g.empty()
        node = self.g.alt(*[self.g.seq(*parts) for parts in self._alternatives(depth + 1)])
        if not self.s.take(")"):
            raise self.s.error("a ( is never closed", at)
        return node

    # -- characters -------------------------------------------------------------------------------
    def _literal(self) -> str:
        start = self.s.at
        self.s.at += 1
        made: list[str] = []
        while not self.s.take('"'):
            made.append(self._character(self.dialect.escapes, start, "a literal"))
        return "".join(made)

    def _class(self) -> tuple[tuple[int, int], ...]:
        start = self.s.at
        self.s.at += 1
        negated = self.s.take("^")
        escapes = {**self.dialect.escapes, **IN_CLASS}
        ranges: list[tuple[int, int]] = []
        while not self.s.take("]"):
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
        if not c or (c == "\n" and not self.dialect.is_gbnf):
            raise self.s.error(f"{what} is never closed", start)
        self.s.at += 1
        return self.s.escape(escapes) if c == "\\" else c

    # -- tokens -----------------------------------------------------------------------------------
    def _token(self) -> Node:
        """<[12]>, <text>, or another token than that."""
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
        return self._tokens([token], other=other)

    def _macro(self, name: str, at: int) -> Node:
        if name in MACROS:
            raise self.s.refuse(name, at, "write it as a structural tag")
        if name not in ("Token", "ExcludeToken"):
            raise self.s.error(f"there is no macro {name!r}", at)
        ids: list[int] = []
        self.s.at += 1
        self._space()
        while not ids or self.s.take(","):
            self._space()
            ids.append(self._token_id())
            self._space()
        self.s.want(")")
        return self._tokens(ids, other=name == "ExcludeToken")

    def _token_id(self) -> int:
        at = self.s.at
        token = self.s.count()
        self.s.check_token(token, self.vocabulary.size, at)
        return token

    def _tokens(self, ids: list[int], *, other: bool) -> Node:
        if not other:
            return self.g.tokens(ids)
        return self.vocabulary.other_tokens(self.g, ids)
