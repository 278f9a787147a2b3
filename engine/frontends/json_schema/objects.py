"""Objects: listed keys in their order, required ones among them, additional ones anywhere between.

    states   F_i: no member yet, S_i: some member written; i is the lowest listed index still allowed
    moves    member i: F_i or S_i to S_(i+1); where member i may be left out, an empty move to the next index;
             an additional member: F_0 to S_0, S_i to S_i; with extra_keys="last" only F_n to S_n and S_n to S_n
    finals   F_n and S_n, that is, when everything required has been written

Listed are the keys of ``properties``, then those that are required but not listed. An additional key is any string that is
none of them, in any spelling. Additional keys may repeat: which value counts is the reader's choice, and each of them fits.
"""

from typing import TYPE_CHECKING, Any

from ...errors import SpecError
from ...ir import FAIL, Node
from ..char_automaton import excluding
from .keywords import escape

if TYPE_CHECKING:
    from .builder import Builder


def build_object(builder: "Builder", schema: dict[str, Any], pointer: str) -> Node:
    g, text = builder.grammar, builder.text
    properties = _properties(schema, pointer)
    required = _required(schema, pointer)
    extra = builder.place(schema.get("additionalProperties", True), f"{pointer}/additionalProperties")
    values = {
        name: builder.place(sub, f"{pointer}/properties/{escape(name)}") for name, sub in properties.items()
    }
    values.update({name: extra for name in required if name not in values})
    if any(g.nodes[values[name]][0] == FAIL for name in required):
        return g.fail()
    members = [
        (_member(builder, name, value), name in required)
        for name, value in values.items()
        if g.nodes[value][0] != FAIL
    ]
    additional = g.fail()
    if g.nodes[extra][0] != FAIL:
        key = excluding(values).to_node(g) if values else text.any_body()
        rule = g.rule(f"{pointer}/additionalProperties", g.seq(text.quoted(_ruled(builder, key)), text.colon(), extra))
        additional = g.ref(rule)
    return g.seq(g.bytes(b"{"), text.space(), _members(builder, members, additional), g.bytes(b"}"))


def _properties(schema: dict[str, Any], pointer: str) -> dict[str, Any]:
    found = schema.get("properties", {})
    if not isinstance(found, dict):
        raise SpecError("properties must be an object", f"{pointer}/properties")
    return found


def _required(schema: dict[str, Any], pointer: str) -> dict[str, None]:
    """The required names, in order."""
    found = schema.get("required", [])
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise SpecError("required must be an array of strings", f"{pointer}/required")
    return dict.fromkeys(found)


def _ruled(builder: "Builder", node: Node) -> Node:
    """A rule of its own for a key's body, so that its masks are made once."""
    g = builder.grammar
    return g.ref(g.rule("key", node))


def _member(builder: "Builder", name: str, value: Node) -> Node:
    g, text = builder.grammar, builder.text
    return g.ref(g.rule(f"member {name}", g.seq(text.literal(name), text.colon(), value)))


def _members(builder: "Builder", members: list[tuple[Node, bool]], additional: Node) -> Node:
    """What stands between the braces, white space before the closing one included."""
    g, text = builder.grammar, builder.text
    n, comma = len(members), text.comma()
    first, some, end = 0, n + 1, 2 * n + 2
    edges: list[tuple[int, Node, int]] = [
        (first + n, g.empty(), end),
        (some + n, text.space(), end),
    ]
    at = n if builder.extra_keys == "last" else 0
    edges.append((first + at, additional, some + at))
    edges += [(some + i, g.seq(comma, additional), some + i) for i in range(at, n + 1)]
    for i, (member, required) in enumerate(members):
        edges.append((first + i, member, some + i + 1))
        edges.append((some + i, g.seq(comma, member), some + i + 1))
        if not required:
            edges.append((first + i, g.empty(), first + i + 1))
            edges.append((some + i, g.empty(), some + i + 1))
    return g.graph(end + 1, edges, [end])
