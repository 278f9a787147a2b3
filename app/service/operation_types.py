"""Answers of the routes for models, health, version, workers and modes, as types.

The routes make them (api). They are declared here for the OpenAPI document, which is below.
"""

from typing import Annotated, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypeAliasType, TypedDict

from adapters.workers import Half

from ..pool import CircuitState, Service, Status
from ..settings import ConstraintMode, UnenforcedStrict
from .served_models import ModelFacts


class ContextLength(TypedDict, total=False):
    max_model_len: int


class Model(ModelFacts, ContextLength):
    """A served model, or a LoRA adapter of one."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    root: Annotated[str, Field(description="The adapter's name at the workers, or the id.")]
    parent: Annotated[str | None, Field(description="The model of an adapter.")]
    aliases: list[str]


class MessagesModel(TypedDict):
    """A model as Anthropic describes it."""

    type: Literal["model"]
    id: str
    display_name: str
    created_at: str
    lifecycle: Literal["active"]
    max_input_tokens: int | None
    max_tokens: int


class MessagesModelList(TypedDict):
    data: list[MessagesModel]
    has_more: Literal[False]
    first_id: str | None
    last_id: str | None


class ModelList(TypedDict):
    object: Literal["list"]
    data: list[Model]


class Alive(TypedDict):
    status: Literal["ok"]


class RankState(TypedDict):
    """A data-parallel rank of a worker."""

    rank: int
    running: int


class WorkerState(TypedDict):
    """A worker, with more fields of its own server. ``half``: of generations, if it runs no whole
    ones.
    """

    name: str
    model: str
    description: str
    state: Service
    ready: bool
    reason: str | None
    circuit: CircuitState
    draining: bool
    running: int
    answers: int
    failures: int
    ranks: NotRequired[list[RankState]]
    half: NotRequired[Half]


class WorkerList(TypedDict):
    object: Literal["list"]
    data: list[WorkerState]
    waiting: NotRequired[int]


class Readiness(TypedDict):
    """The state of the gateway; models, workers and cache are for operators only."""

    status: Literal[Status, "draining"]
    models: NotRequired[dict[str, str]]
    constraints: NotRequired[dict[str, ConstraintMode]]
    workers: NotRequired[list[WorkerState]]
    cache: NotRequired[dict[str, int] | None]


MetricsText = TypeAliasType(
    "MetricsText",
    Annotated[str, Field(description="Metrics in the text format of Prometheus.")],
)


class Version(TypedDict):
    version: str
    formats: list[str]


class ConstraintState(TypedDict):
    """The mode of a model's constraints; ``setting``: the one after a restart."""

    model: str
    mode: ConstraintMode
    setting: ConstraintMode
    unenforced_strict: UnenforcedStrict


class ConstraintModes(TypedDict):
    object: Literal["list"]
    data: list[ConstraintState]
