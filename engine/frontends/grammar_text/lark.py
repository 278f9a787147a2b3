"""Lark, as llguidance reads it.

    start: "select" NAME ("," NAME)*       // rules in lower case, terminals in upper case
    NAME: /[a-z_][a-z0-9_]*/i
    %ignore /[ \t]+/
    %import common.INT -> NUMBER

    elements   "text"  "text"i  "a".."z"  /regex/is  name  ( ... | ... )  [ optional ]
               %json { a JSON Schema }  <|special token|>  <[1,5-7]>  <[^1]>  <[*]>
    behind one ? * + ~3 ~2..5 {3} {2,} {,5} {2,5}

Meaning    the context-free language over characters. What is ignored may stand before every
           terminal of a rule and at the end, in any number; never within a terminal.
           ``?rule``, ``!rule`` and ``-> alias`` shape trees and say nothing of the language.
Refused    by name: templates, priorities, attributes in [], %declare, %override, %extend, %regex,
           nested grammars, & and ~ between terminals, look-around and \b, and what ECMA-262
           patterns refuse.
"""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from ...errors import SpecError, UnsupportedSchema
from ...ir import Grammar, Node
from ..regex import build_regex
from ..regex_syntax import parse
from ..tag_vocabulary import TagVocabulary
from .common import COMMON
from .folding import folded, in_any_case, with_dots
from .rules import Rules
from .source import Source

ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "b": "\b", "0": "\0", "a": "\a",
           "\\": "\\", '"': '"', "'": "'", "/": "/"}  # fmt: skip
_BLANK = re.compile(r"(?:[ \t\r\f]|//[^\n]*|#[^\n]*)*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REGEX = re.compile(r"/((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+)/([a-z]*)")
_TOKEN = re.compile(r"<[^<>\s\[\]][^<>\s]*>")
_TOKEN_SET = re.compile(r"<\[(\^?)([0-9,\- *]*)\]>")
_REFUSED_STATEMENTS = ("declare", "override", "extend", "regex", "lark")

#: an element, emitted when all names are known, and the parts of a sequence
Emit = Callable[[bool], Node]
EmitParts = Callable[[bool], list[Node]]


class BuildSchema(Protocol):
    def __call__(self, grammar: Grammar, schema: Any, /, *, pointer: str) -> Node: ...


class _Definition(NamedTuple):
    name: str
    ways: list[EmitParts]
    at: int


def parse_lark(
    grammar: Grammar, text: str, vocabulary: TagVocabulary, build_schema: BuildSchema | None,
    pointer: str,
) -> Node:  # fmt: skip
    """The language of ``start``. Raises as ``build_grammar``."""
    source = Source(text, grammar.limits, pointer)
    reader = _Reader(grammar, source, vocabulary, build_schema)
    reader.read()
    return reader.finish()


def is_terminal(name: str) -> bool:
    return name.lstrip("_")[:1].isupper()


class _Reader:
    """Reads the text, then emits: what is ignored must be known before the first rule is made."""

    def __init__(
        self, grammar: Grammar, source: Source, vocabulary: TagVocabulary,
        build_schema: BuildSchema | None,
    ) -> None:  # fmt: skip
        self.g, self.s, self.vocabulary, self.build_schema = (
            grammar, source, vocabulary, build_schema,
        )  # fmt: skip
        self.rules: Rules | _Written = Rules(grammar, source)
        self._library: _Reader | None = None
        self.definitions: dict[str, _Definition] = {}
        self._ignored: list[Emit] = []
        self._gap: Node | None = None

    # -- emission ---------------------------------------------------------------------------------
    def finish(self) -> Node:
        if self._ignored:
            one = self.g.alt(*[emit(False) for emit in self._ignored])
            self._gap = self.g.ref(self.g.rule("%ignore", self.g.repeat(one, 0, None)))
        assert isinstance(self.rules, Rules)
        for name, ways, at in self.definitions.values():
            parts = [way(not is_terminal(name)) for way in ways]
            self.rules.define_alternatives(name, parts, at)
        start = self.rules.finish("start")
        return start if self._gap is None else self.g.seq(start, self._gap)

    def _leaf(self, node: Node, in_rule: bool) -> Node:
        """A terminal; in a rule, what is ignored may stand before it."""
        if in_rule and self._gap is not None:
            return self.g.seq(self._gap, node)
        return node

    def _ref(self, name: str, at: int) -> Emit:
        def emit(in_rule: bool) -> Node:
            if not in_rule and not is_terminal(name):
                raise self.s.error(f"a terminal can't hold the rule {name!r}", at)
            node = self.rules.ref(name, at)
            return self._leaf(node, in_rule) if is_terminal(name) else node

        return emit

    # -- statements -------------------------------------------------------------------------------
    def _blanks(self, *, lines: bool = False) -> None:
        while True:
            found = _BLANK.match(self.s.text, self.s.at)
            self.s.at = found.end() if found else self.s.at
            if not lines or not self.s.take("\n"):
                return

    def read(self) -> None:
        self._blanks(lines=True)
        while self.s.peek():
            self._statement() if self.s.peek() == "%" else self._definition()
            self._blanks()
            if self.s.peek() not in ("", "\n"):
                raise self.s.error(f"{self.s.peek()!r} is no element")
            self._blanks(lines=True)

    def _statement(self) -> None:
        at = self.s.at
        self.s.at += 1
        word = self._name("the name of a statement")
        self._blanks()
        if word == "ignore":
            self._ignored.append(self._alternatives(0))
        elif word == "import":
            self._import()
        elif word == "llguidance" and self._json_value(at) == {}:
            return
        elif word in (*_REFUSED_STATEMENTS, "llguidance"):
            raise self.s.refuse(f"%{word}", at)
        else:
            raise self.s.error(f"there is no statement %{word}", at)

    def _name(self, what: str) -> str:
        found = _NAME.match(self.s.text, self.s.at)
        if not found:
            raise self.s.error(f"{what} must stand here")
        self.s.at = found.end()
        return found.group()

    def _definition(self) -> None:
        at = self.s.at
        while self.s.take("?") or self.s.take("!"):
            pass
        name = self._name("the name of a rule or a terminal")
        self._blanks()
        for sign, what in (("{", "a template"), (".", "a priority"), ("[", "an attribute")):
            if self.s.peek() == sign:
                raise self.s.refuse(what, self.s.at)
        self.s.want(":")
        self._define(name, self._ways(0), at)

    def _define(self, name: str, ways: list[EmitParts], at: int) -> None:
        if name in self.definitions:
            raise self.s.error(f"{name!r} is defined twice", at)
        self.definitions[name] = _Definition(name, ways, at)
        if isinstance(self.rules, Rules):
            self.rules.check_count(len(self.definitions))

    # -- imports ----------------------------------------------------------------------------------
    def _import(self) -> None:
        at = self.s.at
        library = self._name("the name of a library")
        if library != "common":
            raise self.s.refuse(f"%import {library}", at, "only common can be imported")
        self._blanks()
        names: list[tuple[str, str]] = []
        if self.s.take("."):
            names.append(self._imported())
        else:
            self.s.want("(")
            while not names or self.s.take(","):
                self._blanks(lines=True)
                names.append(self._imported())
                self._blanks(lines=True)
            self.s.want(")")
        for name, new in names:
            self._import_one(name, new, at)

    def _imported(self) -> tuple[str, str]:
        """A name and the one that it gets."""
        name = self._name("the name of a terminal")
        self._blanks()
        if not self.s.take("->"):
            return name, name
        self._blanks()
        return name, self._name("a new name")

    def _import_one(self, name: str, new: str, at: int) -> None:
        if self._library is None:
            library = Source(COMMON, self.s.limits, self.s.pointer)
            self._library = _Reader(self.g, library, self.vocabulary, None)
            self._library.rules = _Written(self._library)
            self._library.read()
        found = self._library.definitions.get(name)
        if found is None or name.startswith("_"):
            raise self.s.refuse(f"%import common.{name}", at, "there is no such terminal here")
        if not is_terminal(new):
            raise self.s.error("a terminal's new name must be in upper case", at)
        self._define(new, found.ways, at)

    # -- expressions ------------------------------------------------------------------------------
    def _alternatives(self, depth: int) -> Emit:
        ways = self._ways(depth)
        return lambda in_rule: self.g.alt(*[self.g.seq(*way(in_rule)) for way in ways])

    def _ways(self, depth: int) -> list[EmitParts]:
        """Alternatives, up to a ), a ] or the end of the statement."""
        self.s.check_depth(depth + 1)
        ways = [self._sequence(depth)]
        while self._take_bar(depth):
            ways.append(self._sequence(depth))
        return ways

    def _take_bar(self, depth: int) -> bool:
        """A |, which may also begin the next line."""
        start = self.s.at
        self._blanks(lines=True)
        if self.s.take("|"):
            return True
        if depth == 0:
            self.s.at = start
        return False

    def _sequence(self, depth: int) -> EmitParts:
        parts: list[Emit] = []
        self._blanks(lines=depth > 0)
        while self.s.peek() and self.s.peek() not in "|)]\n":
            if self.s.take("->"):
                self._blanks()
                self._name("an alias")
                self._blanks(lines=depth > 0)
                break
            parts.append(self._repeated(depth))
            self._blanks(lines=depth > 0)
        if depth == 0 and self.s.peek() and self.s.peek() in ")]":
            raise self.s.error(f"unmatched {self.s.peek()}")
        return lambda in_rule: [part(in_rule) for part in parts]

    def _repeated(self, depth: int) -> Emit:
        emit = self._element(depth)
        while True:
            blank = _BLANK.match(self.s.text, self.s.at)
            sign = self.s.text[blank.end() : blank.end() + 1] if blank else ""
            if not sign or sign not in "?*+~{&":
                return emit
            self.s.at = blank.end() if blank else self.s.at
            if sign == "&":
                raise self.s.refuse("& between terminals")
            emit = self._times(emit, *self._bounds())

    def _times(self, emit: Emit, low: int, high: int | None) -> Emit:
        return lambda in_rule: self.g.repeat(emit(in_rule), low, high)

    def _bounds(self) -> tuple[int, int | None]:
        at = self.s.at
        sign = self.s.peek()
        self.s.at += 1
        if sign in "?*+":
            return (1 if sign == "+" else 0), (1 if sign == "?" else None)
        self._blanks()
        if sign == "~":
            if not self.s.peek().isdigit():
                raise self.s.refuse("~ before a terminal", at)
            low = self.s.count()
            high: int | None = self.s.count() if self.s.take("..") else low
        else:
            if not (self.s.peek().isdigit() or self.s.peek() == ","):
                raise self.s.refuse("a template", at)
            low = 0 if self.s.peek() == "," else self.s.count()
            high = low
            self._blanks()
            if self.s.take(","):
                self._blanks()
                high = None if self.s.peek() == "}" else self.s.count()
                self._blanks()
            self.s.want("}")
        if high is not None and high < low:
            raise self.s.error("the numbers of a repetition are out of order", at)
        return low, high

    def _element(self, depth: int) -> Emit:
        c, at = self.s.peek(), self.s.at
        if c == '"':
            return self._literal()
        if c == "/":
            return self._pattern()
        if c == "<":
            return self._token()
        if c == "%":
            return self._inline(at)
        if c and c in "([":
            self.s.at += 1
            emit = self._alternatives(depth + 1)
            if not self.s.take(")" if c == "(" else "]"):
                raise self.s.error(f"a {c} is never closed", at)
            return emit if c == "(" else self._times(emit, 0, 1)
        if c == "~":
            raise self.s.refuse("~ before a terminal")
        if c == "@":
            raise self.s.refuse("a nested grammar")
        if not _NAME.match(c):
            raise self.s.error(f"{c!r} is no element")
        return self._ref(self._name("a name"), at)

    # -- terminals --------------------------------------------------------------------------------
    def _text(self) -> str:
        start = self.s.at
        self.s.want('"')
        made: list[str] = []
        while not self.s.take('"'):
            c = self.s.peek()
            if not c or c == "\n":
                raise self.s.error("a literal is never closed", start)
            self.s.at += 1
            made.append(self.s.escape(ESCAPES) if c == "\\" else c)
        return "".join(made)

    def _literal(self) -> Emit:
        at = self.s.at
        text = self._text()
        if self.s.take(".."):
            last = self._text()
            if len(text) != 1 or len(last) != 1 or last < text:
                raise self.s.error("a range needs two characters in order", at)
            return self._terminal(lambda: self.g.chars([(ord(text), ord(last))]))
        flags = self._flags("i")
        if "i" in flags:
            return self._terminal(lambda: folded(self.g, text))
        return self._terminal(lambda: self.vocabulary.spelling.node(self.g, text))

    def _terminal(self, make: Callable[[], Node]) -> Emit:
        return lambda in_rule: self._leaf(make(), in_rule)

    def _flags(self, known: str) -> str:
        found = re.compile("[a-z]*").match(self.s.text, self.s.at)
        flags = found.group() if found else ""
        for flag in flags:
            if flag not in known:
                raise self.s.refuse(f"the flag {flag}")
        self.s.at += len(flags)
        return flags

    def _pattern(self) -> Emit:
        at = self.s.at
        found = _REGEX.match(self.s.text, at)
        if not found:
            raise self.s.error("a pattern is empty or never closed", at)
        self.s.at = found.end(1) + 1
        flags = self._flags("isu")
        pattern = found.group(1)
        try:
            # what looks around would have to look past its terminal
            parse(pattern, pointer=self.s.pointer, limits=self.s.limits, looks=False)
        except SpecError as error:
            raise self.s.within(error, at) from None
        if "i" in flags:
            folded_pattern = in_any_case(pattern)
            if folded_pattern is None:
                raise self.s.refuse("the flag i", at, "with what is not plain ASCII")
            pattern = folded_pattern
        pattern = with_dots(pattern, all_characters="s" in flags)
        return self._terminal(
            lambda: build_regex(self.g, pattern, pointer=self.s.pointer, looks=False)
        )

    # -- tokens and schemas -----------------------------------------------------------------------
    def _token(self) -> Emit:
        at = self.s.at
        found = _TOKEN_SET.match(self.s.text, at)
        if found:
            self.s.at = found.end()
            return self._token_set(found.group(1) == "^", found.group(2).strip(), at)
        named = _TOKEN.match(self.s.text, at)
        if not named:
            raise self.s.error("a special token is never closed", at)
        self.s.at = named.end()
        token = self.vocabulary.special_tokens.get(named.group())
        if token is None:
            raise self.s.error(f"there is no special token {named.group()!r}", at)
        return self._terminal(lambda: self.g.tokens([token]))

    def _token_set(self, negated: bool, text: str, at: int) -> Emit:
        if text == "*" and not negated:
            return self._terminal(lambda: self.vocabulary.other_tokens(self.g, ()))
        ids: list[int] = []
        for part in text.split(","):
            ends = [end.strip() for end in part.split("-")]
            if not 1 <= len(ends) <= 2 or not all(e.isdigit() and len(e) < 10 for e in ends):
                raise self.s.error("a set of tokens is made of numbers and ranges", at)
            low, high = int(ends[0]), int(ends[-1])
            if high < low:
                raise self.s.error("a range of tokens is out of order", at)
            self.s.check_token(high, self.vocabulary.size, at)
            ids.extend(range(low, high + 1))
        if not negated:
            return self._terminal(lambda: self.g.tokens(ids))
        return self._terminal(lambda: self.vocabulary.other_tokens(self.g, ids))

    def _inline(self, at: int) -> Emit:
        self.s.at += 1
        word = self._name("the name of what is inline")
        if word != "json" or self.build_schema is None:
            raise self.s.refuse(f"%{word}", at)
        self._blanks(lines=True)
        schema = self._json_value(at)
        build = self.build_schema

        def make() -> Node:
            try:
                return build(self.g, schema, pointer=f"{self.s.pointer}/%json")
            except SpecError as error:
                message = f"{self.s.place(at)}: {error.message}"
                if isinstance(error, UnsupportedSchema):
                    raise UnsupportedSchema(error.pointer, error.keyword, message) from None
                raise SpecError(message, error.pointer) from None

        return self._terminal(make)

    def _json_value(self, at: int) -> Any:
        self._blanks(lines=True)
        try:
            value, self.s.at = json.JSONDecoder().raw_decode(self.s.text, self.s.at)
        except (ValueError, RecursionError):
            raise self.s.error("JSON must stand here", at) from None
        return value


class _Written:
    """Names that are written out where they are used: those of the library."""

    def __init__(self, reader: _Reader) -> None:
        self._reader = reader

    def ref(self, name: str, at: int) -> Node:
        g = self._reader.g
        return g.alt(*[g.seq(*way(False)) for way in self._reader.definitions[name].ways])
