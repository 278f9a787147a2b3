"""The pool of memory behind the engine's vectors, as Python sees it."""

import threading


def keep_ready(*, bint wait=False):
    """Has memory touched, if there is less than half a region of it: by a thread of its own, or
    waiting for it.
    """
    if not Pool.instance().claim():
        return
    if wait:
        prepare()
        return
    try:
        threading.Thread(target=prepare, name="engine-memory", daemon=True).start()
    except RuntimeError:
        # no thread is to be had: whoever takes memory touches it
        Pool.instance().decline()


def prepare():
    """Touches a region of memory: the one in use, or the next."""
    with nogil:
        Pool.instance().prepare()


def stats():
    """Bytes that vectors hold, and bytes mapped for them."""
    return {"taken": Pool.instance().taken(), "mapped": Pool.instance().mapped()}
