"""Loose JSON: a grammar for parsing JSON that another engine has constrained.

Other engines enforce schemas by rules of their own: any amount of white space, control characters
or broken UTF-8 inside strings, keys in another order. This grammar accepts every nesting of values
whose strings end where JSON strings end. Callers validate the values; nothing is generated with
this grammar.
"""

from collections.abc import Iterable

from ...grammar.ir import Grammar, Node

_SPACE = (0x20, 0x09, 0x0A, 0x0D)
#: letters of numbers and of true, false, null
_WORD = frozenset(b"0123456789+-.eEtrufalsn")


def build_loose_json(grammar: Grammar) -> Node:
    """Add the rules of a loose JSON value and return its node."""
    g = grammar

    def any_of(letters: Iterable[int]) -> Node:
        return g.alt(*(g.bytes(bytes([b])) for b in letters))

    value = g.declare("loose value")
    space = g.ref(g.rule("loose space", g.repeat(any_of(_SPACE), 0, None)))
    plain = any_of(b for b in range(256) if b not in b'"\\')
    escaped = g.seq(g.bytes(b"\\"), any_of(range(256)))
    body = g.repeat(g.alt(plain, escaped), 0, None)
    string = g.ref(g.rule("loose string", g.seq(g.bytes(b'"'), body, g.bytes(b'"'))))
    item = g.seq(space, g.ref(value), space)
    member = g.seq(space, string, space, g.bytes(b":"), item)
    g.define(
        value,
        g.alt(
            string,
            g.repeat(any_of(sorted(_WORD)), 1, None),
            _listed(g, b"[", item, space, b"]"),
            _listed(g, b"{", member, space, b"}"),
        ),
    )
    return g.ref(value)


def _listed(g: Grammar, begin: bytes, part: Node, space: Node, end: bytes) -> Node:
    more = g.repeat(g.seq(g.bytes(b","), part), 0, None)
    return g.seq(g.bytes(begin), g.alt(space, g.seq(part, more)), g.bytes(end))
