"""The bodies of requests of operators: workers, and the mode of constraints."""

from typing import Annotated

from pydantic import AfterValidator, Field

from adapters.workers import (
    MAX_NAME_CHARS,
    MAX_PATH_CHARS,
    is_adapter_name,
    is_adapter_path,
)

from ..settings import ConstraintMode
from .validation import Exact


def _usable_name(name: str) -> str:
    if not is_adapter_name(name):
        raise ValueError("must be printable, without spaces around it, and not '*'")
    return name


def _usable_path(path: str) -> str:
    if not is_adapter_path(path):
        raise ValueError("must be printable, without spaces around it")
    return path


AdapterName = Annotated[
    str, Field(min_length=1, max_length=MAX_NAME_CHARS), AfterValidator(_usable_name)
]
AdapterPath = Annotated[
    str, Field(min_length=1, max_length=MAX_PATH_CHARS), AfterValidator(_usable_path)
]


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


class UnloadAdapterRequest(Exact):
    """`model`: a name or alias; not needed if there is only one model. `name`: of the adapter, as
    workers have it. `worker`: a name of GET /admin/workers; without it, all workers of the model.
    """

    model: str | None = Field(default=None, min_length=1, max_length=1000)
    name: AdapterName
    worker: str | None = Field(default=None, min_length=1, max_length=1000)


class LoadAdapterRequest(UnloadAdapterRequest):
    """`path`: of the adapter's files on the worker, or its name on Hugging Face. `pinned`: the
    worker keeps it in the GPU's memory.
    """

    path: AdapterPath
    pinned: bool = False
