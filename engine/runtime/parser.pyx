"""The event parser: tokens, bytes, parses and events."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..automata.determinize cimport FINAL_STATE, LOOP_STATE, TRIGGER_STATE
from ..automata.rule_automata cimport NO_ERROR, StateC
from ..grammar.ir cimport NO_MAXIMUM, ROLE_BEGIN, ROLE_END, ROLE_NONE, ROLE_TAG, ROLE_TEXT
from ..grammar.lowered cimport ANCHORED_RULE, RuleC, iterations, tokens, tokens_left
from ..native.hashing cimport MISSING, map_get, map_put, mix
from ..native.pool cimport vector
from ..vocabulary.vocabulary cimport ORDINARY, STOP
from .compiled cimport Compiled

from typing import NamedTuple

from ..errors import LimitExceeded, ParseDivergence

cdef uint32_t NO_FRAME = 0
cdef uint32_t NO_BOUNDARY = 0

# flag of ``ParseC.back``: the bytes belong to a leaf, too
cdef uint32_t IN_LEAF = 0x80000000

# More parses are looked up in a table; nearly all texts have fewer.
cdef size_t FEW = 16


class Event(NamedTuple):
    """A part of a parsed text.

    ``kind``   "open": a tag's begin is complete; "text": content of a leaf; "close": a tag's end is
               complete.
    ``node``   the JSON pointer of the tag or leaf in its structural tag; "" outside all regions.
    ``bytes``  the text of the begin, the content, or the end. The concatenated bytes of all events
               are the text.
    """

    kind: str
    node: str
    bytes: bytes


cdef inline bint are_equal(ParseC* a, ParseC* b) noexcept nogil:
    """Return whether two parses differ in their boundaries at most."""
    return a.state == b.state and a.stack == b.stack and a.count == b.count and a.back == b.back


cdef inline uint64_t parse_key(ParseC* parse) noexcept nogil:
    return mix(mix(<uint64_t>parse.state << 32 | parse.stack) ^ (<uint64_t>parse.count << 32 | parse.back)) | 1


cdef class Parser:
    """Reads one text back into regions. Made by ``Compiled.parser()``.

    Raises (from ``feed``, ``feed_all`` and ``feed_bytes``):
        ParseDivergence: the text does not fit the grammar. The parser cannot continue.
        LimitExceeded: there are more parses at once than ``Limits.row_items`` (limit "row_items"), or than
            ``most_parses`` ("parses"). The parser cannot continue.
    """

    def __init__(self, Compiled compiled not None, *, most_parses=None):
        cdef ParseC parse
        self.compiled = compiled
        self.generation = compiled.current()
        self.automata = self.generation.arena.automata
        self.vocabulary = compiled.vocabulary
        self.text, self.pending = bytearray(), bytearray()
        self.regions, self.events = [], []
        self.position = self.base = 0
        self.committed = NO_BOUNDARY
        self.whole = False
        self.most = 0
        self.placed_in = self.placed = self.places.used = 0
        self.limit = self.generation.arena.item_limit
        if most_parses is not None:
            self.limit = min(self.limit, <size_t>most_parses)
        self.frames.resize(1)
        self.boundaries.resize(1)
        self.boundaries[NO_BOUNDARY].depth = 0
        self.boundaries[NO_BOUNDARY].position = 0
        self.frames[NO_FRAME].rule = self.automata.ir.root
        with nogil:
            self.generation.arena.guard.lock()
            parse.state = self.automata.start(self.automata.ir.root)
            self.generation.arena.guard.unlock()
        parse.stack, parse.count, parse.boundary, parse.back = NO_FRAME, 0, NO_BOUNDARY, 0
        if self.automata.ir.rules[self.automata.ir.root].role != ROLE_NONE:
            parse.boundary = self.push_boundary(NO_BOUNDARY, self.automata.ir.root, 0, True)
        self.kernel.push_back(parse)

    # -- feeding -----------------------------------------------------------------------------------
    def feed(self, Py_ssize_t token):
        """Take one token id and return the events that have become certain, in order."""
        cdef uint32_t taken = <uint32_t>token
        self.check_token(token)
        self.take_tokens(&taken, 1)
        return self.take_events()

    def feed_all(self, ids):
        """Take token ids and return the events of all, as ``feed`` of one after the other would.

        But texts that follow each other in a leaf are mostly one event. On an error there are no events.
        """
        cdef vector[uint32_t] taken
        cdef Py_ssize_t token = 0
        for token in ids:
            if not 0 <= token < self.vocabulary.size:
                break
            taken.push_back(<uint32_t>token)
        self.take_tokens(taken.data(), taken.size())
        self.check_token(token)
        return self.take_events()

    cdef int check_token(self, Py_ssize_t token) except -1:
        if not 0 <= token < self.vocabulary.size:
            raise ParseDivergence(f"token ids must be in 0..{self.vocabulary.size - 1}, got {token}")
        return 0

    cdef int take_tokens(self, const uint32_t* ids, size_t n) except -1:
        """Take tokens, and emit events at each new boundary and at the end."""
        cdef size_t at = 0, moved, k
        while at < n:
            with nogil:
                self.generation.arena.guard.lock()
                moved = self.advance(ids + at, n - at)
                self.generation.arena.guard.unlock()
            if moved == 0:
                # a stop token behind the text
                at += 1
                continue
            for k in range(at, at + moved):
                self.text += self.vocabulary.tokens[ids[k]]
            at += moved
            self.progress()
        return 0

    cdef size_t advance(self, const uint32_t* ids, size_t n) noexcept nogil:
        """Move over tokens and agree, up to the first one, inclusive, that makes a new boundary certain or is an
        error; but not over a stop token that does not belong to the text. Return the number of tokens.

        The parses of before still have their boundaries. The caller holds the mutex.
        """
        cdef size_t k, kept = 0
        cdef uint32_t token
        for k in range(n):
            token = ids[k]
            self.forget(kept)
            if k == 0:
                kept = self.boundaries.size()
            self.take_token(token)
            self.end_token()
            if self.vocabulary.kind[token] == STOP and not self.following.size():
                return k
            self.kernel.swap(self.following)
            self.position += self.vocabulary.offsets[token + 1] - self.vocabulary.offsets[token]
            self.agree()
            if not self.kernel.size() or self.agreed != self.committed or self.error or self.most > self.limit:
                return k + 1
        return n

    def text_node(self):
        """Return the node of the leaf to which ``feed_text`` may add.

        None: a byte waits for an event, or no leaf is open.
        """
        if self.base != self.position or not self.regions:
            return None
        role, label = self.regions[-1]
        return label if role == ROLE_TEXT else None

    def feed_text(self, ids):
        """Take token ids if all of them only add text to ``text_node()``, and return whether they did.

        Their bytes are then the text of one event, which is not made. Else nothing changes, also if there are none,
        or they do not fit the grammar. ``text_node()`` must not be None.
        """
        cdef vector[uint32_t] taken
        for token in ids:
            taken.push_back(token)
        return self.take_text(taken.data(), taken.size())

    def feed_held(self, ids):
        """Take token ids if ``feed_all`` would return no event for them, and return whether they were taken.

        They are part of a mark, or may be. Else nothing changes. Some that would make no event are left, too: stop
        tokens, and those at the borders of regions.
        """
        cdef vector[uint32_t] taken
        for token in ids:
            taken.push_back(token)
        return self.take_held(taken.data(), taken.size())

    cdef bint take_text(self, const uint32_t* ids, size_t n) noexcept:
        """See ``feed_text``. Ids beyond the vocabulary are none of its text."""
        if self.base != self.position or not self.take_inside(ids, n, True, False):
            return False
        self.base = self.position
        return True

    cdef bint take_held(self, const uint32_t* ids, size_t n) except -1:
        """See ``feed_held``."""
        cdef uint8_t role = self.regions[-1][0] if self.regions else ROLE_NONE
        cdef size_t k
        if not self.take_inside(ids, n, False, role == ROLE_BEGIN or role == ROLE_END):
            return False
        for k in range(n):
            self.text += self.vocabulary.tokens[ids[k]]
        # into ``pending`` or nowhere
        self.emit_bytes(max(self.safe, self.base))
        return True

    cdef bint take_inside(self, const uint32_t* ids, size_t n, bint is_text, bint is_mark) noexcept:
        """Move over tokens that make no boundary certain, if their bytes fit, and return whether they did.

        All of their bytes are certain (``is_text``), or none, unless they are in a mark (``is_mark``). Else nothing
        changes.
        """
        cdef vector[ParseC] before
        cdef uint64_t start = self.position
        cdef bint fits
        cdef size_t k
        for k in range(n):
            if ids[k] >= self.vocabulary.size or self.vocabulary.kind[ids[k]] == STOP:
                return False
        with nogil:
            self.generation.arena.guard.lock()
            before = self.kernel
            fits = n > 0 and self.advance(ids, n) == n and self.kernel.size() and self.agreed == self.committed
            fits = fits and not self.error and self.most <= self.limit
            fits = fits and (self.safe == self.position if is_text else is_mark or self.safe <= self.base)
            if not fits:
                self.kernel.swap(before)
                self.position = start
            self.generation.arena.guard.unlock()
        return fits

    def feed_bytes(self, const uint8_t[:] data):
        """Take bytes, without regard to tokens; see ``feed``."""
        cdef Py_ssize_t k
        cdef uint8_t byte
        with nogil:
            self.generation.arena.guard.lock()
            for k in range(data.shape[0]):
                self.forget(0)
                byte = data[k]
                self.take_byte(byte)
                self.kernel.swap(self.following)
                self.position += 1
                if self.kernel.size() == 0:
                    break
            self.agree()
            self.generation.arena.guard.unlock()
        self.text += bytes(data)
        self.progress()
        return self.take_events()

    def finish(self):
        """End the text and return the events held back.

        A truncated text loses nothing.
        """
        cdef ParseC chosen
        cdef uint32_t end
        cdef bint found = False
        if not self.kernel.size():
            return []
        with nogil:
            self.generation.arena.guard.lock()
            self.close()
            chosen = self.reading(&found)
            self.generation.arena.guard.unlock()
        self.check_limit()
        self.whole = found
        self.emit(chosen.boundary, self.position)
        if found and self.automata.ir.rules[self.automata.ir.root].role != ROLE_NONE:
            end = self.push_boundary(chosen.boundary, self.automata.ir.root, self.position, False)
            self.emit_boundary(self.boundaries[end])
        if self.pending:
            self.events.append(Event("text", self.regions[-1][1] if self.regions else "", bytes(self.pending)))
            self.pending.clear()
        self.kernel.clear()
        return self.take_events()

    cdef ParseC reading(self, bint* found) noexcept nogil:
        """Return the parse of the text so far, and set ``found`` if it is complete."""
        cdef ParseC parse
        for parse in self.closed:
            if parse.stack == NO_FRAME and self.may_end(&parse):
                found[0] = True
                return parse
        return self.begun()

    cdef ParseC begun(self) noexcept nogil:
        """Return the parse of a truncated text.

        A complete pattern decides: the region that it opens or closes counts as begun.
        """
        cdef ParseC parse
        cdef BoundaryC* boundary
        if self.automata.states[self.kernel[0].state].flags & TRIGGER_STATE:
            for parse in self.closed:
                boundary = &self.boundaries[parse.boundary]
                if self.automata.states[parse.state].flags & TRIGGER_STATE or parse.back:
                    continue
                if not (boundary.opens and self.automata.ir.rules[boundary.rule].role == ROLE_END):
                    return parse
        return self.kernel[0]

    def is_whole(self):
        """Return whether the finished text was complete."""
        return bool(self.whole)

    cdef list take_events(self):
        events = []
        for event in self.events:
            if events and event.kind == "text" and events[-1].kind == "text" and events[-1].node == event.node:
                events[-1] = Event("text", event.node, events[-1].bytes + event.bytes)
            else:
                events.append(event)
        self.events = []
        return events

    # -- parses -----------------------------------------------------------------------------------
    cdef uint32_t push_frame(self, uint32_t parent, uint32_t rule, uint32_t target, uint32_t count) noexcept nogil:
        cdef uint64_t key = mix(mix(<uint64_t>parent << 32 | rule) ^ (<uint64_t>target << 32 | count)) | 1
        cdef uint32_t found = map_get(&self.frame_ids, key)
        if found != MISSING and (self.frames[found].parent == parent and self.frames[found].rule == rule
                                 and self.frames[found].target == target and self.frames[found].count == count):
            return found
        found = <uint32_t>self.frames.size()
        self.frames.push_back(StackFrameC(parent, rule, target, count))
        map_put(&self.frame_ids, key, found)
        return found

    cdef uint32_t push_boundary(self, uint32_t parent, uint32_t rule, uint64_t position, bint opens) noexcept nogil:
        self.boundaries.push_back(BoundaryC(parent, self.boundaries[parent].depth + 1, rule, position, opens))
        return <uint32_t>self.boundaries.size() - 1

    cdef void forget(self, size_t kept) noexcept nogil:
        """Drop the last boundaries that no parse has, but none of the first ``kept``; each byte of free text makes
        some.
        """
        cdef size_t k
        kept = max(kept, <size_t>self.committed + 1)
        for k in range(self.kernel.size()):
            kept = max(kept, <size_t>self.kernel[k].boundary + 1)
        self.boundaries.resize(kept)

    cdef bint may_end(self, ParseC* parse) noexcept nogil:
        cdef StateC* s = &self.automata.states[parse.state]
        cdef RuleC* rule = &self.automata.ir.rules[s.rule]
        return s.flags & FINAL_STATE and iterations(rule, parse.count) >= rule.minimum

    cdef bint may_go_on(self, ParseC* parse) noexcept nogil:
        cdef StateC* s = &self.automata.states[parse.state]
        cdef RuleC* rule = &self.automata.ir.rules[s.rule]
        if tokens(rule, parse.count) >= rule.most_tokens:
            return False
        return s.onward == 0 or <uint64_t>iterations(rule, parse.count) + s.onward <= rule.maximum

    cdef bint add(self, vector[ParseC]* out, ParseC parse) noexcept nogil:
        """Append a parse unless an equal one is present (I3); return whether it is new."""
        cdef size_t k
        if out.size() > FEW:
            if self.is_placed(out, &parse):
                return False
        else:
            for k in range(out.size()):
                if are_equal(&out[0][k], &parse):
                    return False
        self.automata.visit(parse.state)
        out.push_back(parse)
        return True

    cdef bint is_placed(self, vector[ParseC]* out, ParseC* parse) noexcept nogil:
        """Return whether a set contains a parse; otherwise it is about to be appended."""
        cdef uint32_t found
        if self.placed_in != <size_t>out or self.placed > out.size():
            # keeps its room
            self.places.keys.assign(self.places.keys.size(), 0)
            self.places.used = 0
            self.placed_in, self.placed = <size_t>out, 0
        while self.placed < out.size():
            map_put(&self.places, parse_key(&out[0][self.placed]), <uint32_t>self.placed)
            self.placed += 1
        found = map_get(&self.places, parse_key(parse))
        # after a hash collision an equal parse may be present twice, which costs only time
        return found != MISSING and are_equal(&out[0][found], parse)

    cdef void move(self, vector[ParseC]* out, ParseC parse, uint32_t target) noexcept nogil:
        """Follow an edge within the rule."""
        cdef StateC* s = &self.automata.states[target]
        cdef RuleC* rule = &self.automata.ir.rules[s.rule]
        if s.flags & LOOP_STATE and iterations(rule, parse.count) == rule.maximum:
            return
        if s.flags & LOOP_STATE and (rule.maximum != NO_MAXIMUM or parse.count < rule.minimum):
            parse.count += 1
        parse.state = target
        self.add(out, parse)

    cdef void enter(self, ParseC parse, uint32_t rule, uint32_t target, uint32_t state) noexcept nogil:
        """Enter a referenced rule; a region opens if the rule is one."""
        cdef uint8_t role = self.automata.ir.rules[rule].role
        cdef uint32_t start = self.automata.start(rule)
        if start == 0:
            return
        if self.automata.states[state].flags & TRIGGER_STATE:
            parse.back = self.automata.states[state].held
            if self.automata.ir.rules[self.automata.states[state].rule].kind == ANCHORED_RULE:
                parse.back |= IN_LEAF
        parse.stack = self.push_frame(parse.stack, rule, target, parse.count)
        parse.state, parse.count = start, 0
        if role != ROLE_NONE:
            if role == ROLE_TEXT and not parse.back & IN_LEAF:
                parse.back = 0
            parse.boundary = self.push_boundary(parse.boundary, rule, self.position - (parse.back & ~IN_LEAF), True)
            if role != ROLE_TAG:
                parse.back = 0
        self.next_parses.push_back(parse)

    cdef void leave(self, vector[ParseC]* out, ParseC parse) noexcept nogil:
        """Return to the calling rule; a region closes if the rule is one."""
        cdef StackFrameC frame = self.frames[parse.stack]
        if self.automata.ir.rules[frame.rule].role != ROLE_NONE:
            parse.back = 0
            parse.boundary = self.push_boundary(parse.boundary, frame.rule, self.position, False)
        parse.stack, parse.count = frame.parent, frame.count
        self.move(out, parse, frame.target)

    cdef void close(self) noexcept nogil:
        """Collect in ``closed`` the parses that the kernel reaches without another byte.

        They are collected depth first: what the first parse reaches comes before the second parse,
        so the order of parses, which I3 decides by, lasts.
        """
        cdef ParseC parse
        cdef size_t k
        self.todo.clear()
        for k in range(self.kernel.size(), 0, -1):
            self.todo.push_back(self.kernel[k - 1])
        self.closed.clear()
        while self.todo.size() and self.closed.size() <= self.limit:
            parse = self.todo.back()
            self.todo.pop_back()
            if self.add(&self.closed, parse):
                self.next_parses.clear()
                self.expand(parse)
                for k in range(self.next_parses.size(), 0, -1):
                    self.todo.push_back(self.next_parses[k - 1])
        self.most = max(self.most, self.closed.size())

    cdef void expand(self, ParseC parse) noexcept nogil:
        """Append to ``next_parses`` the parses one step away."""
        cdef StateC s = self.automata.states[parse.state]
        cdef uint32_t k
        if self.may_end(&parse) and parse.stack != NO_FRAME:
            self.leave(&self.next_parses, parse)
        if not self.may_go_on(&parse):
            return
        for k in range(s.empty_off, s.empty_off + s.n_empty):
            self.move(&self.next_parses, parse, self.automata.empty_edges[k])
        for k in range(s.n_refs):
            self.enter(parse, self.automata.ref_edges[s.ref_off + k].symbol,
                       self.automata.ref_edges[s.ref_off + k].target, parse.state)

    cdef void take_byte(self, uint8_t byte) noexcept nogil:
        """Move ``kernel`` over one byte into ``following``."""
        cdef ParseC parse
        cdef StateC* s
        cdef uint32_t e
        self.close()
        self.following.clear()
        for parse in self.closed:
            if not self.may_go_on(&parse):
                continue
            s = &self.automata.states[self.automata.edges_of(parse.state, byte)]
            for e in range(s.byte_off, s.byte_off + s.n_bytes):
                if self.automata.byte_edges[e].low <= byte <= self.automata.byte_edges[e].high:
                    parse.back = 0
                    self.move(&self.following, parse, self.automata.byte_edges[e].target)

    cdef void take_token(self, uint32_t token) noexcept nogil:
        """Move ``kernel`` into ``following`` over token edges and an ordinary token's bytes."""
        cdef ParseC parse
        cdef StateC s
        cdef uint32_t e, k, n
        cdef uint64_t start = self.position
        self.before.assign(self.kernel.begin(), self.kernel.end())
        self.close()
        self.following.clear()
        for parse in self.closed:
            s = self.automata.states[parse.state]
            if not self.may_go_on(&parse):
                continue
            for e in range(s.token_off, s.token_off + s.n_tokens):
                if self.automata.ir.has_token(self.automata.token_edges[e].symbol, token):
                    parse.back = 0
                    self.move(&self.following, parse, self.automata.token_edges[e].target)
        if self.vocabulary.kind[token] != ORDINARY:
            return
        self.by_edge.clear()
        self.by_edge.swap(self.following)
        n = self.vocabulary.offsets[token + 1] - self.vocabulary.offsets[token]
        for k in range(n):
            self.take_byte(self.vocabulary.data[self.vocabulary.offsets[token] + k])
            self.kernel.swap(self.following)
            self.position += 1
            if self.kernel.size() == 0:
                break
        self.following.swap(self.kernel)
        for parse in self.by_edge:
            self.add(&self.following, parse)
        self.kernel.swap(self.before)
        self.position = start

    cdef void end_token(self) noexcept nogil:
        """Count a token; drop parses within a character that the tokens left cannot complete."""
        cdef ParseC parse
        cdef RuleC* rule
        self.by_edge.swap(self.following)
        self.following.clear()
        for parse in self.by_edge:
            rule = &self.automata.ir.rules[self.automata.states[parse.state].rule]
            parse.count += rule.unit
            if tokens_left(rule, parse.count) >= self.automata.states[parse.state].missing:
                self.add(&self.following, parse)

    cdef void settle(self) noexcept nogil:
        """Let a lone parse that can only return do so at once, so that regions close early."""
        cdef vector[ParseC] out
        cdef ParseC parse
        while self.kernel.size() == 1:
            parse = self.kernel[0]
            if parse.stack == NO_FRAME or not self.automata.is_tail(parse.state):
                return
            out.clear()
            self.leave(&out, parse)
            self.kernel.swap(out)

    # -- events ------------------------------------------------------------------------------------
    cdef uint32_t common(self, uint32_t a, uint32_t b) noexcept nogil:
        """Return the last boundary that two chains share."""
        while a != b:
            if self.boundaries[a].depth >= self.boundaries[b].depth:
                a = self.boundaries[a].parent
            else:
                b = self.boundaries[b].parent
        return a

    cdef void agree(self) noexcept nogil:
        """Find what all parses agree on: boundaries up to ``agreed``, and bytes before ``safe``.

        The caller holds the mutex.
        """
        cdef uint32_t k, boundary
        cdef uint64_t own
        self.agreed, self.safe = self.committed, self.base
        if self.automata.error != NO_ERROR:
            self.generation.arena.fail(self.automata.error, self.automata.error_got)
            self.error = self.generation.arena.take_error()
        if self.kernel.size() == 0:
            return
        self.settle()
        self.agreed, self.safe = self.kernel[0].boundary, self.position
        for k in range(1, <uint32_t>self.kernel.size()):
            self.agreed = self.common(self.agreed, self.kernel[k].boundary)
        for k in range(<uint32_t>self.kernel.size()):
            own = self.position - self.automata.states[self.kernel[k].state].held
            boundary = self.kernel[k].boundary
            while boundary != self.agreed:
                own = min(own, self.boundaries[boundary].position)
                boundary = self.boundaries[boundary].parent
            self.safe = min(self.safe, own)

    cdef int check_limit(self) except -1:
        """Raise if parses were too many, and so dropped: all answers would be unreliable."""
        if self.most > self.limit:
            name = "parses" if self.limit < self.generation.arena.item_limit else "row_items"
            raise LimitExceeded(name, self.limit, self.most)
        return 0

    cdef int progress(self) except -1:
        """Emit what all parses agree on."""
        self.compiled.raise_limit(self.error, self.generation.arena.error_got)
        self.check_limit()
        if self.kernel.size() == 0:
            raise ParseDivergence(f"the text does not fit the grammar at byte {self.position}")
        return self.emit(self.agreed, self.safe)

    cdef int emit(self, uint32_t boundary, uint64_t safe) except -1:
        """Emit the new boundaries up to ``boundary``, then the bytes before ``safe``."""
        cdef vector[uint32_t] fresh
        cdef Py_ssize_t k
        while boundary != self.committed:
            fresh.push_back(boundary)
            boundary = self.boundaries[boundary].parent
        for k in range(<Py_ssize_t>fresh.size() - 1, -1, -1):
            self.emit_boundary(self.boundaries[fresh[k]])
            self.committed = fresh[k]
        self.emit_bytes(max(safe, self.base))
        return 0

    cdef int emit_bytes(self, uint64_t end) except -1:
        """Emit the bytes before position ``end``, to the innermost region."""
        cdef Py_ssize_t n = <Py_ssize_t>(end - self.base)
        if n <= 0:
            return 0
        data = bytes(self.text[:n])
        del self.text[:n]
        self.base = end
        role, label = self.regions[-1] if self.regions else (ROLE_NONE, "")
        if role == ROLE_BEGIN or role == ROLE_END:
            self.pending += data
        else:
            self.events.append(Event("text", label, data))
        return 0

    cdef int emit_boundary(self, BoundaryC boundary) except -1:
        cdef RuleC* rule = &self.automata.ir.rules[boundary.rule]
        self.emit_bytes(boundary.position)
        if boundary.opens:
            self.regions.append((rule.role, self.automata.ir.labels[rule.label]))
            return 0
        role, label = self.regions.pop()
        if role == ROLE_BEGIN or role == ROLE_END:
            self.events.append(Event("open" if role == ROLE_BEGIN else "close", label, bytes(self.pending)))
            self.pending.clear()
        return 0
