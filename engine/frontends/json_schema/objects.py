"""Objects: listed keys in their order, required ones among them, additional ones anywhere between.

    states   F_i   no member yet, i is the lowest listed index still allowed
             S_i   some member written, the last one being member i - 1 or an additional one
             K_i   some member written, and member i - 1 left out since
    moves    member i       F_i, S_i or K_i to S_(i+1)
             leaving it out F_i to F_(i+1), S_i or K_i to K_(i+1), where member i is not required
             an additional  F_0 to S_0, S_i to S_i: only from S, so that a text has one way through
                            the states
    ends     F_n, S_n and K_n

Listed are the keys of ``properties``, then those that are required but not listed. An additional
key is any string that is none of them, in any spelling. Additional keys may repeat: which value
counts is the reader's choice, and each of them fits.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...errors import UnsupportedSchema
from ...ir import FAIL, Node
from .shapes import Objects
from .text import has_surrogate

if TYPE_CHECKING:
    from .builder import Builder

#: listed keys that may stand in any order; the automaton has a state for each set of them
ANY_ORDER_KEYS = 8


class KeyOrder(NamedTuple):
    """``any_order``: listed keys stand in any order. ``extra_last``: additional keys stand behind
    them.
    """

    any_order: bool
    extra_last: bool


Members = list[tuple[Node, bool]]
Edges = list[tuple[int, Node, int]]


def build_object(builder: "Builder", objects: Objects | None) -> Node:
    """
    Raises:
        UnsupportedSchema: bounds on the number of members that the required ones don't settle.
    """
    g, text = builder.grammar, builder.text
    objects = objects or Objects()
    values = {name: builder.place(place) for name, place in objects.properties.items()}
    extra = builder.place(objects.rest)
    values.update({name: extra for name in objects.required if name not in values})
    nodes = {name: g.fail() if has_surrogate(name) else node for name, node in values.items()}
    if any(g.nodes[nodes[name]][0] == FAIL for name in objects.required):
        return g.fail()
    required = frozenset(objects.required)
    members = [
        (_member(builder, name, node), name in required)
        for name, node in nodes.items()
        if g.nodes[node][0] != FAIL
    ]
    additional = g.fail() if g.nodes[extra][0] == FAIL else _additional(builder, values, extra)
    bounds = _bounds(objects, None if g.nodes[additional][0] != FAIL else len(members))
    if bounds is None:
        return g.fail()
    empty, only_required = bounds
    if only_required:
        members, additional = [each for each in members if each[1]], g.fail()
    if builder.order.any_order:
        if len(members) > ANY_ORDER_KEYS:
            message = f"{len(members)} keys in any order can't be enforced; {ANY_ORDER_KEYS} can"
            raise UnsupportedSchema(f"{objects.pointer}/properties", "properties", message)
        inside = _any_order(builder, members, additional, empty=empty)
    else:
        inside = _in_order(builder, members, additional, empty=empty)
    return g.seq(g.bytes(b"{"), text.space(), inside, g.bytes(b"}"))


def _bounds(objects: Objects, most: int | None) -> tuple[bool, bool] | None:
    """(whether no member at all is enough, whether only the required ones may be written); None:
    nothing fits.

    ``most`` is the largest number of members that the keys allow. All that takes counting is
    refused.

    Raises:
        UnsupportedSchema
    """
    required, minimum, maximum = len(objects.required), objects.minimum, objects.maximum
    if maximum is not None and maximum < max(minimum, required):
        return None
    if most is not None and most < minimum:
        return None
    if minimum > max(required, 1):
        raise UnsupportedSchema(f"{objects.pointer}/minProperties", "minProperties")
    if maximum is None or (most is not None and most <= maximum):
        return minimum == 0, False
    if maximum > required:
        raise UnsupportedSchema(f"{objects.pointer}/maxProperties", "maxProperties")
    return minimum == 0, True


def _member(builder: "Builder", name: str, value: Node) -> Node:
    text = builder.text
    return text.ruled(
        f"member {name}", builder.grammar.seq(text.literal(name), text.colon(), value)
    )


def _additional(builder: "Builder", listed: Iterable[str], value: Node) -> Node:
    """A member whose key is not listed. The key is a rule, so that its masks are made once."""
    g, text = builder.grammar, builder.text
    names = [name for name in listed if not has_surrogate(name)]
    body = text.other_body(names) if names else text.any_body()
    return text.ruled("additional member", g.seq(text.quoted(body), text.colon(), value))


def _in_order(builder: "Builder", members: Members, additional: Node, *, empty: bool) -> Node:
    """What stands between the braces, white space before the closing one included."""
    g, text = builder.grammar, builder.text
    n, comma, space = len(members), text.comma(), text.space()
    is_open, last = g.nodes[additional][0] != FAIL, builder.order.extra_last
    first, skip = 0, n + 1
    some = 2 * (n + 1) if is_open else skip
    end = some + n + 1
    written = [(some + i, skip + i) if is_open else (some + i,) for i in range(n + 1)]
    edges: Edges = []
    if is_open:
        more = g.seq(comma, additional)
        at = n if last else 0
        edges.append((first + at, additional, some + at))
        edges += [(some + i, more, some + i) for i in range(at, n + 1)]
        if last:
            edges.append((skip + n, more, some + n))
    for i, (member, required) in enumerate(members):
        edges.append((first + i, member, some + i + 1))
        edges += [(state, g.seq(comma, member), some + i + 1) for state in written[i]]
        if not required:
            edges.append((first + i, g.empty(), first + i + 1))
            edges += [(state, g.empty(), skip + i + 1) for state in written[i]]
    edges += [(state, space, end) for state in written[n]]
    return g.graph(end + 1, edges, [first + n, end] if empty else [end])


def _any_order(builder: "Builder", members: Members, additional: Node, *, empty: bool) -> Node:
    """As ``_in_order``; state 0 is the start, 1 + s: some member written, and of the listed ones
    those in the bits of s; the last but one: additional ones that must stand last.
    """
    g, text = builder.grammar, builder.text
    n, comma, last = len(members), text.comma(), builder.order.extra_last
    required = sum(1 << i for i, each in enumerate(members) if each[1])
    extra, end = (1 << n) + 1, (1 << n) + 2
    more = g.seq(comma, additional)
    edges: Edges = [(0, additional, extra if last else 1)] if not (last and required) else []
    edges += [(extra, more, extra), (extra, text.space(), end)]
    for seen in range(1 << n):
        enough = seen & required == required
        if enough or not last:
            edges.append((1 + seen, more, extra if last else 1 + seen))
        for i, (member, _) in enumerate(members):
            if not seen >> i & 1:
                edges.append((1 + seen, g.seq(comma, member), 1 + (seen | 1 << i)))
                if seen == 0:
                    edges.append((0, member, 1 + (1 << i)))
        if enough:
            edges.append((1 + seen, text.space(), end))
    return g.graph(end + 1, edges, [0, end] if empty and not required else [end])
