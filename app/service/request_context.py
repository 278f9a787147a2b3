"""Whose request is served, and what it costs: facts on which limits, caches and stored data depend.

Required and frozen: an identity is never a default, and a step cannot change it for a later one.
The record of the request (observability) only observes.
"""

from dataclasses import dataclass

from ..observability import RequestRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """``client``: its id. ``priority``: of its key, in the queues of workers: larger ones go first.
    ``model``: the id that answers show. ``size``: bytes of the body, and of the conversation that
    it continues. ``adapter``: the LoRA adapter that answers, by the name that workers have for it;
    None: the model itself.
    """

    client: str
    priority: int
    model: str
    size: int
    record: RequestRecord
    adapter: str | None = None
