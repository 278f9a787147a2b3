"""Statements of Lark, as llguidance reads it.

    start: "select" NAME ("," NAME)*       // rules in lower case, terminals in upper case
    NAME: /[a-z_][a-z0-9_]*/i
    KEY: NAME & ~("select" | "from")
    line[lazy]: /.*/ "\n"
    %ignore /[ \t]+/
    %import common.INT -> NUMBER

Meaning    the context-free language over characters. ``?rule``, ``!rule`` and ``-> alias`` shape
           parse trees and do not change the language. Ignored text may occur before every terminal
           of a rule and at the end, but not within a terminal. A rule with a parameter becomes one
           IR rule for each value of its references.
Refused    by name: templates, priorities, %declare, %override, %extend, %regex other than
           substrings, grammars by name, & in rules, & and ~ of expressions that are not regular,
           attributes that cannot be enforced, look-around and \b, and all that the regex front end
           refuses.
In JSON    inside a JSON string, characters are escaped as there; elements that are not characters
           (tokens, %json, max_tokens) are refused by name.
Not here   rules and their nodes (lark_builder), expressions and attributes (lark_parser,
           lark_expressions).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from ...grammar.ir import Grammar, Node
from ..structural_tag.tag_vocabulary import TagVocabulary
from .lark_builder import DEFINITION_STEPS, Definition, LarkBuilder, is_terminal
from .lark_expressions import Alternatives, Attributes, Literal
from .lark_parser import BuildSchema, Expressions
from .source import Source

#: terminals of Lark's library (lark/grammars/common.lark), one on each line, as they are parsed on
#: import. Strings avoid look-behind, comments avoid lazy repetition
COMMON = r"""
DIGIT: "0".."9"
HEXDIGIT: "a".."f" | "A".."F" | DIGIT
INT: DIGIT+
SIGNED_INT: ["+" | "-"] INT
DECIMAL: INT "." INT? | "." INT
_EXP: ("e" | "E") SIGNED_INT
FLOAT: INT _EXP | DECIMAL _EXP?
SIGNED_FLOAT: ["+" | "-"] FLOAT
NUMBER: FLOAT | INT
SIGNED_NUMBER: ["+" | "-"] NUMBER
ESCAPED_STRING: /"([^"\\\n]|\\[^\n])*"/
LCASE_LETTER: "a".."z"
UCASE_LETTER: "A".."Z"
LETTER: UCASE_LETTER | LCASE_LETTER
WORD: LETTER+
CNAME: ("_" | LETTER) ("_" | LETTER | DIGIT)*
WS_INLINE: (" " | /\t/)+
WS: /[ \t\f\r\n]/+
CR: /\r/
LF: /\n/
NEWLINE: (CR? LF)+
SH_COMMENT: /#[^\n]*/
CPP_COMMENT: /\/\/[^\n]*/
C_COMMENT: /\/\*[^*]*\*+([^\/*][^*]*\*+)*\//
SQL_COMMENT: /--[^\n]*/
"""

_MARKS = re.compile(r"[?!]+")
_REFUSED_STATEMENTS = ("declare", "override", "extend", "regex", "lark")
#: levels of parentheses that one grammar within another counts for
_NESTED_DEPTH = 4
#: steps for the reader of a nested grammar, and for an attribute
_NESTED_STEPS = 32
_ATTRIBUTE_STEPS = 4


def parse_lark(
    grammar: Grammar, text: str, vocabulary: TagVocabulary, build_schema: BuildSchema | None,
    pointer: str, *, inside_json: bool = False, readable: bool = False,
) -> Node:  # fmt: skip
    """The language of ``start``. Raises as ``build_grammar``."""
    source = Source(text, grammar.limits, grammar.budget, pointer)
    reader = _Reader(grammar, source, vocabulary, build_schema, inside_json=inside_json)
    reader.read()
    return reader.builder.finish(readable=readable)


class _Reader:
    """Reads one grammar: the whole text, or the text between the braces of a %lark."""

    def __init__(
        self, grammar: Grammar, source: Source, vocabulary: TagVocabulary,
        build_schema: BuildSchema | None, depth: int = 0, *, inside_json: bool,
    ) -> None:  # fmt: skip
        self.g, self.s, self._vocabulary, self._build_schema = (
            grammar, source, vocabulary, build_schema,
        )  # fmt: skip
        # without a reference to the reader: a cycle would keep the whole grammar after a refusal
        self._nested = partial(
            _read_nested, grammar, source, vocabulary, build_schema, inside_json=inside_json
        )
        self.builder = LarkBuilder(grammar, source, vocabulary, depth, inside_json=inside_json)
        self.expressions = self._expressions_of(source, depth=depth)
        self._blanks, self._name = self.expressions.blanks, self.expressions.name
        self._library: dict[str, Alternatives] = {}
        self._lines: dict[str, str] = {}

    def _expressions_of(
        self,
        source: Source,
        *,
        depth: int = 0,
        library: Callable[[str], Alternatives | None] | None = None,
    ) -> Expressions:
        return Expressions(
            self.g,
            source,
            self._vocabulary,
            build_schema=self._build_schema,
            nested=self._nested,
            library=library,
            depth=depth,
        )

    def read(self, *, is_nested: bool = False) -> None:
        """Read up to the end of the text, or up to the } of a nested grammar."""
        ends = "}" if is_nested else ""
        self._blanks(lines=True)
        while self.s.peek() and self.s.peek() != ends:
            self._statement() if self.s.peek() == "%" else self._definition()
            self._blanks()
            if self.s.peek() not in ("", "\n", ends):
                raise self.s.error(f"{self.s.peek()!r} is no element")
            self._blanks(lines=True)

    # -- statements -------------------------------------------------------------------------------
    def _statement(self) -> None:
        at = self.s.at
        self.s.at += 1
        self.s.budget.spend(DEFINITION_STEPS)
        word = self._name("the name of a statement")
        self._blanks()
        if word == "ignore":
            self.builder.ignored.append(self.expressions.alternatives())
        elif word == "import":
            self._import()
        elif word == "llguidance" and self.expressions.json_value(at) == {}:
            return
        elif word in (*_REFUSED_STATEMENTS, "llguidance"):
            raise self.s.refuse(f"%{word}", at)
        else:
            raise self.s.error(f"there is no statement %{word}", at)

    def _definition(self) -> None:
        at = self.s.at
        self.s.budget.spend(DEFINITION_STEPS)
        self.s.scan(_MARKS)
        name = self._name("the name of a rule or a terminal")
        has_parameter = self.s.take("::")
        if has_parameter:
            self.s.want("_")
        self._blanks()
        for sign, what in (("{", "a template"), (".", "a priority")):
            if self.s.peek() == sign:
                raise self.s.refuse(what, self.s.at)
        if is_terminal(name) and (has_parameter or self.s.peek() == "["):
            raise self.s.error("a terminal has neither attributes nor a parameter", at)
        attributes = self._attributes() if self.s.take("[") else None
        self._blanks()
        self.s.want(":")
        body = self.expressions.alternatives()
        self.builder.define(Definition(name, body, at, attributes, has_parameter))

    def _attributes(self) -> Attributes | None:
        """Read attributes after the [; None: they do not change the language."""
        found = Attributes(self.s.at - 1)
        while True:
            self._blanks(lines=True)
            if self.s.take("]"):
                return None if found == Attributes(found.at) else found
            found = self._attribute(found)
            self._blanks(lines=True)
            if not self.s.take(",") and self.s.peek() != "]":
                raise self.s.error("']' is missing")

    def _attribute(self, found: Attributes) -> Attributes:
        at = self.s.at
        self.s.budget.spend(_ATTRIBUTE_STEPS)
        name = self._name("the name of an attribute")
        self._blanks()
        has_value = self.s.take("=")
        self._blanks()
        if name == "lazy" and not has_value:
            return found._replace(is_lazy=True)
        if name == "capture" and not has_value:
            return found
        if name not in ("capture", "stop_capture", "suffix", "stop", "max_tokens"):
            raise self.s.refuse(name, at)
        if not has_value:
            raise self.s.error("'=' is missing")
        if name == "max_tokens":
            return found._replace(max_tokens=self.s.count())
        if name in ("suffix", "stop"):
            if found.suffix or found.stop:
                raise self.s.error("a rule has one suffix or stop", at)
            return self._end(found, name, at)
        self.expressions.text()
        return found

    def _end(self, found: Attributes, name: str, at: int) -> Attributes:
        value = self.expressions.value()
        if value == Literal(""):
            raise self.s.refuse(name, at, "it must not be empty")
        return found._replace(suffix=value) if name == "suffix" else found._replace(stop=value)

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
            self.s.budget.spend(DEFINITION_STEPS)
            self._import_one(name, new, at)

    def _imported(self) -> tuple[str, str]:
        """Read the name of a terminal and the name under which it is imported."""
        name = self._name("the name of a terminal")
        self._blanks()
        if not self.s.take("->"):
            return name, name
        self._blanks()
        return name, self._name("a new name")

    def _import_one(self, name: str, new: str, at: int) -> None:
        found = None if name.startswith("_") else self._common(name)
        if found is None:
            raise self.s.refuse(f"%import common.{name}", at, "there is no such terminal here")
        if not is_terminal(new):
            raise self.s.error("a terminal's new name must be in upper case", at)
        self.builder.define(Definition(new, found, at))

    def _common(self, name: str) -> Alternatives | None:
        """Return a terminal of the library, with references expanded."""
        if not self._lines:
            self._lines = dict(line.split(": ", 1) for line in COMMON.strip().splitlines())
        if name in self._lines and name not in self._library:
            source = Source(self._lines[name], self.s.limits, self.s.budget, self.s.pointer)
            self._library[name] = self._expressions_of(source, library=self._common).alternatives()
        return self._library.get(name)


def _read_nested(
    grammar: Grammar, source: Source, vocabulary: TagVocabulary, build_schema: BuildSchema | None,
    depth: int, *, inside_json: bool,
) -> Callable[[], Node]:  # fmt: skip
    """Read a nested grammar, which has its own names, up to its }."""
    at = source.at - 1
    depth += _NESTED_DEPTH
    source.check("spec_depth", depth)
    source.budget.spend(_NESTED_STEPS)
    reader = _Reader(grammar, source, vocabulary, build_schema, depth, inside_json=inside_json)
    reader.read(is_nested=True)
    if not source.take("}"):
        raise source.error("a { is never closed", at)
    return reader.builder.finish
