"""Arrays: a prefix of own schemas, then items of one schema, within bounds on their number.

states   n: n elements of the prefix were written; the last one and the end are joined by a counted
         repetition
white space stands behind [, around each comma and before ] of an array that is not empty
"""

from typing import TYPE_CHECKING

from ...ir import FAIL, Node
from .shapes import Arrays

if TYPE_CHECKING:
    from .builder import Builder


def build_array(builder: "Builder", arrays: Arrays | None) -> Node:
    g, text = builder.grammar, builder.text
    arrays = arrays or Arrays()
    minimum, maximum = arrays.minimum, arrays.maximum
    prefix = [builder.place(place) for place in arrays.prefix[:maximum]]
    item = builder.place(arrays.rest)
    # a place that no value fits ends the array before it
    for number, node in enumerate(prefix):
        if g.nodes[node][0] == FAIL:
            prefix, item = prefix[:number], g.fail()
            break
    if g.nodes[item][0] == FAIL:
        maximum = len(prefix) if maximum is None else min(maximum, len(prefix))
    if maximum is not None and maximum < minimum:
        return g.fail()
    inside = _inside(builder, prefix, item, minimum, maximum)
    return g.seq(g.bytes(b"["), text.space(), inside, g.bytes(b"]"))


def _inside(
    builder: "Builder", prefix: list[Node], item: Node, minimum: int, maximum: int | None
) -> Node:
    """What stands between the brackets, white space before the closing one included."""
    g, text = builder.grammar, builder.text
    n, comma, space = len(prefix), text.comma(), text.space()
    if n == 0:
        if maximum == 0:
            return g.empty()
        more = g.repeat(
            g.seq(comma, item), max(minimum - 1, 0), None if maximum is None else maximum - 1
        )
        some = g.seq(item, more, space)
        return some if minimum else g.optional(some)
    end = n + 1
    edges = [(0, prefix[0], 1)]
    for number in range(1, n):
        edges.append((number, g.seq(comma, prefix[number]), number + 1))
        if minimum <= number:
            edges.append((number, space, end))
    rest = g.repeat(
        g.seq(comma, item), max(minimum - n, 0), None if maximum is None else maximum - n
    )
    edges.append((n, g.seq(rest, space), end))
    return g.graph(n + 2, edges, [end] if minimum else [0, end])
