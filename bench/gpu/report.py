"""The report of a run: printed as it grows, and written to files."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def listed(title: str, lines: Sequence[str]) -> str:
    """Return a Markdown list; empty without lines."""
    return "\n".join([f"{title}\n", *(f"- {line}" for line in lines)]) if lines else ""


class Report:
    """Writes report.md and a JSON file for each part, again after every addition, so that an
    aborted run leaves its results. ``folder``: None writes no files.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}

    def add(self, name: str, text: str, raw: Any, *, printed: str | None = None) -> None:
        """Add or replace a part. ``printed``: the new text in it."""
        self._texts[name] = text
        if new := text if printed is None else printed:
            print(new, end="\n\n", flush=True)
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)
            (self._folder / f"{name}.json").write_text(json.dumps(raw, indent=1) + "\n")
            (self._folder / "report.md").write_text("\n\n".join(self._texts.values()) + "\n")
