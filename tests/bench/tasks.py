"""Tasks for workers, which import them by name."""

import os
import time


def size(engine, loaded):
    return len(loaded.tokens)


def sleep(engine, loaded, seconds):
    time.sleep(seconds)
    return seconds


def leave(engine, loaded):
    os._exit(3)


def fail(engine, loaded):
    raise ValueError("no good")


def count(engine, loaded, to, wait_at=-1):
    for k in range(to):
        time.sleep(60 if k == wait_at else 0)
        yield k
