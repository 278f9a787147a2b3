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

from libc.stdint cimport uint32_t

from ...grammar.ir cimport REF, ROLE_BEGIN, ROLE_TAG, ROLE_TEXT, Grammar
from ...native.pool cimport vector
from .tag_formats cimport (
    AnyText, ConstString, Dispatch, Ebnf, Fields, Format, FreeText, FreeTextBuilder, JsonSchema, Or,
    OtherTokens, Regex, Repeat, Sequence, Spelling, Tag, TagVocabulary, TagsWithSeparator, Token,
    Triggered, add_literal, add_pieces, as_schema, as_text, as_texts, is_endless, is_text,
    new_any_text, new_const_string, new_dispatch, new_ebnf, new_free_text, new_json_schema, new_or,
    new_other_tokens, new_regex, new_repeat, new_sequence, new_tag, new_tags_with_separator,
    new_token, new_triggered, sizes_of,
)

import json

from ...errors import InternalError, LimitExceeded, SpecError, UnsupportedSchema
from ...versions import SPEC_VERSION
from ..grammar_text import build_grammar
from ..json_schema.layout import checked_indent, checked_separators
from .loose_json import build_loose_json
from .tag_styles import STYLES
from .tag_xml import build_xml

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


# -- structural tag --------------------------------------------------------------------------------
# Structural tags to IR: the front end behind ``Compiler.compile_structural_tag``.
#
# Meaning    xgrammar's, apart from the engine's own rules for special tokens; the tests pin both.
#            triggered_tags: at_least_one wants a tag at once and allows text after it; after
#            stop_after_first nothing follows. A tag belongs to its shortest trigger, the one that
#            completes first. Free text inside a tag never holds the tag's end: the tag is over at
#            its first occurrence. This reaches through sequence, or, repetitions and the formats of
#            a dispatch, and not into inner tags, which have ends of their own.
# Captures   labels are JSON pointers into the document. A tag is capture(tag) around capture(begin),
#            content and capture(end); leaves are capture(text); engine.ir says how a DISPATCH takes
#            part in them.
# Shape      what follows the begin of a tag, each schema and each pattern are rules of their own,
#            so that they are built when first visited.
# Files      tag_language and tag_fields parse and check, tag_formats is what comes out,
#            tag_vocabulary holds what depends on the vocabulary alone, tag_spelling writes special
#            tokens, tag_free_text makes DISPATCHes, tag_xml writes arguments as elements in the
#            styles of tag_styles, and here is the rest.

cdef enum:
    NO_NODE = 0xFFFFFFFF


def build_structural_tag(Grammar grammar, tag, *, TagVocabulary vocabulary, build_schema, build_regex):
    """The node of a whole structural tag.

    Raises SpecError, UnsupportedSchema or LimitExceeded with the place in ``tag``.
    """
    cdef Format made = parse_structural_tag(tag, vocabulary, grammar.limits)
    cdef TagBuilder builder = TagBuilder.__new__(TagBuilder)
    builder.grammar, builder.vocabulary, builder.spelling = grammar, vocabulary, vocabulary.spelling
    builder.text = FreeTextBuilder.__new__(FreeTextBuilder, grammar, vocabulary)
    builder.build_schema, builder.build_regex = build_schema, build_regex
    builder.bodies = {}
    return builder.emit(made, None)


cdef struct WaysC:
    vector[vector[uint32_t]] nodes        # by a pattern's number: what it leads to


cdef class TagBuilder:
    """Emits formats into one grammar. ``around`` is the tag that a format stands in: its ends are
    what free text must not hold.
    """

    cdef Grammar grammar
    cdef TagVocabulary vocabulary
    cdef Spelling spelling
    cdef FreeTextBuilder text
    cdef object build_schema, build_regex
    cdef dict bodies                      # by a tag's pointer: content and end

    cdef uint32_t emit(self, Format made, Tag around) except? NO_NODE:
        """What stands at the top of most documents comes first."""
        kind = type(made)
        if kind is JsonSchema:
            return self.leaf(made, self.value(<JsonSchema>made))
        if kind is Tag:
            return self.tag(<Tag>made, self.spelling.add_mark(self.grammar, (<Tag>made).begin))
        if kind is Triggered:
            return self.triggered(<Triggered>made, around)
        if kind is Sequence:
            return self.sequence(<Sequence>made, around, False)
        if kind is Or:
            return self.alternatives((<Or>made).elements, around)
        if kind is AnyText:
            return self.text.open(plain(<AnyText>made), around)
        if kind is ConstString:
            return self.leaf(made, self.spelling.add_mark(self.grammar, (<ConstString>made).value))
        if kind is Repeat:
            return self.repeat(<Repeat>made, around)
        if kind is TagsWithSeparator:
            return self.separated(<TagsWithSeparator>made)
        if kind is Dispatch:
            return self.text.open(self.arms(<Dispatch>made, around), around)
        if kind is Token:
            return self.leaf(made, self.spelling.add_mark(self.grammar, (<Token>made).token))
        if kind is OtherTokens:
            return self.other_tokens(<OtherTokens>made, around)
        if kind is Regex:
            return self.regex(<Regex>made)
        if kind is Ebnf:
            return self.ebnf(<Ebnf>made)
        raise InternalError(f"nothing emits a {kind.__name__}")

    cdef uint32_t emit_closed(self, Format made, Tag around) except? NO_NODE:
        """The format and then the end of the tag around it."""
        kind = type(made)
        if kind is Sequence:
            return self.sequence(<Sequence>made, around, True)
        if kind is AnyText:
            return self.text.closed(plain(<AnyText>made), around)
        if kind is Triggered and not (<Triggered>made).stop_after_first:
            first = self.first_tag(<Triggered>made)
            return self.pair(first, self.text.closed(self.tag_arms(<Triggered>made), around))
        if kind is Dispatch and (<Dispatch>made).loop:
            return self.text.closed(self.arms(<Dispatch>made, around), around)
        first = self.emit(made, around)
        return self.pair(first, self.text.end(around))

    # -- leaves ------------------------------------------------------------------------------------
    cdef uint32_t leaf(self, Format made, uint32_t node) except? NO_NODE:
        return self.grammar.add_capture(made.pointer, ROLE_TEXT, node)

    cdef uint32_t regex(self, Regex made) except? NO_NODE:
        place = f"{made.pointer}/pattern"
        return self.leaf(made, self.rule(place, self.build_regex(self.grammar, made.pattern, pointer=place)))

    cdef uint32_t ebnf(self, Ebnf made) except? NO_NODE:
        place = f"{made.pointer}/grammar"
        return self.leaf(made, build_grammar(
            self.grammar, made.text, syntax="ebnf", vocabulary=self.vocabulary, pointer=place))

    cdef uint32_t other_tokens(self, OtherTokens made, Tag around) except? NO_NODE:
        """Tokens but the excluded ones, and but those that are the end of the tag around."""
        excludes = set(made.excludes)
        if around is not None:
            ids = self.vocabulary.special_tokens
            ends = [ids.get(end) if isinstance(end, str) else end for end in around.ends]
            excludes.update([end for end in ends if end is not None])
        one = self.vocabulary.other_tokens(self.grammar, excludes)
        return self.leaf(made, self.grammar.repeat(one, made.minimum, made.maximum))

    cdef uint32_t value(self, JsonSchema made) except? NO_NODE:
        cdef uint32_t node
        if made.loose:
            node = build_loose_json(self.grammar)
        elif made.style != "json":
            node = build_xml(self.grammar, self.vocabulary, self.build_schema, made)
        else:
            node = self.build_schema(
                self.grammar, made.schema, pointer=made.place, extra_keys=made.extra_keys,
                any_order=made.any_order, whitespace=made.whitespace, most_blanks=made.most_blanks,
                indent=made.indent, separators=made.separators, spelling=made.spelling, excludes=made.excludes)
        return self.rule(made.place, node)

    cdef uint32_t rule(self, str name, uint32_t node) except? NO_NODE:
        """A rule of its own, unless the node refers to one already."""
        if self.grammar.kind_of(node) == REF:
            return node
        return self.grammar.add_ref(self.grammar.new_rule(name, node))

    # -- composition -------------------------------------------------------------------------------
    cdef uint32_t pair(self, uint32_t first, uint32_t second) except? NO_NODE:
        cdef uint32_t parts[2]
        parts[0], parts[1] = first, second
        return self.grammar.add_seq(parts, 2)

    cdef uint32_t sequence(self, Sequence made, Tag around, bint closed) except? NO_NODE:
        """One after the other; ``closed`` is with the end of the tag around them."""
        cdef vector[uint32_t] parts
        cdef Py_ssize_t k, last = len(made.elements) - 1
        for k in range(last):
            parts.push_back(self.emit(made.elements[k], around))
        parts.push_back(
            self.emit_closed(made.elements[last], around) if closed else self.emit(made.elements[last], around))
        return self.grammar.add_seq(parts.data(), parts.size())

    cdef uint32_t alternatives(self, tuple elements, Tag around) except? NO_NODE:
        cdef vector[uint32_t] ways
        for element in elements:
            ways.push_back(self.emit(element, around))
        return self.grammar.add_alt(ways.data(), ways.size())

    cdef uint32_t repeat(self, Repeat made, Tag around) except? NO_NODE:
        return self.grammar.repeat(self.emit(made.content, around), made.minimum, made.maximum)

    # -- tags --------------------------------------------------------------------------------------
    cdef uint32_t tag(self, Tag tag, uint32_t begin) except? NO_NODE:
        """A tag of whose begin ``begin`` is still to come."""
        cdef uint32_t parts[2]
        parts[0] = self.grammar.add_capture(tag.pointer, ROLE_BEGIN, begin)
        parts[1] = self.body(tag)
        return self.grammar.add_capture(tag.pointer, ROLE_TAG, self.grammar.add_seq(parts, 2))

    cdef uint32_t body(self, Tag tag) except? NO_NODE:
        """The content and the end of a tag: one rule, however the begin was written."""
        node = self.bodies.get(tag.pointer)
        if node is None:
            node = self.bodies[tag.pointer] = self.rule(tag.pointer, self.emit_closed(tag.content, tag))
        return node

    cdef uint32_t separated(self, TagsWithSeparator made) except? NO_NODE:
        cdef uint32_t item = self.alternatives(made.tags, None), between = self.grammar.empty_node
        if not made.stop_after_first:
            if made.separator:
                between = self.leaf(made, self.spelling.add_mark(self.grammar, made.separator))
            item = self.pair(item, self.grammar.repeat(self.pair(between, item), 0, None))
        return item if made.at_least_one else self.grammar.optional(item)

    cdef uint32_t triggered(self, Triggered made, Tag around) except? NO_NODE:
        cdef uint32_t first = self.first_tag(made)
        if made.at_least_one and made.stop_after_first:
            return first
        return self.pair(first, self.text.open(self.tag_arms(made), around))

    cdef uint32_t first_tag(self, Triggered made) except? NO_NODE:
        """The tag that at_least_one wants before any text."""
        return self.alternatives(made.tags, None) if made.at_least_one else self.grammar.empty_node

    # -- free text ---------------------------------------------------------------------------------
    cdef FreeText arms(self, Dispatch made, Tag around):
        """One arm for every way to write a pattern: all formats that it leads to."""
        cdef WaysC ways
        cdef uint32_t node
        numbers = {}
        for k, (mark, content) in enumerate(made.arms):
            node = self.emit(content, around)
            for pattern in self.spelling.patterns(mark, f"{made.pointer}/rules/{k}/0"):
                add_way(&ways, numbers, pattern, node)
        marks = tuple(dict.fromkeys([mark for mark, _ in made.arms]))
        return self.with_ways(new_free_text(made.pointer, marks, made.excludes), &ways, numbers, made.loop)

    cdef FreeText tag_arms(self, Triggered made):
        """One arm for every way to write a trigger: all tags that go on from there."""
        cdef WaysC ways
        cdef Tag tag
        cdef uint32_t node
        cdef list sizes = sizes_of(made.triggers)
        cdef dict patterns = dict.fromkeys(made.triggers), numbers = {}
        for tag in made.tags:
            if isinstance(tag.begin, str) and self.spelling.is_plain(tag.begin):
                head = shortest(tag.begin, sizes, patterns)
                if patterns[head] is None:
                    patterns[head] = (<str>head).encode()
                node = add_literal(self.grammar, tag.begin, len(head))
                add_way(&ways, numbers, patterns[head], self.tag(tag, node))
                continue
            for pattern, pieces in self.openings(tag, sizes, patterns):
                add_way(&ways, numbers, pattern, self.tag(tag, add_pieces(self.grammar, pieces)))
        text = new_free_text(made.pointer, made.triggers, made.excludes)
        return self.with_ways(text, &ways, numbers, not made.stop_after_first)

    cdef FreeText with_ways(self, FreeText text, WaysC* ways, dict numbers, bint returns):
        cdef uint32_t node
        for pattern, number in numbers.items():
            node = number
            node = self.grammar.add_alt(ways.nodes[node].data(), ways.nodes[node].size())
            text.add_arm(pattern, node, returns)
        return text

    cdef list openings(self, Tag tag, list sizes, dict triggers):
        if isinstance(tag.begin, int):
            return [((256 + tag.begin,), [])]
        head = shortest(tag.begin, sizes, triggers)
        return self.spelling.beginnings(tag.begin, len(head), f"{tag.pointer}/begin")


cdef int add_way(WaysC* ways, dict numbers, pattern, uint32_t node) except -1:
    cdef uint32_t number
    found = numbers.get(pattern)
    if found is None:
        found = numbers[pattern] = len(numbers)
        ways.nodes.resize(len(numbers))
    number = found
    ways.nodes[number].push_back(node)
    return 0


cdef str shortest(str begin, list sizes, dict triggers):
    """The shortest trigger that a begin starts with (tag_formats, I3)."""
    for size in sizes:
        head = begin[:size]
        if head in triggers:
            return head
    raise InternalError("a tag that starts with no trigger")


cdef FreeText plain(AnyText made):
    cdef FreeText text = new_free_text(made.pointer, (), made.excludes)
    text.max_chars, text.max_tokens = made.max_chars, made.max_tokens
    return text
