"""What a run says: printed as it grows, and kept."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def listed(title: str, lines: Sequence[str]) -> str:
    """As Markdown; nothing where there are no lines."""
    return "\n".join([f"{title}\n", *(f"- {line}" for line in lines)]) if lines else ""


class Report:
    """report.md, and a JSON file of each part, written anew whenever something is added: a run that
    is ended leaves what it has. ``folder``: None, if nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def add(self, name: str, text: str, raw: Any, *, printed: str | None = None) -> None:
        """A part of that name, or what replaces it. ``printed``: what of it is new."""
        self._texts[name] = text
        if new := text if printed is None else printed:
            print(new, end="\n\n", flush=True)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{name}.json").write_text(json.dumps(raw, indent=1) + "\n")
            (self._folder / "report.md").write_text("\n\n".join(self._texts.values()) + "\n")
