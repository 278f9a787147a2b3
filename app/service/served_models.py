"""The models of a gateway, and finding one by its name or alias.

Invariants   I1 each name and alias stands for one model. I2 there is at least one model.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from adapters.workers import Worker

from ..access import Client
from ..constraints import ModeSwitch
from ..conversation import FormatEvidence, Tokenizer
from ..errors import bad_request, model_not_found
from ..pool import Pool, Status
from ..settings import ConstraintMode, ModelSettings
from .cache_report import CacheReport
from .chat_service import ChatService
from .check_service import CheckService
from .completion_service import CompletionService
from .explain_service import ExplainService
from .messages_service import MessagesService
from .responses_service import ResponsesService
from .tokenize_service import TokenizeService
from .warm_service import WarmService


class ModelFacts(TypedDict):
    format: Annotated[str, Field(description="The syntax of its calls.")]
    format_evidence: FormatEvidence
    chat_template: Annotated[
        dict[str, Any] | None, Field(description="Limitations of its chat template.")
    ]
    constraints: ConstraintMode


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model: its settings, its workers, and the use cases of its routes."""

    settings: ModelSettings
    tokenizer: Tokenizer
    workers: Sequence[Worker]
    pool: Pool
    chat: ChatService
    completions: CompletionService
    responses: ResponsesService
    messages: MessagesService
    tokenizing: TokenizeService
    checks: CheckService
    explanations: ExplainService
    warming: WarmService
    switch: ModeSwitch
    cache_report: Callable[[], CacheReport]

    @property
    def name(self) -> str:
        """The id that answers show."""
        return self.settings.served_model

    def described(self) -> ModelFacts:
        """Return the model's format, what its chat template does not show by itself, and whether
        constraints are enforced.
        """
        profile = self.tokenizer.profile
        return {
            "format": self.tokenizer.wire.name,
            "format_evidence": self.tokenizer.evidence.described(),
            "chat_template": None if profile is None else profile.described(),
            "constraints": self.switch.mode,
        }


class ServedModels:
    """All models, in the order of the settings."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        if not models:
            raise ValueError("a gateway needs at least one model")
        self._models = tuple(models)
        self._by_name = {
            name: model for model in models for name in (model.name, *model.settings.aliases)
        }

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models)

    def find_or_only(self, name: str | None) -> ServedModel:
        """Return the model with this name or alias; none, or an empty one: the only model.

        Raises:
            ApiError: 404; 400 if there are several models and no name.
        """
        if name:
            if name not in self._by_name:
                raise model_not_found(name)
            return self._by_name[name]
        if len(self._models) > 1:
            raise bad_request(
                "Missing required parameter: 'model'. This server has several models; "
                "GET /v1/models lists them.",
                "model",
                "missing_required_parameter",
            )
        return self._models[0]

    def usable(self, name: str | None, client: Client) -> ServedModel:
        """Return the model with this name or alias, or the only one, if the client may use it.

        Raises:
            ApiError: 404 that quotes the name as asked, so that an alias tells no other name; 400
                if there are several models and no name.
        """
        model = self.find_or_only(name)
        if not client.may_use(model.name):
            raise model_not_found(name or "")
        return model

    def all_usable(self, client: Client) -> list[ServedModel]:
        """Return the models that a client may use."""
        return [model for model in self._models if client.may_use(model.name)]

    @property
    def status(self) -> Status:
        """The status of all pools: unready if no model has a healthy worker."""
        statuses = {model.pool.status for model in self._models}
        if len(statuses) == 1:
            return statuses.pop()
        return "degraded"
