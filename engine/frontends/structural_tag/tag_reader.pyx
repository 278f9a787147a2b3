"""Reading of structural tags: from their JSON form to checked formats. Adds nothing to a grammar.

The language is xgrammar's. A document has two forms:

    {"type": "structural_tag", "format": F}
    {"type": "structural_tag", "structures": [{"begin", "schema", "end"}, ...], "triggers": [...]}

The second, older one describes triggered tags around schemas. Names of tokens become ids.

Invariants   those of tag_formats; nesting is at most Limits.spec_depth, which bounds the recursion.
Refused      constructs that the engine cannot enforce, and unknown fields and types, by name
             (UnsupportedSchema); ill-formed documents (SpecError). Nothing is ignored.
Cost         linear; pointers are built only for formats and errors. Each object and each item of a list is a part
             of a step of the budget (``Fields``, ``texts``).
"""

cimport cython

from ...native.resources cimport WorkBudget, spend
from ..json_schema.json_text cimport MAX_DEPTH
from .tag_formats cimport (
    AnyText, ConstString, Dispatch, Format, GrammarText, JsonSchema, Or, OtherTokens, Regex,
    Repetition, Sequence, Tag, TagsWithSeparator, Token, Triggered, is_endless, is_text, new_json_schema,
    new_tag, shortest_of, trigger_of,
)
from .tag_vocabulary cimport TagVocabulary

import json
from bisect import bisect_left

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from ...json_pointer import escape
from ...versions import SPEC_VERSION
from ..json_schema.layout import checked_element_space, checked_indent, checked_separators
from .style_reader import read_style
from .tag_styles import STYLES

#: the largest count; the engine's registers have 32 bits
MAX_COUNT = 2**31 - 1
#: digits of a token id that an error repeats
MAX_DIGITS = 40

cdef enum:
    # texts of a list that are checked in about a microsecond
    TEXTS_PER_STEP = 8
    # reading a style that is an object takes about 40 microseconds
    STEPS_OF_STYLE = 40

#: the fields of each type of format
cdef dict FIELDS = {
    "const_string": ("type", "value"),
    "regex": ("type", "pattern"),
    "grammar": ("type", "grammar", "switchyard"),
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


def parse_structural_tag(document, TagVocabulary vocabulary, limits, WorkBudget budget):
    """Return the format of a document in either form.

    Raises:
        SpecError, UnsupportedSchema, LimitExceeded: with a pointer into the document.
    """
    cdef Fields fields
    cdef TagReader reader
    try:
        fields = Fields(document, "", budget)
        if fields.get("type", "structural_tag") != "structural_tag":
            raise SpecError('the type of the document must be "structural_tag"', "/type")
        reader = TagReader(document, vocabulary, limits, budget)
        if "structures" in fields.value:
            made = reader.legacy(fields)
            fields.finish(("type", "structures", "triggers"))
        else:
            made = reader.format(fields.item("format"), "/format", 2)
            fields.finish(("type", "format"))
    except SpecError:
        check_depth(document, limits, budget)
        raise
    return made


cdef int check_depth(document, limits, WorkBudget budget) except -1:
    """Check the nesting of the whole document without recursion, except schemas, which have their own limit."""
    todo = [(document, 1, "")]
    while todo:
        value, depth, place = todo.pop()
        spend(budget, 1)
        if not isinstance(value, (dict, list)):
            continue
        if depth > limits.spec_depth:
            raise LimitExceeded("spec_depth", limits.spec_depth, depth, place)
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key not in ("json_schema", "schema"):
                todo.append((inner, depth + 1, f"{place}/{escape(str(key))}"))
    return 0


cdef class TagReader:
    """Converts JSON values to formats.

    ``depth`` counts levels of JSON. The own fields of a format span at most two levels, so the whole document
    is checked once a format comes that close to the limit.
    """

    cdef object document, limits
    cdef TagVocabulary vocabulary
    cdef WorkBudget budget
    cdef Py_ssize_t careful
    # the last style that was an object, as text and read: that of all tools of a family
    cdef str style_text
    cdef object style

    def __cinit__(self, document, TagVocabulary vocabulary, limits, WorkBudget budget):
        self.document, self.limits, self.vocabulary, self.budget = document, limits, vocabulary, budget
        self.careful = limits.spec_depth - 2
        if self.careful < 2:
            check_depth(document, limits, budget)

    cdef Format format(self, value, str pointer, Py_ssize_t depth):
        cdef Fields fields
        if depth > self.careful:
            check_depth(self.document, self.limits, self.budget)
            self.careful = depth + self.limits.spec_depth
        fields = Fields(value, pointer, self.budget)
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
        """Read a format that contains others; the most frequent kinds come first."""
        if kind == "json_schema":
            return self.json_schema(fields)
        if kind == "tag":
            return self.tag(fields, depth)
        if kind == "triggered_tags":
            triggers = fields.texts("triggers")
            return self.triggered(fields, triggers, excluded(fields), "triggers", depth)
        if kind == "sequence":
            return Sequence(fields.pointer, self.elements(fields, depth))
        if kind == "or":
            return Or(fields.pointer, self.elements(fields, depth))
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
            return TagsWithSeparator(
                fields.pointer, self.tags(fields, depth), fields.text("separator"),
                fields.flag("at_least_one", False), fields.flag("stop_after_first", False))
        return self.leaf(kind, fields)

    cdef Format leaf(self, str kind, Fields fields):
        cdef JsonSchema format
        if kind == "any_text":
            return any_text(fields)
        if kind == "const_string":
            return ConstString(fields.pointer, fields.text("value"))
        if kind == "regex":
            return Regex(fields.pointer, fields.text("pattern"))
        if kind == "grammar":
            return grammar_text(fields)
        if kind == "token":
            return Token(fields.pointer, self.token(fields.item("token"), fields, "token"))
        if kind == "exclude_token":
            return OtherTokens(fields.pointer, self.tokens(fields, "exclude_tokens"), 1, 1)
        if kind == "any_tokens":
            return OtherTokens(
                fields.pointer, self.tokens(fields, "exclude_tokens"), 0, fields.bound("max_tokens", MAX_COUNT))
        format = schema_of(fields)
        format.style = STYLES["qwen_xml"]
        return format

    cdef Format legacy(self, Fields fields):
        """Read the older form: triggered tags around schemas, at the root of the document."""
        cdef Fields inner
        cdef list tags = []
        for k, value in enumerate(fields.items("structures")):
            inner = Fields(value, f"/structures/{k}", self.budget)
            schema = inner.item("schema")
            place = f"{inner.pointer}/schema"
            if isinstance(schema, str):
                schema = schema_text(schema, place)
            content = new_json_schema(place, as_schema(schema, place), place)
            tags.append(new_tag(inner.pointer, inner.text("begin"), content, (inner.text("end"),)))
            inner.finish(("begin", "schema", "end"))
        triggers = fields.texts("triggers")
        made = Triggered("", triggers, tuple(tags), (), False, False)
        check_triggers(triggers, tuple(tags), "/triggers", self.budget)
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
        if value >= self.vocabulary.size:
            message = f"token id {str(value)[:MAX_DIGITS]} is not in a vocabulary of {self.vocabulary.size}"
            raise SpecError(message, f"{fields.pointer}/{step}")
        return value

    cdef tuple tokens(self, Fields fields, str name):
        items = fields.optional_items(name)
        spend(self.budget, len(items) // TEXTS_PER_STEP)
        return tuple([self.token(value, fields, f"{name}/{k}") for k, value in enumerate(items)])

    cdef object special(self, value, Fields fields, str name, str step):
        """Read a token that free text is searched for: a special one, as others are equal to their bytes."""
        token = self.token(value, fields, step)
        if token not in self.vocabulary.special_ids:
            message = f"{token} is not a special token"
            raise UnsupportedSchema(f"{fields.pointer}/{step}", name, message)
        return token

    cdef tuple specials(self, Fields fields, str name, list items):
        spend(self.budget, len(items) // TEXTS_PER_STEP)
        return tuple([self.special(v, fields, name, f"{name}/{k}") for k, v in enumerate(items)])

    cdef Format json_schema(self, Fields fields):
        cdef JsonSchema format = schema_of(fields)
        if len(fields.value) > 2:
            format.style = self.style_of(fields)
            add_options(fields, format)
        return format

    cdef object style_of(self, Fields fields):
        value = fields.get("style", "json")
        if isinstance(value, str):
            return None if value == "json" else read_style(value, f"{fields.pointer}/style")
        text = repr(value)
        if text != self.style_text:
            spend(self.budget, STEPS_OF_STYLE)
            self.style, self.style_text = read_style(value, f"{fields.pointer}/style"), text
        return self.style

    # -- composition -------------------------------------------------------------------------------
    cdef tuple elements(self, Fields fields, Py_ssize_t depth):
        place = f"{fields.pointer}/elements/"
        items = fields.items("elements")
        return tuple([self.format(v, f"{place}{k}", depth + 2) for k, v in enumerate(items)])

    cdef Format content(self, Fields fields, Py_ssize_t depth):
        return self.format(fields.item("content"), f"{fields.pointer}/content", depth + 1)

    cdef Format repeat_counted(self, Fields fields, Py_ssize_t depth):
        minimum, maximum = fields.count("min", 0, MAX_COUNT), fields.count("max", -1, MAX_COUNT)
        if -1 < maximum < minimum:
            raise fields.fault("max", "must not be below min, unless it is -1, no upper bound")
        return self.repeat(fields, minimum, None if maximum == -1 else maximum, depth)

    cdef Format repeat(self, Fields fields, minimum, maximum, Py_ssize_t depth):
        cdef AnyText text
        content = self.content(fields, depth)
        if maximum == 0:
            return Repetition(fields.pointer, content, 0, 0)
        # free text repeated is free text, with the same triggers, excludes and end
        if is_text(content):
            return content
        if isinstance(content, AnyText):
            text = content
            chars, tokens = times(text.max_chars, maximum), times(text.max_tokens, maximum)
            if (chars is None or chars <= MAX_COUNT) and (tokens is None or tokens <= MAX_COUNT):
                return AnyText(text.pointer, text.excludes, chars, tokens)
        return Repetition(fields.pointer, content, minimum, maximum)

    # -- tags --------------------------------------------------------------------------------------
    cdef object mark(self, Fields fields, str name):
        cdef Fields inner
        value = fields.item(name)
        if not isinstance(value, dict):
            return as_text(value, fields.pointer, name)
        inner = Fields(value, f"{fields.pointer}/{name}", self.budget)
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
            inner = Fields(value, f"{place}{k}", self.budget)
            if inner.get("type", "tag") != "tag":
                raise inner.fault("type", 'must be "tag"')
            made.append(self.tag(inner, depth + 2))
            inner.finish(TAG_FIELDS)
        return tuple(made)

    cdef tuple kept_excludes(self, Fields fields, triggers):
        """Read tokens that free text must not contain; excluding a trigger has no effect."""
        name = "exclude_tokens"
        excludes = self.specials(fields, name, fields.optional_items(name))
        known = frozenset(triggers)
        return tuple([token for token in excludes if token not in known])

    cdef Format triggered(
        self, Fields fields, tuple triggers, tuple excludes, str name, Py_ssize_t depth
    ):
        tags = self.tags(fields, depth)
        made = Triggered(
            fields.pointer, triggers, tags, excludes,
            fields.flag("at_least_one", False), fields.flag("stop_after_first", False))
        check_triggers(triggers, tags, f"{fields.pointer}/{name}", self.budget)
        return made

    cdef Format dispatch(self, Fields fields, Py_ssize_t depth):
        arms = [
            (as_text(pattern, f"{fields.pointer}/rules/{k}", 0, True), made)
            for k, (pattern, made) in enumerate(self.rules(fields, depth))
        ]
        return Dispatch(fields.pointer, tuple(arms), excluded(fields), fields.flag("loop", True))

    cdef Format token_dispatch(self, Fields fields, Py_ssize_t depth):
        arms = [
            (self.special(pattern, fields, "rules", f"rules/{k}/0"), made)
            for k, (pattern, made) in enumerate(self.rules(fields, depth))
        ]
        kept = self.kept_excludes(fields, {token for token, _ in arms})
        return Dispatch(fields.pointer, tuple(arms), kept, fields.flag("loop", True))

    cdef list rules(self, Fields fields, Py_ssize_t depth):
        """Read pairs of a pattern and a format."""
        cdef list made = []
        for k, rule in enumerate(fields.items("rules")):
            place = f"{fields.pointer}/rules/{k}"
            if not isinstance(rule, (list, tuple)) or len(rule) != 2:
                raise SpecError("must be a pair of a pattern and a format", place)
            made.append((rule[0], self.format(rule[1], f"{place}/1", depth + 3)))
        return made


cdef JsonSchema schema_of(Fields fields):
    place = f"{fields.pointer}/json_schema"
    return new_json_schema(fields.pointer, as_schema(fields.item("json_schema"), place), place)


cdef object times(bound, maximum):
    """Return the bound of a repeated text; None: no bound."""
    if bound is None or bound == 0:
        return bound
    return None if maximum is None else bound * maximum


cdef object schema_text(str text, str pointer):
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"not JSON: {error}", pointer) from None


cdef tuple excluded(Fields fields):
    if "excludes" not in fields.value:
        return ()
    return fields.texts("excludes") if fields.value["excludes"] != [] else tuple(fields.get("excludes", []))


cdef Format any_text(Fields fields):
    return AnyText(
        fields.pointer, excluded(fields), fields.bound("max_chars", MAX_COUNT), fields.bound("max_tokens", MAX_COUNT))


cdef Format grammar_text(Fields fields):
    cdef Fields own
    syntax, inside_json, readable = "ebnf", False, False
    text = fields.text("grammar")
    if "switchyard" in fields.value:
        own = own_fields(fields)
        syntax, inside_json = own.get("syntax", "ebnf"), own.flag("inside_json", False)
        readable = own.flag("readable", False)
        if syntax not in ("ebnf", "lark"):
            raise own.fault("syntax", 'must be "ebnf" or "lark"')
        if inside_json and syntax != "lark":
            raise own.fault("inside_json", 'requires the syntax "lark"')
        own.finish(("version", "syntax", "inside_json", "readable"))
    return GrammarText(fields.pointer, text, syntax, inside_json, readable)


cdef Fields own_fields(Fields fields):
    """Return the field "switchyard", which has options of this engine; its version must be this engine's."""
    cdef Fields own = Fields(fields.item("switchyard"), f"{fields.pointer}/switchyard", fields.budget)
    if own.get("version", None) != SPEC_VERSION:
        raise own.fault("version", f"must be {SPEC_VERSION}")
    return own


cdef int add_options(Fields fields, JsonSchema made) except -1:
    """Read the optional fields of a json_schema but its style."""
    cdef Fields own
    made.any_order = fields.flag("any_order", False)
    blanks = fields.bound("max_whitespace_cnt", MAX_COUNT)
    if blanks == 0:
        made.whitespace = "compact"
    elif blanks is not None and blanks <= made.most_blanks:
        # the count includes the newline
        made.most_blanks = blanks - 1
    made.excludes = excluded(fields)
    if made.excludes and made.style is not None:
        check_excludes(fields, made)
    if "switchyard" not in fields.value:
        return 0
    own = own_fields(fields)
    extra_keys = own.get("extra_keys", "anywhere")
    if extra_keys not in ("anywhere", "last", "none"):
        raise own.fault("extra_keys", 'must be "anywhere", "last" or "none"')
    made.extra_keys = extra_keys
    made.max_items, made.max_length = own.bound("max_items", MAX_COUNT), own.bound("max_length", MAX_COUNT)
    spelling = own.get("spelling", "any")
    if spelling not in ("any", "canonical"):
        raise own.fault("spelling", 'must be "any" or "canonical"')
    made.spelling = spelling
    order = own.get("argument_order", "schema")
    if order not in ("schema", "any"):
        raise own.fault("argument_order", 'must be "schema" or "any"')
    made.unordered = order == "any"
    if made.unordered and made.style is None:
        raise own.fault("argument_order", "requires a style")
    made.loose, made.guarded = own.flag("loose", False), own.flag("guarded", False)
    made.indent = layout_option(own, "indent", checked_indent, blanks is not None)
    made.separators = layout_option(own, "separators", checked_separators, blanks is not None)
    made.depth = own.bound("depth", MAX_DEPTH) or 0
    made.element_space = layout_option(own, "element_space", checked_element_space, blanks is not None)
    own.finish((
        "version", "extra_keys", "max_items", "max_length", "spelling", "loose", "guarded", "indent", "separators",
        "depth", "element_space", "argument_order"))
    return 0


cdef int check_excludes(Fields fields, JsonSchema made) except -1:
    """Refuse excludes that begin or end with white space, as xgrammar does."""
    for text in made.excludes:
        if text.strip() != text:
            message = f"{text!r} begins or ends with white space, which can't be enforced in an XML style"
            raise UnsupportedSchema(fields.pointer, "excludes", message)
    return 0


cdef object layout_option(Fields own, str name, check, bint is_counted):
    """Read an option of the layout; ``is_counted``: ``max_whitespace_cnt`` is present and excludes it."""
    value = own.get(name, None)
    if value is not None and is_counted:
        raise own.fault(name, "cannot be combined with max_whitespace_cnt")
    try:
        return check(value)
    except ValueError as error:
        raise SpecError(str(error), f"{own.pointer}/{name}") from None


cdef int check_triggers(tuple triggers, tuple tags, str place, WorkBudget budget) except -1:
    """Check I3. Begins are looked up among the sorted triggers, and triggers among the sorted begins."""
    cdef list shortest = shortest_of(triggers), begins
    cdef bint literal = isinstance(triggers[0], str)
    cdef set known = set(triggers)
    cdef Py_ssize_t at
    cdef Tag tag
    for tag in tags:
        spend(budget, 1)
        if isinstance(tag.begin, str) != literal:
            what = "a text" if literal else "a token"
            message = f"the begin of this tag must be {what}, as the triggers are"
            raise SpecError(message, f"{tag.pointer}/begin")
        if (trigger_of(tag.begin, shortest) is None) if literal else tag.begin not in known:
            raise SpecError("the begin of this tag starts with no trigger", f"{tag.pointer}/begin")
    begins = sorted([(<Tag>each).begin for each in tags])
    for number, trigger in enumerate(triggers):
        spend(budget, 1)
        at = bisect_left(begins, trigger)
        if at == len(begins) or not (begins[at].startswith(trigger) if literal else begins[at] == trigger):
            raise SpecError("no tag begins with this trigger", f"{place}/{number}")
    return 0


# -- fields of one object ----------------------------------------------------------------------------

@cython.no_gc
@cython.freelist(8)
cdef class Fields:
    """The fields of one JSON object, each read at most once; ``finish`` refuses unread ones.

    ``taken`` counts the fields read so far.
    """

    cdef dict value
    cdef str pointer
    cdef WorkBudget budget
    cdef Py_ssize_t taken

    def __cinit__(self, value, str pointer, WorkBudget budget):
        if not isinstance(value, dict):
            raise SpecError("must be an object", pointer)
        spend(budget, 1)
        self.value, self.pointer, self.budget, self.taken = value, pointer, budget, 0

    # -- errors ------------------------------------------------------------------------------------
    cdef object fault(self, str name, str message):
        return SpecError(f"{name} {message}", f"{self.pointer}/{name}")

    cdef int finish(self, tuple known) except -1:
        """Refuse unknown fields (UnsupportedSchema with the name)."""
        if len(self.value) != self.taken:
            name = next(name for name in self.value if name not in known)
            raise UnsupportedSchema(self.pointer, name)
        return 0

    # -- values ------------------------------------------------------------------------------------
    cdef object get(self, str name, default):
        if name not in self.value:
            return default
        self.taken += 1
        return self.value[name]

    cdef object item(self, str name):
        """Return a required field."""
        if name not in self.value:
            raise SpecError(f"the field {name!r} is missing", self.pointer)
        self.taken += 1
        return self.value[name]

    cdef list items(self, str name):
        """Return a required list, which must not be empty."""
        value = self.item(name)
        if not isinstance(value, list) or not value:
            raise self.fault(name, "must be a list with at least one element")
        return value

    cdef list optional_items(self, str name):
        """Return a list that may be absent or empty."""
        if name not in self.value or self.value[name] == []:
            return self.get(name, [])
        return self.items(name)

    cdef str text(self, str name):
        return as_text(self.item(name), self.pointer, name)

    cdef tuple texts(self, str name):
        """Return a required list of strings, none of which is empty."""
        cdef list texts = []
        cdef str place = f"{self.pointer}/{name}"
        for k, value in enumerate(self.items(name)):
            if k % TEXTS_PER_STEP == 0:
                spend(self.budget, 1)
            texts.append(as_text(value, place, k, True))
        return tuple(texts)

    cdef bint flag(self, str name, bint default) except -1:
        value = self.get(name, default)
        if value is not True and value is not False:
            raise self.fault(name, "must be true or false")
        return value

    cdef object count(self, str name, low, high):
        """Return a required integer within bounds."""
        value = self.item(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.fault(name, f"must be an integer from {low} to {high:,}")
        return value

    cdef object bound(self, str name, high):
        """Return an optional count; absent or null: None."""
        if self.value.get(name) is None:
            self.get(name, None)
            return None
        return self.count(name, 0, high)


cdef str as_text(value, str pointer, step, bint filled=False):
    """Check a string at ``pointer``/``step`` (``step`` None: at ``pointer``), which must be encodable in UTF-8."""
    if not isinstance(value, str) or (filled and not value):
        raise SpecError("must be a string" + " that is not empty" * filled, place(pointer, step))
    if not (<str>value).isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise SpecError("contains half of a surrogate pair", place(pointer, step)) from None
    return value


cdef str place(str pointer, step):
    return pointer if step is None else f"{pointer}/{step}"


cdef object as_schema(value, str pointer):
    if not isinstance(value, (dict, bool)):
        raise SpecError("must be a JSON Schema, an object or a boolean", pointer)
    return value
