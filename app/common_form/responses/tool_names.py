"""The tools of a request as one list: tools of namespaces get names that say their namespace.

    namespace mcp__weather, tool get   mcp__weather__get
    longer than MAX_NAME, or taken    cut, with eight hexadecimal digits of a digest of both names

Responses, and the calls that clients send back, have the namespace and the tool's own name. Client
tools have their type as their name, as if in a namespace CLIENT, or a cut one, too.

Invariants   I1 names depend on the tools of the request only, and those outside namespaces are
                kept. I2 no two tools have one name, except for two outside namespaces, which later
                steps refuse.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256

from adapters.formats import NO_PARAMETERS, InputFormat, Tool, custom_tool

from ...errors import bad_request
from ...generation import ChosenTool
from ...protocol import (
    CLIENT_TOOLS,
    ClientTool,
    CustomTool,
    FunctionTool,
    HostedTool,
    LoadedToolsItem,
    NamespaceTool,
    OfferedClientTool,
    ResponseGrammarInput,
    ResponseTool,
    ToolName,
    pointer,
)

#: characters of a name, as OpenAI bounds the names of functions
MAX_NAME = 64
_DIGITS = 8
#: stands for the namespace of client tools; a real one has a name
CLIENT = ""


class ToolNames:
    """The tools of one request, and those that items of its conversation ``loaded``.

    ``tools``        in the common form.
    ``ignored``      tools that are left out, and fields without effect: places and kinds.

    Raises:
        ApiError: 400, two tools of one namespace have one name.
    """

    def __init__(
        self,
        tools: Sequence[ResponseTool],
        loaded: Iterable[tuple[str, LoadedToolsItem]] = (),
    ) -> None:
        self.tools: list[Tool] = []
        self.ignored: list[str] = []
        #: namespace (None: outside) and name, by the name in prompts
        self._tools: dict[str, tuple[str | None, str]] = {
            each.name: (None, each.name)
            for each in tools
            if isinstance(each, FunctionTool | CustomTool)
        }
        self._flat: dict[tuple[str, str], str] = {}
        for number, each in enumerate(tools):
            self._read(each, f"tools[{number}]")
        for place, item in loaded:
            for number, tool in enumerate(item.read()):
                self._load(tool, f"{place}.tools[{number}]")
        self._alone = self._without_namespace()
        self._kinds = {(_is_custom(each), each.name) for each in self.tools}

    def flat(self, namespace: str | None, name: str) -> str:
        """Return the name of a tool in prompts; of an unknown one, too.

        Without a namespace, a name that only one namespace has means that tool.
        """
        if namespace is None:
            return name if name in self._tools else self._alone.get(name, name)
        if namespace == CLIENT:
            return self._flat.get((CLIENT, name), name)
        return self._flat.get((namespace, name)) or _cut(f"{namespace}__{name}", namespace, name)

    def of_namespace(self, namespace: str) -> list[ChosenTool]:
        """Return a namespace's tools as a choice has them."""
        return [
            ChosenTool(each.name, _is_custom(each), ("tool_choice",))
            for each in self.tools
            if self._tools[each.name][0] == namespace
        ]

    def offers(self, kind: str) -> bool:
        """Whether the model sees the client tool of this type."""
        return (CLIENT, kind) in self._flat

    def is_known(self, flat: str, *, is_custom: bool) -> bool:
        """Whether a tool of this type has the name in prompts."""
        return (is_custom, flat) in self._kinds

    def ignore(self, place: str, kind: str) -> None:
        """Note a part that is left out."""
        self.ignored.append(f"{pointer(place)} {kind}")

    def named(self, flat: str) -> ToolName | ClientTool:
        """Return the fields of a call that name its tool, or the client tool."""
        namespace, name = self._tools.get(flat, (None, flat))
        if namespace == CLIENT:
            return CLIENT_TOOLS[name]
        return {"name": name} if namespace is None else {"name": name, "namespace": namespace}

    def _read(self, tool: ResponseTool, place: str) -> None:
        if isinstance(tool, HostedTool):
            self.ignore(place, tool.type)
        elif isinstance(tool, OfferedClientTool):
            self._read_client(tool, place)
        elif isinstance(tool, NamespaceTool):
            self._read_namespace(tool, place)
        else:
            self._add(tool, place, tool.name, "")

    def _read_namespace(self, space: NamespaceTool, place: str, *, is_loaded: bool = False) -> None:
        """Offer the tools of a namespace; of a loaded one, those that are not there yet."""
        about = space.about
        for number, each in enumerate(space.tools):
            below = f"{place}.tools[{number}]"
            if isinstance(each, HostedTool):
                self.ignore(below, each.type)
            elif not is_loaded or (space.name, each.name) not in self._flat:
                self._add(each, below, self._flattened(space.name, each.name, below), about)
                about = ""

    def _load(self, tool: ResponseTool | str, place: str) -> None:
        """Offer a tool that an item loaded, unless it cannot be read or is there already."""
        if isinstance(tool, str):
            self.ignore(place, tool)
        elif isinstance(tool, NamespaceTool):
            self._read_namespace(tool, place, is_loaded=True)
        elif isinstance(tool, FunctionTool | CustomTool):
            if tool.name not in self._tools:
                self._tools[tool.name] = (None, tool.name)
                self._read(tool, place)
        elif isinstance(tool, HostedTool) or not self.offers(tool.type):
            self._read(tool, place)

    def _read_client(self, tool: OfferedClientTool, place: str) -> None:
        """Offer a client tool, unless it runs at OpenAI's or is there already."""
        if not tool.runs_here or self.offers(tool.type):
            self.ignore(place, tool.type)
            return
        name = self._unused(tool.type, CLIENT, tool.type)
        parameters = CLIENT_TOOLS[tool.type].parameters
        self.tools.append(Tool(name, parameters, tool.description, param=place))

    def _add(self, tool: FunctionTool | CustomTool, place: str, name: str, about: str) -> None:
        if tool.defer_loading:
            self.ignore(place, "defer_loading")
        self.tools.append(_common(tool, name, about, place))

    def _flattened(self, namespace: str, name: str, place: str) -> str:
        if (namespace, name) in self._flat:
            raise bad_request(
                f"Duplicate tool name '{name}' in the namespace '{namespace}'.",
                f"{place}.name",
                "duplicate_tool_name",
            )
        return self._unused(f"{namespace}__{name}", namespace, name)

    def _unused(self, wanted: str, namespace: str, name: str) -> str:
        """Keep a name for prompts: the wanted one, unless another tool has it or it is too long."""
        flat, tries = _cut(wanted, namespace, name), 0
        while flat in self._tools:
            flat, tries = _marked(wanted, f"{tries}", namespace, name), tries + 1
        self._tools[flat] = (namespace, name)
        self._flat[namespace, name] = flat
        return flat

    def _without_namespace(self) -> dict[str, str]:
        """Return the names in prompts by the names that exactly one namespace has."""
        owners: dict[str, list[str]] = {}
        for (_, name), flat in self._flat.items():
            owners.setdefault(name, []).append(flat)
        return {name: found[0] for name, found in owners.items() if len(found) == 1}


def _is_custom(tool: Tool) -> bool:
    return tool.input is not None


def _common(tool: FunctionTool | CustomTool, name: str, about: str, place: str) -> Tool:
    """Return a tool in the common form. ``about``: what its namespace is, for the description."""
    description = "\n\n".join(filter(None, (tool.description, about)))
    if isinstance(tool, FunctionTool):
        parameters = NO_PARAMETERS if tool.parameters is None else tool.parameters
        return Tool(name, parameters, description, tool.strict, param=place)
    wanted = InputFormat()
    if isinstance(tool.format, ResponseGrammarInput):
        syntax, definition = tool.format.syntax, tool.format.definition
        wanted = InputFormat(syntax, definition, f"{place}.format.definition")
    return custom_tool(name, description, wanted, place)


def _cut(flat: str, *parts: str) -> str:
    return flat if len(flat) <= MAX_NAME else _marked(flat, *parts)


def _marked(flat: str, *parts: str) -> str:
    """Return the name with a digest of its parts at the end, within the bound."""
    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
    return f"{flat[: MAX_NAME - _DIGITS - 1]}_{digest}"
