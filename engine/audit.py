"""Whether masks that came from a store are those that would be made here.

A grammar is built a second time with tables of its own, so that nothing loaded is used, and masks
are made for the places that come first. Where both tables have a state's mask, their bytes are
compared; the bytes of a mask are the same however it came to be (triplebytes).

Cost      about what the grammar's first masks cost, up to ``MASKS`` of them; beside requests.
Not here  when to do it, and what follows (exchange).
"""

from . import artifact
from .compiled import Compiled
from .triples import TripleTable

#: masks that are made again at most
MASKS = 64


def diverging(compiled: Compiled, triples: TripleTable) -> tuple[int, int]:
    """How many masks of automata differ from those made anew, and how many were compared."""
    own = TripleTable(triples.max_bytes)
    again = Compiled(
        compiled.vocabulary,
        compiled.grammar,
        limits=compiled.limits,
        features=compiled.features,
        table=own,
        automata_table=None,
    )
    again.prepare(MASKS)
    return artifact.count_differing(triples, own, compiled.vocabulary)
