"""Raw strings, keys, and objects without JSON's punctuation."""

from libc.stdint cimport uint32_t, uint8_t

from ...grammar.ir cimport BARE, LAID_OUT, LAYOUT_PARTS, MAY_BE_EMPTY, SPELLED
from ...native.pool cimport vector
from .evaluator cimport has_surrogate
from .json_text cimport ANY_STRING, NO_NODE, STRING_BODY, JsonText
from .schema_types cimport ALL, ARRAY, OBJECT, STRING, Location

from ...errors import UnsupportedSchema
from ..regex.char_automaton import Bound, bounded_node, intersection, words
from ..regex.char_nfa import from_tree
from ..regex.regex_syntax import Chars, cat, parse
from .constants import constant_at
from .excludes import ANYTHING as ANY_TEXT

#: types whose values contain no strings
cdef int STRINGLESS = ALL & ~(STRING | ARRAY | OBJECT)

cdef tuple PYTHON_CONSTANTS = (b"True", b"False", b"None")
#: characters that Python's strings can only contain as escapes
cdef tuple UNQUOTED = ("\\", *map(chr, range(0x20)))
cdef tuple NEVER_UNQUOTED = ((0, 0x1F), (0x5C, 0x5C))
#: additional keys
cdef str IDENTIFIER = "[a-zA-Z_][a-zA-Z0-9_]*"


cdef class RawText(JsonText):
    cdef bint has_spelling(self, str text) except -1:
        return not has_surrogate(text) and not any([guard in text for guard in self.guards()])

    cdef tuple guards(self):
        return (self.guard, *self.banned) if self.guard else self.banned

    cdef uint32_t text(self, str text) except? NO_NODE:
        if self.root is not None and self.guard in text:
            raise unwritable(self.root, self.root, text, ended_by(text, self.guard))
        return self.bytes(text.encode()) if self.has_spelling(text) else self.fail

    cdef uint32_t texts(self, list texts) except? NO_NODE:
        return self.grammar.alt(*[self.text(text) for text in texts])

    cdef uint32_t quoted(self, uint32_t body) except? NO_NODE:
        return self.seq(self.begin, body, self.end)

    cdef uint32_t any_body(self) except? NO_NODE:
        if self.shared[STRING_BODY] == NO_NODE:
            self.body_rule = self.declare_shared(STRING_BODY)
            self.grammar.set_rule(self.body_rule, self.free(0, None))
        return self.shared[STRING_BODY]

    cdef uint32_t any_of_length(self, minimum, maximum) except? NO_NODE:
        return self.free(minimum, maximum)

    cdef uint32_t other_body(self, list texts) except? NO_NODE:
        bound = Bound(self.grammar.limits.pattern_states, "", self.grammar.budget)
        return self.rule_by("key", self.accepted(intersection([], [words(texts)], bound), 0, None, bound))

    cdef uint32_t free(self, minimum, maximum) except? NO_NODE:
        guards = [tuple(guard.encode()) for guard in self.guards()]
        return self.grammar.dispatch(
            (), excludes=guards, open_end=True, min_chars=minimum, max_chars=maximum)

    cdef uint32_t accepted(
        self, automaton, minimum, maximum, bound, bint is_patterned=False
    ) except? NO_NODE:
        texts = ((self.guard,) if self.guard else ()) if is_patterned else self.guards()
        guards = [holding(guard, bound) for guard in texts]
        if is_patterned and self.never:
            guards.append(from_tree(Chars(self.never), bound, search=True))
        found = intersection([automaton], guards, bound)
        return bounded_node(self.grammar, found, minimum, maximum, bound, inside_json=False)


cdef class KeyText(RawText):
    cdef str written_key(self, str key):
        for character, escape in self.escapes.items():
            key = key.replace(character, escape)
        return key

    cdef bint has_spelling(self, str text) except -1:
        if self.end_text and (self.end_text in text or text[:1] in " \t\r\n}"):
            return False
        return bool(text) and RawText.has_spelling(self, text)

    cdef uint32_t text(self, str text) except? NO_NODE:
        return self.bytes(self.written_key(text).encode()) if self.has_spelling(text) else self.fail

    cdef uint32_t free(self, minimum, maximum) except? NO_NODE:
        bound = Bound(self.grammar.limits.pattern_states, "", self.grammar.budget)
        return self.accepted(ANY_TEXT, minimum, maximum, bound)

    cdef uint32_t accepted(
        self, automaton, minimum, maximum, bound, bint is_patterned=False
    ) except? NO_NODE:
        tree = parse(IDENTIFIER, pointer="", limits=self.grammar.limits, budget=self.grammar.budget)
        barred = [] if self.barred is None else [words([self.barred])]
        found = intersection([automaton, from_tree(tree, bound, search=False)], barred, bound)
        return RawText.accepted(self, found, minimum, maximum, bound)


cdef class PythonText(JsonText):
    cdef uint32_t any_string(self) except? NO_NODE:
        cdef uint32_t rule
        if self.shared[ANY_STRING] == NO_NODE:
            rule = self.declare_shared(ANY_STRING)
            self.grammar.set_rule(rule, self.alt(self.quoted(self.any_body()), self.single.any_string()))
        return self.shared[ANY_STRING]

    cdef uint32_t listed(self, list texts) except? NO_NODE:
        return self.alt(self.quoted(self.texts(texts)), self.single.listed(texts))


cdef class BareText(RawText):
    cdef uint32_t null(self) except? NO_NODE:
        cdef uint32_t null = JsonText.null(self)
        return self.alt(null, self.bytes(self.other_null)) if self.other_null else null

    cdef JsonText key_text(self):
        return self.keys

    cdef uint32_t pair(self, uint32_t key, uint32_t value) except? NO_NODE:
        return self.seq(key, self.key_part, self.ended(key, value))

    cdef uint32_t ended(self, uint32_t key, uint32_t value) except? NO_NODE:
        """Add the value of a member, and the key behind it if the style repeats it."""
        if self.key_end == NO_NODE or value == self.fail:
            return value
        return self.seq(value, self.grammar.capture(self.key_label, "text", self.seq(key, self.key_end)))

    cdef uint32_t pair_of(self, uint32_t key, uint32_t value) except? NO_NODE:
        return self.pair(key, value)

    cdef uint32_t key_literal(self, str key) except? NO_NODE:
        if not key and self.root is not None:
            raise unwritable(self.root, self.root, key, "an empty key can't be written in this style")
        return self.keys.text(key)

    cdef uint32_t first(self, uint32_t node) except? NO_NODE:
        return self.seq(self.first_part, node)

    cdef uint32_t after_comma(self, uint32_t node) except? NO_NODE:
        return self.seq(self.next_part, node)

    cdef uint32_t closing(self) except? NO_NODE:
        return self.empty

    cdef uint32_t bracketed(self, bytes begin, uint32_t inside, bytes end) except? NO_NODE:
        if begin != b"{":
            return JsonText.bracketed(self, begin, inside, end)
        if not self.brackets:
            return self.seq(inside, self.last_part)
        return self.seq(self.bytes(self.brackets[:1]), inside, self.bytes(self.brackets[1:]))

    cdef uint32_t members(
        self, list names, const uint32_t* nodes, const uint8_t* required, uint32_t extra, uint32_t flags
    ) except? NO_NODE:
        cdef uint32_t[LAYOUT_PARTS] layout = [self.first_part, self.next_part, self.key_part, self.empty]
        cdef vector[uint32_t] values
        cdef uint32_t node
        cdef size_t k
        for k in range(<size_t>len(names)):
            values.push_back(self.ended(self.keys.text(names[k]), nodes[k]))
        names = [self.keys.written_key(name) for name in names]
        node = self.grammar.add_object(
            names, values.data(), required, extra, self.empty, layout,
            flags & ~<uint32_t>MAY_BE_EMPTY | SPELLED | LAID_OUT | BARE)
        if flags & MAY_BE_EMPTY:
            node = self.grammar.optional(node)
        return node if node == self.fail else self.bracketed(b"{", node, b"}")


cdef class ItemText(JsonText):
    cdef uint32_t first(self, uint32_t node) except? NO_NODE:
        return self.seq(self.item_begin, node, self.item_end)

    cdef uint32_t after_comma(self, uint32_t node) except? NO_NODE:
        return self.first(node)

    cdef uint32_t closing(self) except? NO_NODE:
        return self.empty

    cdef uint32_t bracketed(self, bytes begin, uint32_t inside, bytes end) except? NO_NODE:
        return self.seq(inside, self.last_part)


cdef PythonText python_text_of(JsonText like, tuple constants):
    cdef tuple key = (
        "python text", like.flexible, like.blanks, like.layout, like.canonical, like.excluded, constants)
    cdef PythonText made = like.grammar.shared.get(key)
    cdef uint32_t quote
    if made is None:
        made = like.grammar.shared[key] = PythonText.__new__(
            PythonText, like.grammar, like.flexible, like.blanks, like.layout, like.canonical, like.excluded)
        made.is_python, made.comparable = True, STRINGLESS
        made.constants = tuple([text.encode() for text in constants]) or PYTHON_CONSTANTS
        quote = made.bytes(b"'")
        made.single = new_raw_text(like, "'", (*UNQUOTED, *like.excluded), quote, quote)
        made.single.never = NEVER_UNQUOTED
    return made


cdef RawText new_raw_text(JsonText like, str guard, tuple excludes, uint32_t begin, uint32_t end):
    cdef RawText raw = RawText.__new__(
        RawText, like.grammar, like.flexible, like.blanks, like.layout, like.canonical, ())
    raw.guard, raw.banned, raw.begin, raw.end = guard, excludes, begin, end
    raw.is_raw = True
    return raw


cdef BareText new_bare_text(
    JsonText like, str guard, tuple excludes, uint32_t begin, uint32_t end, escapes, tuple parts, bytes brackets
):
    cdef BareText bare = BareText.__new__(
        BareText, like.grammar, like.flexible, like.blanks, like.layout if brackets else None, like.canonical, ())
    cdef KeyText keys = KeyText.__new__(
        KeyText, like.grammar, like.flexible, like.blanks, like.layout, like.canonical, ())
    keys.guard, keys.banned, keys.begin, keys.end, keys.escapes = guard, excludes, like.empty, like.empty, escapes
    keys.end_text = ""
    bare.guard, bare.banned, bare.begin, bare.end = guard, excludes, begin, end
    bare.keys, bare.brackets, bare.key_end = keys, brackets, NO_NODE
    bare.comparable = STRINGLESS if brackets else 0
    bare.first_part, bare.next_part, bare.key_part, bare.last_part = parts
    keys.is_raw = bare.is_raw = bare.is_bare = True
    return bare


cdef ItemText new_item_text(JsonText like, uint32_t begin, uint32_t end, uint32_t last):
    cdef ItemText items = ItemText.__new__(
        ItemText, like.grammar, like.flexible, like.blanks, None, like.canonical, ())
    items.item_begin, items.item_end, items.last_part, items.comparable = begin, end, last, 0
    return items


cdef str ended_by(str text, str guard):
    return f"{text!r} contains {guard!r}, which would end it"


cdef unwritable(Location where, Location root, str text, str message):
    found = constant_at(where.schema, where.pointer(), text) or constant_at(root.schema, root.pointer(), text)
    pointer, keyword = found or (where.pointer(), "enum")
    return UnsupportedSchema(pointer, keyword, message)


cdef holding(str text, bound):
    """Return an automaton of all texts that contain this one."""
    return from_tree(cat([Chars(((ord(c), ord(c)),)) for c in text]), bound, search=True)
