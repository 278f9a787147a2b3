"""Tokenizers: the vocabulary, format and prompts of a model.

Representation   a Tokenizer joins a vocabulary for the engine with the format that its model
                 writes, and renders messages as a prompt. There are two: the noise worker's
                 built-in vocabulary, and a Hugging Face folder with or without a chat template.
Invariants       I1 ids are those of the worker; the stop tokens include every token that ends an
                 answer in the format. I2 ``render`` raises ApiError 400 for messages that cannot
                 be shown, and no other exception because of a client's text.
Threads          ``render`` may run in several threads at once.
Not here         the wire syntax of tool calls (adapters.formats).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from adapters.formats import (
    UNKNOWN,
    Format,
    FormatError,
    OutputSpec,
    Thought,
    Tool,
    get_format,
    with_thinking,
)
from engine import Vocabulary

from ..errors import ApiError, bad_request
from . import (
    INSTRUCTING,
    ChatTemplate,
    ControlText,
    DeepArguments,
    Evidence,
    Messages,
    TemplateError,
    TemplateProfile,
    UnwritableText,
    Variables,
    detect,
    encoded,
    fitted,
    marks_of,
    profile_of,
    template_text,
    thought_apart,
    thought_at_end,
)

#: the default family of the built-in vocabulary, which has the tokens of every family
BUILTIN_FAMILY = "hermes"

Prompt = str | list[int]


class Rendered(NamedTuple):
    """A prompt, and the state of reasoning at its end."""

    prompt: Prompt
    thought: Thought = "free"


class Tokenizer(Protocol):
    """A model's tokenizer.

    ``special_texts``: of all special tokens. ``wire``: the model family's format. ``profile``: of
    its chat template; None: it has none. ``evidence``: the reason for the format.
    """

    vocabulary: Vocabulary
    special_texts: tuple[str, ...]
    wire: Format
    profile: TemplateProfile | None
    evidence: Evidence

    def render(
        self,
        messages: Messages,
        tools: Sequence[Tool],
        output: OutputSpec,
        variables: Mapping[str, Any] | None = None,
    ) -> Rendered:
        """Return the prompt up to the beginning of the answer; ``tools``: those that it shows.

        ``variables``: the request's variables for the chat template, such as
        ``enable_thinking``; those that the template does not read are dropped.
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


def load_tokenizer(source: str | None, family: str) -> Tokenizer:
    """Return the tokenizer of a folder or hub name; None: the built-in one.

    ``family``: a format, or "auto".

    Raises:
        ValueError: no such format, ``source`` has no usable tokenizer, or the vocabulary lacks
            tokens that the format requires.
    """
    if source is None:
        return BuiltinTokenizer(family)
    return HuggingFaceTokenizer(source, family)


class BuiltinTokenizer:
    """The noise worker's own vocabulary."""

    profile: TemplateProfile | None = None
    evidence = Evidence(BUILTIN_FAMILY, "setting")

    def __init__(self, family: str = "auto") -> None:
        from adapters.workers import noise_vocabulary

        built_in = noise_vocabulary.load()
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
        check_fit(self.wire, self.special_texts)

    def render(
        self,
        messages: Messages,
        tools: Sequence[Tool],
        output: OutputSpec,
        variables: Mapping[str, Any] | None = None,
    ) -> Rendered:
        return Rendered(render_plain(self.wire, messages, tools, output))

    def reads(self, variable: str) -> bool:
        """See Tokenizer; there is no chat template."""
        return False

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """See Tokenizer; no tokens are added."""
        assert self.vocabulary.encode is not None
        return list(self.vocabulary.encode(text))

    def decode(self, ids: Sequence[int]) -> str:
        """See Tokenizer."""
        return b"".join(self.vocabulary.tokens[number] for number in ids).decode(errors="replace")


class HuggingFaceTokenizer:
    """A tokenizer as ``transformers`` loads it; a folder's own code is never run."""

    def __init__(self, source: str, family: str = "auto") -> None:
        tokenizer = _pretrained(source)
        template = template_text(getattr(tokenizer, "chat_template", None))
        self._template = ChatTemplate(tokenizer, template) if template else None
        self.evidence = Evidence(family, "setting")
        if family == "auto":
            self.evidence = detect(self._template, template, tokenizer.get_added_vocab())
        is_known = self.evidence.basis != "unknown"
        self.wire = get_format(self.evidence.format) if is_known else UNKNOWN
        stops = stop_ids(tokenizer, self.wire.stop_texts)
        self.vocabulary = Vocabulary.from_huggingface(tokenizer, stop_token_ids=stops)
        tokens = self.vocabulary.tokens
        texts = (tokens[number].decode() for number in self.vocabulary.special_token_ids)
        self.special_texts = tuple(text for text in texts if text)
        self._tokenizer: Any = tokenizer
        self.profile = profile_of(self._template, self.wire.as_text) if self._template else None
        self._marks = marks_of(template + self.evidence.shown, self.special_texts)
        if self._marks is not None:
            self.wire = with_thinking(self.wire, self._marks)
        check_fit(self.wire, self.special_texts, is_prompt_written=self._template is None)
        added = [token.content for token in tokenizer.added_tokens_decoder.values()]
        written = template or self.wire.render([], (Tool("f", {}),), OutputSpec())
        control = {*self.special_texts, *(text for text in added if text in written)}
        backend = getattr(tokenizer, "backend_tokenizer", None)
        self._control = ControlText(backend, control)
        self._encode = _encoder(tokenizer, backend)

    def render(
        self,
        messages: Messages,
        tools: Sequence[Tool],
        output: OutputSpec,
        variables: Mapping[str, Any] | None = None,
    ) -> Rendered:
        broken = self._control.broken
        messages = [self._broken(at, message) for at, message in enumerate(messages)]
        tools = [
            replace(
                tool,
                name=broken(tool.name),
                description=broken(tool.description),
                parameters=broken(tool.parameters),
            )
            for tool in tools
        ]
        output = replace(
            output,
            response_schema=broken(output.response_schema),
            response_description=broken(output.response_description),
        )
        # templates cannot show calls of builtin tools in a history, so the format writes the prompt
        if self._template is None or self.profile is None or output.builtin_tools:
            text = render_plain(self.wire, messages, tools, output)
        else:
            variables = broken(variables or {})
            text = self._templated(self._template, self.profile, messages, tools, output, variables)
        return Rendered(self._encoded(text), thought_at_end(text, self._marks))

    def reads(self, variable: str) -> bool:
        """See Tokenizer."""
        return self._template is not None and variable in self._template.variables

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """See Tokenizer."""
        return self._encode(text, add_special_tokens)

    def decode(self, ids: Sequence[int]) -> str:
        """See Tokenizer."""
        text: str = self._tokenizer.decode(
            list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
        )
        return text

    def _broken(self, at: int, message: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self._control.broken_message(thought_apart(message, self._marks))
        except DeepArguments:
            place = f"messages[{at}].tool_calls"
            raise bad_request(
                f"Invalid value for '{place}': the arguments of a call are nested too deeply.",
                place,
                "invalid_value",
            ) from None

    def _encoded(self, text: str) -> list[int]:
        # escapes in a call's arguments may spell half a surrogate pair, which no tokenizer takes
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        if self._control.is_in(text):
            try:
                return self._control.encode(text)
            except UnwritableText:
                raise bad_request(
                    "The text of a control token occurs in the messages or tools, and this model's "
                    "tokenizer cannot write it as text.",
                    "messages",
                    "invalid_value",
                ) from None
        return self._encode(self._control.whole(text), False)

    def _templated(
        self,
        template: ChatTemplate,
        profile: TemplateProfile,
        messages: Messages,
        tools: Sequence[Tool],
        output: OutputSpec,
        variables: Mapping[str, Any],
    ) -> str:
        instructions = self.wire.instructions(() if profile.tools else tools, output)
        said = fitted(messages, profile, instructions=instructions, as_text=self.wire.as_text)
        shown: list[dict[str, Any]] | None = None
        if profile.tools and tools:
            shown = [as_function(tool) for tool in tools]
        elif profile.no_tools == "empty":
            shown = []
        try:
            text = template(said, shown, variables)
        except TemplateError as error:
            field = "messages" if self._takes(template, shown, variables) else "tools"
            reason = self._control.whole(str(error))
            raise _refused(f"refuses these {field}: {reason}", field) from None
        at = 0
        for number, message in enumerate(said):
            # some templates show a system message only if the last message is a user's
            if message["role"] in INSTRUCTING:
                words = message["content"].strip()
                # mostly they keep their order
                found = text.find(words, at)
                found = text.find(words) if found < 0 else found
                at = max(found, 0)
                if found < 0 and not self._shows(template, said, number, shown, variables):
                    raise _refused("drops the system message in this conversation")
        return text

    @staticmethod
    def _takes(template: ChatTemplate, tools: Sequence[Any] | None, variables: Variables) -> bool:
        """Whether the template shows these tools beside a question, if there are any."""
        try:
            template([{"role": "user", "content": "worduser"}], tools, variables)
        except TemplateError:
            return not tools
        return True

    def _shows(
        self,
        template: ChatTemplate,
        messages: Messages,
        number: int,
        tools: Sequence[Any] | None,
        variables: Variables,
    ) -> bool:
        """Whether the template shows a changed text of a message: then it has removed switches such
        as ``/no_think``, but shows the rest.
        """
        probe = "wordsystem"
        changed = [*messages]
        changed[number] = {**messages[number], "content": probe}
        try:
            return probe in template(changed, tools, variables)
        except TemplateError:
            return False


def _encoder(tokenizer: Any, backend: Any) -> Callable[[str, bool], list[int]]:
    """Return the function that encodes a text, in which the texts of special tokens become these
    tokens, with or without those that the tokenizer adds.

    The backend is called directly: ``transformers`` spends 0.15 ms around it.
    """
    if backend is None:
        return lambda text, add: list(tokenizer.encode(text, add_special_tokens=add))
    # a tokenizer's file may ask for them
    backend.no_truncation()
    backend.no_padding()
    return partial(encoded, backend)


def _refused(what: str, field: str = "messages") -> ApiError:
    return bad_request(f"The model's chat template {what}.", field, "refused_by_template")


def _pretrained(source: str) -> Any:
    """Load a tokenizer. Raises ValueError with the reason."""
    if source.startswith(("/", ".", "~")) and not Path(source).is_dir():
        raise ValueError(f"no such folder: {source}")
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(source, trust_remote_code=False)
    except Exception as error:
        # the library passes on its parsers' exceptions; their first line names the reason
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"cannot load a tokenizer from {source}: {reason}") from error


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


def stop_ids(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """Return the ids that end an answer: the tokenizer's own, and those of ``texts``."""
    known: Mapping[str, int] = tokenizer.get_added_vocab()
    ids = {known[text] for text in texts if text in known}
    if tokenizer.eos_token_id is not None:
        ids.add(tokenizer.eos_token_id)
    return sorted(ids)


def render_plain(
    wire: Format, messages: Messages, tools: Sequence[Tool], output: OutputSpec
) -> str:
    """Return the prompt as the format writes it."""
    try:
        return wire.render(messages, tools, output)
    except FormatError as error:
        raise bad_request(
            error.message, error.location.param or "messages", "invalid_value"
        ) from None


def as_function(tool: Tool) -> dict[str, Any]:
    """Return a tool in OpenAI's form, which chat templates expect."""
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters) or {"type": "object", "properties": {}},
    }
    return {"type": "function", "function": function}
