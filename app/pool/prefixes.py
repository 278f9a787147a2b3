"""Prefixes of prompts: which seat served a conversation's previous turn.

A conversation's next prompt begins with its previous one: the same messages, then the answer and
the new message. So the table keeps one hash for each prompt, of all its tokens, and a prompt looks
up the hashes of its own prefixes; the longest known one is its previous turn.

    prompt of turn 1   SYSTEM user-1 header            -> seat A
    prompt of turn 2   SYSTEM user-1 header answer-1 user-2 header
                       ^^^^^^^^^^^^^^^^^^^^ known: seat A has its keys and values

A hash of the system prompt and the first user message would also be equal in all turns, but also in
all conversations of an agent whose first message is fixed: they would share one seat. A match of
any remembered blocks would send all users of a system prompt to the seat that saw it first.

Representation   an LRU: hash of a prefix -> Entry. The hash covers the chained hashes of all whole
                 blocks, and the tokens after the last one. A prompt enters with the hashes of its
                 first n - cut tokens for each cut in CUTS: a chat template may end the prompt with
                 text that the history lacks ("<think>"). All images have one placeholder, so the
                 digest of an image counts after its block's tokens, from its placeholder on. Hashes
                 begin with the adapter and the salt: prompts that differ in one of them share no
                 keys and values.
Invariants       I1 a prefix that ends two different prompts, or would find a seat for a second
                 different one, is shared, such as a system prompt: it finds no seat.
                 I2 the table holds at most MAX_ENTRIES entries, whatever prompts come.
Cost             one hash per block, and one per token of blocks in which a known prompt ended.
                 Measured: 0.07 ms for 4,000 tokens, 0.45 ms for 32,000. 100 images: 0.08 ms more.
Not here         load (policies). A gateway knows only the turns that passed through it.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate

from adapters.workers import PromptImage

Prompt = str | Sequence[int]

#: tokens of a block
BLOCK = 32
#: tokens at a prompt's end that the next turn may lack. Templates end prompts with a header and,
#: for models that think, with an opened or an empty reasoning: 2 to 7 tokens
CUTS = (0, 2, 4, 8, 16)
#: entries, 5 for a prompt: the last 26,000 turns. Measured: 31 MB
MAX_ENTRIES = 1 << 17


@dataclass(slots=True)
class Entry:
    """The seat of a prompt, and the prompt that continued it; a second one makes it shared."""

    block: int
    seat: str
    prompt: int
    next: int | None = None
    is_shared: bool = False


class Prefixes:
    """The hashes of a prompt's prefixes. ``lora``, ``salt``: see Generation."""

    def __init__(
        self,
        prompt: Prompt,
        images: Sequence[PromptImage] = (),
        *,
        lora: str | None = None,
        salt: str | None = None,
    ) -> None:
        whole = range(0, len(prompt) - BLOCK + 1, BLOCK)
        self._prompt = prompt
        #: those of each block that has any
        self._images: dict[int, list[PromptImage]] = {}
        for image in images:
            self._images.setdefault(image.at // BLOCK, []).append(image)
        parts = (tuple(prompt[at : at + BLOCK]) for at in whole)
        if images:
            parts = (self._part(at // BLOCK, at + BLOCK) for at in whole)
        #: the hashes of the first 0, 1, 2, ... blocks
        root = 0 if lora is None and salt is None else hash((lora, salt))
        self.blocks = list(accumulate(parts, lambda *both: hash(both), initial=root))
        self.length = len(prompt)
        self.whole = self.at(self.length)

    def at(self, length: int) -> int:
        """Return the hash of the first ``length`` tokens."""
        number = length // BLOCK
        return hash((self.blocks[number], self._part(number, length)))

    def _part(self, number: int, end: int) -> tuple[object, ...]:
        """Return the tokens of a block before ``end``, then the digests of their images."""
        tokens = tuple(self._prompt[number * BLOCK : end])
        if number not in self._images:
            return tokens
        return tokens + tuple(each.image.digest for each in self._images[number] if each.at < end)

    def in_block(self, number: int) -> Iterator[int]:
        """Yield the hashes of the prefixes that end in a block, the longest first."""
        for length in range(min(self.length, (number + 1) * BLOCK - 1), number * BLOCK - 1, -1):
            yield self.at(length)


class PrefixTable:
    """See the file's header."""

    def __init__(self) -> None:
        self._entries: OrderedDict[int, Entry] = OrderedDict()
        #: the entries in each block that has any, by the hash of the blocks before it
        self._blocks: Counter[int] = Counter()

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, prefixes: Prefixes, seats: Set[str]) -> str | None:
        """Return the one of ``seats`` that served the longest known prefix."""
        for number in range(len(prefixes.blocks) - 1, -1, -1):
            if prefixes.blocks[number] not in self._blocks:
                continue
            for prefix in prefixes.in_block(number):
                entry = self._entries.get(prefix)
                if entry is not None and entry.seat in seats and _continues(entry, prefixes):
                    return entry.seat
        return None

    def remember(self, prefixes: Prefixes, seat: str) -> None:
        """Note that the seat serves the prompt with these prefixes."""
        for cut in CUTS:
            if cut < prefixes.length:
                self._put(prefixes, prefixes.length - cut, seat)
        while len(self._entries) > MAX_ENTRIES:
            _, entry = self._entries.popitem(last=False)
            self._blocks[entry.block] -= 1
            if not self._blocks[entry.block]:
                del self._blocks[entry.block]

    def _put(self, prefixes: Prefixes, length: int, seat: str) -> None:
        prefix, block = prefixes.at(length), prefixes.blocks[length // BLOCK]
        entry = self._entries.pop(prefix, None)
        if entry is None:
            entry = Entry(block, seat, prefixes.whole)
            self._blocks[block] += 1
        entry.is_shared |= entry.prompt != prefixes.whole
        entry.seat = seat
        self._entries[prefix] = entry


def _continues(entry: Entry, prefixes: Prefixes) -> bool:
    """Return whether this is the entry's prompt or its next turn; if not, mark it as shared."""
    if entry.prompt != prefixes.whole:
        if entry.next not in (None, prefixes.whole):
            entry.is_shared = True
        entry.next = prefixes.whole
    return not entry.is_shared
