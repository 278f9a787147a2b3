"""Prompts of messages: the ids and the images that a worker gets.

    load   reads the images that the prompt may show
    read   in a thread: media as marks or lines, calls with their results, the template's prompt

Not here   which media models see (conversation.media), reading images (images).
"""

from collections.abc import Collection, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import NamedTuple

from adapters.formats import OutputSpec
from adapters.workers import Image, PromptImage

from ..constraints import VERBOSITY, output_after_prompt, requested_output, template_variables
from ..conversation import (
    Loaded,
    ShownMedia,
    Tokenizer,
    UnshownImages,
    call_ids_in,
    has_media,
    newest_images,
    paired,
    plain_messages,
    shown_answers,
    shown_media,
)
from ..errors import ApiError
from ..generation import TEXT_ONLY, GenerationRequest, Media, ShownAnswers, once
from ..images import ImageLoader
from ..pool import Pool
from ..settings import MAX_IMAGES, MAX_JSON_VALUES, ModelSettings
from .text_prompts import PromptTokens

#: why a model with vision sees no image of a conversation
UNSHOWN = "the model's chat template cannot show the images of this conversation"
#: stands for an image whose placeholder is all that matters
_UNREAD = Image("image/png", "", b"", 0, 0)


class ChatPrompt(NamedTuple):
    """``left_out``: places and kinds of parts that the prompt does not show. ``call_ids``: of its
    calls.
    """

    output: OutputSpec
    tokens: PromptTokens
    left_out: Sequence[str]
    call_ids: Collection[str]


@dataclass(frozen=True, slots=True)
class ChatPrompts:
    """The prompts of one model. ``max_images``: that it sees in one request. ``max_json_values``:
    of JSON that a request's field has as text. ``shown``: how prompts show answers.
    """

    settings: ModelSettings
    tokenizer: Tokenizer
    pool: Pool
    images: ImageLoader
    _: KW_ONLY
    max_images: int = MAX_IMAGES
    max_json_values: int = MAX_JSON_VALUES
    shown: ShownAnswers = field(init=False)

    def __post_init__(self) -> None:
        shown = shown_answers(self.tokenizer.wire, self.tokenizer.profile)
        object.__setattr__(self, "shown", shown)

    async def load(self, request: GenerationRequest, client: str) -> Loaded | None:
        """Return the images of a request; None: the model sees none.

        Raises:
            ApiError: 400, the current message has more than ``max_images``; 503, see
                ImageLoader.load.
        """
        if not self._sees_images:
            return None
        newest = self._newest(request)
        return await self.images.load(newest, client) if newest else {}

    def unread(self, request: GenerationRequest) -> Loaded | None:
        """Return images for a prompt that no worker gets. Raises ApiError 400 as ``load`` does."""
        if not self._sees_images:
            return None
        return {part.url: _UNREAD for part in self._newest(request) if part.url is not None}

    def left_out(self, request: GenerationRequest) -> Sequence[str]:
        """Return the parts that the prompt will not show, if all images can be read.

        Raises:
            ApiError: 400; a part of the current message is one of them.
        """
        return self._shown(request, self.unread(request)).left_out

    def read(
        self, request: GenerationRequest, loaded: Loaded | None, client: str | None = None
    ) -> ChatPrompt:
        """Return the prompt; takes time in proportion to the messages. ``client``: see
        Tokenizer.render.

        Raises:
            ApiError: 400.
        """
        output = self.output(request)
        try:
            return self._rendered(request, output, self._shown(request, loaded), client)
        except UnshownImages:
            return self._rendered(request, output, self._shown(request, None, UNSHOWN), client)

    def _shown(
        self, request: GenerationRequest, loaded: Loaded | None, reason: str = TEXT_ONLY
    ) -> ShownMedia:
        return shown_media(
            request.messages or (),
            loaded,
            mark=self.tokenizer.mark,
            refuses=self._refuses,
            most=self.max_images,
            reason=reason,
        )

    def output(self, request: GenerationRequest) -> OutputSpec:
        """Return what the answer must be. Raises ApiError 400."""

        def step() -> OutputSpec:
            return requested_output(
                request,
                self.settings,
                self.shown,
                max_json_values=self.max_json_values,
            )

        # messages may have to mention JSON
        reads_messages = any(each.kind == "json_object" for each in request.constraints)
        made = None if reads_messages else request.made
        return once(made, ("output", self.settings.served_model), step)

    def _rendered(
        self,
        request: GenerationRequest,
        output: OutputSpec,
        shown: ShownMedia,
        client: str | None,
    ) -> ChatPrompt:
        history = paired(plain_messages(shown.messages))
        told = VERBOSITY.get(request.verbosity or "", "")
        if told and self.tokenizer.reads("verbosity"):
            told = ""
        try:
            rendered = self.tokenizer.render(
                history.messages,
                output.prompt_tools,
                replace(output, instructions=told) if told else output,
                template_variables(request, output),
                client,
            )
        except ApiError as error:
            raise error.moved(history.path) from error
        images = tuple(PromptImage(shown.images[each.number], each.at) for each in rendered.images)
        after = once(
            request.made,
            ("output", self.settings.served_model, rendered.thought, rendered.calls_before),
            lambda: output_after_prompt(output, rendered.thought, rendered.calls_before),
        )
        return ChatPrompt(
            after,
            PromptTokens(rendered.prompt, images=images),
            shown.left_out,
            call_ids_in(history.messages),
        )

    @property
    def _sees_images(self) -> bool:
        return self.tokenizer.shows_images and self.pool.sees_images

    @property
    def _refuses(self) -> bool:
        return self.settings.unseen_media == "refuse"

    def _newest(self, request: GenerationRequest) -> Sequence[Media]:
        messages = request.messages or ()
        if not has_media(messages):
            return ()
        return newest_images(messages, refuses=self._refuses, most=self.max_images)
