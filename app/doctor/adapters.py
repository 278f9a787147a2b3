"""Whether each LoRA adapter of a model answers, and whether workers have those of its settings."""

import asyncio
import time
from collections.abc import AsyncIterator

from ..errors import ApiError
from ..observability import RequestRecord
from ..protocol import ChatRequest
from ..service import NamedModel, RequestContext, ServedModel
from ..settings import ModelNames
from .finding import Finding

#: adapters that are asked: those of settings, then others by name
MAX_ASKED = 50
#: seconds until the one token of an adapter, whose weights may have to be loaded
ANSWER_SECONDS = 60.0


async def examine_adapters(names: ModelNames, served: ServedModel) -> AsyncIterator[Finding]:
    """Yield the findings about the adapters of a model. ``names``: those of all models."""
    expected = dict.fromkeys(served.settings.adapters.values())
    for name in expected:
        if not served.pool.has_adapter(name):
            yield Finding(
                "error",
                f"adapter {NamedModel(served, name).id}",
                "a setting names it, and no worker has it",
                "start the servers with it in `--lora-paths`, load it with "
                "POST /admin/adapters/load, or take it out of the model's `adapters`",
            )
    found = served.pool.adapters
    for name in found:
        if not names.leads_to(served.name, name):
            yield Finding(
                "warning",
                f"adapter {name} of model {served.name}",
                f"it is not served: {NamedModel(served, name).id!r} means a model or another "
                "adapter",
                "give the adapter another name at its servers",
            )
    present = [name for name in found if names.leads_to(served.name, name)]
    present.sort(key=lambda name: name not in expected)
    for name in present[:MAX_ASKED]:
        yield await _asked(NamedModel(served, name), workers=len(found[name]))
    if (left := len(present) - MAX_ASKED) > 0:
        yield Finding("ok", f"model {served.name}", f"{left:,} more adapters were not asked")


async def _asked(named: NamedModel, *, workers: int) -> Finding:
    """Ask an adapter for one token. ``workers``: the number of those that have it."""
    place = f"adapter {named.id}"
    asked = ChatRequest.model_validate(
        {
            "model": named.id,
            "messages": [{"role": "user", "content": "Hello"}],
            "max_completion_tokens": 1,
        }
    )
    record = RequestRecord("doctor")
    context = RequestContext(
        client="doctor", priority=0, model=named.id, size=0, record=record, adapter=named.adapter
    )
    start = time.perf_counter()
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            await named.model.chat.complete(asked, context)
    except ApiError as error:
        return Finding("error", place, f"a request fails: {error.message}", "see the workers' logs")
    except TimeoutError:
        return Finding("error", place, f"no answer within {ANSWER_SECONDS:g} s")
    took = 1000 * (time.perf_counter() - start)
    return Finding("ok", place, f"a token in {took:,.0f} ms; workers that have it: {workers}")
