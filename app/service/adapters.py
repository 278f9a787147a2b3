"""The LoRA adapters of a gateway for operators: which worker has which, loading and unloading.

A worker that restarts has lost what was loaded; its next health check shows that.

Not here   what a server is asked (adapters.workers), the ids of adapters (served_models).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from adapters.workers import AdapterHost, AdapterOutcome

from ..errors import ApiError, bad_request
from ..pool import Member
from ..protocol import LoadAdapterRequest, UnloadAdapterRequest
from ..settings import id_of
from .served_models import NamedModel, ServedModel, ServedModels


class AdapterPlace(TypedDict):
    worker: str
    path: Annotated[str, Field(description="Where the worker found its files.")]


class AdapterState(TypedDict):
    id: Annotated[str | None, Field(description="Null: a model's id looks the same, and wins.")]
    model: str
    name: Annotated[str, Field(description="The name that workers have for it.")]
    aliases: list[str]
    workers: list[AdapterPlace]


class AdapterList(TypedDict):
    object: Literal["list"]
    data: list[AdapterState]


class WorkerOutcome(TypedDict):
    worker: str
    done: bool
    reason: Annotated[str, Field(description="Why not.")]


class AdapterChange(TypedDict):
    """The outcome at each worker. `failed`: the number of those that did not do it."""

    object: Literal["adapter.change"]
    id: str
    failed: int
    data: list[WorkerOutcome]


def states(models: ServedModels) -> AdapterList:
    """Return all adapters that a worker has, or that a setting names. One that only one side of a
    pair has is among them, and not served.
    """
    data = [_state(models, model, name) for model in models for name in _names(model)]
    return {"object": "list", "data": data}


async def load(models: ServedModels, asked: LoadAdapterRequest) -> AdapterChange:
    """Load an adapter at one worker of a model, or at all.

    Raises:
        ApiError: 404, no such model or worker; 400, requests could not name the adapter.
    """
    model, members = _asked(models, asked)
    if not models.leads_to(model, asked.name):
        raise bad_request(
            f"Invalid 'name': the id '{id_of(model.name, asked.name)}' already means another model "
            "or adapter.",
            "name",
            "invalid_value",
        )

    def change(host: AdapterHost) -> Awaitable[AdapterOutcome]:
        return host.load_adapter(asked.name, asked.path, pinned=asked.pinned)

    return await _changed(model, asked.name, members, change)


async def unload(models: ServedModels, asked: UnloadAdapterRequest) -> AdapterChange:
    """Unload an adapter at one worker of a model, or at all: they get no more requests for it, and
    end those that run. Raises ApiError 404: no such model or worker.
    """
    model, members = _asked(models, asked)

    def change(host: AdapterHost) -> Awaitable[AdapterOutcome]:
        return host.unload_adapter(asked.name)

    return await _changed(model, asked.name, members, change)


def _asked(
    models: ServedModels, asked: UnloadAdapterRequest
) -> tuple[ServedModel, Sequence[Member]]:
    model = models.find_or_only(asked.model)
    everyone = list(chain(*model.pool.sides))
    if asked.worker is None:
        return model, everyone
    members = [member for member in everyone if member.name == asked.worker]
    if not members:
        raise ApiError(
            404,
            f"The model '{model.name}' has no worker named '{asked.worker[:200]}'; "
            "GET /admin/workers lists the names.",
            param="worker",
            code="worker_not_found",
        )
    return model, members


async def _changed(
    model: ServedModel,
    name: str,
    members: Sequence[Member],
    change: Callable[[AdapterHost], Awaitable[AdapterOutcome]],
) -> AdapterChange:
    async def outcome(member: Member) -> WorkerOutcome:
        found = AdapterOutcome(False, "this kind of worker has no adapters")
        if isinstance(member.worker, AdapterHost):
            found = await change(member.worker)
        return {"worker": member.name, "done": found.is_done, "reason": found.reason}

    data = await asyncio.gather(*map(outcome, members))
    return {
        "object": "adapter.change",
        "id": id_of(model.name, name),
        "failed": sum(not each["done"] for each in data),
        "data": data,
    }


def _names(model: ServedModel) -> list[str]:
    found = (member.worker.adapters for member in chain(*model.pool.sides))
    return sorted({*chain(*found), *model.settings.adapters.values()})


def _state(models: ServedModels, model: ServedModel, name: str) -> AdapterState:
    named = NamedModel(model, name)
    return {
        "id": named.id if models.leads_to(model, name) else None,
        "model": model.name,
        "name": name,
        "aliases": named.aliases,
        "workers": [
            {"worker": member.name, "path": member.worker.adapters[name]}
            for member in chain(*model.pool.sides)
            if member.has_adapter(name)
        ],
    }
