"""Threads for the slow steps of requests, which clients share fairly; deadlines; ends of tasks;
caches of any thread.
"""

from .deadline_sweep import Bound, Deadline, DeadlineSweep
from .fair_queue import FairQueue, Job
from .fair_threads import gil_released, give_way
from .offload import LARGE_BYTES, Offload
from .recent_values import RecentValues, bytes_of_json
from .tasks import cancel
