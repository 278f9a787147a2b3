"""The structural tag language: from JSON to checked formats. Nothing is emitted here.

The language is xgrammar's. A document has two spellings:

    {"type": "structural_tag", "format": F}
    {"type": "structural_tag", "structures": [{"begin", "schema", "end"}, ...], "triggers": [...]}

The second, older one is triggered tags around schemas. Names of tokens are resolved to ids.

Invariants   those of tag_formats; nothing nests deeper than Limits.spec_depth, which is found out
             without recursion, so that the recursion here is bounded.
Refused      what the language knows and the engine can't do, and every unknown field or type, by
             its name (UnsupportedSchema); what makes no sense (SpecError). Nothing is ignored.
"""

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..errors import LimitExceeded, SpecError, UnsupportedSchema
from ..limits import Limits
from .tag_formats import (
    AnyText,
    ConstString,
    Format,
    JsonSchema,
    Mark,
    Or,
    Regex,
    Repeat,
    Sequence,
    Tag,
    TagsWithSeparator,
    Token,
    Triggered,
    is_endless,
    is_text,
    starts_with,
)

#: what a "switchyard" field must name: additions of our own, which other engines refuse by name
EXTENSION_VERSION = 1

#: what repeats how often
REPEATS: dict[str, tuple[int, int | None]] = {
    "optional": (0, 1),
    "star": (0, None),
    "plus": (1, None),
}

#: formats and fields that are refused by name; a field at its default means nothing and passes
UNSUPPORTED_TYPES = {
    "any_tokens",
    "dispatch",
    "exclude_token",
    "grammar",
    "qwen_xml_parameter",
    "repeat",
    "token_dispatch",
}
UNSUPPORTED_FIELDS: dict[str, dict[str, Any]] = {
    "json_schema": {
        "style": "json",
        "any_order": False,
        "max_whitespace_cnt": None,
        "excludes": [],
    },
    "any_text": {"max_tokens": None, "max_chars": None},
}


def parse_structural_tag(
    document: Any, special_tokens: Mapping[str, int], limits: Limits
) -> Format:
    """The format of a document in either spelling."""
    check_depth(document, limits)
    fields = Fields(document, "")
    if fields.take("type", "structural_tag") != "structural_tag":
        raise SpecError('the type of the document must be "structural_tag"', "/type")
    reader = Reader(special_tokens)
    is_old = "structures" in fields.left
    made = reader.legacy(fields) if is_old else reader.format(*fields.item("format"))
    fields.finish()
    return made


def check_depth(document: Any, limits: Limits) -> None:
    """I5, without recursion. Schemas count their own levels, in their own front end."""
    todo = [(document, 1, "")]
    while todo:
        value, depth, place = todo.pop()
        if not isinstance(value, dict | list):
            continue
        if depth > limits.spec_depth:
            raise LimitExceeded("spec_depth", limits.spec_depth, depth, place)
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key not in ("json_schema", "schema"):
                step = str(key).replace("~", "~0").replace("/", "~1")
                todo.append((inner, depth + 1, f"{place}/{step}"))


class Fields:
    """The fields of one JSON object, taken one by one; what is left over at the end is refused."""

    def __init__(self, value: Any, pointer: str) -> None:
        if not isinstance(value, dict):
            raise SpecError("must be an object", pointer)
        self.left: dict[str, Any] = dict(value)
        self.pointer = pointer

    def fault(self, name: str, message: str) -> SpecError:
        return SpecError(f"{name} {message}", f"{self.pointer}/{name}")

    def take(self, name: str, default: Any = None) -> Any:
        return self.left.pop(name, default)

    def item(self, name: str) -> tuple[Any, str]:
        """A field that must be there, and its pointer."""
        if name not in self.left:
            raise SpecError(f"the field {name!r} is missing", self.pointer)
        return self.left.pop(name), f"{self.pointer}/{name}"

    def items(self, name: str) -> list[tuple[Any, str]]:
        """The elements of a list that must be there and must not be empty, with their pointers."""
        value, place = self.item(name)
        if not isinstance(value, list) or not value:
            raise self.fault(name, "must be a list with at least one element")
        return [(element, f"{place}/{k}") for k, element in enumerate(value)]

    def optional_items(self, name: str) -> list[tuple[Any, str]]:
        """The same for a list that may be absent or empty."""
        return self.items(name) if self.left.get(name, []) != [] else self.left.pop(name, [])

    def text(self, name: str) -> str:
        return as_text(*self.item(name))

    def flag(self, name: str) -> bool:
        value = self.take(name, False)
        if not isinstance(value, bool):
            raise self.fault(name, "must be true or false")
        return value

    def finish(self, defaults: Mapping[str, Any] | None = None) -> None:
        """``defaults`` are the values of fields that mean nothing."""
        known = defaults or {}
        for name, value in self.left.items():
            if name not in known or value != known[name]:
                raise UnsupportedSchema(self.pointer, name)


def as_text(value: Any, pointer: str, *, filled: bool = False) -> str:
    """A string that can be written in UTF-8."""
    if not isinstance(value, str) or (filled and not value):
        raise SpecError("must be a string" + " that is not empty" * filled, pointer)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise SpecError("holds half of a surrogate pair", pointer) from None
    return value


def as_texts(items: Collection[tuple[Any, str]]) -> tuple[str, ...]:
    return tuple(as_text(value, place, filled=True) for value, place in items)


class Reader:
    """Formats from JSON values; one method for each type."""

    def __init__(self, special_tokens: Mapping[str, int]) -> None:
        self._tokens = special_tokens
        self._special_ids = frozenset(special_tokens.values())
        self._types: dict[str, Callable[[Fields], Format]] = {
            "const_string": lambda f: ConstString(f.pointer, f.text("value")),
            "regex": lambda f: Regex(f.pointer, f.text("pattern")),
            "json_schema": self._json_schema,
            "any_text": lambda f: AnyText(f.pointer, as_texts(f.optional_items("excludes"))),
            "token": lambda f: Token(f.pointer, self._token(*f.item("token"))),
            "sequence": lambda f: Sequence(f.pointer, self._formats(f)),
            "or": lambda f: Or(f.pointer, self._formats(f)),
            "tag": self._tag,
            "triggered_tags": self._triggered_tags,
            "token_triggered_tags": self._token_triggered_tags,
            "tags_with_separator": self._tags_with_separator,
        }

    def format(self, value: Any, pointer: str) -> Format:
        fields = Fields(value, pointer)
        kind = fields.item("type")[0]
        if isinstance(kind, str) and kind in REPEATS:
            made = self._repeat(fields, kind)
        elif isinstance(kind, str) and kind in self._types:
            made = self._types[kind](fields)
        elif isinstance(kind, str):
            known = kind in UNSUPPORTED_TYPES
            message = f"the format {kind!r} {'is not supported' if known else 'does not exist'}"
            raise UnsupportedSchema(pointer, kind, message)
        else:
            raise fields.fault("type", "must be a string")
        fields.finish(UNSUPPORTED_FIELDS.get(kind))
        return made

    def legacy(self, fields: Fields) -> Triggered:
        """The older spelling: triggered tags around schemas, at the root of the document."""
        tags = []
        for value, place in fields.items("structures"):
            inner = Fields(value, place)
            schema, schema_place = inner.item("schema")
            if isinstance(schema, str):
                schema = self._schema_text(schema, schema_place)
            content = JsonSchema(schema_place, as_schema(schema, schema_place), schema_place)
            tags.append(Tag(place, inner.text("begin"), content, (inner.text("end"),)))
            inner.finish()
        made = Triggered("", as_texts(fields.items("triggers")), tuple(tags), (), False, False)
        check_triggers(made, "/triggers")
        return made

    @staticmethod
    def _schema_text(text: str, pointer: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SpecError(f"holds no JSON: {error}", pointer) from None

    # -- leaves -----------------------------------------------------------------------------------
    def _token(self, value: Any, pointer: str) -> int:
        if isinstance(value, str):
            if value not in self._tokens:
                raise SpecError(f"there is no special token {value!r}", pointer)
            return self._tokens[value]
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise SpecError("must be the text of a special token or a token id", pointer)
        return value

    def _specials(self, name: str, items: Collection[tuple[Any, str]]) -> tuple[int, ...]:
        """Tokens that free text is searched for; others can't be told apart from their bytes."""
        tokens = tuple(self._token(*item) for item in items)
        for token, (_, place) in zip(tokens, items, strict=True):
            if token not in self._special_ids:
                raise UnsupportedSchema(place, name, f"{token} is not a special token")
        return tokens

    @staticmethod
    def _json_schema(fields: Fields) -> JsonSchema:
        value, place = fields.item("json_schema")
        schema = as_schema(value, place)
        if "switchyard" not in fields.left:
            return JsonSchema(fields.pointer, schema, place)
        own = Fields(*fields.item("switchyard"))
        if own.take("version") != EXTENSION_VERSION:
            raise own.fault("version", f"must be {EXTENSION_VERSION}")
        extra_keys = own.take("extra_keys", "anywhere")
        if extra_keys not in ("anywhere", "last"):
            raise own.fault("extra_keys", 'must be "anywhere" or "last"')
        loose = own.flag("loose")
        own.finish()
        return JsonSchema(fields.pointer, schema, place, extra_keys, loose)

    # -- composition ------------------------------------------------------------------------------
    def _formats(self, fields: Fields) -> tuple[Format, ...]:
        return tuple(self.format(*item) for item in fields.items("elements"))

    def _repeat(self, fields: Fields, kind: str) -> Format:
        content = self.format(*fields.item("content"))
        # Text after text is text: so its triggers, excludes and the tag's end hold for the whole.
        if is_text(content):
            return content
        return Repeat(fields.pointer, content, *REPEATS[kind])

    def _mark(self, value: Any, pointer: str) -> Mark:
        if not isinstance(value, dict):
            return as_text(value, pointer)
        fields = Fields(value, pointer)
        if fields.take("type") != "token":
            raise fields.fault("type", 'must be "token"')
        token = self._token(*fields.item("token"))
        fields.finish()
        return token

    def _tag(self, fields: Fields) -> Tag:
        begin = self._mark(*fields.item("begin"))
        content = self.format(*fields.item("content"))
        ends = self._ends(fields)
        if is_endless(content) and all(end == "" for end in ends):
            raise fields.fault("end", "must not be empty after free text, or the text never ends")
        return Tag(fields.pointer, begin, content, ends)

    def _ends(self, fields: Fields) -> tuple[Mark, ...]:
        if not isinstance(fields.left.get("end"), list):
            return (self._mark(*fields.item("end")),)
        return tuple(as_text(value, place) for value, place in fields.items("end"))

    def _tags(self, fields: Fields) -> tuple[Tag, ...]:
        tags = []
        for value, place in fields.items("tags"):
            tag_fields = Fields(value, place)
            if tag_fields.take("type", "tag") != "tag":
                raise tag_fields.fault("type", 'must be "tag"')
            tags.append(self._tag(tag_fields))
            tag_fields.finish()
        return tuple(tags)

    def _triggered_tags(self, fields: Fields) -> Triggered:
        triggers = as_texts(fields.items("triggers"))
        excludes = as_texts(fields.optional_items("excludes"))
        return self._triggered(fields, triggers, excludes, "triggers")

    def _token_triggered_tags(self, fields: Fields) -> Triggered:
        triggers = self._specials("trigger_tokens", fields.items("trigger_tokens"))
        excludes = self._specials("exclude_tokens", fields.optional_items("exclude_tokens"))
        kept = tuple(token for token in excludes if token not in triggers)
        return self._triggered(fields, triggers, kept, "trigger_tokens")

    def _triggered(
        self, fields: Fields, triggers: tuple[Mark, ...], excludes: tuple[Mark, ...], name: str
    ) -> Triggered:
        made = Triggered(
            fields.pointer, triggers, self._tags(fields), excludes,
            fields.flag("at_least_one"), fields.flag("stop_after_first"),
        )  # fmt: skip
        check_triggers(made, f"{fields.pointer}/{name}")
        return made

    def _tags_with_separator(self, fields: Fields) -> TagsWithSeparator:
        return TagsWithSeparator(
            fields.pointer, self._tags(fields), fields.text("separator"),
            fields.flag("at_least_one"), fields.flag("stop_after_first"),
        )  # fmt: skip


def as_schema(value: Any, pointer: str) -> Any:
    if not isinstance(value, dict | bool):
        raise SpecError("must be a JSON Schema, an object or a boolean", pointer)
    return value


def check_triggers(made: Triggered, place: str) -> None:
    """I3."""
    kind = type(made.triggers[0])
    for tag in made.tags:
        if not isinstance(tag.begin, kind):
            what = "a text" if kind is str else "a token"
            message = f"the begin of this tag must be {what}, as the triggers are"
            raise SpecError(message, f"{tag.pointer}/begin")
        if not any(starts_with(tag.begin, trigger) for trigger in made.triggers):
            raise SpecError("the begin of this tag starts with no trigger", f"{tag.pointer}/begin")
    for number, trigger in enumerate(made.triggers):
        if not any(starts_with(tag.begin, trigger) for tag in made.tags):
            raise SpecError("no tag begins with this trigger", f"{place}/{number}")
