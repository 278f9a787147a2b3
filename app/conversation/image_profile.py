"""Images in the profile of a chat template, measured as the rest of it (profile).

A template shows images if texts around them are in the prompt, and if each image adds the same
control tokens: those of the model's placeholder. A template that prints a list of parts, or writes
ordinary text for an image, shows none.

    Qwen-VL   <|vision_start|><|image_pad|><|vision_end|>
    Gemma 3   <start_of_image>
    Mistral   [IMG]
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from .profile import (
    CALL_IDS,
    TOOL,
    ImagePart,
    Messages,
    Render,
    TemplateError,
    TemplateProfile,
    Tools,
    loop_of,
    results_alone,
)

#: the control tokens that a prompt spells out, in their order
TokensIn = Callable[[str], Sequence[str]]
_FORMS: tuple[ImagePart, ...] = ("image", "image_url")
_USER = {"role": "user", "content": "worduser"}
_TURN_OVER = ({"role": "assistant", "content": "wordassistant"}, _USER)


def with_images(profile: TemplateProfile, render: Render, tokens_in: TokensIn) -> TemplateProfile:
    """Return the profile with the images that the template shows."""
    probe = _Probe(profile, render, tokens_in)
    for form in _FORMS:
        if placeholder := probe.placeholder([_USER], form):
            loop = probe.loop
            in_results = bool(loop) and probe.placeholder(loop, form) == placeholder
            with_tools = probe.placeholder([_USER], form, [TOOL])
            return replace(
                profile,
                images="results" if in_results else "users",
                image_part=form,
                placeholder=placeholder,
                images_with_tools=not profile.tools or with_tools == placeholder,
            )
    return replace(profile, images="no")


class _Probe:
    def __init__(self, profile: TemplateProfile, render: Render, tokens_in: TokensIn) -> None:
        self._profile = profile
        self._render = render
        self._tokens_in = tokens_in

    @property
    def loop(self) -> Messages:
        """A question, a call and its result in a form that the template shows; [] without one."""
        profile = self._profile
        if profile.calls:
            return loop_of(CALL_IDS[profile.ids][:1], profile.arguments)
        return results_alone() if profile.results else []

    def placeholder(
        self, said: Messages, form: ImagePart, tools: Tools | None = None
    ) -> tuple[str, ...]:
        """Return the control tokens of each image in the last message; the first one of them occurs
        once, and nowhere else in a prompt.

        (): images are not shown, not all of them, or not in a later turn.
        """
        if tools is None and self._profile.calls and said[-1]["role"] == "tool":
            tools = [TOOL]
        elif tools is None and self._profile.no_tools == "empty":
            tools = []

        def tokens(images: int, behind: Messages = ()) -> Counter[str]:
            return Counter(self._tokens(said, form, images, behind, tools))

        try:
            none, one, two = tokens(0), tokens(1), tokens(2)
            later, later_one = tokens(0, _TURN_OVER), tokens(1, _TURN_OVER)
        except TemplateError:
            return ()
        each = one - none
        is_equal = two - none == each + each and later_one - later == each and not none - one
        first = next(iter(each), "")
        # counters keep the order of the prompt
        return tuple(each) if is_equal and each[first] == 1 and not none[first] else ()

    def _tokens(
        self, said: Messages, form: ImagePart, images: int, behind: Messages, tools: Tools | None
    ) -> Sequence[str]:
        """Return the control tokens of a conversation with images in the last message of ``said``.

        Raises:
            TemplateError: the template refuses it, or drops the texts around the images.
        """
        parts = text_part("wordfirst")
        for number in range(images):
            parts += [image_part(form), *text_part(f"wordbehind{number}")]
        words = [part["text"] for part in parts if part["type"] == "text"]
        last = {**said[-1], "content": parts if images else words[0]}
        prompt = self._render([*said[:-1], last, *behind], tools, {})
        if not all(word in prompt for word in words):
            raise TemplateError
        return self._tokens_in(prompt)


def text_part(text: str) -> list[dict[str, Any]]:
    """Return the part of a text; none of an empty one."""
    return [{"type": "text", "text": text}] if text else []


def image_part(form: ImagePart) -> dict[str, Any]:
    """Return the part of an image, without the image: templates write a placeholder."""
    return {"type": form} | ({"image_url": {"url": ""}} if form == "image_url" else {})
