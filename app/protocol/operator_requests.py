"""The bodies of requests of operators: workers, and the mode of constraints."""

from pydantic import Field

from ..settings import ConstraintMode
from .validation import Exact


class DrainRequest(Exact):
    """`worker`: a name of GET /admin/workers. `force`: even if no other worker is available."""

    worker: str = Field(min_length=1, max_length=1000)
    force: bool = False


class UndrainRequest(Exact):
    """A worker by name."""

    worker: str = Field(min_length=1, max_length=1000)


class ModeRequest(Exact):
    """`model`: a name or alias; not needed if there is only one model."""

    model: str | None = Field(default=None, min_length=1, max_length=1000)
    mode: ConstraintMode
