"""The structural tag language: from JSON to checked formats. Nothing is emitted here.

The language is xgrammar's. A document has two spellings:

    {"type": "structural_tag", "format": F}
    {"type": "structural_tag", "structures": [{"begin", "schema", "end"}, ...], "triggers": [...]}

The second, older one is triggered tags around schemas. Names of tokens are resolved to ids.

Invariants   those of tag_formats; nothing nests deeper than Limits.spec_depth, so that the
             recursion here is bounded.
Refused      what the language knows and the engine can't do, and every unknown field or type, by
             its name (UnsupportedSchema); what makes no sense (SpecError). Nothing is ignored.
Cost         linear, about 4 us a tag; places are written out only where something is wrong.
"""

import json
from collections.abc import Callable, Collection
from typing import Any

from ..errors import LimitExceeded, SpecError, UnsupportedSchema
from ..limits import Limits
from .tag_fields import Fields, Place, as_schema, as_text, as_texts
from .tag_formats import (
    AnyText,
    ConstString,
    Dispatch,
    Ebnf,
    Format,
    JsonSchema,
    Mark,
    Or,
    OtherTokens,
    Regex,
    Repeat,
    Sequence,
    Tag,
    TagsWithSeparator,
    Token,
    Triggered,
    is_endless,
    is_text,
)
from .tag_vocabulary import TagVocabulary
from .tag_xml import STYLES

#: what a "switchyard" field must name: additions of our own, which other engines refuse by name
EXTENSION_VERSION = 1
#: the largest count; the engine's registers hold 32 bits
MOST = 2**31 - 1
#: blanks that follow one another in the white space between JSON tokens: a newline and 20 more
BLANKS = 21


def parse_structural_tag(document: Any, vocabulary: TagVocabulary, limits: Limits) -> Format:
    """The format of a document in either spelling."""
    try:
        fields = Fields(document, "")
        if fields.get("type", "structural_tag") != "structural_tag":
            raise SpecError('the type of the document must be "structural_tag"', "/type")
        reader = Reader(document, vocabulary, limits)
        is_old = "structures" in document
        if is_old:
            made: Format = reader.legacy(fields)
        else:
            made = reader.format(fields.item("format"), "/format", 2)
        fields.finish("type", *(("structures", "triggers") if is_old else ("format",)))
    except SpecError:
        check_depth(document, limits)
        raise
    return made


def check_depth(document: Any, limits: Limits) -> None:
    """Nesting of the whole document, without recursion.

    Schemas count their own levels, in their own front end.
    """
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


class Reader:
    """Formats from JSON values; one method for each type.

    ``depth`` counts levels of JSON. Formats reach two levels below themselves at most, so that
    the document is looked at as a whole when one comes near to the limit.
    """

    def __init__(self, document: Any, vocabulary: TagVocabulary, limits: Limits) -> None:
        self._document = document
        self._limits = limits
        self._careful = limits.spec_depth - 2
        self._vocabulary = vocabulary

    def format(self, value: Any, pointer: str, depth: int) -> Format:
        if depth > self._careful:
            check_depth(self._document, self._limits)
            self._careful = depth + self._limits.spec_depth
        fields = Fields(value, pointer)
        kind = fields.item("type")
        if not isinstance(kind, str):
            raise fields.fault("type", "must be a string")
        found = TYPES.get(kind)
        if found is None:
            raise UnsupportedSchema(pointer, kind, f"the format {kind!r} does not exist")
        made = found[0](self, fields, depth)
        fields.finish("type", *found[1])
        return made

    def legacy(self, fields: Fields) -> Triggered:
        """The older spelling: triggered tags around schemas, at the root of the document."""
        tags = []
        for k, value in enumerate(fields.items("structures")):
            inner = Fields(value, f"/structures/{k}")
            schema = inner.item("schema")
            place = f"{inner.pointer}/schema"
            if isinstance(schema, str):
                schema = self._schema_text(schema, place)
            content = JsonSchema(place, as_schema(schema, place), place)
            tags.append(Tag(inner.pointer, inner.text("begin"), content, (inner.text("end"),)))
            inner.finish("begin", "schema", "end")
        triggers = as_texts(fields.items("triggers"), "/triggers")
        made = Triggered("", triggers, tuple(tags), (), False, False)
        check_triggers(made, "/triggers")
        return made

    @staticmethod
    def _schema_text(text: str, pointer: str) -> Any:
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SpecError(f"holds no JSON: {error}", pointer) from None

    # -- leaves -----------------------------------------------------------------------------------
    def _token(self, value: Any, fields: Fields, *place: Place) -> int:
        if isinstance(value, str):
            if value not in self._vocabulary.special_tokens:
                raise fields.error(f"there is no special token {value!r}", *place)
            return self._vocabulary.special_tokens[value]
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise fields.error("must be the text of a special token or a token id", *place)
        return value

    def _tokens(self, fields: Fields, name: str) -> tuple[int, ...]:
        items = fields.optional_items(name)
        return tuple(self._token(value, fields, name, k) for k, value in enumerate(items))

    def _special(self, value: Any, fields: Fields, name: str, *place: Place) -> int:
        """A token that free text is searched for; others can't be told apart from their bytes."""
        token = self._token(value, fields, *place)
        if token not in self._vocabulary.special_ids:
            message = f"{token} is not a special token"
            raise UnsupportedSchema(fields.place(*place), name, message)
        return token

    def _specials(self, fields: Fields, name: str, items: Collection[Any]) -> tuple[int, ...]:
        return tuple(self._special(v, fields, name, name, k) for k, v in enumerate(items))

    def _json_schema(self, fields: Fields, _: int) -> JsonSchema:
        place = f"{fields.pointer}/json_schema"
        made = JsonSchema(fields.pointer, as_schema(fields.item("json_schema"), place), place)
        if len(fields.value) > 2:
            _json_schema_options(fields, made)
        return made

    def _qwen_xml_parameter(self, fields: Fields, _: int) -> JsonSchema:
        place = f"{fields.pointer}/json_schema"
        schema = as_schema(fields.item("json_schema"), place)
        return JsonSchema(fields.pointer, schema, place, style="qwen_xml")

    def _any_text(self, fields: Fields, _: int) -> AnyText:
        excludes = as_texts(fields.optional_items("excludes"), fields.pointer, "excludes")
        if fields.get("max_tokens") is not None:
            message = "the engine counts characters of free text, not its tokens: use max_chars"
            raise UnsupportedSchema(fields.pointer, "max_tokens", message)
        return AnyText(fields.pointer, excludes, fields.bound("max_chars", MOST))

    def _one_token(self, fields: Fields, _: int) -> Token:
        return Token(fields.pointer, self._token(fields.item("token"), fields, "token"))

    def _exclude_token(self, fields: Fields, _: int) -> OtherTokens:
        return OtherTokens(fields.pointer, self._tokens(fields, "exclude_tokens"), 1, 1)

    def _any_tokens(self, fields: Fields, _: int) -> OtherTokens:
        excludes = self._tokens(fields, "exclude_tokens")
        return OtherTokens(fields.pointer, excludes, 0, fields.bound("max_tokens", MOST))

    # -- composition ------------------------------------------------------------------------------
    def _formats(self, fields: Fields, depth: int) -> tuple[Format, ...]:
        place = f"{fields.pointer}/elements/"
        items = fields.items("elements")
        return tuple([self.format(v, f"{place}{k}", depth + 2) for k, v in enumerate(items)])

    def _content(self, fields: Fields, depth: int) -> Format:
        return self.format(fields.item("content"), f"{fields.pointer}/content", depth + 1)

    def _repeat_counted(self, fields: Fields, depth: int) -> Format:
        minimum, maximum = fields.count("min", 0, MOST), fields.count("max", -1, MOST)
        if -1 < maximum < minimum:
            raise fields.fault("max", "must not be below min, unless it is -1, no upper bound")
        return self._repeat(fields, minimum, None if maximum == -1 else maximum, depth)

    def _repeat(self, fields: Fields, minimum: int, maximum: int | None, depth: int) -> Format:
        content = self._content(fields, depth)
        if maximum == 0:
            return Repeat(fields.pointer, content, 0, 0)
        # Text after text is text: so its triggers, excludes and the tag's end hold for the whole.
        if is_text(content):
            return content
        if isinstance(content, AnyText) and content.max_chars is not None:
            bound = None if maximum is None else content.max_chars * maximum
            if content.max_chars == 0:
                bound = 0
            return AnyText(content.pointer, content.excludes, bound)
        return Repeat(fields.pointer, content, minimum, maximum)

    # -- tags -------------------------------------------------------------------------------------
    def _mark(self, fields: Fields, name: str) -> Mark:
        value = fields.item(name)
        if not isinstance(value, dict):
            return as_text(value, fields.pointer, name)
        inner = Fields(value, f"{fields.pointer}/{name}")
        if inner.get("type") != "token":
            raise inner.fault("type", 'must be "token"')
        token = self._token(inner.item("token"), inner, "token")
        inner.finish("type", "token")
        return token

    def _tag(self, fields: Fields, depth: int) -> Tag:
        begin = self._mark(fields, "begin")
        content = self._content(fields, depth)
        ends: tuple[Mark, ...]
        if isinstance(fields.value.get("end"), list):
            items = enumerate(fields.items("end"))
            ends = tuple(as_text(value, fields.pointer, "end", k) for k, value in items)
        else:
            ends = (self._mark(fields, "end"),)
        if not any(end != "" for end in ends) and is_endless(content):
            raise fields.fault("end", "must not be empty after free text, or the text never ends")
        return Tag(fields.pointer, begin, content, ends)

    def _tags(self, fields: Fields, depth: int) -> tuple[Tag, ...]:
        tags = []
        place = f"{fields.pointer}/tags/"
        for k, value in enumerate(fields.items("tags")):
            inner = Fields(value, f"{place}{k}")
            if inner.get("type", "tag") != "tag":
                raise inner.fault("type", 'must be "tag"')
            tags.append(self._tag(inner, depth + 2))
            inner.finish("type", *TYPES["tag"][1])
        return tuple(tags)

    def _triggered_tags(self, fields: Fields, depth: int) -> Triggered:
        triggers = as_texts(fields.items("triggers"), fields.pointer, "triggers")
        excludes = as_texts(fields.optional_items("excludes"), fields.pointer, "excludes")
        return self._triggered(fields, triggers, excludes, "triggers", depth)

    def _token_triggered_tags(self, fields: Fields, depth: int) -> Triggered:
        triggers = self._specials(fields, "trigger_tokens", fields.items("trigger_tokens"))
        kept = self._kept_excludes(fields, triggers)
        return self._triggered(fields, triggers, kept, "trigger_tokens", depth)

    def _kept_excludes(self, fields: Fields, triggers: Collection[Mark]) -> tuple[Mark, ...]:
        """Tokens that free text must not hold; a trigger is no text, so excluding it is idle."""
        name = "exclude_tokens"
        excludes = self._specials(fields, name, fields.optional_items(name))
        return tuple(token for token in excludes if token not in triggers)

    def _triggered(
        self, fields: Fields, triggers: tuple[Mark, ...], excludes: tuple[Mark, ...], name: str,
        depth: int,
    ) -> Triggered:  # fmt: skip
        made = Triggered(
            fields.pointer, triggers, self._tags(fields, depth), excludes,
            fields.flag("at_least_one"), fields.flag("stop_after_first"),
        )  # fmt: skip
        check_triggers(made, f"{fields.pointer}/{name}")
        return made

    def _dispatch(self, fields: Fields, depth: int) -> Dispatch:
        excludes = as_texts(fields.optional_items("excludes"), fields.pointer, "excludes")
        arms = [
            (as_text(pattern, place, filled=True), made)
            for pattern, place, made in self._rules(fields, depth)
        ]
        return Dispatch(fields.pointer, tuple(arms), excludes, fields.flag("loop", True))

    def _token_dispatch(self, fields: Fields, depth: int) -> Dispatch:
        arms = [
            (self._special(pattern, fields, "rules", "rules", k, 0), made)
            for k, (pattern, _, made) in enumerate(self._rules(fields, depth))
        ]
        kept = self._kept_excludes(fields, {token for token, _ in arms})
        return Dispatch(fields.pointer, tuple(arms), kept, fields.flag("loop", True))

    def _rules(self, fields: Fields, depth: int) -> list[tuple[Any, str, Format]]:
        """Pairs of a pattern, with its place, and a format."""
        made = []
        for k, rule in enumerate(fields.items("rules")):
            place = f"{fields.pointer}/rules/{k}"
            if not isinstance(rule, list | tuple) or len(rule) != 2:
                raise SpecError("must be a pair of a pattern and a format", place)
            inner = self.format(rule[1], f"{place}/1", depth + 3)
            made.append((rule[0], f"{place}/0", inner))
        return made

    def _tags_with_separator(self, fields: Fields, depth: int) -> TagsWithSeparator:
        return TagsWithSeparator(
            fields.pointer, self._tags(fields, depth), fields.text("separator"),
            fields.flag("at_least_one"), fields.flag("stop_after_first"),
        )  # fmt: skip


def _json_schema_options(fields: Fields, made: JsonSchema) -> None:
    """The fields of a json_schema that are seldom there."""
    style = fields.get("style", "json")
    if style != "json" and style not in STYLES:
        raise UnsupportedSchema(fields.pointer, "style", f"the style {style!r} does not exist")
    made.style = style
    made.any_order = fields.flag("any_order")
    blanks = fields.bound("max_whitespace_cnt", MOST)
    if blanks is not None and blanks < BLANKS:
        if blanks:
            message = f"white space is bounded by {BLANKS} anyway, or left out with 0"
            raise UnsupportedSchema(fields.pointer, "max_whitespace_cnt", message)
        made.whitespace = "compact"
    if fields.get("excludes", []) != []:
        raise UnsupportedSchema(fields.pointer, "excludes")
    if "switchyard" not in fields.value:
        return
    own = Fields(fields.item("switchyard"), f"{fields.pointer}/switchyard")
    if own.get("version") != EXTENSION_VERSION:
        raise own.fault("version", f"must be {EXTENSION_VERSION}")
    made.extra_keys = own.get("extra_keys", "anywhere")
    if made.extra_keys not in ("anywhere", "last"):
        raise own.fault("extra_keys", 'must be "anywhere" or "last"')
    made.loose = own.flag("loose")
    own.finish("version", "extra_keys", "loose")


def check_triggers(made: Triggered, place: str) -> None:
    """I3, linear in the tags: a begin is looked up once for each length that a trigger has."""
    kind = type(made.triggers[0])
    unused = dict.fromkeys(made.triggers)
    sizes = sorted({len(t) for t in made.triggers if isinstance(t, str)})
    for tag in made.tags:
        begin = tag.begin
        if type(begin) is not kind:
            what = "a text" if kind is str else "a token"
            message = f"the begin of this tag must be {what}, as the triggers are"
            raise SpecError(message, f"{tag.pointer}/begin")
        heads = [begin[:n] for n in sizes] if isinstance(begin, str) else [begin]
        met = [head for head in heads if head in unused]
        if not met:
            raise SpecError("the begin of this tag starts with no trigger", f"{tag.pointer}/begin")
        for head in met:
            unused[head] = True
    for number, trigger in enumerate(made.triggers):
        if not unused[trigger]:
            raise SpecError("no tag begins with this trigger", f"{place}/{number}")


Make = Callable[[Reader, Fields, int], Format]

#: by type: what reads a format, and its fields
TYPES: dict[str, tuple[Make, tuple[str, ...]]] = {
    "const_string": (lambda _, f, __: ConstString(f.pointer, f.text("value")), ("value",)),
    "regex": (lambda _, f, __: Regex(f.pointer, f.text("pattern")), ("pattern",)),
    "grammar": (lambda _, f, __: Ebnf(f.pointer, f.text("grammar")), ("grammar",)),
    "json_schema": (
        Reader._json_schema,
        ("json_schema", "style", "any_order", "max_whitespace_cnt", "excludes", "switchyard"),
    ),
    "qwen_xml_parameter": (Reader._qwen_xml_parameter, ("json_schema",)),
    "any_text": (Reader._any_text, ("excludes", "max_tokens", "max_chars")),
    "token": (Reader._one_token, ("token",)),
    "exclude_token": (Reader._exclude_token, ("exclude_tokens",)),
    "any_tokens": (Reader._any_tokens, ("exclude_tokens", "max_tokens")),
    "sequence": (lambda r, f, d: Sequence(f.pointer, r._formats(f, d)), ("elements",)),
    "or": (lambda r, f, d: Or(f.pointer, r._formats(f, d)), ("elements",)),
    "optional": (lambda r, f, d: r._repeat(f, 0, 1, d), ("content",)),
    "star": (lambda r, f, d: r._repeat(f, 0, None, d), ("content",)),
    "plus": (lambda r, f, d: r._repeat(f, 1, None, d), ("content",)),
    "repeat": (Reader._repeat_counted, ("content", "min", "max")),
    "tag": (Reader._tag, ("begin", "content", "end")),
    "triggered_tags": (
        Reader._triggered_tags,
        ("triggers", "tags", "excludes", "at_least_one", "stop_after_first"),
    ),
    "token_triggered_tags": (
        Reader._token_triggered_tags,
        ("trigger_tokens", "tags", "exclude_tokens", "at_least_one", "stop_after_first"),
    ),
    "dispatch": (Reader._dispatch, ("rules", "loop", "excludes")),
    "token_dispatch": (Reader._token_dispatch, ("rules", "loop", "exclude_tokens")),
    "tags_with_separator": (
        Reader._tags_with_separator, ("tags", "separator", "at_least_one", "stop_after_first"),
    ),
}  # fmt: skip
