"""The output spec: the requirements of a request on its answer, before any wire format.

Not here    the grammar of the answer and prompts (tags, addressed, harmony; families are data), its
            reading (reading).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

from .location import Location

#: a chat message as clients send it
ChatMessage = Mapping[str, Any]
ToolChoice = Literal["auto", "none", "required", "named"]
#: "auto": the model may reason first, in its family's syntax; "off": it may not
Reasoning = Literal["auto", "off"]
#: the state at the end of the prompt: a thought may begin, has begun, or has ended
Thought = Literal["free", "open", "closed"]
#: a tool that a model family brings along
BuiltinTool = Literal["browser", "python"]
#: reasoning effort, for families whose prompt states one
Effort = Literal["low", "medium", "high"]


class FormatError(ValueError):
    """This format cannot write the requested answer; ``location``: of the reason."""

    def __init__(self, message: str, param: str | None = None, pointer: str = "") -> None:
        self.location = Location(param, pointer)
        place = str(self.location)
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message


@dataclass(frozen=True)
class InputFormat:
    """The format of a custom tool's input.

    ``definition``: the regular expression or the Lark grammar. ``param``: the field with it; "":
    that of chat completions.
    """

    syntax: Literal["text", "regex", "lark"] = "text"
    definition: str = ""
    param: str = ""


@dataclass(frozen=True)
class ResponseGrammar:
    """A constraint of the content that is not a JSON Schema. ``param``: the field that has it.

    ``value``: an expression, a grammar, a list of texts, or a structural tag (a JSON object).
    """

    kind: Literal["regex", "choice", "ebnf", "lark", "structural_tag"]
    value: Any
    param: str


#: of a function whose definition has no parameters
NO_PARAMETERS: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Tool:
    """A tool of the request. ``parameters``: a JSON Schema; {} means "takes no arguments".

    ``strict``: the client refuses a relaxed schema. The grammar does not depend on it. ``input``:
    of a custom tool (custom_tools); None: the tool is a function. ``param``: the field of the
    request that defines it; "": see ``tool_param``. ``schema_field``: of ``parameters``.
    """

    name: str
    parameters: Mapping[str, Any]
    description: str = ""
    strict: bool | None = None
    input: InputFormat | None = None
    param: str = ""
    schema_field: str = "parameters"


@dataclass(frozen=True)
class PastCall:
    """A call of an earlier answer; ``arguments``: JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True)
class ThinkingMarks:
    """The texts around a thought in an answer, and the line feeds beside them (see
    ``reading.reader.TagWhitespace``).

    ``others``: further pairs of such texts; models with efforts have one for each of them.
    ``ends_turn``: ``end`` also stands between a question and its answer, where it ends no thought.
    """

    begin: str
    end: str
    inner_newlines: int = 0
    outer_newlines: int = 0
    others: tuple[tuple[str, str], ...] = ()
    ends_turn: bool = False

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        return ((self.begin, self.end), *self.others)


class JsonLayout(NamedTuple):
    """The white space of JSON, exactly as ``json.dumps`` writes it with these options.

    ``depth``: levels of indentation around the arguments of a call.
    """

    indent: int | str | None = None
    separators: tuple[str, str] = (", ", ": ")
    depth: int = 0

    def written(self, value: Any) -> str:
        """Return a value as JSON text at the depth of arguments."""
        text = json.dumps(value, ensure_ascii=False, indent=self.indent, separators=self.separators)
        unit = " " * self.indent if isinstance(self.indent, int) else self.indent or ""
        return text.replace("\n", "\n" + unit * self.depth)


#: as ``json.dumps`` writes it by default
SPACED = JsonLayout()
#: without white space
COMPACT = JsonLayout(separators=(",", ":"))
#: the names of layouts; "template": that of the model's chat template
LayoutName = Literal["template", "flexible", "compact", "spaced", "indented"]
NAMED_LAYOUTS: Mapping[str, JsonLayout | None] = {
    "flexible": None,
    "compact": COMPACT,
    "spaced": SPACED,
    "indented": JsonLayout(2, (",", ": ")),
}


#: where arguments may stand: anywhere, or in the order of the schema
ArgumentOrder = Literal["any", "schema"]


@dataclass(frozen=True, kw_only=True)
class JsonRules:
    """How an answer writes JSON, within what its schemas allow.

    ``layout``      None: any white space.
    ``element_space``  around the elements of arguments: with a layout, as the format writes it in
                    past calls; False: any.
    ``extra_keys``  additional keys of objects: "last", behind the listed ones, or "none" in objects
                    that list properties without a keyword about others.
    ``argument_order``  of arguments that are elements or keyword arguments: "any", if they are few,
                    or that of the schema.
    ``max_items``, ``max_length``  of arrays and strings without a bound of their own; None: no
                    limit.
    """

    layout: JsonLayout | None = None
    element_space: bool = False
    extra_keys: Literal["last", "none"] = "last"
    argument_order: ArgumentOrder = "any"
    max_items: int | None = None
    max_length: int | None = None


NO_RULES = JsonRules()


#: how prompts show JSON Schemas where the model was not trained with another form: as a
#: ``schema_outline`` if there is one, or as they are
SchemaStyle = Literal["outline", "json_schema"]


@dataclass(frozen=True)
class OutputSpec:
    """The requirements of a request on its answer.

    ``tools``            all tools of the request, in its order.
    ``tool_name``        the tool of tool_choice "named".
    ``barred``           names of tools that the prompt shows but the model may not call.
    ``builtin_tools``    tools that the family brings along; a family without them refuses.
    ``response_schema``  JSON Schema of the content; None: free text; json_object is {"type":
                         "object"}.
    ``response_strict``  the client refuses a relaxed response schema.
    ``response_grammar`` another constraint of the content, instead of a schema.
    ``response_param``   the field of the request that has the schema.
    ``response_name``, ``response_description``  the client's name and description of the schema.
    ``schema_in_prompt``  whether the prompt contains the schema, its name and its description.
    ``schema_style``     how the prompt shows it, and schemas of tools.
    ``instructions``     further text of the system message.
    ``json_rules``       how the answer writes JSON. ``layout_param``: the field of the request that
                         asks for its layout; None: none does.
    ``thought``          the state at the end of the prompt.
    ``thinking_tokens``  maximum tokens of reasoning; None: no limit.
    ``calls_before``     the calls that the prompt shows, if ``Format.counts_calls``, else 0; None:
                         numbers of calls are not constrained.
    """

    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    tool_name: str | None = None
    barred: tuple[str, ...] = ()
    builtin_tools: tuple[BuiltinTool, ...] = ()
    parallel_tool_calls: bool = True
    response_schema: Mapping[str, Any] | bool | None = None
    response_grammar: ResponseGrammar | None = None
    response_param: str = "response_format"
    response_strict: bool = False
    response_name: str = ""
    response_description: str = ""
    schema_in_prompt: bool = True
    schema_style: SchemaStyle = "outline"
    instructions: str = ""
    json_rules: JsonRules = NO_RULES
    layout_param: str | None = None
    reasoning: Reasoning = "auto"
    thought: Thought = "free"
    effort: Effort | None = None
    thinking_tokens: int | None = None
    calls_before: int | None = 0

    @cached_property
    def made(self) -> dict[object, Any]:
        """The results of steps that read this spec, by step: several requests may have one spec."""
        return {}

    @property
    def callable_tools(self) -> tuple[Tool, ...]:
        """The tools that are not barred."""
        return tuple(tool for tool in self.tools if tool.name not in self.barred)

    @property
    def prompt_tools(self) -> tuple[Tool, ...]:
        """The tools that the prompt shows."""
        return () if self.tool_choice == "none" else self.tools

    @property
    def prompt_builtin_tools(self) -> tuple[BuiltinTool, ...]:
        """The builtin tools that the prompt shows."""
        return () if self.tool_choice == "none" else self.builtin_tools

    @property
    def tells_schema(self) -> bool:
        """Whether the prompt contains a response schema."""
        return self.schema_in_prompt and self.response_schema is not None

    @property
    def is_text(self) -> bool:
        """Whether the content is free text."""
        return self.response_schema is None and self.response_grammar is None

    @property
    def may_be_text(self) -> bool:
        """Whether free text alone is an answer; otherwise a call or a JSON value is required."""
        return self.response_schema is None and self.tool_choice in ("auto", "none")
