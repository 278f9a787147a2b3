"""Locations in a request, and JSON pointers (RFC 6901) into its schemas."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

#: what a field of a request contains, as errors call it
FieldKind = Literal["schema", "grammar", "structural tag"]
#: paths of schemas of which errors name only the field around them
_SCHEMA_PATHS = {
    "response_format": "response_format/json_schema/schema",
    "text.format": "text/format/schema",
}


@dataclass(frozen=True, slots=True)
class Location:
    """A field of a request, and a location inside its schema.

    ``param``    the field as errors name it: "tools[0].function.parameters", "response_format",
                 "tool_choice"; None: no single field.
    ``pointer``  a JSON pointer inside the field's schema; "": the field itself.
    ``what``     the field contains.
    """

    param: str | None = None
    pointer: str = ""
    what: FieldKind = "schema"

    @property
    def path(self) -> str:
        """The field as a path: "tools/0/function/parameters"."""
        param = self.param or ""
        path = _SCHEMA_PATHS.get(param)
        return path or param.replace("[", "/").replace("]", "").replace(".", "/")

    def __str__(self) -> str:
        return f"{self.param or ''}{self.pointer}"


#: no single field of the request
UNKNOWN = Location()


def join_pointer(steps: Iterable[str]) -> str:
    """Return the JSON pointer of these keys and array indices; "" for none."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def split_pointer(pointer: str) -> list[str]:
    """Return the keys and array indices of a JSON pointer; what precedes its first "/" is ignored,
    so that a URI fragment ("#/a") may be given.
    """
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
