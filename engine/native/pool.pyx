"""The pool of memory behind the engine's vectors, as Python sees it."""

import _thread


def keep_ready(*, bint wait=False):
    """Has memory touched, if there is less than half a region of it, and given back to the system, if
    much of it is free: by a thread of its own, or waiting for it.
    """
    if Pool.instance().claim() and not run(prepare, wait):
        Pool.instance().decline()
    if Pool.instance().claim_trim():
        run(trim, wait)


def run(work, bint wait):
    """Whether the work is done, or a thread does it. Where no thread is to be had, whoever takes memory
    touches it.
    """
    if wait:
        work()
        return True
    try:
        # not threading.Thread, whose start waits for the thread: one without memory never answers
        _thread.start_new_thread(work, ())
    except (RuntimeError, MemoryError):
        return False
    return True


def prepare():
    """Touches a region of memory: the one in use, or the next."""
    with nogil:
        Pool.instance().prepare()


def trim():
    """Gives free memory back to the system, the C library's included."""
    with nogil:
        Pool.instance().trim()


def stats():
    """Bytes that vectors hold, and bytes mapped for them."""
    return {"taken": Pool.instance().taken(), "mapped": Pool.instance().mapped()}
