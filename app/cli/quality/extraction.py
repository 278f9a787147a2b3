"""Extractions: short texts, a schema, and the values that the texts state.

extraction.json has schemas by name, and cases {"id", "schema", "text", "expected"}: two to four
texts of each schema, so that both halves have all of them. Nothing in them is from another data
set.
"""

import json
from importlib.resources import files

from .cases import Case

#: stands before each text
QUESTION = "Extract the data from this text as JSON.\n\n"


def read_extraction() -> list[Case]:
    """Return the extractions in their order."""
    data = json.loads(files(__package__).joinpath("extraction.json").read_text("utf-8"))
    return [
        Case(
            id=case["id"],
            set="extraction",
            messages=[{"role": "user", "content": QUESTION + case["text"]}],
            schemas={"": data["schemas"][case["schema"]]},
            expected=case["expected"],
        )
        for case in data["cases"]
    ]
