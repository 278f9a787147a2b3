"""What a compiler and a store of bytes tell each other.

A compile asks, in one reading, for the masks of the costly rules of its grammar that nothing is
known of. What was learnt, masks and automata, is handed over by a thread a moment later, when
decoding has added to it; masks are joined with what others wrote of the same rules meanwhile.

Invariants   I1 a compile reads at most once for its rules, and asks for no rule again within
                ``asked.ASK_AGAIN_SECONDS``; what front ends read for costly patterns is bounded by
                itself (patternstore).
             I2 nothing touches the store while tokens are decoded, but for that thread.
             I3 once an audit found a difference nothing that came from the store is used by any
                matcher that begins, and nothing is read any more.
Threads      any.
Not here     bytes, and what is worth them (artifact); waiting and failing (the store); who waits
             for whom (leasing); whether what was loaded is true (audit).
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from . import artifact
from .asked import Asked
from .audit import Auditor
from .automatonstore import AutomatonStore
from .compiled import Compiled
from .drafttable import DraftTable
from .errand import Errand
from .frontends import fragment
from .frontends.patternstore import PatternStore
from .leasing import claim_or_wait
from .limits import Limits
from .prefetching import MOST_AHEAD, load_ahead
from .store import Store
from .triples import TripleTable
from .vocabulary import Vocabulary

_log = logging.getLogger(__name__)

#: rules that a compile asks the store for: one round trip
MOST_ASKED = 64
#: which part of the time for loading ahead masks may take; there are more of them than of the rest
MASKS_PART = 0.75
#: seconds between a compile and handing over what it and the decoding behind it have learnt
HAND_OVER_SECONDS = 0.5
#: seconds for which the thread looks for more after a grammar was compiled or used again: masks are
#: made when the model has read its prompt
LINGER_SECONDS = 10.0

#: of a compile that looked for something: the store had all, some or nothing of it
_OUTCOMES = ("perfect", "partial", "none")
_COUNTERS = (
    "hits",
    "misses",
    "rejected",
    "puts",
    "joined",  # rules of which others had masks that this process, which had some, had not
    *_OUTCOMES,
    "saved_ns",
    "read_ns",
    "load_ns",
    "audits",
    "audit_compared",  # masks and automata
    "audit_divergence",
)


class Exchange:
    """One for a compiler that has a store.

    Args:
        store: see ``store.Store``.
        vocabulary, triples, automata: the compiler's.
        limits: ``triple_bytes`` bounds what is loaded ahead.
        audit_every: of so many loaded rules, and of so many patterns, one is made again and
            compared; 0: none is.
        distrusted: called when one differed and nothing of the store is here any more, to let go of
            grammars.
    """

    def __init__(
        self,
        store: Store,
        vocabulary: Vocabulary,
        triples: TripleTable,
        automata: DraftTable,
        limits: Limits,
        *,
        audit_every: int,
        distrusted: Callable[[], None],
    ) -> None:
        self._store = store
        self._vocabulary = vocabulary
        self._triples = triples
        self._limits = limits
        self._distrusted = distrusted
        self._auditor = Auditor(triples, automata, every=audit_every)
        #: whether what lies in the store is believed; never again once it is not
        self.is_trusted = True
        self._is_warm = False
        self._asked = Asked()
        self._counts = dict.fromkeys(_COUNTERS, 0)
        #: those of rules that were costly to build
        self.automata = AutomatonStore(store, automata, self._auditor.note)
        #: what front ends ask for costly patterns
        self.patterns = PatternStore(store, audit_every=audit_every, distrust=self._distrust)
        self._guard = threading.Lock()
        self._adding = threading.Lock()
        self._handing_over = threading.Lock()
        self._errand = Errand(
            self._run_errand,
            pause_seconds=HAND_OVER_SECONDS,
            linger_seconds=LINGER_SECONDS,
            name="engine-exchange",
        )

    # -- reading -----------------------------------------------------------------------------------
    def ask(self, compiled: Compiled) -> None:
        """Loads the costly rules of a grammar that nothing is known of here. Those of most grammars
        were looked for while warming up.
        """
        wanted = compiled.unknown_digests(but_common=self._is_warm)
        if wanted and self.is_trusted:
            self._look_for(self._asked.due(wanted)[:MOST_ASKED])
        if self._auditor.is_due:
            self._auditor.offer(compiled)
        self._errand.ask()

    def _look_for(self, digests: list[bytes]) -> None:
        """Reads for those that may be there."""
        if not digests:
            return
        present = [each for each in digests if self._store.may_have(self._key(each))]
        if len(present) < len(digests):
            self._asked.note(digests)
            self._count(misses=len(digests) - len(present))
        hits = self._load(self._store.get_many, present, is_ahead=False)
        outcome = "none" if not hits else "perfect" if hits == len(digests) else "partial"
        self._count(**{outcome: 1})

    def wake(self) -> None:
        """A grammar is used: what its decoding makes will be handed over."""
        self._errand.ask()

    def prefetch(self, seconds: float) -> int:
        """See ``Compiler.prefetch``."""
        if not self.is_trusted:
            return 0
        now = time.monotonic()
        group = artifact.store_group(self._vocabulary.fingerprint)
        found = map(artifact.digest_of, self._store.hottest(group, MOST_AHEAD))
        wanted = [digest for digest in found if digest and not self._triples.knows(digest)]
        loaded = load_ahead(
            wanted,
            partial(self._load, partial(self._store.get_many, urgent=False), is_ahead=True),
            until=now + MASKS_PART * seconds,
            has_room=lambda: 2 * self._triples.stats()["bytes"] < self._limits.triple_bytes,
        )
        self.automata.prefetch(now + seconds)
        self.patterns.prefetch(now + seconds)
        return loaded

    # -- ahead of time -----------------------------------------------------------------------------
    def prepare(self, compiled: Compiled, budget: int, wait_seconds: float) -> int:
        """See ``Compiler.prepare``."""
        leases = self._lease_or_load(compiled, wait_seconds)
        try:
            return compiled.prepare(budget)
        finally:
            if leases:
                try:
                    self.flush()
                finally:
                    self._store.release(leases)

    def _lease_or_load(self, compiled: Compiled, wait_seconds: float) -> list[bytes]:
        """Leases on the costly rules that nothing is known of; or loads what others have made."""
        if not self.is_trusted:
            return []
        # what others are done with since the compile has asked
        self._load(self._store.get_newest, self._missing(compiled), is_ahead=True)
        missing = self._missing(compiled)
        if not missing:
            return []
        leases = claim_or_wait(self._store, [*map(self._key, missing)], wait_seconds)
        if not leases:
            self._load(self._store.get_newest, missing, is_ahead=True)
        return leases

    def _missing(self, compiled: Compiled) -> list[bytes]:
        return compiled.unknown_digests()[:MOST_ASKED]

    def _load(
        self,
        get: Callable[[Sequence[bytes]], list[bytes | None]],
        digests: Sequence[bytes],
        *,
        is_ahead: bool,
    ) -> int:
        """In one go. Returns how many rules there were. What is loaded ahead is used when something
        finds it: else what is loaded at start would be used most for ever.
        """
        if not digests or not self.is_trusted:
            return 0
        self._asked.note(digests)
        start = time.perf_counter_ns()
        values = get([self._key(digest) for digest in digests])
        read = time.perf_counter_ns()
        took = self._add(digests, values, is_ahead=is_ahead)
        hits = sum(each >= 0 for each in took)
        self._count(
            hits=hits,
            rejected=len(took) - hits,
            misses=len(digests) - len(took),
            saved_ns=sum(each for each in took if each > 0),
            read_ns=read - start,
            load_ns=time.perf_counter_ns() - read,
        )
        return hits

    def _add(
        self, digests: Sequence[bytes], values: Sequence[bytes | None], *, is_ahead: bool
    ) -> list[int]:
        """Of each value that there is, the nanoseconds that making what is new in it took; -1 where
        it is refused.
        """
        found = [each for each in zip(digests, values, strict=True) if each[1] is not None]
        with self._adding:
            if not self.is_trusted:
                return [-1] * len(found)
            took = [
                artifact.load(
                    self._triples, digest, value or b"", self._vocabulary, is_ahead=is_ahead
                )
                for digest, value in found
            ]
        added = zip(found, took, strict=True)
        self._auditor.note([digest for (digest, _), each in added if each > 0])
        return took

    def _key(self, digest: bytes) -> bytes:
        return artifact.store_key(self._vocabulary.fingerprint, digest)

    # -- handing over ------------------------------------------------------------------------------
    def flush(self) -> bool:
        """Hands the rules with masks made since the last time to the store; cheap without any. What
        others have of the same rules is read first, so that it is not lost.

        Returns:
            whether there were any.
        """
        with self._handing_over:
            used = self._triples.take_used()
            if used:
                self._store.used([*map(self._key, used)])
            fresh = self._triples.fresh_rules()
            if self.automata.hand_over() + len(fresh) == 0:
                return False
            for start in range(0, len(fresh), MOST_ASKED):
                self._join(fresh[start : start + MOST_ASKED])
            items = [
                (self._key(digest), value)
                for digest, value in artifact.take_fresh(self._triples, self._vocabulary)
            ]
            if items:
                self._count(puts=len(items))
                self._store.put_many(items)
            return True

    def _join(self, digests: list[bytes]) -> None:
        """Adds what others have of rules that this process has something of as well."""
        if not self.is_trusted:
            return
        values = self._store.get_newest([self._key(digest) for digest in digests])
        took = self._add(digests, values, is_ahead=False)
        self._count(
            joined=sum(each > 0 for each in took), saved_ns=sum(each for each in took if each > 0)
        )

    def _run_errand(self) -> bool:
        try:
            self._audit()
        except Exception:
            _log.exception("an audit of masks from the store failed")
        try:
            return self.flush()
        except Exception:
            _log.exception("what was learnt is not shared")
            return False

    # -- trust -------------------------------------------------------------------------------------
    def _audit(self) -> None:
        found = self._auditor.run()
        if found is None:
            return
        differing, compared = found
        self._count(audits=1, audit_compared=compared, audit_divergence=differing)
        if differing:
            self._distrust(f"{differing} masks or automata from the store are not those made here")

    def _distrust(self, why: str) -> None:
        with self._adding:
            self.is_trusted = False
            self.patterns.forget()
            self.automata.forget()
            self._triples.drop_all()
        for table in fragment.TABLES:
            table.forget()
        self._distrusted()
        _log.error("%s: it is not read any more, and what came from it is dropped", why)

    def end_warming(self) -> None:
        """The compiles until now were the compiler's own, and had the rules of most grammars."""
        self._is_warm = True
        with self._guard:
            self._counts.update(dict.fromkeys(_OUTCOMES, 0))

    def _count(self, **amounts: int) -> None:
        with self._guard:
            for name, amount in amounts.items():
                self._counts[name] += amount

    def stats(self) -> dict[str, int]:
        """Counters since start: rules, compiles by outcome, nanoseconds, audits; automata and
        patterns.
        """
        with self._guard:
            counts = dict(self._counts)
        automata, patterns = self.automata.stats(), self.patterns.stats()
        counts |= {f"automaton_{name}": count for name, count in automata.items()}
        return counts | {f"pattern_{name}": count for name, count in patterns.items()}
