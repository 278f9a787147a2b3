"""The settings of a process, from environment variables and a configuration file.

    environment                        ->  GatewaySettings
    environment or configuration file  ->  ModelSettings, one or several

Invariants   I1 every mistake is a sentence of a SettingError, never a traceback.
             I2 names and aliases of models and of their adapters are distinct, and the id of an
                adapter that a setting names means that adapter.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from pydantic import ValidationError

from .config_file import read_config_file
from .error import PREFIX, Places, SettingError, reason_of, variable_of
from .gateway import GatewaySettings
from .model import ModelSettings
from .model_names import ALL_ADAPTERS, ModelNames, id_of

#: variables with the prefix for other readers: the SGLang plug-in, Compose, the project's tests,
#: and the links of a Kubernetes service whose name begins with "switchyard"
_READ_BY_OTHERS: Final = re.compile(
    r"SGLANG|SGLANG_\w+|PUBLISH|MODELS|MASKBENCH|JSTS|BFCL"
    r"|(\w+_)?SERVICE_HOST|(\w+_)?SERVICE_PORT(_\w+)?|(\w+_)?PORT_\d+_(TCP|UDP)(_\w+)?"
)
#: a model's settings by variable
_OF_MODELS: Final = {variable_of(name): name for name in ModelSettings.model_fields}
_OF_GATEWAY: Final = tuple(f"{PREFIX}{name.upper()}" for name in GatewaySettings.model_fields)
#: settings of a model that a variable separates by commas
_LISTS: Final = ("workers", "prefill_workers", "prefill_bootstrap_hosts", "aliases")
#: the same, of pairs
_TABLES: Final = ("adapters",)


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. ``models``: at least one."""

    gateway: GatewaySettings
    models: tuple[ModelSettings, ...]


def read_settings(**values: Any) -> Settings:
    """Return the settings of this process. ``values`` that are not None replace variables, named
    without their prefix and in lower case.

    Raises:
        SettingError: a setting is invalid, unknown or missing.
    """
    values = {name: value for name, value in values.items() if value is not None}
    variables = {name.upper(): value for name, value in os.environ.items()}
    variables |= {f"{PREFIX}{name.upper()}": value for name, value in values.items()}
    unknown = unknown_variables(variables)
    if unknown:
        raise SettingError(*unknown)
    replaced = {
        name: given for name, given in values.items() if name in GatewaySettings.model_fields
    }
    try:
        gateway = GatewaySettings(**replaced)
    except ValidationError as error:
        raise _explained(error, lambda name: f"{PREFIX}{name.upper()}") from None
    models = _models(gateway, _of_a_model(variables))
    _check_names(models)
    _check_access(gateway, models)
    _check_caches(gateway, models)
    return Settings(gateway, models)


def unknown_variables(names: Iterable[str]) -> list[str]:
    """Return one sentence for each unknown variable with the prefix SWITCHYARD_."""
    known = [*_OF_GATEWAY, *_OF_MODELS]
    sentences = []
    for name in sorted(names):
        upper = name.upper()
        if not upper.startswith(PREFIX) or upper in known:
            continue
        if not _READ_BY_OTHERS.fullmatch(upper.removeprefix(PREFIX)):
            near = get_close_matches(upper, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            sentences.append(f"{name}: no such setting{hint}")
    return sentences


def _of_a_model(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return a model's settings; an empty variable counts as unset."""
    return {
        name: variables[variable]
        for variable, name in _OF_MODELS.items()
        if variables.get(variable) not in ("", None)
    }


def _models(gateway: GatewaySettings, values: Mapping[str, Any]) -> tuple[ModelSettings, ...]:
    """Return the models of the configuration file; without one, the model of the variables."""
    if gateway.config_file is None:
        return (_only_model(values),)
    if values:
        raise SettingError(
            *(
                f"{variable_of(name)}: {PREFIX}CONFIG_FILE is set, so {gateway.config_file} "
                "describes the models; unset this variable"
                for name in values
            )
        )
    return read_config_file(gateway.config_file)


def _only_model(variables: Mapping[str, Any]) -> ModelSettings:
    values = dict(variables)
    for name in _LISTS:
        if isinstance(values.get(name), str):
            parts = (part.strip() for part in values[name].split(","))
            values[name] = tuple(part for part in parts if part)
    for name in _TABLES:
        if isinstance(values.get(name), str):
            values[name] = _table(variable_of(name), values[name])
    try:
        return ModelSettings.model_validate(values)
    except ValidationError as error:
        raise _explained(error, variable_of) from None


def _table(variable: str, text: str) -> dict[str, str]:
    """Return the pairs of a variable: ``a=b, c=d``. Raises SettingError."""
    table: dict[str, str] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        key, _, value = (each.strip() for each in part.partition("="))
        if not value or key in table:
            raise SettingError(
                f"{variable}: must be pairs like legal=law, with commas between them and each id "
                f"once; got {part[:100]!r}"
            )
        table[key] = value
    return table


def _explained(error: ValidationError, variable: Callable[[str], str]) -> SettingError:
    """Return the error with a sentence per variable, without its value: it may be a secret."""
    places = Places()
    return SettingError(
        *(
            f"{variable(str(problem['loc'][0])) if problem['loc'] else 'settings'}: "
            f"{places.reworded(reason_of(problem))}"
            for problem in error.errors(include_url=False, include_input=False)
        )
    )


def _check_names(models: Sequence[ModelSettings]) -> None:
    """Raise SettingError unless each name and alias stands for one model or adapter."""
    names = [("name", model, model.served_model) for model in models]
    names += [("aliases", model, alias) for model in models for alias in model.aliases]
    names += [("adapters", model, alias) for model in models for alias in model.adapters]
    models_by_name: dict[str, str] = {}
    mistakes: list[str] = []
    for setting, model, name in names:
        if name in models_by_name:
            reason = f"{name!r} is a name or alias of the model {models_by_name[name]!r} already"
            mistakes += model.error(setting, reason).sentences
        models_by_name.setdefault(name, model.served_model)
        if name.endswith(f":{ALL_ADAPTERS}"):
            reason = f"{name!r} would mean all adapters of a model in the entry of a key"
            mistakes += model.error(setting, reason).sentences
    mistakes += _mistaken_adapters(models)
    if mistakes:
        raise SettingError(*mistakes)


def _mistaken_adapters(models: Sequence[ModelSettings]) -> list[str]:
    """Return a sentence for each adapter whose id, or alias, reads as one of another adapter."""
    names = ModelNames(models)
    mistakes: list[str] = []
    for model in models:
        for alias, adapter in model.adapters.items():
            meant = (model.served_model, adapter)
            for each in (alias, id_of(*meant)):
                read = names.parts(each) if each == alias else names.find(each)
                if read is not None and read != meant:
                    shown = f"the model {read[0]!r}" if read[1] is None else f"{id_of(*read)!r}"
                    reason = f"{each!r} means {shown} and cannot mean the adapter {adapter!r}"
                    mistakes += model.error("adapters", reason).sentences
    return mistakes


def _check_access(gateway: GatewaySettings, models: Sequence[ModelSettings]) -> None:
    """Raise SettingError if other hosts can use a real model without a key."""
    is_real = any(model.worker_kind != "noise" for model in models)
    if gateway.is_open and is_real and not gateway.allow_anonymous:
        raise SettingError(
            f"settings: SWITCHYARD_API_KEYS is empty and SWITCHYARD_HOST={gateway.host} can be "
            "reached from other hosts: set API_KEYS, KEYS_FILE, KEYS_REDIS or JWKS_FILE, or "
            "SWITCHYARD_ALLOW_ANONYMOUS=true to run without keys"
        )


def _check_caches(gateway: GatewaySettings, models: Sequence[ModelSettings]) -> None:
    """Raise SettingError if a model separates the caches of keys, and no client needs one."""
    mistakes = [
        sentence
        for model in models
        if model.kv_cache == "key" and not gateway.keys_required
        for sentence in model.error(
            "kv_cache",
            "key needs keys of clients: set API_KEYS, KEYS_FILE, KEYS_REDIS or JWKS_FILE",
        ).sentences
    ]
    if mistakes:
        raise SettingError(*mistakes)
