"""What all kinds of values are written with: white space, quotes, commas, and rules shared by a
whole grammar.
"""

from collections.abc import Callable

from ...ir import ANY_CHAR, BYTES, EMPTY, FAIL, REF, Grammar, Node

#: spaces or tabs behind a newline; more would let a model run away in white space
INDENT = 20
SPACE_OR_TAB = ((0x09, 0x09), (0x20, 0x20))


class Text:
    """The shared rules of one grammar for one way of writing white space; see ``text_of``."""

    def __init__(self, grammar: Grammar, *, flexible: bool) -> None:
        self.grammar = grammar
        self.flexible = flexible
        self._shared: dict[str, Node] = {}
        self._rules: dict[Node, Node] = {}

    def shared(self, name: str, make: Callable[[], Node]) -> Node:
        """A reference to the rule of that name, made on first use."""
        if name not in self._shared:
            rule = self.grammar.declare(name)
            self._shared[name] = self.grammar.ref(rule)
            self.grammar.define(rule, make())
        return self._shared[name]

    def ruled(self, name: str, node: Node) -> Node:
        """A reference to a rule with this body; equal bodies share one rule, literals need none."""
        if self.grammar.nodes[node][0] in (EMPTY, FAIL, BYTES, REF):
            return node
        if node not in self._rules:
            self._rules[node] = self.grammar.ref(self.grammar.rule(name, node))
        return self._rules[node]

    def space(self) -> Node:
        """Between JSON tokens: nothing, one space, or a newline with at most ``INDENT`` spaces or
        tabs.
        """
        if not self.flexible:
            return self.grammar.empty()
        return self.shared("white space", self._space)

    def _space(self) -> Node:
        g = self.grammar
        indent = g.repeat(g.chars(SPACE_OR_TAB), 0, INDENT)
        return g.alt(g.empty(), g.bytes(b" "), g.seq(g.bytes(b"\n"), indent))

    def comma(self) -> Node:
        return self.grammar.seq(self.space(), self.grammar.bytes(b","), self.space())

    def colon(self) -> Node:
        return self.grammar.seq(self.space(), self.grammar.bytes(b":"), self.space())

    def quoted(self, body: Node) -> Node:
        quote = self.grammar.bytes(b'"')
        return self.grammar.seq(quote, body, quote)

    def literal(self, text: str) -> Node:
        """A JSON string with this decoded value, in any spelling; a lone surrogate has none."""
        return self.grammar.fail() if has_surrogate(text) else self.quoted(self.grammar.text(text))

    def any_body(self) -> Node:
        """The inside of any JSON string."""
        g = self.grammar
        return self.shared("string body", lambda: g.repeat(g.json_chars(ANY_CHAR), 0, None))

    def other_body(self, texts: list[str]) -> Node:
        """The inside of a JSON string that is none of these."""
        rule = self.grammar.nodes[self.any_body()][1]
        return self.ruled("key", self.grammar.other_text(rule, texts))

    def any_string(self) -> Node:
        return self.shared("string", lambda: self.quoted(self.any_body()))


def has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)


def text_of(grammar: Grammar, whitespace: str) -> Text:
    """The one ``Text`` of a grammar and a way of writing white space, so that all schemas of the
    grammar share it.
    """
    known: dict[str, Text] = vars(grammar).setdefault("json_texts", {})
    if whitespace not in known:
        known[whitespace] = Text(grammar, flexible=whitespace == "flexible")
    return known[whitespace]
