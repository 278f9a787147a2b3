"""Builder of a schema to rules, type by type."""

from libc.stdint cimport uint32_t, uint64_t

from ...grammar.ir cimport Grammar
from ...grammar.lowered cimport is_productive
from ...native.hashing cimport map_get, map_put
from ...native.pool cimport vector
from ...native.resources cimport spend
from .values.arrays cimport build_array
from .document cimport (
    ENUM, TYPE, KeywordsC, bit, check_document, has, new_references, one_type, scan,
)
from .evaluator cimport has_surrogate
from .json_text cimport (
    ANY_ARRAY, ANY_OBJECT, ANY_VALUE, BLANKS, DEEP, EXACT_LEVELS, NO_NODE, SHARED_RULES, JsonText,
    add_values, once, text_of,
)
from .values.numbers cimport any_number, build_number
from .values.objects cimport build_object
from .reader cimport new_reader
from .intersection cimport intersect_numbers, place_of
from .schema_types cimport (
    ANYTHING, ARRAY, BOOLEAN, FRACTION, INTEGER, NULL_TYPE, NUMBER, OBJECT, STRING, Arrays, Location, Numbers, Objects,
    SchemaType, location_at, constraint_text, new_numbers, root_place,
)
from .values.strings cimport build_string

from ...errors import LimitExceeded, SpecError, UnsupportedSchema
from .layout import COMPACT, GUIDANCE, is_compact, layout_of

#: where additional keys may stand, see ``build_json_schema``
cdef tuple EXTRA_KEYS = ("anywhere", "last", "none")
#: position of the depth in the key of a place; addresses have at most 48 bits
cdef int DEPTH_SHIFT = 48
#: string alternatives whose patterns are determinised together; states multiply: five formats took 390 ms
cdef Py_ssize_t STRINGS_TOGETHER = 2


cdef list required_parts(schema):
    """Return the subschemas that a value of an object schema must satisfy: (keyword, key, subschema)."""
    cdef list parts = []
    if not isinstance(schema, dict):
        return parts
    members, names, all_of = schema.get("properties"), schema.get("required"), schema.get("allOf")
    if isinstance(members, dict) and isinstance(names, list):
        parts += [("properties", name, members[name]) for name in names if name in members]
    if isinstance(all_of, list):
        parts += [("allOf", number, each) for number, each in enumerate(all_of)]
    if schema.get("minItems") and isinstance(schema.get("items"), (dict, bool)):
        parts.append(("items", None, schema["items"]))
    return parts


cdef bint has_member(schema, name) except -1:
    members = schema.get("properties") if isinstance(schema, dict) else None
    return isinstance(members, dict) and name in members


def build_json_schema(grammar, schema, *, str pointer="", **options):
    cdef Builder builder = new_builder(grammar, schema, pointer, **options)
    try:
        return builder.result(builder.one_place(builder.root, builder.text.depth), pointer)
    except SpecError:
        if not builder.is_narrower():
            raise
    builder.abandon()
    return build_json_schema(grammar, schema, pointer=pointer, **without_narrowing(options))


cdef dict without_narrowing(dict options):
    """Return the options with which a schema has a value if any has."""
    return {**options, "extra_keys": "last", "max_items": None, "max_length": None}


def new_builder(
    grammar,
    schema,
    str pointer,
    *,
    bint any_order=False,
    str whitespace="flexible",
    str unknown_formats="annotate",
    str extra_keys="anywhere",
    max_items=None,
    max_length=None,
    int most_blanks=BLANKS,
    indent=None,
    separators=None,
    int depth=0,
    str spelling="any",
    tuple excludes=(),
    tuple element_ends=(),
):
    """Return a builder for a checked schema; the options are those of ``build_json_schema``.

    ``depth``: levels of indentation around the value. ``element_ends``: texts that strings do not contain as
    written if only their length is bounded.
    """
    cdef Builder builder
    layout = None
    if whitespace not in ("flexible", "compact"):
        raise ValueError(f"whitespace must be 'flexible' or 'compact', not {whitespace!r}")
    if indent is not None or separators is not None:
        if whitespace == "compact":
            raise ValueError("whitespace 'compact' cannot be combined with indent or separators")
        layout, whitespace = layout_of(indent, separators), "compact"
        layout = None if layout == COMPACT else layout
    if unknown_formats not in ("annotate", "refuse"):
        raise ValueError(f"unknown_formats must be 'annotate' or 'refuse', not {unknown_formats!r}")
    if extra_keys not in EXTRA_KEYS:
        raise ValueError(f"extra_keys must be one of {', '.join(EXTRA_KEYS)}, not {extra_keys!r}")
    if spelling not in ("any", "canonical"):
        raise ValueError(f"spelling must be 'any' or 'canonical', not {spelling!r}")
    schema = check_document(schema, grammar.limits, pointer)
    if isinstance(schema, dict) and GUIDANCE in schema and is_compact(schema[GUIDANCE], pointer):
        if layout is not None:
            message = f"{GUIDANCE} asks for compact JSON, the caller for another indent or separators"
            raise UnsupportedSchema(f"{pointer}/{GUIDANCE}", GUIDANCE, message)
        whitespace = "compact"
    builder = Builder.__new__(Builder)
    builder.reader = new_reader(
        new_references(schema, pointer), <Grammar?>grammar, unknown_formats == "refuse")
    builder.text = text_of(
        <Grammar?>grammar, whitespace == "flexible", most_blanks, layout, spelling == "canonical", excludes,
        element_ends, (max_items, max_length))
    builder.text.depth = depth if builder.text.is_indented else 0
    builder.text.document = schema
    builder.reader.excludes = builder.text.excludes
    builder.reader.most_items, builder.reader.most_characters = max_items, max_length
    builder.reader.closes_objects = extra_keys == "none"
    builder.any_order, builder.extra_last = any_order, extra_keys != "anywhere"
    builder.first_rule = <uint32_t>builder.text.grammar.rule_nodes.size()
    builder.root = root_place(schema, pointer)
    return builder


cdef class Builder:
    def __cinit__(self):
        self.failed, self.queue, self.names, self.defined, self.unordered = False, [], [], 0, 0
        self.several, self.shallowest = {}, {}

    cdef uint32_t place(self, tuple place) except? 0xFFFFFFFF:
        cdef int depth = self.text.below()
        if not place:
            return self.any_value(depth)
        if len(place) == 1:
            return self.one_place(<Location>place[0], depth)
        spend(self.text.grammar.budget, <Py_ssize_t>len(place))
        place = tuple([self.reader.target(<Location>each) for each in place])
        key = tuple([<size_t><void*>(<Location>each).schema for each in place])
        depth = self.exact_depth(key, depth)
        if (key, depth) not in self.several:
            self.several[key, depth] = self.node(self.reader.alternatives_at(place), <Location>place[0], depth)
        return self.several[key, depth]

    cdef uint32_t schema(self, schema, Location above, str keyword, key) except? 0xFFFFFFFF:
        cdef KeywordsC keywords
        cdef uint32_t body, rule
        if schema is True:
            return self.any_value(self.text.below())
        if isinstance(schema, dict):
            scan(<dict>schema, &keywords)
            body = self.plain(&keywords)
            if body != NO_NODE:
                rule = self.text.rule_of(body)
                return rule if rule != NO_NODE else self.new_rule(location_at(schema, above, keyword, key), body)
        return self.one_place(location_at(schema, above, keyword, key), self.text.below())

    cdef uint32_t one_place(self, Location where, int depth) except? 0xFFFFFFFF:
        """Return the node of a place of one schema at a depth."""
        cdef uint32_t node
        cdef uint64_t key
        where = self.reader.target(where)
        key = <uint64_t><size_t><void*>where.schema
        if self.text.is_indented:
            depth = self.exact_depth(key, depth)
            key |= <uint64_t>depth << DEPTH_SHIFT
        node = map_get(&self.single, key)
        if node == NO_NODE:
            node = self.node(self.reader.read_target(where), where, depth)
            map_put(&self.single, key, node)
        return node

    cdef int exact_depth(self, key, int depth) except -1:
        """Return the depth for which a place is built: the given one or DEEP (see the contract)."""
        if not self.text.is_indented or depth == DEEP:
            return depth
        return depth if depth - self.shallowest.setdefault(key, depth) < EXACT_LEVELS else DEEP

    cdef uint32_t plain(self, KeywordsC* keywords) except? 0xFFFFFFFF:
        """Return the node of an empty schema, a plain scalar type or an enum of strings; NO_NODE: another schema."""
        cdef int types = one_type(<object>keywords.value[TYPE]) if has(keywords, TYPE) else 0
        if keywords.seen == 0:
            return self.any_value(self.text.below())
        if keywords.seen & ~bit(TYPE) == bit(ENUM) and has(keywords, TYPE) == (types == STRING):
            return self.strings(<object>keywords.value[ENUM], types == STRING)
        if keywords.seen != bit(TYPE):
            return NO_NODE
        if types == STRING:
            return build_string(self.text, None, self.reader)
        if types in (INTEGER, NUMBER):
            return any_number(self.text, types == INTEGER)
        if types == BOOLEAN:
            return self.text.any_boolean()
        return NO_NODE

    cdef uint32_t strings(self, values, bint is_checked) except? 0xFFFFFFFF:
        """Return the node of an enum of strings only; NO_NODE: the reader must handle it.

        ``is_checked``: the schema also has the type string, and the checks count.
        """
        cdef Py_ssize_t n = <Py_ssize_t>len(<list>values) if isinstance(values, list) else 0
        if n == 0 or n > self.reader.limits.enum_values:
            return NO_NODE
        for value in <list>values:
            if not isinstance(value, str) or has_surrogate(<str>value):
                return NO_NODE
        if is_checked:
            if self.reader.checks + n > self.reader.checks_limit:
                return NO_NODE
            self.reader.checks += n
        return self.text.listed(once(values))

    cdef uint32_t node(self, tuple alternatives, Location where, int depth) except? 0xFFFFFFFF:
        cdef SchemaType schema_type
        cdef uint32_t rule, body
        cdef int outer = self.text.depth
        if len(alternatives) == 1 and alternatives[0] is ANYTHING:
            return self.any_value(depth)
        for schema_type in alternatives:
            if schema_type.types & (ARRAY | OBJECT) and schema_type.values is None:
                self.names.append(where)
                spend(self.text.grammar.budget, 2)
                rule = self.text.grammar.new_rule(where, NO_NODE)
                self.queue.append((rule, alternatives, where, depth))
                return self.text.grammar.add_ref(rule)
        self.text.depth = depth
        body = self.alternatives(alternatives, where)
        self.text.depth = outer
        rule = self.text.rule_of(body)
        return rule if rule != NO_NODE else self.new_rule(where, body)

    cdef uint32_t new_rule(self, Location where, uint32_t body) except? 0xFFFFFFFF:
        """Add a rule named after a location; the name is built on demand."""
        self.names.append(where)
        return self.text.new_rule(where, body)

    cdef result(self, uint32_t node, str pointer):
        """Define all declared rules and return the node, which must match some text."""
        self.define_declared()
        doubtful = self.reader.followed or self.failed
        if node == self.text.fail or (doubtful and not is_productive(self.text.grammar, node)):
            raise self.contradiction(self.root)
        self.release_names()
        self.text.document = None
        return node

    cdef bint is_narrower(self):
        """Whether options may have left out values of the schema."""
        if self.reader.most_items is not None or self.reader.most_characters is not None:
            return True
        return self.reader.has_closed

    cdef int abandon(self) except -1:
        """Make the declared rules match nothing: no other rule refers to them."""
        cdef Grammar grammar = self.text.grammar
        cdef uint32_t rule
        for rule in range(self.first_rule, <uint32_t>grammar.rule_nodes.size()):
            if grammar.rule_nodes[rule] == NO_NODE:
                grammar.set_rule(rule, self.text.fail)
        return self.release_names()

    cdef contradiction(self, Location where):
        """Return the error that names the innermost required part that has no value."""
        cdef Location inner = where
        cdef str message = "nothing can satisfy this schema"
        cdef int _k
        for _k in range(self.reader.limits.spec_depth):
            inner = self.impossible_part(self.reader.target(where))
            if inner is None:
                break
            where = inner
        if inner is None:
            inner = self.impossible_member(self.reader.target(where))
            key = None if inner is not None else self.impossible_key(self.reader.target(where))
            if key is not None:
                message += f": no value is allowed under the required key {key!r}"
            where = where if inner is None else inner
        return SpecError(message, where.pointer())

    cdef Location impossible_part(self, Location where):
        """Return a required part without values; None: there is none."""
        cdef Location part
        for keyword, key, schema in required_parts(where.schema):
            part = location_at(schema, where, keyword, key)
            if self.is_impossible((part,)):
                return part
        return None

    cdef bint is_impossible(self, tuple place) except -1:
        """Whether a place is seen to have no value."""
        cdef uint32_t node
        try:
            node = self.one_place(<Location>place[0], 0) if len(place) == 1 else self.place(place)
            self.define_declared()
        except (SpecError, LimitExceeded):
            return False
        return node == self.text.fail or not is_productive(self.text.grammar, node)

    cdef Location impossible_member(self, Location where):
        """Return a required member whose schemas, in this one and its ``allOf``, exclude each other."""
        cdef list parts = [where], required = []
        cdef Location part
        parts += [
            self.reader.target(location_at(each, where, keyword, key))
            for keyword, key, each in required_parts(where.schema) if keyword == "allOf"]
        for part in parts:
            if isinstance(part.schema, dict) and isinstance((<dict>part.schema).get("required"), list):
                required += [name for name in (<dict>part.schema)["required"] if isinstance(name, str)]
        for name in once(required):
            place = tuple([
                location_at((<dict>part.schema)["properties"][name], part, "properties", name)
                for part in parts if has_member(part.schema, name)])
            if len(place) > 1 and self.is_impossible(place):
                return <Location>place[-1]
        return None

    cdef impossible_key(self, Location where):
        """Return a required key under which no value is allowed; None: there is none."""
        cdef Objects objects
        cdef tuple place, alternatives
        try:
            alternatives = self.reader.read_target(where)
        except (SpecError, LimitExceeded):
            return None
        if len(alternatives) != 1 or (<SchemaType>alternatives[0]).objects is None:
            return None
        objects = (<SchemaType>alternatives[0]).objects
        for key in objects.required:
            place = place_of(objects, key, self.reader)
            if place and self.is_impossible(place):
                return key
        return None

    cdef int define_declared(self) except -1:
        """Define all declared rules."""
        cdef uint32_t node
        while self.defined < <size_t>len(self.queue):
            rule, alternatives, where, depth = self.queue[self.defined]
            self.enter(depth)
            self.queue[self.defined] = None
            self.defined += 1
            node = self.alternatives(alternatives, where)
            self.failed = self.failed or node == self.text.fail
            self.text.grammar.set_rule(rule, node)
        return 0

    cdef int enter(self, int depth) except -1:
        self.text.depth = depth
        return 0

    cdef int release_names(self) except -1:
        cdef Location where
        for where in self.names:
            where.release()
        return 0

    cdef uint32_t any_value(self, int depth) except? 0xFFFFFFFF:
        """Return any JSON value: one rule for each depth."""
        cdef uint32_t node
        cdef int outer = self.text.depth
        self.text.depth = self.exact_depth(None, depth)
        node = self.free_rule(ANY_VALUE)
        self.text.depth = outer
        return node

    cdef uint32_t free_rule(self, int which) except? 0xFFFFFFFF:
        """Return the rule of any value, object or array at the current depth."""
        cdef size_t at = <size_t>(self.text.depth * SHARED_RULES + which)
        cdef uint32_t rule, node = self.text.shared[which]
        if self.text.is_indented:
            node = self.free[at] if at < self.free.size() else NO_NODE
        if node == NO_NODE:
            rule = self.text.declare_shared(which)
            node = self.text.shared[which]
            if self.text.is_indented:
                self.free.resize(max(at + 1, self.free.size()), NO_NODE)
                self.free[at] = node
            self.text.grammar.set_rule(rule, self.free_body(which))
        return node

    cdef uint32_t free_body(self, int which) except? 0xFFFFFFFF:
        cdef uint32_t[6] nodes
        if which == ANY_OBJECT:
            return build_object(self, None)
        if which == ANY_ARRAY:
            return build_array(self, None)
        nodes = [
            self.object(None), self.array(None), build_string(self.text, None, self.reader),
            any_number(self.text, False), self.text.any_boolean(), self.text.null()]
        return self.text.grammar.add_alt(nodes, 6)

    # -- alternatives -----------------------------------------------------------------------------
    cdef uint32_t alternatives(self, tuple alternatives, Location where) except? 0xFFFFFFFF:
        """Add all alternatives of a place, type by type; an unconstrained type includes constrained ones."""
        cdef SchemaType schema_type
        cdef vector[uint32_t] nodes
        cdef list free = [], values = [], objects, strings
        cdef int types = 0
        if len(alternatives) == 1:
            schema_type = <SchemaType>alternatives[0]
            if schema_type.values is None and is_single(schema_type.types):
                schema_type.check(schema_type.types)
                return self.one(schema_type)
        for schema_type in alternatives:
            schema_type.check(schema_type.types)
            if schema_type.values is None:
                free.append(schema_type)
                types |= schema_type.types
            else:
                values.extend(schema_type.values)
        if len(free) == 1 and not values and is_single(types):
            return self.one(<SchemaType>free[0])
        objects = constraints_of(free, OBJECT)
        for n, constraint in enumerate(objects):
            nodes.push_back(self.object(constraint))
            if len(objects) > 1:
                self.name_part(&nodes.back(), where, n)
        for constraint in constraints_of(free, ARRAY):
            nodes.push_back(self.array(constraint))
        strings = constraints_of(free, STRING)
        for constraint in strings:
            nodes.push_back(build_string(self.text, constraint, self.reader, len(strings) > STRINGS_TOGETHER))
        self.add_numbers(free, &nodes)
        if types & BOOLEAN:
            nodes.push_back(self.text.any_boolean())
        if types & NULL_TYPE:
            nodes.push_back(self.text.null())
        self.add_listed(values, &nodes)
        return self.text.grammar.add_alt(nodes.data(), nodes.size())

    cdef uint32_t one(self, SchemaType schema_type) except? 0xFFFFFFFF:
        """Add the values of an alternative of one type."""
        if schema_type.types == STRING:
            return build_string(self.text, schema_type.strings, self.reader)
        if schema_type.types == OBJECT:
            return self.object(schema_type.objects)
        if schema_type.types == ARRAY:
            return self.array(schema_type.arrays)
        return build_number(self.text, schema_type.numbers, schema_type.types == INTEGER)

    cdef uint32_t object(self, Objects constraint) except? 0xFFFFFFFF:
        cdef Objects written = self.reader.written(constraint)
        cdef uint32_t node
        if constraint is None:
            return self.free_rule(ANY_OBJECT)
        node = build_object(self, written)
        # only additional keys may satisfy ``minProperties``
        return build_object(self, constraint) if node == self.text.fail and written is not constraint else node

    cdef uint32_t array(self, Arrays constraint) except? 0xFFFFFFFF:
        return build_array(self, constraint) if constraint is not None else self.free_rule(ANY_ARRAY)

    cdef JsonText array_text(self):
        return self.text

    cdef int add_listed(self, list values, vector[uint32_t]* nodes) except -1:
        return add_values(self.text, values, nodes)

    cdef uint32_t constant(self, value) except? 0xFFFFFFFF:
        cdef vector[uint32_t] nodes
        self.add_listed([value], &nodes)
        return nodes[0]

    cdef int name_part(self, uint32_t* node, Location where, n) except -1:
        """Replace the node of an alternative by a rule of its own."""
        cdef uint32_t rule = self.text.rule_of(node[0])
        if rule == NO_NODE:
            rule = self.text.new_rule(where.at(str(n)), node[0])
        node[0] = rule
        return 0

    cdef int add_numbers(self, list alternatives, vector[uint32_t]* nodes) except -1:
        cdef list numbers = number_constraints_of(alternatives, NUMBER)
        cdef list fractions = number_constraints_of(alternatives, FRACTION)
        cdef list integers = number_constraints_of(alternatives, INTEGER)
        cdef bint separate = len(numbers) + len(fractions) + len(integers) > 1
        if None in numbers:
            fractions = integers = []
        numbers += [intersect_numbers(each, NO_INTEGER, self.text.grammar.budget) for each in fractions]
        for constraint in numbers:
            nodes.push_back(beside(self.text, constraint, False, separate))
        for constraint in integers:
            nodes.push_back(beside(self.text, constraint, True, separate))
        return 0


cdef uint32_t beside(JsonText text, Numbers constraint, bint whole, bint separate) except? 0xFFFFFFFF:
    """Add numbers; ``separate``: multiples become a rule, so that they are not determinised together."""
    cdef uint32_t node = build_number(text, constraint, whole)
    if constraint is not None and separate and node != text.fail and (constraint.multiples or constraint.foreign):
        return text.rule_by("multiple", node)
    return node


cdef Numbers NO_INTEGER = new_numbers(
    None, False, None, False, (), (constraint_text("1", root_place(None, ""), "type"),), ())


cdef inline bint is_single(int types):
    """Whether ``Builder.one`` handles these types."""
    return types in (STRING, OBJECT, ARRAY, INTEGER, NUMBER)


cdef list number_constraints_of(list alternatives, int types):
    """Return the constraints of numbers in alternatives that allow exactly these types of numbers."""
    cdef SchemaType each
    return constraints_of([each for each in alternatives if each.types & NUMBER == types], NUMBER)


cdef list constraints_of(list alternatives, int kind):
    """Return the constraints of the alternatives on one type; [None] if one of them allows every value."""
    cdef SchemaType schema_type
    cdef list constraints = []
    for schema_type in alternatives:
        if schema_type.types & kind:
            constraint = (
                schema_type.strings if kind == STRING else schema_type.objects if kind == OBJECT
                else schema_type.arrays if kind == ARRAY else schema_type.numbers
            )
            if constraint is None:
                return [None]
            constraints.append(constraint)
    return constraints
