"""Arrays: a prefix of own schemas, then items of one schema, within bounds on their number."""

from typing import TYPE_CHECKING, Any

from ...errors import SpecError, UnsupportedSchema
from ...ir import FAIL, Node
from .keywords import count

if TYPE_CHECKING:
    from .builder import Builder


def build_array(builder: "Builder", schema: dict[str, Any], pointer: str) -> Node:
    g, text = builder.grammar, builder.text
    minimum = count(schema, "minItems", 0, pointer) or 0
    maximum = count(schema, "maxItems", None, pointer)
    prefix = _prefix(builder, schema, pointer)
    item = _item(builder, schema, pointer)
    # a place that no value fits ends the array before it
    for number, node in enumerate(prefix):
        if g.nodes[node][0] == FAIL:
            prefix, item = prefix[:number], g.fail()
            break
    if g.nodes[item][0] == FAIL:
        maximum = len(prefix) if maximum is None else min(maximum, len(prefix))
    if maximum is not None:
        if maximum < minimum:
            return g.fail()
        prefix = prefix[:maximum]
    inside = _elements(builder, prefix, item, minimum, maximum)
    return g.seq(g.bytes(b"["), text.space(), inside, g.bytes(b"]"))


def _prefix(builder: "Builder", schema: dict[str, Any], pointer: str) -> list[Node]:
    found = schema.get("prefixItems", [])
    if not isinstance(found, list):
        raise SpecError("prefixItems must be an array", f"{pointer}/prefixItems")
    return [builder.place(sub, f"{pointer}/prefixItems/{n}") for n, sub in enumerate(found)]


def _item(builder: "Builder", schema: dict[str, Any], pointer: str) -> Node:
    found = schema.get("items", True)
    if isinstance(found, list):
        raise UnsupportedSchema(f"{pointer}/items", "items", "items as an array can't be enforced; use prefixItems")
    return builder.place(found, f"{pointer}/items")


def _elements(
    builder: "Builder", prefix: list[Node], item: Node, minimum: int, maximum: int | None
) -> Node:
    """What stands between the brackets, white space before the closing one included.

    Built from the back: behind element n come the elements from n + 1 on, or the end where ``minimum`` allows it.
    """
    g, text = builder.grammar, builder.text
    comma, space = text.comma(), text.space()
    n = len(prefix)
    if n == 0:
        if maximum == 0:
            return g.empty()
        more = g.repeat(g.seq(comma, item), max(minimum - 1, 0), None if maximum is None else maximum - 1)
        some = g.seq(item, more, space)
        return some if minimum else g.optional(some)
    rest = g.repeat(g.seq(comma, item), max(minimum - n, 0), None if maximum is None else maximum - n)
    behind = g.seq(rest, space)
    for number in range(n - 1, 0, -1):
        behind = g.seq(comma, prefix[number], behind)
        if minimum <= number:
            behind = g.alt(space, behind)
    some = g.seq(prefix[0], behind)
    return some if minimum else g.optional(some)
