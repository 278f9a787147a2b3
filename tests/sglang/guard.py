"""Runs a command in a folder, and ends all processes that it started.

    python -m tests.sglang.guard FOLDER COMMAND [ARGUMENT...]

The guard leads its own session; its parent holds the other end of its standard input. When that end
closes, also because the parent died (even by SIGKILL), or when the command ends, the guard kills
all processes of the session and exits with status 0.

Invariants       I1 what the command spawned becomes the guard's child when its parent dies, so
                 nothing is left for others to collect. I2 memory that was shared under a name goes
                 too: who is killed can't remove it.
Not here         logs: standard output and error are handed on as they are.
"""

import ctypes
import os
import subprocess
import sys
import threading
import time

from . import processes

#: Linux's prctl: orphans below this process become its children
SET_CHILD_SUBREAPER = 36


def main() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    folder, *command = sys.argv[1:]
    child = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL)
    ended = threading.Event()
    threading.Thread(target=_tell_input, args=(ended,), daemon=True).start()
    threading.Thread(target=_tell_child, args=(child, ended), daemon=True).start()
    ended.wait()
    _end_all()
    os._exit(0)  # a thread may still wait for input; nothing is left to be closed


def _tell_input(ended: threading.Event) -> None:
    sys.stdin.buffer.read()
    ended.set()


def _tell_child(child: subprocess.Popen[bytes], ended: threading.Event) -> None:
    sys.stderr.write(f"the command ended with status {child.wait()}\n")
    sys.stderr.flush()
    ended.set()


def _end_all() -> None:
    """Kill what is in the session beside the guard, until nothing lives and all is collected."""
    own, shared = os.getpid(), set()
    while True:
        others = set(processes.of_session(own)) - {own}
        shared |= {path for process in others for path in processes.shared_memory(process)}
        for process in others:
            processes.kill(process)
        if _collected() and not others:
            break
        time.sleep(0.005)
    for path in shared:
        path.unlink(missing_ok=True)


def _collected() -> bool:
    """Takes the status of every child that is dead; whether none is left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


if __name__ == "__main__":
    main()
