"""The pool of memory behind the engine's vectors, as Python sees it."""

import threading


def keep_ready():
    """Has the next region of memory touched by a thread of its own, if the one in use is half spent.

    The first call waits for it: a process begins with memory in hand.
    """
    if not Pool.instance().is_low():
        return
    if Pool.instance().mapped() == 0:
        prepare()
    else:
        threading.Thread(target=prepare, name="engine-memory", daemon=True).start()


def prepare():
    """Touches the next region of memory, unless one stands ready."""
    with nogil:
        Pool.instance().prepare()


def stats():
    """Bytes that vectors hold, and bytes mapped for them."""
    return {"taken": Pool.instance().taken(), "mapped": Pool.instance().mapped()}
