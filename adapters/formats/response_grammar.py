"""Content that a grammar constrains which is not a JSON Schema: parts of the structural tag.

All text of the grammar is content, also its fixed marks.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .custom_tools import lark
from .output_spec import InputFormat, ResponseGrammar
from .parts import CONSTRAINED, Origin, Part


def grammar_value(wanted: ResponseGrammar) -> Part:
    """Return the node of the content."""
    origin, value = Origin(wanted.param, what="grammar"), wanted.value
    if wanted.kind == "structural_tag":
        return _structural_tag(value, wanted.param)
    if wanted.kind == "regex":
        return Part({"type": "regex", "pattern": value}, CONSTRAINED, origin)
    if wanted.kind == "choice":
        texts = [{"type": "const_string", "value": text} for text in dict.fromkeys(value)]
        return Part({"type": "or", "elements": texts}, CONSTRAINED, origin)
    if wanted.kind == "lark":
        return lark(value, CONSTRAINED, replace(origin, grammar=InputFormat("lark", value)))
    return Part({"type": "grammar", "grammar": value}, CONSTRAINED, origin)


def _structural_tag(document: Mapping[str, Any], param: str) -> Part:
    """Return the format of a structural tag; its older form as triggered tags."""
    if document.get("format") is not None:
        return Part(document["format"], CONSTRAINED, Origin(param, what="structural tag"))
    tags = [
        Part(
            {
                "type": "tag",
                "begin": each["begin"],
                "content": _schema(each["schema"], f"{param}.structures[{number}].schema"),
                "end": each["end"],
            },
            CONSTRAINED,
            Origin(f"{param}.structures[{number}]", what="grammar"),
        )
        for number, each in enumerate(document["structures"])
    ]
    fields = {"type": "triggered_tags", "triggers": list(document["triggers"]), "tags": tags}
    return Part(fields, CONSTRAINED, Origin(f"{param}.triggers", what="grammar"))


def _schema(schema: Any, param: str) -> Part:
    fields = {"type": "json_schema", "json_schema": True if schema is None else schema}
    return Part(fields, CONSTRAINED, Origin(param, is_schema=True, is_strict=True))
