"""The configuration file: TOML with one ``[[models]]`` table for each model.

Values are never converted: a number in quotes is an error. The file holds no secrets, so that it
can lie in a repository; it names files that contain them.

Invariants   I1 each mistake is a sentence that begins with the file and the key. All
                mistakes are reported at once, except that a file that is no TOML has only one.
Not here     the meaning of the keys (model).
"""

import json
import re
import tomllib
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from ..files import read_bytes
from .error import PREFIX, KeyPath, Places, SettingError, place_of, reason_of
from .gateway import GatewaySettings
from .model import ModelSettings

#: bytes of a file, which usually has some thousand
MAX_FILE_BYTES: Final = 1 << 20
#: the setting of a secret, and the setting that replaces it in a file
_SECRET, _SECRET_FILE = "worker_api_key", "worker_api_key_file"

_AT_LINE: Final = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")


class ConfigFile(BaseModel):
    """The keys of a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    models: tuple[ModelSettings, ...] = ()


def read_config_file(file: Path) -> tuple[ModelSettings, ...]:
    """Return the models of a file. Raises SettingError."""
    text = _read(file)
    raw = _parse(file, text)
    mistakes = _secrets(file, raw)
    try:
        # JSON has arrays and no paths: pydantic's strict mode for Python refuses both
        content = ConfigFile.model_validate_json(_as_json(file, raw), strict=True)
    except ValidationError as error:
        mistakes += [_sentence(file, each) for each in error.errors(include_url=False)]
    if mistakes:
        raise SettingError(*mistakes)
    if not content.models:
        raise SettingError(f"{file}: models: at least one [[models]] table is required")
    return tuple(model.at(Places(file, number)) for number, model in enumerate(content.models))


def _read(file: Path) -> str:
    try:
        data = read_bytes(file, MAX_FILE_BYTES)
    except ValueError as error:
        raise SettingError(f"{PREFIX}CONFIG_FILE: {error}") from None
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingError(f"{file}:{line}: the file must be UTF-8 text") from None


def _parse(file: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SettingError(f"{file}: not TOML: nested too deeply") from None
    except ValueError as error:
        reason = str(error)
        at = _AT_LINE.search(reason)
        line = text.count("\n") + 1 if at is None or at[1] is None else int(at[1])
        place = f"{file}:{line}" if at else str(file)
        raise SettingError(f"{place}: not TOML: {_AT_LINE.sub('', reason)}") from None


def _as_json(file: Path, raw: dict[str, Any]) -> str:
    """Return the values as JSON; a date becomes an object, which no setting accepts."""
    try:
        return json.dumps(raw, default=lambda value: {"date": str(value)})
    except (ValueError, RecursionError):
        raise SettingError(f"{file}: a number has too many digits") from None


def _sentence(file: Path, problem: ErrorDetails) -> str:
    key: KeyPath = problem["loc"]
    if key[2:] == (_SECRET,):
        key = (*key[:2], _SECRET_FILE)  # the key that the file named
    place = place_of(file, key)
    kind = problem["type"]
    if kind == "extra_forbidden":
        return f"{place}: {_unknown(key)}"
    if key == ("models",):
        return f"{place}: must be an array of tables: begin each with [[models]]"
    return f"{place}: {reason_of(problem)}"


def _unknown(key: KeyPath) -> str:
    name = str(key[-1])
    if name in GatewaySettings.model_fields:
        return f"not a setting of a model: set {PREFIX}{name.upper()} in the environment"
    known = ConfigFile.model_fields if len(key) == 1 else ModelSettings.model_fields
    near = get_close_matches(name.lower(), known, n=1)
    return f"no such setting; did you mean {near[0]}?" if near else "no such setting"


def _secrets(file: Path, raw: dict[str, Any]) -> list[str]:
    """Return a sentence for each secret in the file."""
    models = raw.get("models")
    tables = models if isinstance(models, list) else []
    return [
        f"{place_of(file, ('models', number, _SECRET))}: the file holds no secrets: write "
        f"the key into a file of its own and name it in {_SECRET_FILE}"
        for number, table in enumerate(tables)
        if isinstance(table, dict) and _SECRET in table
    ]
