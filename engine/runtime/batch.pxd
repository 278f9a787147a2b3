"""Masks of many matchers at once.

Representation   a *job* is one matcher's mask. Jobs of one generation are a *group*: they would wait
                 for each other on its mutex, so one thread does them. Within a group, jobs of one
                 place (saturated instance, terminated or not) stand together: the first is
                 filled, the others are copies of it.
Cost             a look-up for each job beside its mask. Masks that are there are copied by the caller,
                 a group under one lock. For masks to be made, HEAVY of them in two groups or more,
                 helpers take part (groups.h), for half of the processors: below it, starting them
                 costs what they save.
Threads          what a matcher knows is read under the GIL. Masks that are there are copied under it,
                 where the mutex is free and they are not many; it is released before anything is
                 waited for or made. All but matchers under the mutex of the job's arena.
Not here         what a mask is (row_masks).
"""

from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

cdef struct JobC:
    void* generation          # borrowed; its matcher holds it
    uint32_t* out
    uint32_t number           # of the matcher in the batch
    uint32_t instance         # saturated once the group was looked at
    bint terminated
    bint filled
    bint looks                # what the text rules out must be taken off
    uint32_t words            # of the vocabulary
    uint32_t error

cdef struct GroupC:
    size_t begin, end         # of its jobs
    size_t missing            # masks to be made
    bint is_busy              # somebody else had the mutex: nobody has looked yet

cdef struct PlanC:
    vector[JobC] jobs
    vector[GroupC] groups       # those with masks to be made
    size_t missing            # of all groups
    size_t width              # words of a row of the bitmask
