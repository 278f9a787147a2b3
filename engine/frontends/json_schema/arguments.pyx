"""Arguments of a call in the styles of model families.

The schema's meaning is that of JSON (reader); only the text differs. The members of the arguments are elements or
Python's keyword arguments; their values are raw strings, JSON, Python's literals or Gemma's objects. In nested
styles, objects and arrays are elements of elements at every level.

Elements   A value of several types is divided by type, so that each has the begin that names it. Strings are raw
           unless the style quotes them, numbers, booleans and null are JSON, and so are objects and arrays unless
           the style is nested. A raw string does not contain the text that ends its element. In a style with
           ``wrap``, a raw string may also stand between the two texts of the wrap.
Keys       Additional keys are identifiers. An element that repeats its key at its end repeats listed keys exactly;
           behind an additional member, the name may be any additional key, because a grammar cannot copy text.
           If items are elements with a name, and an array is allowed, too, this name is no additional key.
Order      that of the schema. With ``is_unordered``, up to MOST_UNORDERED arguments have any order, if they are not
           counted (``minProperties`` and the like); objects inside them keep theirs.
Layout     with ``indent`` or ``separators``, JSON in elements has this layout, and the members of Python's and
           Gemma's objects are separated as its items are. White space around elements stays flexible, unless
           ``element_space`` fixes it: that in place of the glue, and that behind each element.
Captures   regions of the document's node, with the suffixes of tag_styles.Region: the parser's events then show
           keys and values, and whether a value is a raw string, JSON, an object or an array.
Ambiguity  if a text can be read in several ways, it is the first of these that its schema allows: an array, an
           object, a number, boolean or null, a raw string. So an element without content is an empty array, an
           empty object or an empty string, in this order.
Refused    listed strings that contain the end of their element; required keys without a text, such as an empty
           one; items and additional keys that must differ, because their texts can't be compared
           (unique_items reads JSON).
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar
from ...native.pool cimport vector
from .builder cimport Builder
from .evaluator cimport type_of
from .builder cimport without_narrowing
from .json_text cimport JsonText, text_of
from .schema_types cimport (
    ANYTHING, ANYTHING_ONLY, ARRAY, BOOLEAN, FRACTION, INTEGER, NULL_TYPE, NUMBER, OBJECT, STRING, Location,
    SchemaType, listed, location_at, new_type,
)
from .styled_text cimport (
    BareText, ItemText, RawText, ended_by, new_bare_text, new_item_text, new_raw_text, python_text_of, unwritable,
)
from .values.strings cimport build_string

from ...errors import SpecError, UnsupportedSchema
from .builder import new_builder

cdef enum:
    NO_NODE = 0xFFFFFFFF

cdef enum:
    # the depths of declared objects: those of a place that allows arrays have other additional keys
    ALONE = 0
    BESIDE_ARRAYS = 1

#: an additional name for integers where a schema allows several types
OPEN_INTEGER = "open integer"
#: arguments in any order; 98.5% of BFCL's tools have so few. The masks of an answer whose grammar is new take 1.1 to
#: 1.2 times as long with 8 optional ones, and 1.3 to 1.7 times with 16
cdef size_t MOST_UNORDERED = 8


def build_arguments(
    Grammar grammar, schema, *, style, marks, str label, str pointer="", bint is_guarded=False,
    tuple element_space=None, bint is_unordered=False, **options
):
    """Add the arguments. ``is_unordered``: members have any order if they are few (see Order)."""
    if options.get("extra_keys") != "none":
        options["extra_keys"] = "last"
    options["any_order"] = options.get("any_order", False) or style.any_order
    if is_guarded and style.has_elements and not style.nested:
        options["element_ends"] = tuple([text for text in (style.value_end, style.wrap[0]) if text])
    written = style
    if element_space is not None and style.has_elements:
        written = spaced(style, element_space[0], element_space[1])
    cdef Builder values = new_builder(grammar, schema, pointer, **options)
    cdef uint32_t gap = values.text.space()
    if options.get("indent") is not None or options.get("separators") is not None:
        gap = grammar.empty_node if element_space is not None else flexible(values.text)
    try:
        return arguments_of(
            values, written, gap, marks, label, pointer, options.get("excludes", ()), MOST_UNORDERED * is_unordered)
    except SpecError:
        if not values.is_narrower():
            raise
    values.abandon()
    return build_arguments(
        grammar, schema, style=style, marks=marks, label=label, pointer=pointer, is_guarded=is_guarded,
        element_space=element_space, is_unordered=is_unordered, **without_narrowing(options))


cdef arguments_of(
    Builder values, style, uint32_t gap, marks, str label, str pointer, tuple excludes, size_t unordered
):
    """Add the arguments; ``values`` is a new builder of their schema. ``gap``: see Arguments."""
    cdef Arguments arguments = Arguments.__new__(Arguments)
    cdef Grammar grammar = values.text.grammar
    cdef SchemaType each
    cdef vector[uint32_t] ways
    cdef Location root
    arguments.values, arguments.reader, arguments.style = values, values.reader, style
    arguments.any_order, arguments.extra_last = values.any_order, True
    arguments.gap = gap
    arguments.marks, arguments.label, arguments.any_node = marks, label, NO_NODE
    if style.has_elements:
        arguments.prepare_elements(excludes)
    else:
        arguments.prepare_literals(excludes)
    arguments.unordered = unordered
    root = values.reader.target(values.root)
    for each in values.reader.read_target(root):
        if each.types & OBJECT:
            each.check(OBJECT)
            if each.values is None:
                ways.push_back(arguments.object(each.objects))
            else:
                arguments.add_listed([value for value in each.values if isinstance(value, dict)], &ways)
    if not ways.size():
        raise UnsupportedSchema(root.at("type"), "type", "arguments must be an object")
    arguments.unordered = 0
    arguments.define_declared()
    values.failed = values.failed or arguments.failed
    node = values.result(grammar.add_alt(ways.data(), ways.size()), pointer)
    # only now, because the values' rules are built from these schemas
    arguments.release_names()
    return node


cdef class Arguments(Builder):
    """Builds the members; ``values`` builds values that are not elements.

    ``raw``: raw strings in elements; None: values stand alone. ``wrapped``: strings in the style's wrap, or None.
    ``items``: arrays of a nested style, or None. ``members``: objects by depth, ALONE and BESIDE_ARRAYS. ``begin``
    and ``end``: the texts around a value in an element, without its key. ``gap``: white space around elements.
    """
    cdef Builder values
    cdef RawText raw, wrapped
    cdef ItemText items
    cdef tuple members
    cdef object style, marks
    cdef str label, begin, end
    cdef uint32_t any_node, gap

    cdef int prepare_elements(self, tuple excludes) except -1:
        cdef JsonText text = self.values.text
        cdef uint32_t empty = text.empty, first, last
        cdef str head, between = "", shared, behind
        head, _, self.begin = self.style.open.partition("{key}")
        self.end, _, behind = self.style.close.partition("{key}")
        if self.style.nested:
            # what follows the key of a member and opens an item alike belongs to the value
            shared = self.style.shared_begin
            between, self.begin = self.begin.removesuffix(shared), shared
            first = self.mark(self.gap, self.style.item.removesuffix(shared))
            last = self.mark(empty, self.style.item_name + behind) if behind else empty
            self.items = new_item_text(text, first, last, self.mark(self.gap, ""))
        wrap_begin, wrap_end = self.style.wrap
        if wrap_begin:
            self.wrapped = new_raw_text(text, wrap_end, excludes, empty, empty)
            self.wrapped.root = self.values.root
        self.raw = new_raw_text(
            text, self.style.value_end, (*excludes, wrap_begin) if wrap_begin else excludes,
            empty, empty)
        self.raw.root = self.values.root
        self.members = tuple([
            self.member_text(excludes, head, between, behind, barred)
            for barred in (None, self.style.item_name or None)])
        self.text = self.members[ALONE]
        return 0

    cdef BareText member_text(self, tuple excludes, str head, str between, str behind, str barred):
        """Return the text of the members of objects.

        Args:
            head, between: literals before a key, and between it and what begins a value.
            behind: a literal behind the key at the end; "": the key is not repeated.
            barred: is no additional key.
        """
        cdef JsonText text = self.values.text
        cdef uint32_t empty = text.empty, first = self.mark(self.gap, head)
        parts = (first, first, self.mark(empty, between) if between else empty, self.mark(self.gap, ""))
        cdef BareText bare = new_bare_text(text, "", excludes, empty, empty, self.style.escapes, parts, b"")
        bare.keys.barred, bare.root = barred, self.values.root
        if behind:
            bare.repeats_keys, bare.key_end, bare.key_label = True, self.literal(behind), self.label + "#mark"
        return bare

    cdef int prepare_literals(self, tuple excludes) except -1:
        cdef JsonText text = self.values.text
        cdef BareText objects, members
        cdef uint32_t empty = text.empty, separator, quote
        tail = self.style.open.partition("{key}")[2]
        if self.style.values == "python":
            text = python_text_of(text, self.style.constants)
        if text.layout is not None:
            separator = text.bytes(text.layout.item)
        else:
            separator = text.grammar.seq(text.space(), text.bytes(self.style.separator.encode()), text.space())
        parts = (empty, separator, self.literal(tail), empty)
        self.text = members = new_bare_text(text, "", excludes, empty, empty, self.style.escapes, parts, b"")
        members.root = self.values.root
        members.keys.end_text = tail
        if self.style.values == "gemma":
            quote = self.literal(self.style.quote)
            text = objects = new_bare_text(
                text, self.style.quote, excludes, quote, quote, self.style.escapes, parts, b"{}")
            if self.style.constants:
                (<BareText>text).other_null = self.style.constants[2].encode()
            objects.root = self.values.root
            objects.keys.end_text = tail
        text.depth, text.document = 0, self.values.text.document
        self.values.text = text
        return 0

    cdef uint32_t mark(self, uint32_t space, str text) except? 0xFFFFFFFF:
        """Add white space and a literal that belong to no value."""
        return self.region("#mark", self.values.text.grammar.seq(space, self.literal(text)))

    cdef int enter(self, int depth) except -1:
        self.text = self.members[depth]
        return 0

    cdef JsonText array_text(self):
        return self.text if self.items is None else self.items

    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF:
        return self.values.place(place) if self.raw is None else Builder.place(self, place)

    cdef uint32_t schema(self, schema, Location above, str keyword, key) except? 0xFFFFFFFF:
        if self.raw is None:
            return self.values.schema(schema, above, keyword, key)
        return self.one_place(location_at(schema, above, keyword, key), 0)

    cdef uint32_t any_value(self, int depth) except? 0xFFFFFFFF:
        cdef uint32_t rule
        if self.any_node == NO_NODE:
            # declared first, because it is inside of itself
            rule = self.text.grammar.new_rule("any value", NO_NODE)
            self.any_node = self.text.grammar.add_ref(rule)
            self.text.grammar.set_rule(rule, self.ways(ANYTHING_ONLY, self.values.root))
        return self.any_node

    cdef uint32_t node(self, tuple alternatives, Location where, int depth) except? 0xFFFFFFFF:
        """Add the rest of an element behind its key."""
        cdef uint32_t body
        if len(alternatives) == 1 and alternatives[0] is ANYTHING:
            return self.any_value(depth)
        body = self.ways(alternatives, where)
        return body if body == self.text.fail else self.new_rule(where, body)

    cdef uint32_t ways(self, tuple alternatives, Location where) except? 0xFFFFFFFF:
        """Add one way for each begin, in the order in which the parser prefers them (see the file's header)."""
        cdef SchemaType each
        cdef list ways = [], rest
        cdef JsonText outer = self.text
        if self.items is not None:
            rest = some_of(alternatives, ARRAY)
            depth = BESIDE_ARRAYS if rest else ALONE
            if rest:
                ways.append(self.element("#array", self.style.types.get("array", ""), self.content(rest, where, ALONE)))
            rest = some_of(alternatives, OBJECT)
            if rest:
                self.enter(depth)
                content = self.content(rest, where, depth)
                self.text = outer
                ways.append(self.element("#object", self.style.types.get("object", ""), content))
        for name, types in self.type_names(alternatives).items():
            rest = some_of(alternatives, types)
            if rest:
                ways.append(self.json(tuple(rest), where, name))
        if self.style.values == "json" and [each for each in alternatives if each.types & STRING]:
            if self.wrapped is not None:
                before, after = self.style.wrap
                ways.append(self.string(self.wrapped, alternatives, where, before, after))
            ways.append(self.string(self.raw, alternatives, where))
        return self.text.grammar.alt(*ways)

    cdef uint32_t content(self, list alternatives, Location where, int depth) except? 0xFFFFFFFF:
        """Add the items of arrays, or the members of objects, of a nested style.

        A rule with constraints is only declared here and defined later, so that the stack does not grow.
        """
        cdef SchemaType first = alternatives[0]
        cdef uint32_t rule
        if len(alternatives) == 1 and first.values is None and first.arrays is None and first.objects is None:
            first.check(first.types)
            return self.array(None) if first.types == ARRAY else self.object(None)
        rule = self.text.grammar.new_rule(where, NO_NODE)
        self.names.append(where)
        self.queue.append((rule, tuple(alternatives), where, depth))
        return self.text.grammar.add_ref(rule)

    # -- constants --------------------------------------------------------------------------------
    cdef int add_listed(self, list values, vector[uint32_t]* nodes) except -1:
        """Add objects and arrays, without the begin and the end of their elements."""
        for value in values:
            nodes.push_back(self.members_of(value) if isinstance(value, dict) else self.items_of(value))
        return 0

    cdef uint32_t members_of(self, dict value) except? 0xFFFFFFFF:
        cdef vector[uint32_t] parts
        cdef uint32_t member
        for key, item in value.items():
            member = self.text.pair(self.text.key_literal(key), self.constant(item))
            parts.push_back(self.text.after_comma(member) if parts.size() else self.text.first(member))
        return self.text.bracketed(b"{", self.text.grammar.add_seq(parts.data(), parts.size()), b"}")

    cdef uint32_t items_of(self, list value) except? 0xFFFFFFFF:
        cdef vector[uint32_t] parts
        for item in value:
            parts.push_back(self.items.first(self.constant(item)))
        return self.items.bracketed(b"[", self.items.grammar.add_seq(parts.data(), parts.size()), b"]")

    cdef uint32_t constant(self, value) except? 0xFFFFFFFF:
        if self.raw is None:
            return self.values.constant(value)
        return self.node((listed((value,)),), self.values.root, 0)

    # -- types ------------------------------------------------------------------------------------
    cdef dict type_names(self, tuple alternatives):
        """Return the names that the style gives to types whose values are JSON, with these types."""
        cdef SchemaType each
        cdef int types = 0, kinds
        cdef dict names = {}
        for each in alternatives:
            types |= each.types
        if self.items is not None:
            types &= ~(OBJECT | ARRAY)
        style_types = self.style.types
        number = "number" if types & FRACTION else "integer"
        kinds = 0
        for kind, bits in (
            (number, NUMBER), ("boolean", BOOLEAN), ("null", NULL_TYPE), ("object", OBJECT), ("array", ARRAY),
            ("string", STRING),
        ):
            if types & bits:
                kinds += 1
                if bits == STRING and self.style.values == "json":
                    continue
                name = style_types.get(kind, "")
                names[name] = names.get(name, 0) | types & bits
        if types & INTEGER and OPEN_INTEGER in style_types and kinds > 1:
            names.setdefault(style_types[OPEN_INTEGER], INTEGER)
        return names

    cdef json(self, tuple alternatives, Location where, str name):
        cdef JsonText text = self.values.text
        cdef uint32_t space
        cdef uint32_t value = self.values.node(alternatives, where, 0)
        if value == text.fail:
            return value
        value = self.region("#value", value)
        if self.style.constants:
            value = text.grammar.alt(value, self.region("#constant", self.other_constants(alternatives)))
        if not self.style.guard:
            space = self.region("#mark", text.space())
            value = text.grammar.seq(space, value, space)
        return self.element("#json", name, value)

    cdef uint32_t other_constants(self, tuple alternatives) except? 0xFFFFFFFF:
        """Add true, false and null in the style's other spelling, as far as they are allowed."""
        cdef SchemaType each
        cdef Grammar grammar = self.text.grammar
        cdef list ways = []
        for value, bits, written in zip((True, False, None), (BOOLEAN, BOOLEAN, NULL_TYPE), self.style.constants):
            for each in alternatives:
                if each.types & bits and (each.values is None or any([one is value for one in each.values])):
                    ways.append(grammar.bytes(written.encode()))
                    break
        return grammar.alt(*ways)

    cdef string(self, RawText text, tuple alternatives, Location where, str before="", str after=""):
        """Add a raw string between two texts."""
        cdef SchemaType each
        cdef list ways = []
        for each in alternatives:
            if not each.types & STRING:
                continue
            each.check(STRING)
            if each.values is None:
                ways.append(build_string(text, each.strings, self.reader))
                continue
            texts = [value for value in each.values if isinstance(value, str)]
            for value in texts:
                if self.raw.guard in value:
                    raise unwritable(where, self.values.root, value, ended_by(value, self.raw.guard))
            ways.append(text.texts(texts))
        return self.element("#string", self.style.types.get("string", ""), self.region(
            "#text", self.text.grammar.alt(*ways)), before, after)

    cdef element(self, str region, str name, uint32_t value, str before="", str after=""):
        cdef Grammar grammar = self.text.grammar
        begin = self.literal(self.begin.replace("{type}", name) + before)
        parts = [
            grammar.capture(self.label + region, "begin", begin), value,
            grammar.capture(self.label + region, "end", self.literal(after + self.end))]
        return grammar.capture(self.label + region, "tag", grammar.seq(*parts))

    cdef uint32_t region(self, str region, uint32_t node) except? 0xFFFFFFFF:
        return self.values.text.grammar.capture(self.label + region, "text", node)

    cdef uint32_t literal(self, str text) except? 0xFFFFFFFF:
        """Add a literal, with white space in place of the glue."""
        cdef Grammar grammar = self.values.text.grammar
        if not text:
            return grammar.empty_node
        pieces = text.split(self.style.glue) if self.style.glue else [text]
        nodes = [self.marks.add_mark(grammar, pieces[0])]
        for piece in pieces[1:]:
            nodes += [self.gap, self.marks.add_mark(grammar, piece)]
        return grammar.seq(*nodes)


cdef uint32_t flexible(JsonText text) except? 0xFFFFFFFF:
    """Return flexible white space beside JSON with a layout."""
    return text_of(text.grammar, True, text.blanks, None, text.canonical, text.excluded, (), (None, None)).space()


cdef spaced(style, str inside, str behind):
    """Return a style with this white space in place of its glue, and behind each element."""
    opened = style.open.replace(style.glue, inside) if style.glue else style.open
    return style._replace(open=opened, close=style.close + behind, glue="", guard=style.value_end)


cdef list some_of(tuple alternatives, int types):
    """Return the alternatives of these types, restricted to them."""
    cdef SchemaType each
    parts = [only(each, types) for each in alternatives if each.types & types]
    return [each for each in parts if each is not None]


cdef SchemaType only(SchemaType whole, int types):
    """Return the alternative for these types; None: no value is left."""
    cdef tuple values = whole.values
    types &= whole.types
    if types == whole.types:
        return whole
    if values is not None:
        values = tuple([value for value in values if type_of(value) & types])
        if not values:
            return None
    return new_type(
        types, values, whole.strings if types & STRING else None, whole.numbers if types & NUMBER else None,
        whole.arrays if types & ARRAY else None, whole.objects if types & OBJECT else None, whole.refused)
