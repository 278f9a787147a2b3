"""Lark, as llguidance reads it.

    start: "select" NAME ("," NAME)*       // rules in lower case, terminals in upper case
    NAME: /[a-z_][a-z0-9_]*/i
    KEY: NAME & ~("select" | "from")
    line[lazy]: /.*/ "\n"
    %ignore /[ \t]+/
    %import common.INT -> NUMBER

Meaning    the context-free language over characters. ``?rule``, ``!rule`` and ``-> alias`` shape
           trees and say nothing of the language.
Refused    by name: templates, priorities, %declare, %override, %extend, %regex but for substrings,
           grammars by name, & in rules, & and ~ of what is no regular expression, attributes that
           can't be enforced, look-around and \b, and what ECMA-262 patterns refuse.
Not here   expressions (expressions, parts), what is made of names (emission), attributes.
"""

from collections.abc import Callable
from functools import cache

from ...grammar.ir import Grammar, Node
from ..structural_tag.tag_formats import TagVocabulary
from .attributes import Attributes
from .common import COMMON
from .emission import Definition, Emission, is_terminal
from .expressions import BuildSchema, Expressions
from .parts import Choice, Text
from .source import Source

_REFUSED_STATEMENTS = ("declare", "override", "extend", "regex", "lark")
#: levels of parentheses that one grammar within another counts for
_NESTED_DEPTH = 4


def parse_lark(
    grammar: Grammar, text: str, vocabulary: TagVocabulary, build_schema: BuildSchema | None,
    pointer: str,
) -> Node:  # fmt: skip
    """The language of ``start``. Raises as ``build_grammar``."""
    reader = _Reader(grammar, Source(text, grammar.limits, pointer), vocabulary, build_schema)
    reader.read()
    return reader.made.finish()


class _Reader:
    """Reads one grammar, the whole text or what stands between the braces of a %lark."""

    def __init__(
        self, grammar: Grammar, source: Source, vocabulary: TagVocabulary,
        build_schema: BuildSchema | None, depth: int = 0,
    ) -> None:  # fmt: skip
        self.g, self.s, self._vocabulary, self._build_schema = (
            grammar, source, vocabulary, build_schema,
        )  # fmt: skip
        self.made = Emission(grammar, source, vocabulary)
        self.expressions = self._expressions_of(source, depth=depth)
        self._blanks, self._name = self.expressions.blanks, self.expressions.name
        self._library: dict[str, Choice] = {}
        self._lines: dict[str, str] = {}

    def _expressions_of(
        self,
        source: Source,
        *,
        depth: int = 0,
        library: Callable[[str], Choice | None] | None = None,
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
        """Up to the end of the text or, behind it, the } of a nested grammar."""
        ends = "}" if is_nested else ""
        self._blanks(lines=True)
        while self.s.peek() and self.s.peek() != ends:
            self._statement() if self.s.peek() == "%" else self._definition()
            self._blanks()
            if self.s.peek() not in ("", "\n", ends):
                raise self.s.error(f"{self.s.peek()!r} is no element")
            self._blanks(lines=True)

    def _nested(self, depth: int) -> Callable[[], Node]:
        """A grammar with names of its own, up to its }."""
        at = self.s.at - 1
        depth += _NESTED_DEPTH
        self.s.check_depth(depth)
        reader = _Reader(self.g, self.s, self._vocabulary, self._build_schema, depth)
        reader.read(is_nested=True)
        if not self.s.take("}"):
            raise self.s.error("a { is never closed", at)
        return cache(reader.made.finish)

    # -- statements -------------------------------------------------------------------------------
    def _statement(self) -> None:
        at = self.s.at
        self.s.at += 1
        word = self._name("the name of a statement")
        self._blanks()
        if word == "ignore":
            self.made.ignored.append(self.expressions.choice())
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
        while self.s.take("?") or self.s.take("!"):
            pass
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
        body = self.expressions.choice()
        self.made.define(Definition(name, body, at, attributes, has_parameter))

    def _attributes(self) -> Attributes | None:
        """Behind the [; None if they say nothing of the language."""
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
        if value == Text(""):
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
        found = None if name.startswith("_") else self._common(name)
        if found is None:
            raise self.s.refuse(f"%import common.{name}", at, "there is no such terminal here")
        if not is_terminal(new):
            raise self.s.error("a terminal's new name must be in upper case", at)
        self.made.define(Definition(new, found, at))

    def _common(self, name: str) -> Choice | None:
        """A terminal of the library, with those that it holds written out."""
        if not self._lines:
            self._lines = dict(line.split(": ", 1) for line in COMMON.strip().splitlines())
        if name in self._lines and name not in self._library:
            source = Source(self._lines[name], self.s.limits, self.s.pointer)
            self._library[name] = self._expressions_of(source, library=self._common).choice()
        return self._library.get(name)
