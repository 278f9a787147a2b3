"""Turns: long work under the GIL lets other threads run in between.

A thread that wants the GIL asks for it after five milliseconds; compiled code that never calls back
into Python would not hear of it before it is done. A schema may take a second, and in a worker the
scheduler of all requests is one of those that wait.

Cost   where nobody waits, about 50 ns.
"""


cdef inline void give_way() noexcept:
    """Lets a thread that waits for the GIL have it."""
    with nogil:
        pass
