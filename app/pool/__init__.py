"""Workers of one model as one: policies, slots, retries, ejection, health checks, discovery."""

from .discovery import Discovery
from .member import CircuitState, Member, Service
from .paired_pool import HALF_PROBE, PairedPool
from .policies import make_policy
from .recovery import Observer
from .retry_budget import RetryBudget
from .worker_pool import Pool, Status
