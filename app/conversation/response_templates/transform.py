"""The transform of a response template: where the name, the id and the arguments of a call stand.

{"name": "{name}", "arguments": "{content}"}         a group of the open pattern; all content
{"name": "{content.name}", ...}, or "{content}"      members of content that is JSON
{"name": "{tool_name}", ...} with transform_each     members of each item
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .call_shape import Hole, Members
from .template_field import TemplateField, shown

#: keys in a placeholder
MAX_PATH = 4


@dataclass(frozen=True)
class CallTarget:
    """Where ``transform`` takes the values of a call from: groups of the open pattern, or paths in
    the content. ``path``: of the arguments; () is the whole content. ``is_list``: the content is a
    list of calls.
    """

    path: tuple[str, ...]
    name_group: str | None = None
    name_path: tuple[str, ...] = ()
    id_group: str | None = None
    id_path: tuple[str, ...] = ()
    is_list: bool = False

    @classmethod
    def of(cls, each: TemplateField) -> "CallTarget":
        is_list = each.flag("transform_each")
        transform = each.data.get("transform")
        if isinstance(transform, list) and len(transform) == 1:
            transform = transform[0]
        function = transform.get("function") if isinstance(transform, Mapping) else None
        if isinstance(function, str) and not is_list and _path(each, function) == ("content",):
            function = {"name": "{content.name}", "arguments": "{content.arguments}"}
        if not isinstance(transform, Mapping) or not isinstance(function, Mapping):
            raise each.fail("transform", "must be an object with the key 'function'")
        if is_list and each.content not in ("json", "python-call-list"):
            raise each.fail("transform_each", f"{shown(each.content)} is no list")

        def value(text: Any) -> tuple[str | None, tuple[str, ...]]:
            """Return a group, or a path in the content or in an item of it."""
            path = _path(each, text)
            if path[0] == "content" and not is_list:
                return None, path[1:]
            if len(path) == 1 and not is_list:
                return path[0], ()
            if not is_list:
                raise each.fail("transform", f"{shown(text)} is no part of the content")
            return None, path

        if set(function) - {"name", "arguments"} or set(transform) - {"type", "function", "id"}:
            raise each.fail("transform", "has keys besides type, id, function.name and .arguments")
        name_group, name_path = value(function.get("name"))
        group, path = value(function.get("arguments"))
        if group is not None:
            raise each.fail("transform", "takes the arguments out of a mark")
        id_group, id_path = value(transform["id"]) if "id" in transform else (None, ())
        if name_group is None and not name_path:
            raise each.fail("transform", "takes the name out of the whole content")
        return cls(path, name_group, name_path, id_group, id_path, is_list)

    def require_whole(self, each: TemplateField) -> None:
        """Raise UnusableTemplate unless the content is the arguments and nothing else."""
        if self.path or self.name_path or self.id_path or self.is_list:
            raise each.fail("transform", "takes only a part of the content, which has no members")

    def members(self, each: TemplateField) -> list[Members | Hole]:
        """Return the JSON objects in which a call stands, by the order of their members."""
        paths = {"name": self.name_path, "id": self.id_path, "arguments": self.path}
        orders = [("name", "arguments", "id")]
        if self.id_path:
            orders += [("name", "id", "arguments"), ("id", "name", "arguments")]
        if not self.path:
            if self.name_path or self.id_path:
                raise each.fail("transform", "takes the name out of the arguments")
            return [Hole("arguments")]
        return [_nested(each, {key: paths[key] for key in order if paths[key]}) for order in orders]


def _nested(each: TemplateField, paths: Mapping[str, tuple[str, ...]]) -> Members:
    root: dict[str, Any] = {}
    for value, (*path, last) in paths.items():
        inner: Any = root
        for key in path:
            inner = inner.setdefault(key, {})
            if isinstance(inner, Hole):
                raise each.fail("transform", "takes two values out of one")
        if last in inner:
            raise each.fail("transform", "takes two values out of one")
        inner[last] = Hole(value)  # type: ignore[arg-type]
    return root


def _path(each: TemplateField, placeholder: Any) -> tuple[str, ...]:
    """Return the keys of a placeholder such as "{content.args}"."""
    if isinstance(placeholder, str) and placeholder[:1] == "{" and placeholder[-1:] == "}":
        path = tuple(placeholder[1:-1].split(".", MAX_PATH))
        if len(path) <= MAX_PATH and all(key.isidentifier() for key in path):
            return path
    raise each.fail("transform", f"{shown(placeholder)} is no placeholder")
