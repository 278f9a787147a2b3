"""The event parser: see the header file."""

from libc.stdint cimport uint32_t, uint64_t, uint8_t

from ..automata.determinize cimport FINAL_STATE, LOOP_STATE, TRIGGER_STATE
from ..automata.rule_automata cimport NO_ERROR, StateC
from ..grammar.ir cimport NO_MAXIMUM, ROLE_BEGIN, ROLE_END, ROLE_NONE, ROLE_TAG, ROLE_TEXT
from ..grammar.lowered cimport RuleC, iterations, tokens, tokens_left
from ..native.hashing cimport MISSING, map_get, map_put, mix
from ..native.pool cimport vector

from ..errors import LimitExceeded, ParseDivergence
from ..events import Event

cdef uint32_t ORDINARY = 0
cdef uint32_t STOP = 2
cdef uint32_t NO_FRAME = 0
cdef uint32_t NO_MARK = 0


cdef class Parser:
    """Reads a text back into regions. Made by ``Compiled.parser()``; one per text.

    Raises (from ``feed`` and ``feed_bytes``):
        ParseDivergence: the text does not fit the grammar. The parser is of no further use.
        LimitExceeded: more readings at once than ``Limits.row_items``.
    """

    def __init__(self, Compiled compiled not None):
        cdef ThreadC thread
        self.compiled = compiled
        self.generation = compiled.current()
        self.automata = self.generation.arena.automata
        self.vocabulary = compiled.vocabulary
        self.text, self.pending = bytearray(), bytearray()
        self.regions, self.events = [], []
        self.position = self.base = 0
        self.committed = NO_MARK
        self.whole = False
        self.most = 0
        self.frames.resize(1)
        self.marks.resize(1)
        self.marks[NO_MARK].depth = 0
        self.marks[NO_MARK].position = 0
        self.frames[NO_FRAME].rule = self.automata.ir.root
        with nogil:
            self.generation.arena.guard.lock()
            thread.state = self.automata.start(self.automata.ir.root)
            self.generation.arena.guard.unlock()
        thread.stack, thread.count, thread.mark, thread.back = NO_FRAME, 0, NO_MARK, 0
        if self.automata.ir.rules[self.automata.ir.root].role != ROLE_NONE:
            thread.mark = self.push_mark(NO_MARK, self.automata.ir.root, 0, True)
        self.kernel.push_back(thread)

    # -- feeding -----------------------------------------------------------------------------------
    def feed(self, Py_ssize_t token):
        """Takes one token id and returns the events that have become certain, in order."""
        cdef bint stopped
        if not 0 <= token < self.vocabulary.size:
            raise ParseDivergence(f"token {token} is not in a vocabulary of {self.vocabulary.size}")
        with nogil:
            self.generation.arena.guard.lock()
            self.take_token(<uint32_t>token)
            self.end_token()
            stopped = self.vocabulary.kind[token] == STOP and not self.following.size()
            if not stopped:
                self.kernel.swap(self.following)
                self.position += self.vocabulary.offsets[token + 1] - self.vocabulary.offsets[token]
                self.agree()
            self.generation.arena.guard.unlock()
        if stopped:
            return []
        self.text += self.vocabulary.tokens[token]
        self.progress()
        return self.take_events()

    def feed_bytes(self, const uint8_t[:] data):
        """Takes bytes, whatever their tokens; see ``feed``."""
        cdef Py_ssize_t k
        cdef uint8_t byte
        with nogil:
            self.generation.arena.guard.lock()
            for k in range(data.shape[0]):
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
        """The end of the text: returns what was held back.

        A text that was cut off loses nothing.
        """
        cdef ThreadC chosen
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
        self.emit(chosen.mark, self.position)
        if found and self.automata.ir.rules[self.automata.ir.root].role != ROLE_NONE:
            self.emit_mark(self.marks[self.push_mark(chosen.mark, self.automata.ir.root, self.position, False)])
        if self.pending:
            self.events.append(Event("text", self.regions[-1][1] if self.regions else "", bytes(self.pending)))
            self.pending.clear()
        self.kernel.clear()
        return self.take_events()

    cdef ThreadC reading(self, bint* found) noexcept nogil:
        """The reading of the text so far; ``found`` tells whether it is whole."""
        cdef ThreadC thread
        for thread in self.closed:
            if thread.stack == NO_FRAME and self.may_end(&thread):
                found[0] = True
                return thread
        return self.begun()

    cdef ThreadC begun(self) noexcept nogil:
        """The reading of a text that was cut off.

        A pattern that is complete decides: what it opens or ends has begun, and is not text any
        more.
        """
        cdef ThreadC thread
        cdef MarkC* mark
        if self.automata.states[self.kernel[0].state].flags & TRIGGER_STATE:
            for thread in self.closed:
                mark = &self.marks[thread.mark]
                if self.automata.states[thread.state].flags & TRIGGER_STATE or thread.back:
                    continue
                if not (mark.opens and self.automata.ir.rules[mark.rule].role == ROLE_END):
                    return thread
        return self.kernel[0]

    def is_whole(self):
        """After ``finish``: whether the text was a whole word of the grammar."""
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

    # -- threads -----------------------------------------------------------------------------------
    cdef uint32_t push_frame(
        self, uint32_t parent, uint32_t rule, uint32_t target, uint32_t count
    ) noexcept nogil:
        cdef uint64_t key = mix(
            mix(<uint64_t>parent << 32 | rule) ^ (<uint64_t>target << 32 | count)
        ) | 1
        cdef uint32_t found = map_get(&self.frame_ids, key)
        if found != MISSING and (self.frames[found].parent == parent and self.frames[found].rule == rule
                                 and self.frames[found].target == target and self.frames[found].count == count):
            return found
        found = <uint32_t>self.frames.size()
        self.frames.push_back(FrameC(parent, rule, target, count))
        map_put(&self.frame_ids, key, found)
        return found

    cdef uint32_t push_mark(
        self, uint32_t parent, uint32_t rule, uint64_t position, bint opens
    ) noexcept nogil:
        self.marks.push_back(MarkC(parent, self.marks[parent].depth + 1, rule, position, opens))
        return <uint32_t>self.marks.size() - 1

    cdef bint may_end(self, ThreadC* thread) noexcept nogil:
        cdef StateC* s = &self.automata.states[thread.state]
        cdef RuleC* rule = &self.automata.ir.rules[s.rule]
        return s.flags & FINAL_STATE and iterations(rule, thread.count) >= rule.minimum

    cdef bint may_go_on(self, ThreadC* thread) noexcept nogil:
        cdef StateC* s = &self.automata.states[thread.state]
        cdef RuleC* rule = &self.automata.ir.rules[s.rule]
        if tokens(rule, thread.count) >= rule.most_tokens:
            return False
        return s.onward == 0 or <uint64_t>iterations(rule, thread.count) + s.onward <= rule.maximum

    cdef void add(self, vector[ThreadC]* out, ThreadC thread) noexcept nogil:
        """Appends a thread unless one is in the same place already (I3)."""
        cdef uint32_t k
        for k in range(<uint32_t>out.size()):
            if (out[0][k].state == thread.state and out[0][k].stack == thread.stack
                    and out[0][k].count == thread.count and out[0][k].back == thread.back):
                return
        self.automata.visit(thread.state)
        out.push_back(thread)

    cdef void move(self, vector[ThreadC]* out, ThreadC thread, uint32_t target) noexcept nogil:
        """Follows an edge within the rule."""
        cdef StateC* s = &self.automata.states[target]
        cdef RuleC* rule = &self.automata.ir.rules[s.rule]
        if s.flags & LOOP_STATE and iterations(rule, thread.count) == rule.maximum:
            return
        if s.flags & LOOP_STATE and (rule.maximum != NO_MAXIMUM or thread.count < rule.minimum):
            thread.count += 1
        thread.state = target
        self.add(out, thread)

    cdef void enter(
        self, ThreadC thread, uint32_t rule, uint32_t target, uint32_t state
    ) noexcept nogil:
        """Into a referenced rule; a region opens if the rule is one."""
        cdef uint8_t role = self.automata.ir.rules[rule].role
        cdef uint32_t start = self.automata.start(rule)
        if start == 0:
            return
        if self.automata.states[state].flags & TRIGGER_STATE:
            thread.back = self.automata.states[state].held
        thread.stack = self.push_frame(thread.stack, rule, target, thread.count)
        thread.state, thread.count = start, 0
        if role != ROLE_NONE:
            if role == ROLE_TEXT:
                thread.back = 0
            thread.mark = self.push_mark(thread.mark, rule, self.position - thread.back, True)
            if role != ROLE_TAG:
                thread.back = 0
        self.add(&self.closed, thread)

    cdef void leave(self, vector[ThreadC]* out, ThreadC thread) noexcept nogil:
        """Back to the caller; a region closes if the rule is one."""
        cdef FrameC frame = self.frames[thread.stack]
        if self.automata.ir.rules[frame.rule].role != ROLE_NONE:
            thread.back = 0
            thread.mark = self.push_mark(thread.mark, frame.rule, self.position, False)
        thread.stack, thread.count = frame.parent, frame.count
        self.move(out, thread, frame.target)

    cdef void close(self) noexcept nogil:
        """Everything the kernel can become without another byte, into ``closed``."""
        cdef uint32_t at = 0
        self.closed.clear()
        for at in range(<uint32_t>self.kernel.size()):
            self.add(&self.closed, self.kernel[at])
        at = 0
        while at < self.closed.size() and self.closed.size() <= self.generation.arena.item_limit:
            self.expand(self.closed[at])
            at += 1
        self.most = max(self.most, self.closed.size())

    cdef void expand(self, ThreadC thread) noexcept nogil:
        cdef StateC s = self.automata.states[thread.state]
        cdef uint32_t k
        if self.may_end(&thread) and thread.stack != NO_FRAME:
            self.leave(&self.closed, thread)
        if not self.may_go_on(&thread):
            return
        for k in range(s.empty_off, s.empty_off + s.n_empty):
            self.move(&self.closed, thread, self.automata.empty_edges[k])
        for k in range(s.n_refs):
            self.enter(thread, self.automata.ref_edges[s.ref_off + k].symbol,
                       self.automata.ref_edges[s.ref_off + k].target, thread.state)

    cdef void take_byte(self, uint8_t byte) noexcept nogil:
        """``kernel`` over one byte, into ``following``."""
        cdef ThreadC thread
        cdef StateC* s
        cdef uint32_t e
        self.close()
        self.following.clear()
        for thread in self.closed:
            if not self.may_go_on(&thread):
                continue
            s = &self.automata.states[self.automata.edges_of(thread.state, byte)]
            for e in range(s.byte_off, s.byte_off + s.n_bytes):
                if self.automata.byte_edges[e].low <= byte <= self.automata.byte_edges[e].high:
                    thread.back = 0
                    self.move(&self.following, thread, self.automata.byte_edges[e].target)

    cdef void take_token(self, uint32_t token) noexcept nogil:
        """``kernel`` over one token, by token edges and, for ordinary tokens, by its bytes."""
        cdef vector[ThreadC] before, by_edge
        cdef ThreadC thread
        cdef StateC s
        cdef uint32_t e, k, n
        cdef uint64_t start = self.position
        before = self.kernel
        self.close()
        self.following.clear()
        for thread in self.closed:
            s = self.automata.states[thread.state]
            if not self.may_go_on(&thread):
                continue
            for e in range(s.token_off, s.token_off + s.n_tokens):
                if self.automata.ir.has_token(self.automata.token_edges[e].symbol, token):
                    thread.back = 0
                    self.move(&self.following, thread, self.automata.token_edges[e].target)
        if self.vocabulary.kind[token] != ORDINARY:
            return
        by_edge.swap(self.following)
        n = self.vocabulary.offsets[token + 1] - self.vocabulary.offsets[token]
        for k in range(n):
            self.take_byte(self.vocabulary.data[self.vocabulary.offsets[token] + k])
            self.kernel.swap(self.following)
            self.position += 1
            if self.kernel.size() == 0:
                break
        self.following.swap(self.kernel)
        for thread in by_edge:
            self.add(&self.following, thread)
        self.kernel = before
        self.position = start

    cdef void end_token(self) noexcept nogil:
        """Counts a token in the text that has a bound on them; a character that can't be finished is no reading."""
        cdef vector[ThreadC] taken
        cdef ThreadC thread
        cdef RuleC* rule
        taken.swap(self.following)
        for thread in taken:
            rule = &self.automata.ir.rules[self.automata.states[thread.state].rule]
            thread.count += rule.unit
            if tokens_left(rule, thread.count) >= self.automata.states[thread.state].missing:
                self.add(&self.following, thread)

    cdef void settle(self) noexcept nogil:
        """A lone thread that can only return does so at once, so that regions close early."""
        cdef vector[ThreadC] out
        cdef ThreadC thread
        while self.kernel.size() == 1:
            thread = self.kernel[0]
            if thread.stack == NO_FRAME or not self.automata.is_tail(thread.state):
                return
            out.clear()
            self.leave(&out, thread)
            self.kernel.swap(out)

    # -- events ------------------------------------------------------------------------------------
    cdef uint32_t common(self, uint32_t a, uint32_t b) noexcept nogil:
        """The last mark that two chains share."""
        while a != b:
            if self.marks[a].depth >= self.marks[b].depth:
                a = self.marks[a].parent
            else:
                b = self.marks[b].parent
        return a

    cdef void agree(self) noexcept nogil:
        """What all threads agree on: marks up to ``agreed``, and the bytes before ``safe``.

        Under the mutex, as everything that looks at automata.
        """
        cdef uint32_t k, mark
        cdef uint64_t own
        self.agreed, self.safe = self.committed, self.base
        if self.automata.error != NO_ERROR:
            self.generation.arena.fail(self.automata.error, self.automata.error_got)
            self.error = self.generation.arena.take_error()
        if self.kernel.size() == 0:
            return
        self.settle()
        self.agreed, self.safe = self.kernel[0].mark, self.position
        for k in range(1, <uint32_t>self.kernel.size()):
            self.agreed = self.common(self.agreed, self.kernel[k].mark)
        for k in range(<uint32_t>self.kernel.size()):
            own = self.position - self.automata.states[self.kernel[k].state].held
            mark = self.kernel[k].mark
            while mark != self.agreed:
                own = min(own, self.marks[mark].position)
                mark = self.marks[mark].parent
            self.safe = min(self.safe, own)

    cdef int check_limit(self) except -1:
        """Readings that were left out since there were too many make all answers worthless."""
        if self.most > self.generation.arena.item_limit:
            raise LimitExceeded("row_items", self.generation.arena.item_limit, self.most)
        return 0

    cdef int progress(self) except -1:
        """Emits what all threads agree on."""
        self.compiled.raise_limit(self.error, self.generation.arena.error_got)
        self.check_limit()
        if self.kernel.size() == 0:
            raise ParseDivergence(f"the text does not fit its grammar at byte {self.position}")
        return self.emit(self.agreed, self.safe)

    cdef int emit(self, uint32_t mark, uint64_t safe) except -1:
        """All marks up to ``mark`` that are new, then the bytes before ``safe``."""
        cdef vector[uint32_t] fresh
        cdef Py_ssize_t k
        while mark != self.committed:
            fresh.push_back(mark)
            mark = self.marks[mark].parent
        for k in range(<Py_ssize_t>fresh.size() - 1, -1, -1):
            self.emit_mark(self.marks[fresh[k]])
            self.committed = fresh[k]
        self.emit_bytes(max(safe, self.base))
        return 0

    cdef int emit_bytes(self, uint64_t end) except -1:
        """The bytes before position ``end``, to the innermost region."""
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

    cdef int emit_mark(self, MarkC mark) except -1:
        cdef RuleC* rule = &self.automata.ir.rules[mark.rule]
        self.emit_bytes(mark.position)
        if mark.opens:
            self.regions.append((rule.role, self.automata.ir.labels[rule.label]))
            return 0
        role, label = self.regions.pop()
        if role == ROLE_BEGIN or role == ROLE_END:
            self.events.append(Event("open" if role == ROLE_BEGIN else "close", label, bytes(self.pending)))
            self.pending.clear()
        return 0
