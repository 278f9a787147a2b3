"""Findings: what is right or wrong with a setup, where, and what to do."""

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    ``level``    "error": the gateway does not start or requests fail; "warning": it works, but
                 probably not as intended.
    ``place``    what was examined: a setting's name, a worker's.
    ``text``     what was found; ``advice`` what to do about it.
    """

    level: Level
    place: str
    text: str
    advice: str = ""
