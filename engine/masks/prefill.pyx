"""Prefill: see the header file."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort

from ..automata.rule_automata cimport NO_ERROR, StateC
from ..earley.rows cimport DEAD, Arena, ItemC, RowC
from ..native.hashing cimport MISSING, map_get
from .row_masks cimport Masks

cdef uint8_t BACKSLASH = 0x5C

# What a state costs for each byte that it takes: walking the trie for a token mask that nobody has made,
# or following rows.
cdef uint64_t UNKNOWN_TOKEN_MASK = 1000
cdef uint64_t KNOWN_TOKEN_MASK = 1
cdef uint64_t ROWS = 30

# What is made ahead takes no more than one part in so many of what a generation and a mask may take.
cdef size_t SHARE = 8


cdef bint costlier(const PlaceC& a, const PlaceC& b) noexcept nogil:
    return a.cost > b.cost if a.cost != b.cost else a.instance < b.instance


cdef class Prefill:
    """The places of one generation.

    Args:
        escapes: whether characters are followed in all their spellings.
        leaves_out: what would pass a limit is left out, and of a generation, which others walk in
            and wait for, little is taken. Otherwise the first limit passed ends it and is ``error``.
    """

    def __cinit__(self, Arena arena not None, Masks masks not None, *, bint escapes, bint leaves_out=False):
        self.arena = arena
        self.masks = masks
        self.escapes, self.leaves_out = escapes, leaves_out
        self.made, self.error, self.at, self.is_over, self.is_complete = 0, NO_ERROR, 0, False, False
        self.most_rows, self.most_bytes, self.items_left = ~<size_t>0, ~<size_t>0, 0
        if leaves_out:
            self.most_rows = arena.row_limit // SHARE
            self.most_bytes = arena.byte_limit // SHARE
            self.items_left = arena.mask_items // SHARE

    cdef int run(self, uint32_t places, uint32_t budget) except -1:
        """Looks at up to ``places`` places and makes up to ``budget`` masks, the costliest first."""
        cdef PlaceC place
        with nogil:
            while not self.is_over:
                self.arena.guard.lock()
                self.look(places)
                self.arena.guard.unlock()
            sort(self.places.begin(), self.places.end(), &costlier)
            for place in self.places:
                if self.made == budget or self.error != NO_ERROR:
                    break
                self.arena.guard.lock()
                if not self.is_full():
                    self.make(place.instance)
                self.arena.guard.unlock()
        return 0

    cdef void make(self, uint32_t instance) noexcept nogil:
        """One mask; one that is left for later may not take as long as any."""
        cdef uint32_t most = self.arena.mask_items
        if self.leaves_out:
            self.arena.mask_items = most // SHARE
        self.made += self.masks.make_ahead(instance)
        self.passes_limit()
        self.arena.mask_items = most

    cdef bint is_full(self) noexcept nogil:
        return self.arena.rows.size() > self.most_rows or self.arena.bytes_held() > self.most_bytes

    cdef bint passes_limit(self) noexcept nogil:
        """Whether the last step passed a limit and that ends it all."""
        cdef uint32_t error = self.arena.take_error()
        if not self.leaves_out:
            self.error = error
        return self.error != NO_ERROR

    cdef void explore(self, uint32_t most) noexcept nogil:
        """Looks at all places there are, up to ``most``."""
        while not self.is_over:
            self.look(most)

    cdef void look(self, uint32_t most) noexcept nogil:
        """Looks at one more place, breadth first, and notes what follows it; ``most`` in all.

        ``is_over`` behind the last one, ``is_complete`` if that was all there are.
        """
        if self.at == 0:
            self.todo.push_back(self.arena.root)
            self.seen.insert(self.arena.root)
        if self.is_full() or self.at == self.todo.size():
            self.is_complete = self.at == self.todo.size()
            self.is_over = True
            return
        if self.leaves_out:
            self.arena.count_work(self.items_left)
        self.is_over = not self.follow(self.todo[self.at], most)
        if self.leaves_out:
            self.items_left -= min(self.items_left, self.arena.stop_counting())
            self.is_over = self.is_over or self.items_left == 0
        self.at += 1

    cdef bint follow(self, uint32_t instance, uint32_t most) noexcept nogil:
        """Notes what is a byte or a token's end away; False if that is too much."""
        cdef uint32_t b, found
        cdef uint64_t live[4]
        self.places.push_back(PlaceC(self.cost(instance), instance))
        for b in range(4):
            live[b] = self.arena.rows[self.arena.instances[instance].row].live[b]
        if not self.escapes and has_others(live, BACKSLASH):
            live[BACKSLASH >> 6] &= ~(<uint64_t>1 << (BACKSLASH & 63))
        # a byte more, or, as number 256, a token's end
        for b in range(257):
            if b < 256 and not (live[b >> 6] >> (b & 63)) & 1:
                continue
            found = self.arena.step(instance, <uint8_t>b) if b < 256 else self.arena.end_token(instance)
            if self.passes_limit():
                return False
            if found == DEAD or self.seen.count(found):
                continue
            if self.seen.size() >= most:
                return False
            self.seen.insert(found)
            self.todo.push_back(found)
        return True

    cdef uint64_t cost(self, uint32_t instance) noexcept nogil:
        """About what the mask of an instance takes; 0 if it is there."""
        cdef RowC row = self.arena.rows[self.arena.instances[instance].row]
        cdef uint64_t total = 1
        cdef uint32_t k
        cdef ItemC item
        cdef StateC* state
        if map_get(&self.masks.mask_ids, self.arena.instances[instance].rep) != MISSING:
            return 0
        for k in range(row.item_off, row.item_off + row.n_items):
            item = self.arena.items[k]
            state = &self.arena.automata.states[item.state]
            if not self.arena.automata.tabled[state.rule]:
                total += ROWS * width(state)
            elif map_get(&self.masks.token_mask_ids, <uint64_t>(state.like or item.state) << 32) == MISSING:
                total += UNKNOWN_TOKEN_MASK * width(state)
            else:
                total += KNOWN_TOKEN_MASK * width(state)
        return total


cdef bint has_others(uint64_t* live, uint8_t byte) noexcept nogil:
    """Whether a byte is not the only one of a set."""
    cdef uint64_t rest = 0
    cdef uint32_t k
    for k in range(4):
        rest |= live[k] & ~(<uint64_t>1 << (byte & 63)) if k == byte >> 6 else live[k]
    return rest != 0


cdef uint32_t width(StateC* state) noexcept nogil:
    return sum_bits(state.live[0]) + sum_bits(state.live[1]) + sum_bits(state.live[2]) + sum_bits(state.live[3])


cdef extern from *:
    uint32_t sum_bits "__builtin_popcountll"(unsigned long long) noexcept nogil
