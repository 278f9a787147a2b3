"""Admission control: which request runs, which one waits, and which one is refused."""

from .admission import Admission, Ticket
from .rate_limits import Limiter, MemoryLimiter
from .redis_limiter import RedisLimiter
