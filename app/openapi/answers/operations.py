"""Answers of all other routes: models, tokens, grammars, health, workers, the cache."""

from typing import Any, Literal

from pydantic import Field, RootModel

from .base import ABSENT, Answer, ErrorObject


# -- models and tokens -----------------------------------------------------------------------------
class FormatEvidence(Answer):
    basis: str = Field(description="The source of the detected format.")
    shown: str
    failure: str = ABSENT


class Model(Answer):
    """A served model."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    aliases: list[str]
    format: str = Field(description="The syntax of its calls.")
    format_evidence: FormatEvidence
    chat_template: dict[str, Any] | None = Field(description="Limitations of its chat template.")
    constraints: Literal["enforce", "shadow", "off"]
    max_model_len: int = ABSENT


class ModelList(Answer):
    object: Literal["list"]
    data: list[Model]


class TokenizeResponse(Answer):
    count: int
    max_model_len: int | None
    tokens: list[int]
    token_strs: list[str] | None


class DetokenizeResponse(Answer):
    prompt: str


# -- grammars --------------------------------------------------------------------------------------
class RefusedKeyword(Answer):
    pointer: str
    keyword: str
    reason: str
    relaxed: list[str]


class SchemaMistake(Answer):
    pointer: str
    reason: str


class KeywordWithoutEffect(Answer):
    pointer: str
    keyword: str
    reason: str


class GrammarCost(Answer):
    rules: int
    ir_nodes: int
    states: int
    edges: int
    bytes: int
    compile_ms: float
    first_mask_ms: float


class StrictReport(Answer):
    profile: str
    is_taken: bool = Field(description="Whether `strict: true` would be accepted.")
    violations: list[SchemaMistake]


class GrammarCheck(Answer):
    """Which keywords of a schema are enforced."""

    object: Literal["grammar.check"]
    is_enforced: bool
    enforced: dict[str, int] = Field(description="Uses of each enforced keyword.")
    refused: list[RefusedKeyword]
    mistake: SchemaMistake | None
    annotations: list[KeywordWithoutEffect]
    more_annotations: int
    cost: GrammarCost | None
    strict: StrictReport = ABSENT


class WarmedRequest(Answer):
    index: int
    status: Literal["compiled", "refused", "skipped"]
    grammars: int
    masks: int
    compile_ms: float
    mask_ms: float
    relaxed: list[str]
    error: ErrorObject | None


class WarmupTotals(Answer):
    requests: int
    compiled: int
    refused: int
    skipped: int
    grammars: int
    masks: int
    compile_ms: float
    mask_ms: float
    seconds: float


class GrammarWarmup(Answer):
    """The result of a warm-up."""

    object: Literal["grammar.warmup"]
    requests: list[WarmedRequest]
    totals: WarmupTotals
    stored: bool | None = Field(description="Whether Redis has the results; null: no Redis.")


# -- operation -------------------------------------------------------------------------------------
class Alive(Answer):
    status: Literal["ok"]


class WorkerState(Answer):
    """A worker, with more fields of its own server."""

    name: str
    model: str
    description: str
    state: Literal["available", "draining", "unready", "ejected"]
    ready: bool
    reason: str | None
    circuit: Literal["closed", "open", "half-open"]
    draining: bool
    running: int
    answers: int
    failures: int


class Readiness(Answer):
    """The state of the gateway; models, workers and cache are for operators only."""

    status: Literal["ok", "degraded", "unready", "draining"]
    models: dict[str, str] = ABSENT
    constraints: dict[str, Literal["enforce", "shadow", "off"]] = ABSENT
    workers: list[WorkerState] = ABSENT
    cache: dict[str, int] | None = ABSENT


class Version(Answer):
    version: str
    formats: list[str]


class MetricsText(RootModel[str]):
    """Metrics in the text format of Prometheus."""


class WorkerList(Answer):
    object: Literal["list"]
    data: list[WorkerState]
    waiting: int = ABSENT


class ConstraintState(Answer):
    """The mode of a model's constraints; ``setting``: the one after a restart."""

    model: str
    mode: Literal["enforce", "shadow", "off"]
    setting: Literal["enforce", "shadow", "off"]
    unenforced_strict: Literal["refuse", "answer"]


class ConstraintModes(Answer):
    object: Literal["list"]
    data: list[ConstraintState]


class RequestFacts(Answer):
    """The known facts of a request; unknown ones are absent. ``key``: the name of its
    API key; ``token_ms``: the mean of the tokens after the first; ``workers``: those asked, in
    order; ``error``: the code of the error that ended it.
    """

    id: str
    model: str = ABSENT
    key: str = ABSENT
    stream: bool = ABSENT
    queue_ms: float = ABSENT
    prepare_ms: float = ABSENT
    first_token_ms: float = ABSENT
    token_ms: float = ABSENT
    prompt_tokens: int = ABSENT
    cached_tokens: int = ABSENT
    completion_tokens: int = ABSENT
    reasoning_tokens: int = ABSENT
    backend: str = ABSENT
    workers: list[str] = ABSENT
    finish_reasons: list[str] = ABSENT
    error: str = ABSENT


class RunningRequest(RequestFacts):
    phase: Literal["reading", "queued", "preparing", "waiting", "answering"]
    age_ms: float


class EndedRequest(RequestFacts):
    route: str
    status: int
    ms: float


class Requests(Answer):
    """Requests for answers; of one process, if there are several."""

    object: Literal["requests"]
    process: int
    running: list[RunningRequest]
    recent: list[EndedRequest]


class VocabularyReport(Answer):
    fingerprint: str
    tokens: int


class CompileCounts(Answer):
    made: int
    known: int


class CacheTimes(Answer):
    saved_ms: float
    read_ms: float
    load_ms: float
    made_ms: float


class CacheReport(Answer):
    """The use of the cache that replicas share."""

    object: Literal["cache"]
    model: str
    version: str
    format: str
    vocabulary: VocabularyReport
    artifact_version: int
    following: bool | None = Field(description="null: no Redis.")
    log: dict[str, int] | None
    compiles: CompileCounts
    artifacts: dict[str, dict[str, int]]
    time: CacheTimes
