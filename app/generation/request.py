"""The request for a generation, the same for every API: the common form.

Each API converts its bodies to it (common_form) and has writers for its answers. It says what was
asked, and what the client's API calls each field, so that an error names what the client wrote.

Representation   frozen; messages are lists of parts in the order in which they were said. A field
                 without a value is None: settings decide.
Not here         how messages reach a prompt (conversation), what constraints and tools mean
                 (constraints), the bounds of this server on sampling (sampling).
"""

from collections.abc import Callable, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, NamedTuple, Self, TypeVar

from adapters.formats import LayoutName, Tool
from adapters.workers import SAMPLING_OPTIONS

from ..errors import FieldNames, FieldPath, dotted

# -- messages --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """Text that was said, or that a refusal said."""

    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning of the assistant."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. ``arguments``: JSON text, or the input of a custom tool. ``id``: "" if the
    client sent none.
    """

    name: str
    arguments: str
    id: str = ""
    is_custom: bool = False


#: why a model without vision sees no media
TEXT_ONLY = "this model reads text only"


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a file or a sound.

    ``kind``    its type in the client's API, such as ``input_image``.
    ``at``      its field there, such as ``messages[3].content[0]``, for errors and headers.
    ``url``     of an image: a data URL, or one to fetch; None: this server reads no such part.
    ``detail``  in which the client wants it to be seen.
    ``title``   of a file.
    """

    kind: str
    at: str
    url: str | None = None
    detail: str | None = None
    title: str | None = None

    @property
    def line(self) -> str:
        """The line in its place in prompts of a model without vision."""
        return self.line_of(TEXT_ONLY)

    def line_of(self, reason: str) -> str:
        """Return what prompts that do not show it have in its place."""
        about = f" {self.title}" if self.title else ""
        return f"[{self.kind}{about}: not shown, {reason}]"


Part = Text | Thought | Call | Media
Role = Literal["system", "developer", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    ``name``      of the participant, or of the tool whose result this is.
    ``call_id``   of the call that a result answers; "" if the client sent none.
    ``is_error``  the result tells that the call failed.
    """

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    call_id: str = ""
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text that was said, without media."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def calls(self) -> Sequence[Call]:
        """The calls in this message."""
        return [part for part in self.parts if isinstance(part, Call)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A prompt without a chat template. ``source``: a text, or token ids. ``param``: its field.

    ``adds_special``  the tokenizer's BOS token precedes a text.
    ``is_echoed``     the answer begins with the prompt's text.
    """

    source: str | list[int]
    param: str
    adds_special: bool
    is_echoed: bool


# -- what the answer must be -----------------------------------------------------------------------

#: how tools may be chosen
ToolMode = Literal["auto", "none", "required", "named"]


@dataclass(frozen=True, slots=True)
class ChosenTool:
    """A tool that a choice names. ``at``: the field with its name."""

    name: str
    is_custom: bool
    at: FieldPath


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """``tools``: the named one, or those that may be called; (): all."""

    mode: ToolMode
    tools: tuple[ChosenTool, ...] = ()


ConstraintKind = Literal[
    "json_object", "json_schema", "regex", "choice", "ebnf", "grammar", "structural_tag"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedConstraint:
    """A constraint on the content. ``param``: the client's field that has it.

    ``value``      a schema, an expression, a list of texts, a structural tag; a schema or a tag may
                   be JSON text. ``grammar``: in EBNF or Lark, as its text tells.
    ``is_format``  the field describes the content beside calls, which need not follow it.
    """

    param: str
    kind: ConstraintKind
    value: Any = None
    is_format: bool = False
    strict: bool = False
    name: str = ""
    description: str = ""


class AskedLayout(NamedTuple):
    """The white space of JSON. ``param``: the client's field that asks for it."""

    param: str
    name: LayoutName


@dataclass(frozen=True, slots=True)
class AskedThinking:
    """``is_on``, ``effort``, ``budget`` (tokens; -1: no bound): None where the request leaves it
    open.
    """

    is_on: bool | None = None
    effort: str | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedSampling:
    """The parameters of sampling, with the names and values that chat completions have for them.

    ``options``: of the workers' SamplingOptions, those that a body has, by name.
    """

    n: int | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stops: tuple[str, ...] = ()
    logprobs: bool | None = None
    top_logprobs: int | None = None
    stream: bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, body: object, **changes: Any) -> Self:
        """Return the parameters that a body has under these names, with changes."""
        given = {name: getattr(body, name) for name in _SAMPLING if hasattr(body, name)}
        options = {name: getattr(body, name, None) for name in _OPTIONS}
        return cls(options=options, **given | changes)


#: names of the parameters; ``logprobs`` of a body is one of them, and no option
_SAMPLING = tuple(each.name for each in fields(AskedSampling) if each.name != "options")
_OPTIONS = tuple(name for name in SAMPLING_OPTIONS if name != "logprobs")


#: results of steps that read a body's fields other than messages, by step
Made = MutableMapping[Hashable, Any]
Value = TypeVar("Value")


def once(made: Made | None, step: Hashable, make: Callable[[], Value]) -> Value:
    """Return what a step makes, for bodies with equal fields mostly the same object. Any thread."""
    found: Value | None = None if made is None else made.get(step)
    if found is None:
        found = make()
        if made is not None:
            made[step] = found
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationRequest:
    """See the file's header.

    ``messages``            None: the request has no prompt of messages.
    ``prompts``             in place of messages; an answer to each is plain text, without calls and
                            reasoning.
    ``tools``               None: the request has no such field.
    ``constraints``         a request has one at most, which a later step checks.
    ``closes_objects``      whether objects that list members have no others; None: not said.
    ``template_variables``  of the chat template.
    ``cache_salts``         `cache_salt` and `extra_key`, or (): prompts with others share no keys
                            and values with this one in a worker.
    ``names``               the client's name of a field, by its path here.
    ``ignored``             parts that the prompt does not show: places and kinds.
    ``made``                of this request, and others of its client that differ in messages only;
                            None: there may be none.
    """

    messages: tuple[Message, ...] | None = None
    prompts: tuple[Prompt, ...] = ()
    tools: tuple[Tool, ...] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    constraints: tuple[AskedConstraint, ...] = ()
    json_layout: AskedLayout | None = None
    schema_in_prompt: bool | None = None
    closes_objects: bool | None = None
    thinking: AskedThinking = field(default_factory=AskedThinking)
    verbosity: str | None = None
    template_variables: Mapping[str, Any] = field(default_factory=dict)
    sampling: AskedSampling = field(default_factory=AskedSampling)
    cache_salts: tuple[str, ...] = ()
    names: FieldNames = dotted
    ignored: tuple[str, ...] = ()
    made: Made | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiNames:
    """The names that an API has for the fields of the common form.

    ``fields``    by the first step of a path. An object that only chat completions have
                  (``function``, ``json_schema``) has no name of its own there.
    ``messages``  the field that each message comes from; None: those of chat completions.
    ``tools``     the field that each tool comes from; None: those of chat completions.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    messages: Sequence[str] | None = None
    tools: Sequence[str] | None = None

    def __call__(self, path: FieldPath) -> str:
        """Return the name of the field at a path."""
        if len(path) > 1 and isinstance(path[1], int):
            number = path[1]
            if path[0] == "messages" and self.messages is not None and number < len(self.messages):
                return self.messages[number]
            if path[0] == "tools" and self.tools is not None and number < len(self.tools):
                return dotted((self.tools[number], *_unwrapped(path[2:])))
        first = path[0] if path else ""
        if first not in self.fields:
            return dotted(path)
        return dotted((self.fields[str(first)], *_unwrapped(path[1:])))


def _unwrapped(steps: FieldPath) -> FieldPath:
    """Return a path without its first step if that is an object that only chat completions have."""
    return steps[1:] if steps and steps[0] in ("function", "custom", "json_schema") else steps
