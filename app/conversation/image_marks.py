"""Marks of images: texts that stand for them until a chat template gets its messages.

History, pairing and fitting know contents as texts. So an image is a mark in a text until the last
step before the template (``with_parts``), which splits such a content into parts. A content without
a mark stays a text. Images that a template does not show where they are move to a message of the
user behind it (``images_apart``, ``move_first_images``).

Representation   a mark is random digits, drawn at startup, and the number of an image: no step
                 changes digits, JSON does not escape them, and clients cannot know them.
Threads          safe.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from .control import random_digits
from .image_profile import image_part, text_part
from .profile import ImagePart

_NUMBER_DIGITS = 6
#: in a message, for an image that a message behind it shows
IMAGE_BEHIND = "[The image is in the next message.]"

Message = dict[str, Any]


class ImageMarks:
    """The marks in prompts of one tokenizer."""

    def __init__(self) -> None:
        self._secret = random_digits()
        self._mark = re.compile(rf"{self._secret}(\d{{{_NUMBER_DIGITS}}})")

    def mark(self, number: int) -> str:
        """Return the mark of an image."""
        return f"{self._secret}{number:0{_NUMBER_DIGITS}d}"

    def numbers(self, texts: Iterable[str | None]) -> list[int]:
        """Return the numbers of the images in these texts, in their order."""
        marked = (text for text in texts if text and self._secret in text)
        return [int(number) for text in marked for number in self._mark.findall(text)]

    def around(self, text: str) -> list[str]:
        """Return the texts around marks, one more than there are marks."""
        return self._mark.split(text)[::2]

    def apart(self, text: str, place: str) -> tuple[str, str]:
        """Return a text with ``place`` instead of marks, and the marks."""
        marks = "".join(match[0] for match in self._mark.finditer(text))
        return self._mark.sub(place, text), marks

    def with_parts(
        self, messages: Sequence[Mapping[str, Any]], form: ImagePart
    ) -> list[Mapping[str, Any]]:
        """Return the messages with contents in parts where they have marks."""
        return [self._with_parts(message, form) for message in messages]

    def _with_parts(self, message: Mapping[str, Any], form: ImagePart) -> Mapping[str, Any]:
        content = message["content"]
        # probes have parts already; mostly there is no mark, and this search is the faster one
        if not isinstance(content, str) or self._secret not in content:
            return message
        first, *others = self.around(content)
        if not others:
            return message
        parts = text_part(first)
        for text in others:
            parts += [image_part(form), *text_part(text)]
        return {**message, "content": parts}


def images_apart(messages: Sequence[Message], marks: ImageMarks) -> dict[int, list[Message]]:
    """Take the images out of results. Return messages of the user that show them, by the number of
    the result that they follow, the last one of an answer.
    """
    behind = {}
    for is_result, group in groupby(enumerate(messages), lambda each: each[1]["role"] == "tool"):
        results = list(group) if is_result else []
        lines = []
        for number, (_, result) in enumerate(results, 1):
            result["content"], images = marks.apart(result["content"], IMAGE_BEHIND)
            if images:
                which = f"result {number}" if len(results) > 1 else "the result"
                lines.append(f"[The image in {which} of {result['name'] or 'a tool'}:]\n{images}")
        if lines:
            behind[results[-1][0]] = [{"role": "user", "content": "\n".join(lines)}]
    return behind


def move_first_images(messages: list[Message], marks: ImageMarks) -> None:
    """Move the images of the first message of a user to one behind it."""
    first = next((n for n, each in enumerate(messages) if each["role"] == "user"), None)
    if first is None:
        return
    text, images = marks.apart(messages[first]["content"], IMAGE_BEHIND)
    if images:
        messages[first] = {**messages[first], "content": text}
        messages.insert(first + 1, {"role": "user", "content": images})
