"""Input items as the API lists them, and as they are stored."""

from collections.abc import Sequence
from typing import Any

from ..media import IMAGES, MEDIA
from .client_items import ClientCallItem, ClientResultItem
from .configuration import ConfigurationItem
from .items import (
    CallItem,
    CallOutputItem,
    CompactionItem,
    ContentItem,
    ItemPart,
    MessageItem,
    ReasoningItem,
)
from .loaded_tools import LoadedToolsItem


def listed(item: ContentItem, number: str) -> dict[str, Any]:
    """Return an input item as the API lists it, with its own id or else ``number``."""
    base = {"id": item.id or number, "type": item.type}
    match item:
        case MessageItem():
            content = item.content
            if isinstance(content, str):
                content = [ItemPart(type="input_text", text=content)]
            is_answer = item.role == "assistant"
            parts = [_listed_part(part, is_answer=is_answer) for part in content]
            return {**base, "role": item.role, "status": "completed", "content": parts}
        case ReasoningItem():
            shown = item.model_dump(include={"summary", "content"}, exclude_none=True)
            if item.encrypted_content:
                shown["encrypted_content"] = item.encrypted_content
        case CompactionItem():
            return {**base, "encrypted_content": item.encrypted_content}
        case CallItem():
            shown = item.model_dump(exclude={"id", "type"}, exclude_none=True)
        case CallOutputItem():
            shown = item.model_dump(exclude={"id", "type", "output"}, exclude_none=True)
            shown["output"] = _listed_output(item.output)
        case ClientCallItem() | ClientResultItem() | LoadedToolsItem() | ConfigurationItem():
            return {**base, **item.listed()}
    return {**base, **shown, "status": "completed"}


def _listed_output(output: str | Sequence[ItemPart] | None) -> str | list[dict[str, Any]]:
    """Return an output as it is listed: one text, unless it has media."""
    if output is None or isinstance(output, str):
        return output or ""
    if not any(part.type in MEDIA for part in output):
        return "".join(part.shown for part in output)
    return [
        _listed_part(part, is_answer=False)
        if part.type in MEDIA
        else {"type": "input_text", "text": part.shown}
        for part in output
    ]


def _listed_part(part: ItemPart, *, is_answer: bool) -> dict[str, Any]:
    if part.type == "refusal":
        return {"type": "refusal", "refusal": part.refusal}
    text = f"[{part.type}: not shown]" if part.type in MEDIA else part.text
    if is_answer:
        return {"type": "output_text", "text": text, "annotations": []}
    if part.type in IMAGES:
        file_id = {name: each for name, each in part.file.items() if name == "file_id"}
        image = {"type": "input_image", "detail": part.detail or "auto", **file_id}
        return image if part.url is None else {**image, "image_url": part.url}
    if part.type in ("file", "input_file"):
        return {"type": "input_file", **part.file}
    return {"type": "input_text", "text": text}
