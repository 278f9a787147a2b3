"""The structural tag language: from JSON to checked formats. Nothing is emitted here.

The language is xgrammar's. A document has two spellings:

    {"type": "structural_tag", "format": F}
    {"type": "structural_tag", "structures": [{"begin", "schema", "end"}, ...], "triggers": [...]}

The second, older one is triggered tags around schemas. Names of tokens are resolved to ids.

Invariants   those of tag_formats; nothing nests deeper than Limits.spec_depth, so that the
             recursion here is bounded.
Refused      what the language knows and the engine can't do, and every unknown field or type, by
             its name (UnsupportedSchema); what makes no sense (SpecError). Nothing is ignored.
Cost         linear; places are written out only where something is wrong.
"""

import json

from .tag_fields cimport Fields, as_schema, as_text, as_texts
from .tag_formats cimport (
    AnyText, Format, JsonSchema, Tag, is_endless, is_text, new_any_text, new_const_string,
    new_dispatch, new_ebnf, new_json_schema, new_or, new_other_tokens, new_regex, new_repeat,
    new_sequence, new_tag, new_tags_with_separator, new_token, new_triggered,
)
from .tag_spelling cimport sizes_of
from .tag_vocabulary cimport TagVocabulary

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ...versions import SPEC_VERSION
from ..json_schema.layout import checked_indent, checked_separators
from .tag_styles import STYLES

# The largest count; the engine's registers hold 32 bits.
MOST = 2**31 - 1

# By type: the fields of a format.
cdef dict FIELDS = {
    "const_string": ("type", "value"),
    "regex": ("type", "pattern"),
    "grammar": ("type", "grammar"),
    "json_schema": (
        "type", "json_schema", "style", "any_order", "max_whitespace_cnt", "excludes", "switchyard",
    ),
    "qwen_xml_parameter": ("type", "json_schema"),
    "any_text": ("type", "excludes", "max_tokens", "max_chars"),
    "token": ("type", "token"),
    "exclude_token": ("type", "exclude_tokens"),
    "any_tokens": ("type", "exclude_tokens", "max_tokens"),
    "sequence": ("type", "elements"),
    "or": ("type", "elements"),
    "optional": ("type", "content"),
    "star": ("type", "content"),
    "plus": ("type", "content"),
    "repeat": ("type", "content", "min", "max"),
    "tag": ("type", "begin", "content", "end"),
    "triggered_tags": (
        "type", "triggers", "tags", "excludes", "at_least_one", "stop_after_first",
    ),
    "token_triggered_tags": (
        "type", "trigger_tokens", "tags", "exclude_tokens", "at_least_one", "stop_after_first",
    ),
    "dispatch": ("type", "rules", "loop", "excludes"),
    "token_dispatch": ("type", "rules", "loop", "exclude_tokens"),
    "tags_with_separator": ("type", "tags", "separator", "at_least_one", "stop_after_first"),
}
cdef tuple TAG_FIELDS = FIELDS["tag"]


cdef Format parse_structural_tag(document, TagVocabulary vocabulary, limits):
    """The format of a document in either spelling.

    Raises:
        SpecError, UnsupportedSchema or LimitExceeded with the place in the document.
    """
    cdef Fields fields
    cdef Reader reader
    try:
        fields = Fields(document, "")
        if fields.get("type", "structural_tag") != "structural_tag":
            raise SpecError('the type of the document must be "structural_tag"', "/type")
        reader = Reader(document, vocabulary, limits)
        if "structures" in fields.value:
            made = reader.legacy(fields)
            fields.finish(("type", "structures", "triggers"))
        else:
            made = reader.format(fields.item("format"), "/format", 2)
            fields.finish(("type", "format"))
    except SpecError:
        check_depth(document, limits)
        raise
    return made


def check_depth(document, limits):
    """Nesting of the whole document, without recursion.

    Schemas count their own levels, in their own front end.
    """
    todo = [(document, 1, "")]
    while todo:
        value, depth, place = todo.pop()
        if not isinstance(value, (dict, list)):
            continue
        if depth > limits.spec_depth:
            raise LimitExceeded("spec_depth", limits.spec_depth, depth, place)
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key not in ("json_schema", "schema"):
                step = str(key).replace("~", "~0").replace("/", "~1")
                todo.append((inner, depth + 1, f"{place}/{step}"))


cdef class Reader:
    """Formats from JSON values.

    ``depth`` counts levels of JSON. Formats reach two levels below themselves at most, so that
    the document is looked at as a whole when one comes near to the limit.
    """

    cdef object document, limits
    cdef TagVocabulary vocabulary
    cdef Py_ssize_t careful

    def __cinit__(self, document, TagVocabulary vocabulary, limits):
        self.document = document
        self.limits = limits
        self.vocabulary = vocabulary
        self.careful = limits.spec_depth - 2
        if self.careful < 2:
            check_depth(document, limits)

    cdef Format format(self, value, str pointer, Py_ssize_t depth):
        cdef Fields fields
        if depth > self.careful:
            check_depth(self.document, self.limits)
            self.careful = depth + self.limits.spec_depth
        fields = Fields(value, pointer)
        kind = fields.item("type")
        if not isinstance(kind, str):
            raise fields.fault("type", "must be a string")
        known = FIELDS.get(kind)
        if known is None:
            raise UnsupportedSchema(pointer, kind, f"the format {kind!r} does not exist")
        made = self.composed(kind, fields, depth)
        fields.finish(known)
        return made

    cdef Format composed(self, str kind, Fields fields, Py_ssize_t depth):
        """Formats that hold others; most of what there is stands first."""
        if kind == "json_schema":
            return self.json_schema(fields)
        if kind == "tag":
            return self.tag(fields, depth)
        if kind == "triggered_tags":
            triggers = as_texts(fields.items("triggers"), f"{fields.pointer}/triggers")
            return self.triggered(fields, triggers, excluded(fields), "triggers", depth)
        if kind == "sequence":
            return new_sequence(fields.pointer, self.elements(fields, depth))
        if kind == "or":
            return new_or(fields.pointer, self.elements(fields, depth))
        if kind == "optional":
            return self.repeat(fields, 0, 1, depth)
        if kind == "star":
            return self.repeat(fields, 0, None, depth)
        if kind == "plus":
            return self.repeat(fields, 1, None, depth)
        if kind == "repeat":
            return self.repeat_counted(fields, depth)
        if kind == "token_triggered_tags":
            triggers = self.specials(fields, "trigger_tokens", fields.items("trigger_tokens"))
            kept = self.kept_excludes(fields, triggers)
            return self.triggered(fields, triggers, kept, "trigger_tokens", depth)
        if kind == "dispatch":
            return self.dispatch(fields, depth)
        if kind == "token_dispatch":
            return self.token_dispatch(fields, depth)
        if kind == "tags_with_separator":
            return new_tags_with_separator(
                fields.pointer, self.tags(fields, depth), fields.text("separator"),
                fields.flag("at_least_one", False), fields.flag("stop_after_first", False))
        return self.leaf(kind, fields)

    cdef Format leaf(self, str kind, Fields fields):
        cdef JsonSchema made
        if kind == "any_text":
            return any_text(fields)
        if kind == "const_string":
            return new_const_string(fields.pointer, fields.text("value"))
        if kind == "regex":
            return new_regex(fields.pointer, fields.text("pattern"))
        if kind == "grammar":
            return new_ebnf(fields.pointer, fields.text("grammar"))
        if kind == "token":
            return new_token(fields.pointer, self.token(fields.item("token"), fields, "token"))
        if kind == "exclude_token":
            return new_other_tokens(fields.pointer, self.tokens(fields, "exclude_tokens"), 1, 1)
        if kind == "any_tokens":
            return new_other_tokens(
                fields.pointer, self.tokens(fields, "exclude_tokens"), 0, fields.bound("max_tokens", MOST))
        place = f"{fields.pointer}/json_schema"
        schema = as_schema(fields.item("json_schema"), place)
        made = new_json_schema(fields.pointer, schema, place)
        made.style = "qwen_xml"
        return made

    cdef Format legacy(self, Fields fields):
        """The older spelling: triggered tags around schemas, at the root of the document."""
        cdef Fields inner
        cdef list tags = []
        for k, value in enumerate(fields.items("structures")):
            inner = Fields(value, f"/structures/{k}")
            schema = inner.item("schema")
            place = f"{inner.pointer}/schema"
            if isinstance(schema, str):
                schema = schema_text(schema, place)
            content = new_json_schema(place, as_schema(schema, place), place)
            tags.append(new_tag(inner.pointer, inner.text("begin"), content, (inner.text("end"),)))
            inner.finish(("begin", "schema", "end"))
        triggers = as_texts(fields.items("triggers"), "/triggers")
        made = new_triggered("", triggers, tuple(tags), (), False, False)
        check_triggers(triggers, tuple(tags), "/triggers")
        return made

    # -- leaves ------------------------------------------------------------------------------------
    cdef object token(self, value, Fields fields, str step):
        if isinstance(value, str):
            found = self.vocabulary.special_tokens.get(value)
            if found is None:
                raise SpecError(f"there is no special token {value!r}", f"{fields.pointer}/{step}")
            return found
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            message = "must be the text of a special token or a token id"
            raise SpecError(message, f"{fields.pointer}/{step}")
        return value

    cdef tuple tokens(self, Fields fields, str name):
        items = fields.optional_items(name)
        return tuple([self.token(value, fields, f"{name}/{k}") for k, value in enumerate(items)])

    cdef object special(self, value, Fields fields, str name, str step):
        """A token that free text is searched for; others can't be told apart from their bytes."""
        token = self.token(value, fields, step)
        if token not in self.vocabulary.special_ids:
            message = f"{token} is not a special token"
            raise UnsupportedSchema(f"{fields.pointer}/{step}", name, message)
        return token

    cdef tuple specials(self, Fields fields, str name, list items):
        return tuple([self.special(v, fields, name, f"{name}/{k}") for k, v in enumerate(items)])

    cdef Format json_schema(self, Fields fields):
        cdef JsonSchema made
        place = f"{fields.pointer}/json_schema"
        made = new_json_schema(fields.pointer, as_schema(fields.item("json_schema"), place), place)
        if len(fields.value) > 2:
            add_options(fields, made)
        return made

    # -- composition -------------------------------------------------------------------------------
    cdef tuple elements(self, Fields fields, Py_ssize_t depth):
        place = f"{fields.pointer}/elements/"
        items = fields.items("elements")
        return tuple([self.format(v, f"{place}{k}", depth + 2) for k, v in enumerate(items)])

    cdef Format content(self, Fields fields, Py_ssize_t depth):
        return self.format(fields.item("content"), f"{fields.pointer}/content", depth + 1)

    cdef Format repeat_counted(self, Fields fields, Py_ssize_t depth):
        minimum, maximum = fields.count("min", 0, MOST), fields.count("max", -1, MOST)
        if -1 < maximum < minimum:
            raise fields.fault("max", "must not be below min, unless it is -1, no upper bound")
        return self.repeat(fields, minimum, None if maximum == -1 else maximum, depth)

    cdef Format repeat(self, Fields fields, minimum, maximum, Py_ssize_t depth):
        cdef AnyText text
        content = self.content(fields, depth)
        if maximum == 0:
            return new_repeat(fields.pointer, content, 0, 0)
        # Text after text is text: so its triggers, excludes and the tag's end hold for the whole.
        if is_text(content):
            return content
        if isinstance(content, AnyText):
            text = content
            chars, tokens = times(text.max_chars, maximum), times(text.max_tokens, maximum)
            if (chars is None or chars <= MOST) and (tokens is None or tokens <= MOST):
                return new_any_text(text.pointer, text.excludes, chars, tokens)
        return new_repeat(fields.pointer, content, minimum, maximum)

    # -- tags --------------------------------------------------------------------------------------
    cdef object mark(self, Fields fields, str name):
        cdef Fields inner
        value = fields.item(name)
        if not isinstance(value, dict):
            return as_text(value, fields.pointer, name)
        inner = Fields(value, f"{fields.pointer}/{name}")
        if inner.get("type", None) != "token":
            raise inner.fault("type", 'must be "token"')
        token = self.token(inner.item("token"), inner, "token")
        inner.finish(("type", "token"))
        return token

    cdef Tag tag(self, Fields fields, Py_ssize_t depth):
        cdef tuple ends
        begin = self.mark(fields, "begin")
        content = self.content(fields, depth)
        if isinstance(fields.value.get("end"), list):
            place = f"{fields.pointer}/end"
            ends = tuple([as_text(v, place, k) for k, v in enumerate(fields.items("end"))])
        else:
            ends = (self.mark(fields, "end"),)
        if ends.count("") == len(ends) and is_endless(content):
            raise fields.fault("end", "must not be empty after free text, or the text never ends")
        return new_tag(fields.pointer, begin, content, ends)

    cdef tuple tags(self, Fields fields, Py_ssize_t depth):
        cdef Fields inner
        cdef list made = []
        place = f"{fields.pointer}/tags/"
        for k, value in enumerate(fields.items("tags")):
            inner = Fields(value, f"{place}{k}")
            if inner.get("type", "tag") != "tag":
                raise inner.fault("type", 'must be "tag"')
            made.append(self.tag(inner, depth + 2))
            inner.finish(TAG_FIELDS)
        return tuple(made)

    cdef tuple kept_excludes(self, Fields fields, triggers):
        """Tokens that free text must not hold; a trigger is no text, so excluding it is idle."""
        name = "exclude_tokens"
        excludes = self.specials(fields, name, fields.optional_items(name))
        return tuple([token for token in excludes if token not in triggers])

    cdef Format triggered(
        self, Fields fields, tuple triggers, tuple excludes, str name, Py_ssize_t depth
    ):
        tags = self.tags(fields, depth)
        made = new_triggered(
            fields.pointer, triggers, tags, excludes,
            fields.flag("at_least_one", False), fields.flag("stop_after_first", False))
        check_triggers(triggers, tags, f"{fields.pointer}/{name}")
        return made

    cdef Format dispatch(self, Fields fields, Py_ssize_t depth):
        arms = [
            (as_text(pattern, f"{fields.pointer}/rules/{k}", 0, True), made)
            for k, (pattern, made) in enumerate(self.rules(fields, depth))
        ]
        return new_dispatch(fields.pointer, tuple(arms), excluded(fields), fields.flag("loop", True))

    cdef Format token_dispatch(self, Fields fields, Py_ssize_t depth):
        arms = [
            (self.special(pattern, fields, "rules", f"rules/{k}/0"), made)
            for k, (pattern, made) in enumerate(self.rules(fields, depth))
        ]
        kept = self.kept_excludes(fields, {token for token, _ in arms})
        return new_dispatch(fields.pointer, tuple(arms), kept, fields.flag("loop", True))

    cdef list rules(self, Fields fields, Py_ssize_t depth):
        """Pairs of a pattern and a format."""
        cdef list made = []
        for k, rule in enumerate(fields.items("rules")):
            place = f"{fields.pointer}/rules/{k}"
            if not isinstance(rule, (list, tuple)) or len(rule) != 2:
                raise SpecError("must be a pair of a pattern and a format", place)
            made.append((rule[0], self.format(rule[1], f"{place}/1", depth + 3)))
        return made


cdef object times(bound, maximum):
    """The bound of a text that is repeated; None is no bound."""
    if bound is None or bound == 0:
        return bound
    return None if maximum is None else bound * maximum


cdef object schema_text(str text, str pointer):
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"holds no JSON: {error}", pointer) from None


cdef tuple excluded(Fields fields):
    if "excludes" not in fields.value:
        return ()
    return as_texts(fields.optional_items("excludes"), f"{fields.pointer}/excludes")


cdef Format any_text(Fields fields):
    return new_any_text(
        fields.pointer, excluded(fields), fields.bound("max_chars", MOST), fields.bound("max_tokens", MOST))


cdef int add_options(Fields fields, JsonSchema made) except -1:
    """The fields of a json_schema that are seldom there."""
    cdef Fields own
    style = fields.get("style", "json")
    if style != "json" and (not isinstance(style, str) or style not in STYLES):
        known = ", ".join(["json", *STYLES])
        raise UnsupportedSchema(fields.pointer, "style", f"the style must be one of {known}, not {style!r}")
    made.style = style
    made.any_order = fields.flag("any_order", False)
    blanks = fields.bound("max_whitespace_cnt", MOST)
    if blanks == 0:
        made.whitespace = "compact"
    elif blanks is not None and blanks <= made.most_blanks:
        # a newline is the first of them
        made.most_blanks = blanks - 1
    made.excludes = excluded(fields)
    if made.excludes and style != "json":
        check_excludes(fields, made)
    if "switchyard" not in fields.value:
        return 0
    own = Fields(fields.item("switchyard"), f"{fields.pointer}/switchyard")
    if own.get("version", None) != SPEC_VERSION:
        raise own.fault("version", f"must be {SPEC_VERSION}")
    extra_keys = own.get("extra_keys", "anywhere")
    if extra_keys not in ("anywhere", "last"):
        raise own.fault("extra_keys", 'must be "anywhere" or "last"')
    made.extra_keys = extra_keys
    spelling = own.get("spelling", "any")
    if spelling not in ("any", "canonical"):
        raise own.fault("spelling", 'must be "any" or "canonical"')
    made.spelling = spelling
    made.loose = own.flag("loose", False)
    made.indent = layout_option(own, "indent", checked_indent, blanks is not None)
    made.separators = layout_option(own, "separators", checked_separators, blanks is not None)
    own.finish(("version", "extra_keys", "spelling", "loose", "indent", "separators"))
    return 0


cdef int check_excludes(Fields fields, JsonSchema made) except -1:
    """As xgrammar: a style whose white space would be part of an excluded text, or whose elements nest,
    has none.
    """
    if STYLES[made.style].nested:
        message = f"excludes can't be enforced in the style {made.style!r}"
        raise UnsupportedSchema(fields.pointer, "excludes", message)
    for text in made.excludes:
        if text.strip() != text:
            message = f"{text!r} begins or ends with white space, which can't be enforced in an XML style"
            raise UnsupportedSchema(fields.pointer, "excludes", message)
    return 0


cdef object layout_option(Fields own, str name, check, bint is_counted):
    """An option of ``json.dumps``; ``is_counted``: white space is given by ``max_whitespace_cnt`` already."""
    value = own.get(name, None)
    if value is not None and is_counted:
        raise own.fault(name, "can't stand beside max_whitespace_cnt")
    try:
        check(value)
    except ValueError as error:
        raise SpecError(str(error), f"{own.pointer}/{name}") from None
    return value


cdef int check_triggers(tuple triggers, tuple tags, str place) except -1:
    """I3, linear in the tags: a begin is looked up once for each length that a trigger has."""
    cdef dict used = dict.fromkeys(triggers, False)
    cdef bint literal = isinstance(triggers[0], str), met
    cdef list sizes = sizes_of(triggers)
    cdef Tag tag
    for tag in tags:
        begin = tag.begin
        if isinstance(begin, str) != literal:
            what = "a text" if literal else "a token"
            message = f"the begin of this tag must be {what}, as the triggers are"
            raise SpecError(message, f"{tag.pointer}/begin")
        if literal:
            met = False
            for size in sizes:
                head = (<str>begin)[:size]
                if head in used:
                    used[head] = met = True
        else:
            met = begin in used
            if met:
                used[begin] = True
        if not met:
            raise SpecError("the begin of this tag starts with no trigger", f"{tag.pointer}/begin")
    for number, trigger in enumerate(triggers):
        if not used[trigger]:
            raise SpecError("no tag begins with this trigger", f"{place}/{number}")
    return 0
