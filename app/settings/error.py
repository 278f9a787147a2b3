"""Invalid settings, and the places that their messages name.

A place is a variable, ``SWITCHYARD_TOKENIZER``, or a key of the configuration file,
``gateway.toml: models[0].tokenizer``. Messages about a model name its settings in backquotes, as
in the file; ``Places.reworded`` replaces them by variables for a model of the environment.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

#: prefix of the gateway's variables
PREFIX: Final = "SWITCHYARD_"
#: variables of a model's settings that are not the setting's name in capitals
_VARIABLES: Final = {
    "name": "MODEL_NAME",
    "aliases": "MODEL_ALIASES",
    "max_running": "MODEL_MAX_RUNNING",
}
#: a key of a file: names, and numbers of tables in arrays
KeyPath = tuple[str | int, ...]
_QUOTED: Final = re.compile(r"`(\w+)`")


class SettingError(ValueError):
    """Settings that cannot be used: a sentence for each mistake, which begins with its place.

    The text contains no secret.
    """

    def __init__(self, *sentences: str) -> None:
        super().__init__("\n".join(sentences))
        self.sentences = sentences


@dataclass(frozen=True)
class Places:
    """The places of one model's settings: variables, or keys of table ``number`` of a file."""

    file: Path | None = None
    number: int = 0

    def of(self, setting: str) -> str:
        """Return the place of a setting, for the beginning of a sentence; "": of all together."""
        if self.file is not None:
            return place_of(self.file, ("models", self.number, *filter(None, [setting])))
        return variable_of(setting) if setting else "settings"

    def reworded(self, message: str) -> str:
        """Return the message with the names that settings have in this source."""
        if self.file is not None:
            return message
        return _QUOTED.sub(lambda quoted: variable_of(quoted[1]), message)


def place_of(file: Path, key: KeyPath) -> str:
    """Return ``FILE: KEY``."""
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key)
    return f"{file}: {shown.removeprefix('.')}"


def variable_of(setting: str) -> str:
    """Return the variable of a model's setting."""
    return PREFIX + _VARIABLES.get(setting, setting.upper())


def reason_of(problem: Mapping[str, Any]) -> str:
    """Return the reason in one of pydantic's errors, without the value: it may be a secret."""
    return str(problem["msg"]).removeprefix("Value error, ")
