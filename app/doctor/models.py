"""A model: its tokenizer and chat template, and for each worker the compile of a tool, an answer,
an image, and its scheduling; then its LoRA adapters.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any, TypeVar

from ..composition import build
from ..errors import ApiError
from ..observability import Logger, Metrics, RequestRecord
from ..pool import Member
from ..protocol import ChatRequest
from ..service import RequestContext, ServedModel
from ..settings import GatewaySettings, ModelNames, ModelSettings, SettingError, Settings
from .adapters import examine_adapters
from .finding import Finding
from .images import examine_images
from .scheduling import examine_priorities, examine_ranks, examine_salts

#: a finding, or None
Asked = TypeVar("Asked", bound=Finding | None)

#: seconds for the first health check of all workers, and for a model that this process loads
START_SECONDS = 120.0
#: seconds for a worker's answer, which has at most MAX_TOKENS
ANSWER_SECONDS = 60.0
MAX_TOKENS = 128
_TOOL = {
    "type": "function",
    "function": {
        "name": "switchyard_probe",
        "description": "A probe of the installation.",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"works": {"type": "boolean"}},
            "required": ["works"],
            "additionalProperties": False,
        },
    },
}


async def examine_model(
    settings: Settings, model: ModelSettings, logger: Logger
) -> AsyncIterator[Finding]:
    """Yield the findings about one model and its workers."""
    place = f"model {model.served_model}"
    one = replace(settings, models=(model,))
    try:
        components = await asyncio.to_thread(build, one, Metrics(), logger)
    except SettingError as error:
        for sentence in error.sentences:
            yield Finding("error", place, sentence)
        return
    try:
        async with asyncio.timeout(START_SECONDS):
            await components.start()
        (served,) = components.models
        for finding in _conversation(served, place):
            yield finding
        async for finding in _workers(settings.gateway, served, place):
            yield finding
        async for finding in examine_adapters(ModelNames(settings.models), served):
            yield finding
    except SettingError as error:
        for sentence in error.sentences:
            yield Finding("error", place, sentence)
    except TimeoutError:
        yield Finding("error", place, f"it was not ready within {START_SECONDS:g} s")
    finally:
        await components.aclose()


def _conversation(served: ServedModel, place: str) -> Iterator[Finding]:
    """Yield the findings about the tokenizer, its format and the chat template."""
    tokenizer = served.tokenizer
    source = served.settings.tokenizer_source or "built-in"
    yield Finding("ok", place, f"tokenizer {source}: {tokenizer.vocabulary.size:,} tokens")
    evidence, name = tokenizer.evidence, tokenizer.wire.name
    if evidence.taught is not None:
        yield Finding(
            "warning",
            place,
            "the chat template shows calls in an unknown syntax, "
            f"{evidence.shown!r} ({evidence.failure}); prompts teach {evidence.taught!r} instead",
            "set the model's `format` if it is that of a known family",
        )
    elif evidence.basis == "unknown":
        yield Finding(
            "error",
            place,
            "requests with tools are refused: the chat template shows calls in an unknown syntax, "
            f"{evidence.shown!r} ({evidence.failure})",
            "set the model's `format` to the family that it was trained on",
        )
    elif evidence.basis == "none":
        yield Finding(
            "warning",
            place,
            f"the model has no call syntax of its own; prompts teach it {name!r}",
            "set the model's `format` if it was trained on another one",
        )
    elif evidence.family is not None:
        yield Finding(
            "warning",
            place,
            f"no known format writes the model's calls, {evidence.shown!r}; one was made of its "
            + "; ".join([evidence.source, *evidence.notes]),
            "compare some answers, or set the model's `format` to that of a known family",
        )
    else:
        yield Finding("ok", place, f"format {name} ({evidence.basis})")
    if tokenizer.profile is None and served.settings.worker_kind != "noise":
        advice = "use the tokenizer folder of the chat model, not that of the base model"
        yield Finding("warning", place, "the tokenizer has no chat template", advice)
    if served.settings.worker_kind == "noise":
        yield Finding(
            "warning",
            place,
            "the noise worker draws random tokens; its answers are meaningless",
            "set SWITCHYARD_MODEL to serve a model",
        )


async def _workers(
    gateway: GatewaySettings, served: ServedModel, place: str
) -> AsyncIterator[Finding]:
    settings = served.settings
    names = (settings.dns_workers, settings.dns_prefill_workers)
    for side, dns in zip(served.pool.sides, names, strict=False):
        if not side:
            text = f"no address behind {', '.join(dns)}"
            yield Finding("error", place, text, "check the name and that workers run")
    for member in chain(*served.pool.sides):
        place = f"worker {member.name}"
        if not member.health.ready:
            reason = member.health.reason or "not ready"
            yield Finding("error", place, reason, _advice(reason))
            continue
        for finding in _software(member, place):
            yield finding
        async for finding in _answers(served, member, place):
            yield finding
        further = (
            await examine_ranks(member),
            await examine_salts(served, member),
            await examine_priorities(gateway, served, member),
        )
        for each in further:
            if each is not None:
                yield each


async def _answers(served: ServedModel, member: Member, place: str) -> AsyncIterator[Finding]:
    """Yield the findings of requests to a worker, unless no worker of the other half is ready."""
    for half, side in zip(("decode", "prefill"), served.pool.sides, strict=False):
        if not any(each.health.ready for each in side):
            advice = f"see the findings about {half} servers"
            yield Finding("warning", place, f"it was not asked: no {half} server is ready", advice)
            return
    with _alone(served, member):
        call = await _asked(_call(served, member), place, "a tool")
        image = await _asked(examine_images(served, member), place, "an image")
    yield call
    if image is not None:
        yield image


def _software(member: Member, place: str) -> Iterator[Finding]:
    """Yield the versions of a server with our plug-in, and what its plug-in warns of."""
    details = member.health.details
    plugin = details.get("switchyard")
    if isinstance(plugin, dict) and plugin.get("sglang_tested") is True:
        versions = f"SGLang {details.get('version')} and its plug-in {plugin.get('version')}"
        yield Finding("ok", place, f"{versions} were tested together")
    for warning in details.get("warnings", ()):
        yield Finding("warning", place, str(warning))


@contextmanager
def _alone(served: ServedModel, member: Member) -> Iterator[None]:
    """Let no other worker take requests; of a pair, no other worker of its side."""
    side = next(side for side in served.pool.sides if member in side)
    others = [each for each in side if each is not member]
    for each in others:
        each.is_draining = True
    try:
        yield
    finally:
        for each in others:
            each.is_draining = False


async def _asked(asked: Awaitable[Asked], place: str, what: str) -> Asked | Finding:
    """Return the finding of a request with a tool or an image, or that it fails."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return await asked
    except ApiError as error:
        text = f"a request with {what} fails: {error.message}"
    except TimeoutError:
        text = f"no answer to a request with {what} within {ANSWER_SECONDS:g} s"
    return Finding("error", place, text, "see the log of the worker")


async def _call(served: ServedModel, member: Member) -> Finding:
    """Ask one worker for a call of a tool, as the gateway would."""
    asked = ChatRequest.model_validate(_request(served.name))
    record = RequestRecord("doctor")
    context = RequestContext(client="doctor", priority=0, model=served.name, size=0, record=record)
    start = time.perf_counter()
    answer = await served.chat.complete(asked, context)
    took = 1000 * (time.perf_counter() - start)
    usage = answer.body["usage"]
    limit = member.worker.max_model_len
    length = "" if limit is None else f", context {limit:,} tokens"
    text = f"a tool call of {usage['completion_tokens']} tokens in {took:,.0f} ms{length}"
    half = served.pool.half_of(member)
    if half is not None:
        text += f", as the {half} half with {_others(served, record, member)}"
    return Finding("ok", f"worker {member.name}", text)


def _others(served: ServedModel, record: RequestRecord, member: Member) -> str:
    """Return the workers that ran the other half of an answer."""
    own = {each.name for side in served.pool.sides if member in side for each in side}
    return ", ".join(
        dict.fromkeys(each.worker for each in record.attempts if each.worker not in own)
    )


def _request(model: str) -> dict[str, Any]:
    return {
        "model": model,
        "messages": [{"role": "user", "content": "Call the tool."}],
        "tools": [_TOOL],
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "max_completion_tokens": MAX_TOKENS,
    }


def _advice(reason: str) -> str:
    """Return what to do about a worker that is not ready."""
    if "--disaggregation-mode" in reason:
        return (
            "name prefill servers in the model's `prefill_workers` and decode servers in "
            "`workers`, or start the server with that option"
        )
    if "plug-in's vocabulary" in reason:
        return "give the gateway the tokenizer of the model that the worker serves"
    if "plug-in's" in reason:
        return "install one version of Switchyard in the gateway and in the worker"
    if "grammar backend" in reason or "plug-in" in reason:
        return (
            "install Switchyard beside SGLang and start it with `--grammar-backend switchyard`, or "
            "set the model's `grammar_backend`"
        )
    return "check that the server runs, its address and the network; its log may say more"
