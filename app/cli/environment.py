"""The model that a command is about, and mistakes that end a command."""

from ..settings import ModelSettings, SettingError, Settings


class Unusable(SettingError):
    """A mistake on the command line or in the settings. The text contains no secret."""


def chosen_model(settings: Settings, name: str | None) -> ModelSettings:
    """Return the model with this name or alias; None: the only model. Raises Unusable."""
    models = settings.models
    names = ", ".join(model.served_model for model in models)
    if name is None:
        if len(models) > 1:
            raise Unusable(f"choose one of several models with --model: {names}")
        return models[0]
    for model in models:
        if name in (model.served_model, *model.aliases):
            return model
    raise Unusable(f"--model: no model {name!r}; the models are: {names}")
