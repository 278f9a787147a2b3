"""The settings of a command, and messages for invalid ones."""

from pathlib import Path

from ..settings import ModelSettings, SettingError, Settings
from ..settings import read_settings as read


class Unusable(Exception):
    """A mistake on the command line or in the settings. The text contains no secret."""

    def __str__(self) -> str:
        return "\n".join(f"switchyard: {line}" for line in self.args)


def read_settings(config: Path | None = None) -> Settings:
    """Return the settings of the environment; ``config`` replaces SWITCHYARD_CONFIG_FILE. Raises
    Unusable.
    """
    try:
        return read() if config is None else read(config_file=config)
    except SettingError as error:
        raise unusable(error) from None


def unusable(error: SettingError) -> Unusable:
    """Return the error of a command whose settings cannot be used."""
    return Unusable(*error.sentences)


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
