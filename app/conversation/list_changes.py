"""Chat templates that change lists: rewritten, so that they make new lists.

``transformers`` forbids ``append`` and ``pop`` in templates, so templates that were written for
other programs, such as those in GGUF files, fail at the first tool call. On the attribute of a
namespace both mean the same as an assignment:

    set _ = ns.ids.append(x)     set ns.ids = ns.ids + [x]
    set x = ns.ids.pop(0)        set x = ns.ids[0], set ns.ids = ns.ids[1:]

Not here   other places of ``append`` and ``pop``: a variable that is set inside of a loop is not
           seen behind it, so they stay, and calls are written as text (profile).
"""

import re

_LIST = r"(?P<list>[A-Za-z_]\w*\.[A-Za-z_]\w*)"
_SET = r"(?P<begin>\{%[-+]?)\s*set\s+(?P<name>[A-Za-z_]\w*)\s*=\s*"
_END = r"\s*(?P<end>[-+]?%\})"
_APPEND = re.compile(rf"{_SET}{_LIST}\.append\((?P<value>(?:(?!%\}}).)*)\){_END}", re.DOTALL)
_POP = re.compile(rf"{_SET}{_LIST}\.pop\(\s*(?P<first>0?)\s*\){_END}")


def without_list_changes(source: str) -> str:
    """Return a template's source that makes new lists instead."""
    source = _APPEND.sub(r"\g<begin> set \g<list> = \g<list> + [\g<value>] \g<end>", source)
    return _POP.sub(_popped, source)


def _popped(found: re.Match[str]) -> str:
    begin, name, items, end = found.group("begin", "name", "list", "end")
    item, rest = ("0", "1:") if found["first"] else ("-1", ":-1")
    return f"{begin} set {name} = {items}[{item}] -%}}{{% set {items} = {items}[{rest}] {end}"
