"""``$ref`` inside one document. Nothing is ever fetched."""

from typing import Any
from urllib.parse import unquote

from ...errors import SpecError, UnsupportedSchema
from .keywords import escape
from .shapes import Located


class References:
    """The document that references point into. ``pointer`` is where its root stands in what the
    caller sent.
    """

    def __init__(self, root: Any, pointer: str) -> None:
        self.root, self.pointer = root, pointer
        own = root.get("$id", root.get("id", "")) if isinstance(root, dict) else ""
        self.base = own.rstrip("#") if isinstance(own, str) else ""
        dialect = root.get("$schema") if isinstance(root, dict) else None
        self.dialect = dialect if isinstance(dialect, str) else ""
        #: whether the document says that it is of a draft before 2020-12
        self.is_older = "draft-0" in self.dialect or "draft/2019" in self.dialect

    def resolve(self, reference: Any, pointer: str) -> Located:
        """The schema that a $ref names.

        Raises:
            SpecError: it names nothing. UnsupportedSchema: it leaves the document, or names an
            anchor.
        """
        if not isinstance(reference, str):
            raise SpecError("$ref must be a string", pointer)
        local = self._local(reference)
        if not local.startswith("#/") and local != "#":
            message = f"the reference {reference!r} leaves the document or names an anchor"
            raise UnsupportedSchema(pointer, "$ref", message)
        found, place = self.root, self.pointer
        for part in unquote(local[1:]).split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = _member(found, key)
            if found is None:
                raise SpecError(f"the reference {reference!r} names nothing", pointer)
            place = f"{place}/{escape(key)}"
            self.check_base(found, place)
        if not isinstance(found, dict | bool):
            raise SpecError(f"the reference {reference!r} names no schema", pointer)
        return Located(found, place)

    def _local(self, reference: str) -> str:
        """The fragment, where the rest names this document."""
        rest = reference[len(self.base) :]
        if self.base and reference.startswith(self.base) and rest[:1] in ("", "#"):
            return rest or "#"
        return reference

    def check_base(self, schema: Any, pointer: str) -> None:
        """An inner $id makes a document of its own, whose references would have to be resolved in
        it.

        Raises:
            UnsupportedSchema: there are such references.
        """
        if schema is self.root or not isinstance(schema, dict):
            return
        for keyword in ("$id", "id"):
            own = schema.get(keyword)
            if (
                not isinstance(own, str)
                or own.startswith("#")
                or (keyword == "id" and "draft-0" not in self.dialect)
            ):
                continue
            if _has_reference(schema):
                message = f"references below an inner {keyword} can't be resolved"
                raise UnsupportedSchema(f"{pointer}/{keyword}", keyword, message)


def _member(value: Any, key: str) -> Any:
    """The member of an object or an array, None if there is none."""
    if isinstance(value, dict):
        return value.get(key)
    if isinstance(value, list) and key.isdecimal() and key.isascii() and len(key) < 10:
        return value[int(key)] if int(key) < len(value) else None
    return None


def _has_reference(schema: Any) -> bool:
    todo = [schema]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if "$ref" in item:
                return True
            todo += item.values()
        elif isinstance(item, list):
            todo += item
    return False
