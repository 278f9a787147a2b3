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
    for name, lacking in _incomplete(served).items():
        lack = f"no {' and no '.join(lacking)} has it"
        place = f"adapter {NamedModel(served, name).id}"
        advice = (
            "load it with POST /admin/adapters/load, or start the servers with it in `--lora-paths`"
        )
        if name in expected:
            advice += ", or take it out of the model's `adapters`"
            yield Finding("error", place, f"a setting names it, and {lack}", advice)
        else:
            yield Finding("warning", place, f"it is not served: {lack}", advice)
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


def _incomplete(served: ServedModel) -> dict[str, list[str]]:
    """Return the adapters that no worker has, or none of one side of a pair, and which lack it."""
    sides = served.pool.sides
    kinds = ["worker"] if len(sides) == 1 else ["decode server", "prefill server"]
    had = [{name for member in side for name in member.worker.adapters} for side in sides]
    names = dict.fromkeys([*served.settings.adapters.values(), *sorted(set().union(*had))])
    found = {
        name: [kind for kind, names in zip(kinds, had, strict=True) if name not in names]
        for name in names
    }
    return {name: lacking for name, lacking in found.items() if lacking}


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
