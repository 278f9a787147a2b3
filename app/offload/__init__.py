"""Threads for the slow steps of requests, which clients share fairly."""

from .fair_threads import gil_released, give_way
from .offload import HUGE_BYTES, LARGE_BYTES, MOST_LARGE, MOST_SMALL, SMALL_BYTES, Offload

__all__ = [
    "HUGE_BYTES",
    "LARGE_BYTES",
    "MOST_LARGE",
    "MOST_SMALL",
    "SMALL_BYTES",
    "Offload",
    "gil_released",
    "give_way",
]
