"""Tokenizers: the vocabulary, format and prompts of a model.

Representation   a Tokenizer joins a vocabulary for the engine with the format that its model
                 writes, and renders messages as a prompt. There are two: the noise worker's
                 built-in vocabulary, and a Hugging Face folder with or without a chat template.
Invariants       I1 ids are those of the worker; the stop tokens include every token that ends an
                 answer in the format. I2 ``render`` raises ApiError 400 for messages that cannot
                 be shown, UnshownImages for images, and no other exception because of a client's
                 text.
Threads          ``render`` may run in several threads at once.
Not here         the wire syntax of tool calls (adapters.formats), prompts that a format writes
                 (named_format), loading (pretrained).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from adapters.formats import (
    UNKNOWN,
    Format,
    OutputSpec,
    Thought,
    Tool,
    get_format,
    numbered_by_answer,
    with_answer_marks,
    with_thinking,
)
from engine import Vocabulary

from ..concurrency import RecentValues, give_way
from ..errors import bad_field
from .call_ids import calls_in
from .control import ControlText, UnwritableText
from .detection import Evidence, Signs, detect
from .image_marks import ImageMarks
from .image_profile import with_images
from .kept_tools import KeptTools
from .named_format import NamedFormat, render_plain
from .named_template import NamedTemplate
from .pretrained import encoder, end_texts, pretrained, stop_ids
from .profile import Messages, TemplateError, TemplateProfile, profile_of
from .prompt_segments import PromptSegments
from .response_templates import response_template_of
from .template import ChatTemplate, read_template
from .template_prompt import MAX_BYTES, TemplatePrompt
from .thinking import answer_marks_of, marks_at_end, marks_of, thought_apart, thought_at_end

#: the default family of the built-in vocabulary, which has the tokens of every family
BUILTIN_FAMILY = "hermes"
#: an image in a prompt of the built-in vocabulary
BUILTIN_IMAGE = "[image]"


class UnshownImages(ValueError):
    """The chat template does not write one placeholder for each image of this conversation."""


class ImagePlace(NamedTuple):
    """An image of a prompt: its number among the request's images, and the index of the first token
    of its placeholder.
    """

    number: int
    at: int


class Rendered(NamedTuple):
    """The ids of a prompt, the state of reasoning at its end, and its images in their order.

    ``calls_before``: see OutputSpec.
    """

    prompt: list[int]
    thought: Thought = "free"
    images: tuple[ImagePlace, ...] = ()
    calls_before: int = 0


class Tokenizer(Protocol):
    """A model's tokenizer.

    ``special_texts``: of all special tokens. ``wire``: the model family's format. ``profile``: of
    its chat template; None: it has none. ``evidence``: the reason for the format.
    ``shows_images``: prompts can have images.
    """

    vocabulary: Vocabulary
    special_texts: tuple[str, ...]
    wire: Format
    profile: TemplateProfile | None
    evidence: Evidence
    shows_images: bool

    def mark(self, number: int) -> str:
        """Return the text that stands for an image in a message of a user or a tool."""
        ...

    def render(
        self,
        messages: Messages,
        tools: Sequence[Tool],
        output: OutputSpec,
        variables: Mapping[str, Any] | None = None,
        client: str | None = None,
    ) -> Rendered:
        """Return the prompt up to the beginning of the answer; ``tools``: those that it shows.

        ``variables``: the request's variables for the chat template, such as
        ``enable_thinking``; those that the template does not read are dropped. ``client``: for
        whose next prompts the ids of this one are kept; None: they are not.

        Raises:
            ApiError: 400; the messages cannot be shown.
            UnshownImages: their images cannot.
        """
        ...

    def reads(self, variable: str) -> bool:
        """Whether the chat template reads a variable."""
        ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Return the ids of a text; the text of a control token becomes that token.

        ``add_special_tokens``: put those around it that the tokenizer adds, such as BOS.
        """
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids of the vocabulary, with control tokens and U+FFFD for bytes that
        are no UTF-8.
        """
        ...


def load_tokenizer(source: str | None, family: str, teaches: bool = True) -> Tokenizer:
    """Return the tokenizer of a folder or hub name; None: the built-in one.

    ``family``: a format, or "auto". ``teaches``: see ``detect``.

    Raises:
        ValueError: no such format, ``source`` has no usable tokenizer, or the vocabulary lacks
            tokens that the format requires.
    """
    if source is None:
        return BuiltinTokenizer(family)
    return HuggingFaceTokenizer(source, family, teaches=teaches)


class BuiltinTokenizer:
    """The noise worker's own vocabulary."""

    profile: TemplateProfile | None = None
    evidence = Evidence(BUILTIN_FAMILY, "setting")
    shows_images = True

    def __init__(self, family: str = "auto") -> None:
        from adapters.workers import noise_vocabulary

        built_in = noise_vocabulary.load(pause=give_way)
        if family != "auto":
            self.evidence = Evidence(family, "setting")
        self.wire = get_format(self.evidence.format)
        self.vocabulary = Vocabulary(
            built_in.tokens,
            stop_token_ids=built_in.stop_ids,
            special_token_ids=sorted(built_in.special.values()),
            encode=built_in.encode,
        )
        self.special_texts = tuple(built_in.special)
        # noise depends on no prompt
        check_fit(self.wire, self.special_texts, is_prompt_written=False)
        self._image_marks = ImageMarks()

    def mark(self, number: int) -> str:
        return self._image_marks.mark(number)

    def render(
        self,
        messages: Messages,
        tools: Sequence[Tool],
        output: OutputSpec,
        variables: Mapping[str, Any] | None = None,
        client: str | None = None,
    ) -> Rendered:
        text = render_plain(self.wire, messages, tools, output)
        first, *others = self._image_marks.around(text)
        ids, images = self.encode(first, add_special_tokens=False), []
        for number, behind in zip(self._image_marks.numbers([text]), others, strict=True):
            images.append(ImagePlace(number, len(ids)))
            ids += self.encode(BUILTIN_IMAGE, add_special_tokens=False)
            ids += self.encode(behind, add_special_tokens=False)
        calls_before = calls_in(messages) if self.wire.counts_calls(output) else 0
        return Rendered(ids, images=tuple(images), calls_before=calls_before)

    def reads(self, variable: str) -> bool:
        return False

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        assert self.vocabulary.encode is not None
        return list(self.vocabulary.encode(text))

    def decode(self, ids: Sequence[int]) -> str:
        return b"".join(self.vocabulary.tokens[number] for number in ids).decode(errors="replace")


class HuggingFaceTokenizer:
    """A tokenizer as ``transformers`` loads it; a folder's own code is never run."""

    def __init__(self, source: str, family: str = "auto", *, teaches: bool = True) -> None:
        tokenizer = pretrained(source)
        self._template, template = read_template(tokenizer)
        self.evidence = Evidence(family, "setting")
        if family == "auto":
            signs = Signs(
                template=self._template,
                source=template,
                special_texts=tokenizer.get_added_vocab(),
                ends=end_texts(tokenizer, source),
                response_template=response_template_of(tokenizer),
            )
            self.evidence = detect(signs, teaches=teaches)
        is_known = self.evidence.basis != "unknown"
        self.wire = self.evidence.family or (
            get_format(self.evidence.format) if is_known else UNKNOWN
        )
        if self._template is not None and self.wire.corrections:
            self._template = self._template.rewritten(self.wire.corrected)
            template = self.wire.corrected(template)
        stops = stop_ids(tokenizer, self.wire.stop_texts)
        self.vocabulary = Vocabulary.from_huggingface(tokenizer, stop_token_ids=stops)
        tokens = self.vocabulary.tokens
        texts = (tokens[number].decode() for number in self.vocabulary.special_token_ids)
        self.special_texts = tuple(text for text in texts if text)
        self._tokenizer: Any = tokenizer
        self._marks = marks_of(template + self.evidence.shown, self.special_texts)
        if self._marks is None:
            derived = self.evidence.family
            self._marks = derived.thinking if derived is not None else self.evidence.thinking
        if self._marks is None and self._template is not None:
            self._marks = marks_at_end(_prompt_of(self._template))
        if self._marks is not None:
            self.wire = with_thinking(self.wire, self._marks)
            answers = answer_marks_of(template, self.special_texts)
            if answers is not None:
                self.wire = with_answer_marks(self.wire, answers)
        if self._template is None:
            self.wire = self.wire.named_in(self.special_texts)
        check_fit(self.wire, self.special_texts, is_prompt_written=self._template is None)
        added = [token.content for token in tokenizer.added_tokens_decoder.values()]
        written = template or self.wire.render([], (Tool("f", {}),), OutputSpec())
        control = {*self.special_texts, *(text for text in added if text in written)}
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self._control = ControlText(backend, control)
        self._image_marks = ImageMarks()
        self._kept_tools = KeptTools()
        self._own_instructions = RecentValues[str](MAX_BYTES)
        self.profile: TemplateProfile | None = None
        self._named: NamedTemplate | None = None
        if self._template is not None:
            shows_calls = self.evidence.taught is None
            probed = profile_of(
                self._template, self.wire.as_text, self.wire.past_calls, shows_calls=shows_calls
            )
            self.profile = with_images(probed, self._template, self._control.spellings_in)
            self._named = NamedTemplate(
                self._template, self._control, self.profile, self._image_marks
            )
            if self.profile.ids == "numbered_by_answer":
                self.wire = numbered_by_answer(self.wire)
        self._format = NamedFormat(self.wire, self._control)
        placeholder = self.profile.placeholder if self.profile is not None else ()
        self.shows_images = bool(placeholder)
        #: the first token of an image's placeholder
        self._image_token = tokenizer.convert_tokens_to_ids(placeholder[0]) if placeholder else None
        named = self._control.named
        self._named_marks = self._marks and replace(
            self._marks,
            begin=named(self._marks.begin),
            end=named(self._marks.end),
            others=tuple((named(begin), named(end)) for begin, end in self._marks.others),
        )
        self._encode = encoder(tokenizer, backend)
        self._segments: PromptSegments | None = None
        if backend is not None:
            self._segments = PromptSegments(backend, self._control.texts)

    def mark(self, number: int) -> str:
        return self._image_marks.mark(number)

    def render(
        self,
        messages: Messages,
        tools: Sequence[Tool],
        output: OutputSpec,
        variables: Mapping[str, Any] | None = None,
        client: str | None = None,
    ) -> Rendered:
        messages = [thought_apart(message, self._marks) for message in messages]
        # templates cannot show calls of builtin tools in a history, so the format writes the prompt
        if self._named is None or self.profile is None or output.builtin_tools:
            text = self._format.prompt(messages, tools, output)
            images = self._image_marks.numbers([text])
        else:
            shown, told = None, tools
            if self.profile.tools:
                shown = self._kept_tools.of(tools, client, output.made) if tools else None
                told = ()
            instructions = self._format.instructions(told, output, client)
            prompt = TemplatePrompt(
                self._named,
                self.profile,
                self._format.as_text,
                self._image_marks,
                tools=shown,
                instructions=instructions,
                # models whose templates show tools were trained without this text
                choice="" if self.profile.tools else self._format.choice_text(output),
                variables=variables or {},
                kept=self._own_instructions,
                client=client,
            )
            text, images = prompt.text(messages)
        thought = thought_at_end(text, self._named_marks)
        calls_before = calls_in(messages) if self.wire.counts_calls(output) else 0
        if not images:
            return Rendered(self._encoded(text, client), thought, calls_before=calls_before)
        ids = self._encode(self._control.separated(_whole_characters(text)), False)
        return Rendered(ids, thought, self._places(ids, images), calls_before)

    def _places(self, ids: Sequence[int], images: Sequence[int]) -> tuple[ImagePlace, ...]:
        """Return the places of images, which the ids have in this order. Raises UnshownImages."""
        places = [at for at, number in enumerate(ids) if number == self._image_token]
        if len(places) != len(images):
            raise UnshownImages(f"{len(images)} images, {len(places)} placeholders")
        return tuple(map(ImagePlace, images, places))

    def reads(self, variable: str) -> bool:
        return self._template is not None and variable in self._template.variables

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return self._encode(text, add_special_tokens)

    def decode(self, ids: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(
            list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def _encoded(self, text: str, client: str | None) -> list[int]:
        text = _whole_characters(text)

        def plainly(text: str) -> list[int]:
            if self._segments is None or client is None:
                return self._encode(text, False)
            return self._segments.encode(client, text)

        try:
            return self._control.encode(text, plainly)
        except UnwritableText:
            raise bad_field(
                "The text of a control token occurs in the {at} or tools, and this model's "
                "tokenizer cannot write it as text.",
                ("messages",),
                "invalid_value",
            ) from None


def _prompt_of(template: ChatTemplate) -> str:
    """Return the prompt for a question; "": the template refuses it."""
    try:
        return template([{"role": "user", "content": "question"}], None, {})
    except TemplateError:
        return ""


def _whole_characters(text: str) -> str:
    """Return a text that a tokenizer takes: escapes in a call's arguments may spell half a
    surrogate pair.
    """
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def check_fit(
    wire: Format, special_texts: Sequence[str], *, is_prompt_written: bool = True
) -> None:
    """Raise ValueError if the vocabulary lacks tokens of the format.

    ``is_prompt_written``: the format writes the prompts, too.
    """
    needed = [*wire.own_tokens, *(wire.prompt_tokens if is_prompt_written else ())]
    missing = [text for text in needed if text not in special_texts]
    if missing:
        raise ValueError(
            f"the format {wire.name!r} needs special tokens that the vocabulary does not have: "
            f"{', '.join(missing)}; choose another `format`"
        )
