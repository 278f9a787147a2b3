"""Arguments of a call in the styles of model families.

The schema's meaning is that of JSON (reader); only the text differs. The members of the arguments are elements or
Python's keyword arguments; their values are raw strings, JSON, Python's literals or Gemma's objects.

Elements   A value of several types is divided by type, so that each has the begin that names it. Strings are raw,
           all other values are JSON text. A raw string does not contain the text that ends its element. In a style
           with ``wrap``, a raw string may also stand between the two texts of the wrap.
Captures   regions of the document's node, with the suffixes of tag_styles.Region: the parser's events then show
           keys and values, and whether a value is a raw string or JSON.
Ambiguity  if a text is both an allowed raw string and JSON of another allowed type, it is JSON.
Refused    objects listed by enum or const; listed strings that contain the end of their element; counts of
           additional keys, which the styles cannot tell apart.
"""

from libc.stdint cimport uint32_t

from ...grammar.ir cimport Grammar
from ...native.pool cimport vector
from .builder cimport Builder
from .evaluator cimport type_of
from .json_text cimport JsonText
from .schema_types cimport (
    ANYTHING_ONLY, ARRAY, BOOLEAN, FRACTION, INTEGER, NULL_TYPE, NUMBER, OBJECT, STRING, Location, SchemaType,
    location_at, new_type,
)
from .styled_text cimport RawText, new_bare_text, new_raw_text, python_text_of
from .values.strings cimport build_string

from ...errors import UnsupportedSchema
from .builder import new_builder

cdef enum:
    NO_NODE = 0xFFFFFFFF

#: an additional name for integers where a schema allows several types
OPEN_INTEGER = "open integer"


def build_arguments(Grammar grammar, schema, *, style, marks, str label, str pointer="", **options):
    """Add the arguments of a call.

    Args:
        style: a tag_styles.Style.
        marks: a tag_vocabulary.Spelling, which adds literals in which special tokens are tokens.
        label: of the regions.
        options: as for ``build_json_schema``.

    Raises:
        UnsupportedSchema, SpecError: with the pointer of a schema that the style cannot express.
    """
    options["extra_keys"] = "last"
    cdef Builder values = new_builder(grammar, schema, pointer, **options)
    cdef Arguments arguments = Arguments.__new__(Arguments)
    cdef SchemaType each
    cdef vector[uint32_t] ways
    cdef Location root
    arguments.values, arguments.reader, arguments.style = values, values.reader, style
    arguments.any_order, arguments.extra_last = values.any_order, True
    arguments.marks, arguments.label, arguments.any_node = marks, label, NO_NODE
    arguments.prepare(options.get("excludes", ()))
    root = values.reader.target(values.root)
    for each in values.reader.read_target(root):
        if each.types & OBJECT:
            each.check(OBJECT)
            if each.values is not None:
                word = listing_keyword(root)
                raise UnsupportedSchema(root.at(word), word, "listed arguments can't be written in this style")
            ways.push_back(arguments.object(each.objects))
    if not ways.size():
        raise UnsupportedSchema(root.at("type"), "type", "arguments must be an object")
    node = values.result(arguments.text.alt(ways.data(), ways.size()), pointer)
    # only now, because it releases the schemas that the values' rules are built from
    arguments.finish()
    return node


cdef class Arguments(Builder):
    """Builds the members; ``values`` builds their values. ``raw``: of elements; None: values stand alone.

    ``wrapped``: strings in the style's wrap; None: the style has none.
    """
    cdef Builder values
    cdef RawText raw, wrapped
    cdef object style, marks
    cdef str label
    cdef uint32_t any_node

    cdef int prepare(self, tuple excludes) except -1:
        """Make the texts of members and values."""
        cdef JsonText text = self.values.text
        cdef Grammar grammar = text.grammar
        cdef uint32_t empty = text.empty, space, first, quote
        head, _, tail = self.style.open.partition("{key}")
        if self.style.values == "json":
            wrap_begin, wrap_end = self.style.wrap
            if wrap_begin:
                self.wrapped = new_raw_text(text, wrap_end, excludes, empty, empty)
            self.raw = new_raw_text(
                text, self.style.guard or self.style.close, (*excludes, wrap_begin) if wrap_begin else excludes,
                empty, empty)
            first = self.region("#mark", grammar.seq(text.space(), self.literal(head)))
            parts = (first, first, empty, self.region("#mark", text.space()))
            self.text = new_bare_text(text, "", excludes, empty, empty, self.style.escapes, "", parts, b"")
            return 0
        if self.style.values == "python":
            text = python_text_of(text)
        space = text.space()
        parts = (
            empty, grammar.seq(space, grammar.bytes(self.style.separator.encode()), space), self.literal(tail), empty)
        self.text = new_bare_text(text, "", excludes, empty, empty, self.style.escapes, tail, parts, b"")
        if self.style.values == "gemma":
            quote = self.literal(self.style.quote)
            text = new_bare_text(
                text, self.style.quote, excludes, quote, quote, self.style.escapes, tail, parts, b"{}")
        text.depth, text.document = 0, self.values.text.document
        self.values.text = text
        return 0

    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF:
        return self.values.place(place) if self.raw is None else Builder.place(self, place)

    cdef uint32_t schema(self, schema, Location above, str keyword, key) except? 0xFFFFFFFF:
        if self.raw is None:
            return self.values.schema(schema, above, keyword, key)
        return self.one_place(location_at(schema, above, keyword, key), 0)

    cdef uint32_t any_value(self, int depth) except? 0xFFFFFFFF:
        if self.any_node == NO_NODE:
            self.any_node = self.node(ANYTHING_ONLY, self.values.root, depth)
        return self.any_node

    cdef uint32_t node(self, tuple alternatives, Location where, int depth) except? 0xFFFFFFFF:
        """Add the rest of an element behind its key: one way for each begin."""
        cdef SchemaType each
        cdef dict names = self.type_names(alternatives)
        cdef list ways = [], rest
        cdef uint32_t body
        # JSON before raw strings: the parser prefers the first way to read a text
        for name, types in names.items():
            rest = [only(each, types) for each in alternatives if each.types & types]
            rest = [each for each in rest if each is not None]
            if rest:
                ways.append(self.json(tuple(rest), where, name))
        if [each for each in alternatives if each.types & STRING]:
            if self.wrapped is not None:
                before, after = self.style.wrap
                ways.append(self.string(self.wrapped, alternatives, where, before, after))
            ways.append(self.string(self.raw, alternatives, where))
        body = self.text.grammar.alt(*ways)
        return body if body == self.text.fail else self.new_rule(where, body)

    cdef dict type_names(self, tuple alternatives):
        """Return the names that the style gives to types other than strings, with their types."""
        cdef SchemaType each
        cdef int types = 0, kinds
        cdef dict names = {}
        for each in alternatives:
            types |= each.types
        given = self.style.types
        number = "number" if types & FRACTION else "integer"
        kinds = 0
        for kind, bits in (
            (number, NUMBER), ("boolean", BOOLEAN), ("null", NULL_TYPE), ("object", OBJECT), ("array", ARRAY),
        ):
            if types & bits:
                kinds += 1
                name = given.get(kind, "")
                names[name] = names.get(name, 0) | types & bits
        if types & INTEGER and OPEN_INTEGER in given and kinds + (types & STRING != 0) > 1:
            names.setdefault(given[OPEN_INTEGER], INTEGER)
        return names

    cdef json(self, tuple alternatives, Location where, str name):
        cdef JsonText text = self.values.text
        cdef uint32_t space
        cdef uint32_t value = self.values.node(alternatives, where, 0)
        if value == text.fail:
            return value
        value = self.region("#value", value)
        if not self.style.guard:
            space = self.region("#mark", text.space())
            value = text.grammar.seq(space, value, space)
        return self.element("#json", name, value)

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
                    word = listing_keyword(where)
                    message = f"{value!r} contains {self.raw.guard!r}, which would end it"
                    raise UnsupportedSchema(where.at(word), word, message)
            ways.append(text.texts(texts))
        return self.element("#string", self.style.types.get("string", ""), self.region(
            "#text", self.text.grammar.alt(*ways)), before, after)

    cdef element(self, str region, str name, uint32_t value, str before="", str after=""):
        cdef Grammar grammar = self.text.grammar
        begin = self.literal(self.style.open.partition("{key}")[2].replace("{type}", name) + before)
        end = self.literal(after + self.style.close)
        parts = [
            grammar.capture(self.label + region, "begin", begin), value,
            grammar.capture(self.label + region, "end", end)]
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
            nodes += [self.values.text.space(), self.marks.add_mark(grammar, piece)]
        return grammar.seq(*nodes)


cdef str listing_keyword(Location where):
    return "const" if isinstance(where.schema, dict) and "const" in where.schema else "enum"


cdef SchemaType only(SchemaType given, int types):
    """Return the alternative for these types; None: no value is left."""
    cdef tuple values = given.values
    types &= given.types
    if types == given.types:
        return given
    if values is not None:
        values = tuple([value for value in values if type_of(value) & types])
        if not values:
            return None
    return new_type(
        types, values, given.strings if types & STRING else None, given.numbers if types & NUMBER else None,
        given.arrays if types & ARRAY else None, given.objects if types & OBJECT else None, given.refused)
