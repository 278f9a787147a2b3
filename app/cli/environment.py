"""The settings of a command, and messages for invalid ones."""

import os

from pydantic import ValidationError

from ..settings import PREFIX, Settings, unknown_variables


class Unusable(Exception):
    """A mistake on the command line or in the settings. The text contains no secret."""

    def __str__(self) -> str:
        return "\n".join(f"switchyard: {line}" for line in self.args)


def read_settings() -> Settings:
    """Return the settings of the environment. Raises Unusable."""
    unknown = unknown_variables(os.environ)
    if unknown:
        raise Unusable(*unknown)
    try:
        return Settings()
    except ValidationError as error:
        raise Unusable(*_explain(error)) from None


def _explain(error: ValidationError) -> list[str]:
    """Return a line per error with the variable's name, without its value: it may be a secret."""
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        where = f"{PREFIX}{str(problem['loc'][0]).upper()}" if problem["loc"] else "settings"
        lines.append(f"{where}: {problem['msg'].removeprefix('Value error, ')}")
    return lines
