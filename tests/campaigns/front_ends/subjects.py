"""The front ends that a request reaches, with the gateway's limits and a real vocabulary.

A front end prepares a case outside of the measurement (a body is parsed before any compile) and
returns work that takes a budget.
"""

import io
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from random import Random
from typing import Any, TypeVar

from pydantic import ValidationError

from adapters.formats import FORMATS, Format, get_format
from app.common_form import common_chat
from app.composition.engines import limits_of
from app.constraints.planner import ConstraintPlanner
from app.constraints.requested_output import requested_output
from app.constraints.tenant_caches import TenantCaches
from app.errors import ApiError
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.protocol.chat_request import ChatRequest
from app.protocol.explain_request import ExplainRequest
from app.service.check_service import CheckService
from app.service.explain_service import ExplainService
from app.settings import GatewaySettings, read_settings
from engine import (
    Cancelled,
    Compiled,
    Compiler,
    InternalError,
    LimitExceeded,
    Limits,
    Matcher,
    Namespaces,
    Relaxations,
    SpecError,
    UnsupportedSchema,
    WorkBudget,
)
from tests.app.planners import make_planner
from tests.vocabularies import VOCABULARIES, special_texts

from .measured import Work

#: syntaxes of grammars
SYNTAXES = ("lark", "ebnf", "gbnf")
FRONT_ENDS = (
    *SYNTAXES, "regex", "choice", "structural_tag", "json_schema", "request", "check", "explain",
)  # fmt: skip
#: masks that are computed, and tokens that are accepted
MASKS = 5
MESSAGES = [{"role": "user", "content": "Answer in JSON."}]

Result = TypeVar("Result")


@dataclass(frozen=True)
class Case:
    """The task of a worker. ``value``: a text or a JSON value, as its front end takes it."""

    name: str
    front_end: str
    value: Any


class InlineScheduler:
    """A compile scheduler that runs all work of one request in this thread, each with a budget of
    its own; all are cancelled with the first one.
    """

    def __init__(self, budget: WorkBudget, limits: Limits) -> None:
        self._first, self._limits = budget, limits

    async def run(self, client: str, work: Callable[[WorkBudget], Result]) -> Result:
        budget = self._first
        if budget.spent:
            budget = WorkBudget(self._limits)
            budget.on_pause = self._first.check
        return work(budget)


class PlainTokenizer:
    """The tokenizer of a service: encodes by the longest token that fits."""

    profile = None

    def __init__(self, vocabulary: str, wire: Format) -> None:
        self.vocabulary = VOCABULARIES[vocabulary]()
        self.special_texts = tuple(sorted(special_texts(vocabulary)))
        self.wire = wire
        self._ids = {token: number for number, token in enumerate(self.vocabulary.tokens) if token}

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        data, at, found = text.encode("utf-8", "replace"), 0, []
        while at < len(data):
            size = next(
                n for n in range(min(16, len(data) - at), 0, -1) if data[at : at + n] in self._ids
            )
            found.append(self._ids[data[at : at + size]])
            at += size
        return found


class Subjects:
    """The compiler and the services of one vocabulary."""

    def __init__(self, vocabulary: str) -> None:
        self.limits = limits_of(GatewaySettings())
        self.caches = TenantCaches(
            Compiler(VOCABULARIES[vocabulary](), limits=self.limits), Relaxations(self.limits)
        )
        self.tokenizer = PlainTokenizer(vocabulary, get_format("plain"))
        self._settings = read_settings(noise_seed=1).models[0]
        self._namespaces = Namespaces(self.caches, lambda: self.caches, most=0)

    def forget(self) -> None:
        """Forget grammars, refusals and relaxations, so that the next run does all work again."""
        self.caches.compiler._grammars.forget()
        self.caches = TenantCaches(self.caches.compiler, Relaxations(self.limits))
        self._namespaces = Namespaces(self.caches, lambda: self.caches, most=0)

    def work(self, case: Case) -> Work | None:
        """Return the work of a case; None: the protocol refuses it before any work."""
        made = getattr(self, f"_{case.front_end}", None)
        if made is not None:
            return made(case.value)
        compiler, value, syntax = self.caches.compiler, case.value, case.front_end
        return lambda budget: compiler.compile_grammar(value, syntax, budget=budget)

    def _regex(self, value: str) -> Work:
        return lambda budget: self.caches.compiler.compile_regex(value, budget=budget)

    def _choice(self, value: list[str]) -> Work:
        return lambda budget: self.caches.compiler.compile_choice(value, budget=budget)

    def _structural_tag(self, value: Any) -> Work:
        tag = {"type": "structural_tag", "format": value}
        return lambda budget: self.caches.compiler.compile_structural_tag(tag, budget=budget)

    def _json_schema(self, value: Any) -> Work:
        return lambda budget: self.caches.compiler.compile_json_schema(value, budget=budget)

    def _check(self, value: Any) -> Work | None:
        if not isinstance(value, dict | bool):
            return None

        def work(budget: WorkBudget) -> object:
            service = CheckService(self._namespaces, "openai", InlineScheduler(budget, self.limits))
            return run_now(service.check(value, "", strict=True))

        return work

    def _request(self, value: Any) -> Work | None:
        """``value``: fields of a chat completion, and "wire", the format of the model."""
        if not isinstance(value, dict):
            return None
        fields = dict(value)
        name = fields.pop("wire", "hermes")
        # a mutation may have changed the name
        wire = get_format(name if name in FORMATS else "hermes")
        request = _validated(ChatRequest, {"model": "m", "messages": MESSAGES, **fields})
        if request is None:
            return None

        def work(budget: WorkBudget) -> object:
            output = requested_output(common_chat(request), self._settings)
            planner = self._planner(wire, budget)
            return run_now(planner.compiled(planner.find(output), "")).compiled

        return work

    def _explain(self, value: Any) -> Work | None:
        """``value``: the body of an explanation."""
        request = _validated(ExplainRequest, value)
        if request is None:
            return None

        def work(budget: WorkBudget) -> object:
            service = ExplainService(
                settings=self._settings, tokenizer=self.tokenizer,
                planner=self._planner(self.tokenizer.wire, budget), namespaces=self._namespaces,
                scheduler=InlineScheduler(budget, self.limits), offload=_Inline(),
            )  # fmt: skip
            return run_now(service.explain(request, 1, ""))

        return work

    def _planner(self, wire: Format, budget: WorkBudget) -> ConstraintPlanner:
        return make_planner(
            self.caches.compiler, wire, self.tokenizer.special_texts, Metrics(),
            make_logger("error", io.StringIO()), scheduler=InlineScheduler(budget, self.limits),
            relaxations=self.caches.relaxations,
        )  # fmt: skip


class _Inline:
    """Threads of slow steps, without the threads."""

    async def run(self, client: str, size: int, step: Callable[[], Result]) -> Result:
        return step()


def run_now(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits")


def _validated(kind: type[Any], fields: Any) -> Any:
    try:
        return kind.model_validate(fields)
    except (ValidationError, ApiError):
        return None


def walk(compiled: Compiled, name: str) -> Work:
    """Return work that computes the first masks and accepts tokens out of them. Its result is the
    CPU time of the slowest mask: the worker computes one after the other.
    """
    rng, words = Random(name), compiled.vocabulary.words
    stops = set(compiled.vocabulary.stop_token_ids)

    def work(_: WorkBudget) -> float:
        matcher, slowest = Matcher(compiled), 0.0
        bitmask = bytearray(4 * words)
        row = memoryview(bitmask).cast("i", (1, words))
        for _ in range(MASKS):
            begin = time.thread_time()
            matcher.fill_bitmask(row)
            slowest = max(slowest, time.thread_time() - begin)
            token = _drawn(rng, bitmask)
            assert token is not None, "an empty mask"
            if token in stops:
                break
            assert matcher.accept_token(token), f"a token of the mask is rejected: {token}"
        return slowest

    return work


def _drawn(rng: Random, bitmask: bytearray) -> int | None:
    """Return an allowed token: the first one after a random place."""
    first = rng.randrange(len(bitmask))
    for at in (*range(first, len(bitmask)), *range(first)):
        if bitmask[at]:
            return 8 * at + rng.choice([bit for bit in range(8) if bitmask[at] >> bit & 1])
    return None


def refusal_of(error: BaseException) -> str | None:
    """Return the name of a refusal; None: the error may not reach a client."""
    if isinstance(error, InternalError):
        return None
    if isinstance(error, UnsupportedSchema):
        return f"unsupported {error.keyword[:40]}"
    if isinstance(error, SpecError):
        return "invalid"
    if isinstance(error, LimitExceeded):
        return error.limit
    if isinstance(error, Cancelled):
        return "cancelled"
    if isinstance(error, ApiError) and error.status < 500:
        return f"{error.status} {error.code}"
    return None
