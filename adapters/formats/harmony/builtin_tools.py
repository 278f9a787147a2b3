"""The builtin tools of gpt-oss: a browser, and Python in a notebook.

The models were trained with these texts, which equal the reference library's (openai-harmony). The
system message shows the tools. The model calls them on the channel analysis, by their recipients:
``browser.search``, ``browser.open`` and ``browser.find`` take JSON, ``python`` takes source code.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ..output_spec import BuiltinTool, Tool
from .typescript_types import Namespace


def _arguments(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    needed = {"required": [*required]} if required else {}
    return {"type": "object", "properties": properties, **needed}


_TEXT = {"type": "string"}
_LAST = {"type": "number", "default": -1}
_SEARCH = Tool(
    "search",
    _arguments(
        {"query": _TEXT, "topn": {"type": "number", "default": 10}, "source": _TEXT}, "query"
    ),
    "Searches for information related to `query` and displays `topn` results.",
)
_OPEN = Tool(
    "open",
    _arguments(
        {
            "id": {"type": ["number", "string"], "default": -1},
            "cursor": _LAST,
            "loc": _LAST,
            "num_lines": _LAST,
            "view_source": {"type": "boolean", "default": False},
            "source": _TEXT,
        }
    ),
    "Opens the link `id` from the page indicated by `cursor` starting at line number `loc`, "
    "showing `num_lines` lines.\n"
    "Valid link ids are displayed with the formatting: `【{id}†.*】`.\n"
    "If `cursor` is not provided, the most recent page is implied.\n"
    "If `id` is a string, it is treated as a fully qualified URL associated with `source`.\n"
    "If `loc` is not provided, the viewport will be positioned at the beginning of the document "
    "or centered on the most relevant passage, if available.\n"
    "Use this function without `id` to scroll to a new location of an opened page.",
)
_FIND = Tool(
    "find",
    _arguments({"pattern": _TEXT, "cursor": _LAST}, "pattern"),
    "Finds exact matches of `pattern` in the current page, or the page given by `cursor`.",
)
_NAMESPACES: Mapping[BuiltinTool, Namespace] = {
    "browser": Namespace(
        "browser",
        "Tool for browsing.\n"
        "The `cursor` appears in brackets before each browsing display: `[{cursor}]`.\n"
        "Cite information from the tool using the following format:\n"
        "`【{cursor}†L{line_start}(-L{line_end})?】`, for example: `【6†L9-L11】` or `【8†L3】`.\n"
        "Do not quote more than 10 words directly from the tool output.\n"
        "sources=web (default: web)",
        (_SEARCH, _OPEN, _FIND),
    ),
    "python": Namespace(
        "python",
        "Use this tool to execute Python code in your chain of thought. The code will not be shown "
        "to the user. This tool should be used for internal reasoning, but not for code that is "
        "intended to be visible to the user (e.g. when creating plots, tables, or files).\n\n"
        "When you send a message containing Python code to python, it will be executed in a "
        "stateful Jupyter notebook environment. python will respond with the output of the "
        "execution or time out after 120.0 seconds. The drive at '/mnt/data' can be used to save "
        "and persist user files. Internet access for this session is UNKNOWN. Depends on the "
        "cluster.",
        (),
    ),
}


def builtin_namespaces(offered: Sequence[BuiltinTool]) -> list[Namespace]:
    """Return the offered tools as the system message shows them, by name."""
    return [_NAMESPACES[name] for name in sorted(set(offered))]


def builtin_recipients(offered: Sequence[BuiltinTool]) -> dict[str, Tool | None]:
    """Return the recipients of calls; None: the message is source code, not JSON."""
    found: dict[str, Tool | None] = {}
    for space in builtin_namespaces(offered):
        found |= {f"{space.name}.{tool.name}": tool for tool in space.tools}
        if not space.tools:
            found[space.name] = None
    return found
