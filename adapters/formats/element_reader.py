"""Styled arguments as JSON text, while they stream.

The engine's parser reports the keys and values of a style's elements as regions, and says which
values are raw strings (engine.StyleRegion), so nothing is guessed here.
"""

import json
from collections.abc import Mapping

from engine import StyleRegion

_TAGS = {StyleRegion.OBJECT: ("{", "}"), StyleRegion.ARRAY: ("[", "]")}


class ElementReader:
    """The arguments of one call. ``escapes``: the style's escapes in keys, by character."""

    def __init__(self, escapes: Mapping[str, str]) -> None:
        self._escapes = escapes
        self._key: str | None = None
        #: by open container: whether it has a member
        self._has_member = [False]

    def begin(self) -> str:
        """Return the beginning of the arguments."""
        return "{"

    def end(self) -> str:
        """Return the end of complete arguments."""
        return "}"

    def open(self, region: StyleRegion) -> str:
        """Return the text before a value."""
        before = ", " if self._has_member[-1] else ""
        self._has_member[-1] = True
        if self._key is not None:
            before += f"{json.dumps(self._unescaped(self._key), ensure_ascii=False)}: "
            self._key = None
        if region is StyleRegion.STRING:
            return before + '"'
        if region in _TAGS:
            self._has_member.append(False)
            return before + _TAGS[region][0]
        return before

    def text(self, region: StyleRegion | None, text: str) -> str:
        """Return the JSON of more text in a region; None: the text of a key."""
        if region is None:
            self._key = (self._key or "") + text
        elif region is StyleRegion.TEXT:
            return json.dumps(text, ensure_ascii=False)[1:-1]
        elif region is StyleRegion.VALUE:
            return text
        return ""

    def close(self, region: StyleRegion) -> str:
        """Return the text behind a value."""
        if region is StyleRegion.STRING:
            return '"'
        if region in _TAGS:
            self._has_member.pop()
            return _TAGS[region][1]
        return ""

    def _unescaped(self, key: str) -> str:
        for character, escape in reversed(list(self._escapes.items())):
            key = key.replace(escape, character)
        return key
