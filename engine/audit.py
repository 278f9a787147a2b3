"""Whether masks and automata that came from a store are those that would be made here.

A grammar is built a second time with tables of its own, so that nothing loaded is used, and masks
are made for the places that come first. Where both tables have a state's mask, or a rule's
automaton, their bytes are compared; these are the same however it came to be (triplebytes,
automatonbytes).

Rules are counted as they are loaded, whoever asked for them; of the grammars that are compiled next
one with such a rule is audited.

Cost      of a compile none but while an audit is due, and then a place in a queue. An audit takes
          about what the grammar's first masks cost, up to ``MASKS`` of them; beside requests.
Threads   any.
Not here  what follows (exchange); patterns, which are compared where they are made (patternstore).
"""

import threading
from collections import deque
from collections.abc import Sequence

from . import artifact, automatonbytes
from .compiled import Compiled
from .drafttable import DraftTable
from .triples import TripleTable

#: masks that are made again at most
MASKS = 64
#: rules that were loaded and not audited yet, remembered
MOST_REMEMBERED = 10_000
#: grammars that wait to be looked at; the oldest ones go
MOST_OFFERED = 4


class Auditor:
    """
    Args:
        triples, automata: those in use.
        every: of so many loaded rules one is audited; 0: none is.
    """

    def __init__(self, triples: TripleTable, automata: DraftTable, *, every: int) -> None:
        self._triples = triples
        self._automata = automata
        self._every = every
        self._left = every
        self._loaded: set[bytes] = set()
        self._offered: deque[Compiled] = deque(maxlen=MOST_OFFERED)
        #: whether a grammar is wanted
        self.is_due = False
        self._guard = threading.Lock()

    def note(self, digests: Sequence[bytes]) -> None:
        """These rules were loaded."""
        if not self._every:
            return
        with self._guard:
            self._left -= len(digests)
            if len(self._loaded) < MOST_REMEMBERED:
                self._loaded.update(digests)
            self._look_whether_due()

    def offer(self, compiled: Compiled) -> None:
        """A grammar that may have a rule that was loaded."""
        self._offered.append(compiled)

    def run(self) -> tuple[int, int] | None:
        """Audits one of those that were offered and have a rule that was loaded: how many masks and
        automata differ, and how many were compared.
        """
        while self._offered:
            compiled = self._offered.popleft()
            if self._takes(compiled.digests()):
                self._offered.clear()
                return diverging(compiled, self._triples, self._automata)
        return None

    def _takes(self, digests: set[bytes]) -> bool:
        with self._guard:
            found = self._loaded & digests
            if found:
                self._left += self._every
                self._loaded -= found
                self._look_whether_due()
        return bool(found)

    def _look_whether_due(self) -> None:
        self.is_due = self._left <= 0 and bool(self._loaded)


def diverging(compiled: Compiled, triples: TripleTable, automata: DraftTable) -> tuple[int, int]:
    """How many masks and automata differ from those made anew, and how many were compared."""
    own = TripleTable(triples.max_bytes)
    own_automata = DraftTable(automata.max_bytes)
    again = Compiled(
        compiled.vocabulary,
        compiled.grammar,
        limits=compiled.limits,
        features=compiled.features,
        table=own,
        automata_table=own_automata,
    )
    again.prepare(MASKS)
    masks = artifact.count_differing(triples, own, compiled.vocabulary)
    built = automatonbytes.count_differing(automata, own_automata)
    return masks[0] + built[0], masks[1] + built[1]
