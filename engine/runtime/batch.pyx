"""Batches: see the header file."""

from libc.stdint cimport uint32_t
from libc.string cimport memcpy, memset
from libcpp.algorithm cimport sort
from libcpp.mutex cimport mutex
from libcpp.vector cimport vector

from ..automata.rule_automata cimport NO_ERROR
from ..masks.bitmask cimport rows_of
from .compiled cimport Generation
from .matcher cimport Matcher

cdef extern from "native/parallel_for.h" namespace "parallel":
    void parallel_for(
        void (*work)(void*, size_t) noexcept nogil, void* data, size_t count, size_t helpers
    ) noexcept nogil
    size_t processors() noexcept nogil

# Masks to be made from which on helpers are worth starting: about 1.7 ms. With one helper on two
# processors, the other one free, 16 such masks take as long as without, 64 take 2/3.
cdef size_t HEAVY = 64
# Words that are copied GIL in hand: about 0.1 ms. Who lets go of it may get it back only milliseconds later,
# when other threads want it, too.
cdef size_t MOST_WITH_GIL = 1 << 18
# More helpers than these have nothing to do but wait for memory.
cdef size_t MOST_HELPERS = 7


def fill_bitmask_batch(matchers, bitmask, rows, *, threads=None):
    """``fill_bitmask`` of many matchers; those in one state are made once and copied.

    The GIL is released while masks are made, and while many are copied.

    Args:
        matchers: sequence of ``Matcher``, of one vocabulary.
        bitmask: as for ``Matcher.fill_bitmask``.
        rows: for each matcher its row; equal length, no row twice.
        threads: how many work on it, the calling one included. By default half as many as there
            are processors, at most eight, for a batch of several grammars with many masks to be
            made; one otherwise.

    Raises:
        TypeError: something else than a matcher.
        ValueError: wrong shape or dtype, unequal lengths, a row twice, or no thread.
        IndexError: no such row.
        LimitExceeded: see ``Matcher.accept_token``; the other masks are there.
    """
    cdef int[:, ::1] view = rows_of(bitmask)
    cdef list held = list(matchers)
    cdef vector[Py_ssize_t] targets = rows
    cdef Py_ssize_t k
    cdef size_t helpers = 0
    cdef bint choose = threads is None
    cdef Matcher matcher
    cdef PlanC plan
    cdef JobC job
    if targets.size() != <size_t>len(held):
        raise ValueError(f"{len(held)} matchers for {targets.size()} rows")
    if len(set(rows)) != len(held):
        raise ValueError("two matchers for one row")
    if not choose:
        if threads < 1:
            raise ValueError(f"a batch needs a thread, not {threads}")
        helpers = threads - 1
    plan.width, plan.missing = view.shape[1], 0
    plan.jobs.reserve(targets.size())
    for k, matcher in enumerate(held):
        if matcher is None:
            raise TypeError("a batch is of matchers, not of None")
        if not 0 <= targets[k] < view.shape[0]:
            raise IndexError(f"row {targets[k]} of a bitmask with {view.shape[0]} rows")
        if plan.width < matcher.vocabulary.words:
            raise ValueError(f"a bitmask of {plan.width} words; the vocabulary needs {matcher.vocabulary.words}")
        job.generation, job.words = <void*>matcher.generation, matcher.vocabulary.words
        job.instance, job.terminated = matcher.instance(), matcher.terminated()
        job.out, job.number, job.error = <uint32_t*>&view[targets[k], 0], <uint32_t>k, NO_ERROR
        job.filled, job.looks = False, matcher.needs_look()
        plan.jobs.push_back(job)
    if plan.jobs.size() * plan.width <= MOST_WITH_GIL:
        fill_kept(&plan)
    else:
        with nogil:
            fill_kept(&plan)
    if plan.missing:
        with nogil:
            if choose and plan.groups.size() > 1 and plan.missing >= HEAVY:
                # where no processor is free, the caller waits for its helpers' turns: 64 masks took 2-6 times as long
                helpers = max(processors() // 2, <size_t>1) - 1
            helpers = min(helpers, MOST_HELPERS, plan.groups.size() - 1)
            parallel_for(&make_group, &plan, plan.groups.size(), helpers)
    for job in plan.jobs:
        if job.error != NO_ERROR or job.looks:
            matcher = held[job.number]
            matcher.check(job.error)
            if job.looks:
                look_through(matcher, &view[targets[job.number], 0])


cdef int look_through(Matcher matcher, int* out) except -1:
    """What the text rules out of a mask (unique_items), each text by itself."""
    cdef uint32_t instance = matcher.instance(), error
    with nogil:
        matcher.lock()
        matcher.rule_out(instance, <uint32_t*>out)
        error = matcher.generation.arena.take_error()
        matcher.unlock()
    return matcher.check(error)


cdef bint same_generation_first(const JobC& a, const JobC& b) noexcept nogil:
    return a.generation < b.generation if a.generation != b.generation else a.number < b.number


cdef bint same_place_first(const JobC& a, const JobC& b) noexcept nogil:
    if a.instance != b.instance:
        return a.instance < b.instance
    return a.terminated < b.terminated if a.terminated != b.terminated else a.number < b.number


cdef bint same_place(const JobC& a, const JobC& b) noexcept nogil:
    return a.instance == b.instance and a.terminated == b.terminated


cdef bint heavier(const GroupC& a, const GroupC& b) noexcept nogil:
    return a.missing > b.missing if a.missing != b.missing else a.begin < b.begin


cdef void fill_kept(PlanC* plan) noexcept nogil:
    """Fills the masks that are there, waiting for nobody. What is left are ``groups``, the heaviest first."""
    cdef size_t k = 0
    cdef GroupC group
    cdef mutex* guard
    sort(plan.jobs.begin(), plan.jobs.end(), &same_generation_first)
    while k < plan.jobs.size():
        group.begin = k
        while k < plan.jobs.size() and plan.jobs[k].generation == plan.jobs[group.begin].generation:
            k += 1
        group.end = k
        guard = &(<Generation>plan.jobs[group.begin].generation).arena.guard
        group.is_busy = not guard.try_lock()
        if group.is_busy:
            group.missing = group.end - group.begin
        else:
            group.missing = fill_group(plan, &group)
            guard.unlock()
        if group.missing:
            plan.missing += group.missing
            plan.groups.push_back(group)
    sort(plan.groups.begin(), plan.groups.end(), &heavier)


cdef size_t fill_group(PlanC* plan, GroupC* group) noexcept nogil:
    """Fills the jobs whose masks are there, under their mutex; returns how many masks are missing."""
    cdef void* generation = plan.jobs[group.begin].generation
    cdef JobC* job
    cdef JobC* first = NULL
    cdef size_t k, missing = 0
    for k in range(group.begin, group.end):
        job = &plan.jobs[k]
        job.instance = (<Generation>generation).arena.instances[job.instance].rep
    sort(plan.jobs.begin() + group.begin, plan.jobs.begin() + group.end, &same_place_first)
    for k in range(group.begin, group.end):
        job = &plan.jobs[k]
        if first != NULL and same_place(first[0], job[0]):
            if first.filled:
                copy(plan, first, job)
            continue
        first = job
        if job.terminated:
            (<Generation>generation).masks.fill_stop(job.out)
            job.filled = True
        else:
            job.filled = (<Generation>generation).masks.fill_kept(job.instance, job.out)
        memset(job.out + job.words, 0, 4 * (plan.width - job.words))
        missing += not job.filled
    return missing


cdef void make_group(void* data, size_t number) noexcept nogil:
    """Makes a group's missing masks, each under a lock of its own."""
    cdef PlanC* plan = <PlanC*>data
    cdef GroupC* group = &plan.groups[number]
    cdef void* generation = plan.jobs[group.begin].generation
    cdef JobC* job
    cdef JobC* first = NULL
    cdef size_t k
    if group.is_busy:
        (<Generation>generation).arena.guard.lock()
        fill_group(plan, group)
        (<Generation>generation).arena.guard.unlock()
    for k in range(group.begin, group.end):
        job = &plan.jobs[k]
        if job.filled:
            continue
        if first != NULL and same_place(first[0], job[0]):
            copy(plan, first, job)
            continue
        first = job
        (<Generation>generation).arena.guard.lock()
        (<Generation>generation).masks.fill(job.instance, job.out)
        job.error = (<Generation>generation).arena.take_error()
        (<Generation>generation).arena.guard.unlock()
        job.filled = True


cdef void copy(PlanC* plan, const JobC* made, JobC* job) noexcept nogil:
    """The mask of one place, for another job of it."""
    memcpy(job.out, made.out, 4 * plan.width)
    job.error, job.filled = made.error, True
