"""The models of a gateway, and finding one of them, or one of its LoRA adapters, by an id.

An adapter is served while a worker is known to have it, or a setting names it. All else about it is
its model's: tokenizer, chat template, grammars, limits, workers.

Invariants   I1 an id has one meaning (settings.model_names). I2 there is at least one model.
             I3 an id whose model or adapter a client may not use is one that does not exist.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from adapters.workers import Worker

from ..access import Client
from ..constraints import ModeSwitch
from ..conversation import FormatEvidence, Tokenizer
from ..errors import bad_request, model_not_found
from ..pool import Pool, Status
from ..settings import ConstraintMode, ModelNames, ModelSettings, id_of
from .cache_report import CacheReport
from .chat_service import ChatService
from .check_service import CheckService
from .completion_service import CompletionService
from .explain_service import ExplainService
from .messages_service import MessagesService
from .responses_service import ResponsesService
from .tokenize_service import TokenizeService
from .warm_service import WarmService

#: adapters that an error names
SHOWN_ADAPTERS = 20


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


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model as a request names it: by itself, or with an adapter of it."""

    model: ServedModel
    adapter: str | None = None

    @property
    def id(self) -> str:
        """The id that answers show."""
        return id_of(self.model.name, self.adapter)

    @property
    def aliases(self) -> list[str]:
        settings = self.model.settings
        if self.adapter is None:
            return [*settings.aliases]
        return [alias for alias, name in settings.adapters.items() if name == self.adapter]

    @property
    def is_known(self) -> bool:
        """Whether a worker is known to have the adapter, or a setting names it."""
        name = self.adapter
        if name is None or self.model.pool.has_adapter(name):
            return True
        return name in self.model.settings.adapters.values()

    def may_be_used_by(self, client: Client) -> bool:
        return client.may_use(self.model.name, self.adapter)


class ServedModels:
    """All models, in the order of the settings."""

    def __init__(self, models: Sequence[ServedModel]) -> None:
        if not models:
            raise ValueError("a gateway needs at least one model")
        self._models = tuple(models)
        self._by_name = {model.name: model for model in models}
        self._names = ModelNames(model.settings for model in models)

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models)

    def find_or_only(self, name: str | None) -> ServedModel:
        """Return the model with this name or alias; none, or an empty one: the only model.

        Raises:
            ApiError: 404, also for an adapter; 400 if there are several models and no name.
        """
        found = self._find(name)
        if found is None or found.adapter is not None:
            raise model_not_found(name or "")
        return found.model

    def _find(self, name: str | None) -> NamedModel | None:
        """Return what an id means; None: nothing. Raises ApiError 400."""
        if name:
            meant = self._names.find(name)
            return None if meant is None else NamedModel(self._by_name[meant[0]], meant[1])
        if len(self._models) > 1:
            raise bad_request(
                "Missing required parameter: 'model'. This server has several models; "
                "GET /v1/models lists them.",
                "model",
                "missing_required_parameter",
            )
        return NamedModel(self._models[0])

    def usable(self, name: str | None, client: Client) -> NamedModel:
        """Return what this id means, or the only model, if the client may use it.

        Raises:
            ApiError: 404 that quotes the name as asked, so that an alias tells no other name; 400
                if there are several models and no name.
        """
        found = self._find(name)
        if found is None or not found.may_be_used_by(client):
            raise model_not_found(name or "")
        if not found.is_known:
            known = (each.id for each in self._with_adapters(found.model, client) if each.adapter)
            raise model_not_found(name or "", tuple(islice(known, SHOWN_ADAPTERS)))
        return found

    def all_usable(self, client: Client) -> list[NamedModel]:
        """Return the models that a client may use, each with its adapters behind it."""
        return [each for model in self._models for each in self._with_adapters(model, client)]

    def adapters(self, model: ServedModel) -> list[NamedModel]:
        """Return the adapters of a model that have ids."""
        names = sorted({*model.pool.adapters, *model.settings.adapters.values()})
        return [NamedModel(model, name) for name in names if self.leads_to(model, name)]

    def leads_to(self, model: ServedModel, adapter: str) -> bool:
        """Whether an adapter has an id: that of a model may look like it, and wins."""
        return self._names.leads_to(model.name, adapter)

    def _with_adapters(self, model: ServedModel, client: Client) -> Iterator[NamedModel]:
        for each in (NamedModel(model), *self.adapters(model)):
            if each.may_be_used_by(client):
                yield each

    @property
    def status(self) -> Status:
        """The status of all pools: unready if no model has a healthy worker."""
        statuses = {model.pool.status for model in self._models}
        if len(statuses) == 1:
            return statuses.pop()
        return "degraded"
