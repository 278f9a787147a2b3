"""The meaning of a model id: a model, or a model with one of its LoRA adapters.

    NAME            a model's name or alias
    ALIAS           an adapter's alias (the setting ``adapters``)
    NAME:ADAPTER    an adapter, by the name that workers have for it

Both parts of an id may contain colons. The meaning depends on the settings alone, never on what
workers have: else an id could change its meaning while a client uses it.

Invariants   I1 a whole name or alias wins over its parts; among those, the longest NAME.
             I2 ``id_of`` is what answers show, and what keys name. Only an adapter that its id
                leads to is served.
"""

from collections.abc import Iterable

from adapters.workers import is_adapter_name

from .model import MAX_NAME_CHARS, ModelSettings

#: behind a model's name in the models of a key: all its adapters
ALL_ADAPTERS = "*"


def id_of(model: str, adapter: str | None) -> str:
    """Return the id of a model by its name, or of an adapter of it."""
    return model if adapter is None else f"{model}:{adapter}"


class ModelNames:
    """See the file's header."""

    def __init__(self, models: Iterable[ModelSettings]) -> None:
        self._models: dict[str, str] = {}
        self._aliases: dict[str, tuple[str, str]] = {}
        for model in models:
            name = model.served_model
            self._models |= dict.fromkeys((name, *model.aliases), name)
            self._aliases |= {alias: (name, each) for alias, each in model.adapters.items()}

    def find(self, name: str) -> tuple[str, str | None] | None:
        """Return the model's name and the adapter's; None: no such id."""
        if name in self._models:
            return self._models[name], None
        return self._aliases.get(name) or self.parts(name)

    def parts(self, name: str) -> tuple[str, str] | None:
        """Return what NAME:ADAPTER means, whatever aliases say; None: no model is named."""
        at = name.rfind(":", 0, MAX_NAME_CHARS + 1)
        while at > 0:
            model = self._models.get(name[:at])
            if model is not None:
                adapter = name[at + 1 :]
                return (model, adapter) if is_adapter_name(adapter) else None
            at = name.rfind(":", 0, at)
        return None

    def leads_to(self, model: str, adapter: str) -> bool:
        """Whether the id of an adapter means this adapter, and no model or other adapter."""
        return self.find(id_of(model, adapter)) == (model, adapter)
