"""Uses of a model that generate nothing: a body in, an answer out, without a turn (answering)."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from fastapi import Request

from ..service import RequestContext, ServedModel, ServedModels
from .body import BodyReader
from .exchange import exchange_of, until_client_leaves
from .surfaces import Body

Result = TypeVar("Result")


async def used(
    kind: type[Body],
    request: Request,
    models: ServedModels,
    bodies: BodyReader,
    use: Callable[[ServedModel], Callable[[Body, RequestContext], Coroutine[Any, Any, Result]]],
) -> Result:
    """Return the answer to a body of this kind; its headers name what was left out.

    ``use``: returns the use case of a model. Raises ApiError.
    """
    asked, size = await bodies.read(kind, request)
    exchange = exchange_of(request)
    named = models.usable(asked.model, exchange.client)
    work = use(named.model)(asked, exchange.context(named.id, size, named.adapter))
    answer = await until_client_leaves(work, request)
    exchange.name_ignored()
    return answer
