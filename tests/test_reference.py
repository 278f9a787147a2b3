"""The reference recogniser has exactly the languages that are written down here by hand."""

import itertools
import json
import re

import pytest

from engine.grammar.ir import ANY_CHAR, Grammar, Node
from engine.limits import Limits

from .reference import Recogniser
from .reference_letters import TOKEN


def recogniser(build) -> Recogniser:
    """A recogniser of the node that ``build(grammar)`` makes."""
    grammar = Grammar(Limits())
    grammar.root = grammar.rule("root", build(grammar))
    grammar.check()
    return Recogniser(grammar)


def recursive(build) -> Recogniser:
    """The same, where ``build(grammar, ref)`` makes the body of the rule that ``ref`` refers to."""
    grammar = Grammar(Limits())
    grammar.root = grammar.declare("root")
    grammar.define(grammar.root, build(grammar, grammar.ref(grammar.root)))
    return Recogniser(grammar)


def words(made: Recogniser, alphabet: bytes, longest: int) -> set[bytes]:
    """All words up to a length, found by trying every letter from every live state."""
    found: set[bytes] = set()
    live = [(b"", made.start())]
    for _ in range(longest + 1):
        found.update(text for text, state in live if state.accepts())
        steps = [(text + bytes([c]), state.step(c)) for text, state in live for c in alphabet]
        live = [(text, state) for text, state in steps if state is not None]
    return found


def matching(pattern: str, alphabet: bytes, longest: int) -> set[bytes]:
    """All words up to a length that a regular expression matches, by brute force."""
    tries = itertools.chain.from_iterable(
        itertools.product(alphabet, repeat=n) for n in range(longest + 1)
    )
    return {bytes(t) for t in tries if re.fullmatch(pattern, bytes(t).decode())}


def abc(grammar: Grammar) -> list[Node]:
    return [grammar.bytes(b"a"), grammar.bytes(b"b"), grammar.bytes(b"c")]


def a_graph(g: Grammar) -> Node:
    a, b, c = abc(g)
    return g.graph(4, [(0, a, 1), (1, b, 0), (1, g.empty(), 2), (2, c, 2), (0, b, 3)], [2])


REGULAR = [
    ("empty", lambda g: g.empty(), ""),
    ("bytes", lambda g: g.bytes(b"abc"), "abc"),
    ("sequence", lambda g: g.seq(g.bytes(b"a"), g.optional(g.bytes(b"b")), g.bytes(b"c")), "ab?c"),
    ("choice", lambda g: g.alt(*abc(g)), "[abc]"),
    ("prefixes", lambda g: g.alt(g.bytes(b"a"), g.bytes(b"ab"), g.bytes(b"abc")), "a|ab|abc"),
    ("star", lambda g: g.repeat(g.bytes(b"ab"), 0, None), "(ab)*"),
    ("at least", lambda g: g.repeat(g.bytes(b"a"), 2, None), "a{2,}"),
    ("between", lambda g: g.repeat(g.alt(*abc(g)[:2]), 1, 3), "[ab]{1,3}"),
    ("exactly", lambda g: g.repeat(g.bytes(b"a"), 4, 4), "a{4}"),
    ("uneven", lambda g: g.repeat(g.alt(g.bytes(b"a"), g.bytes(b"aa")), 2, 2), "(a|aa){2}"),
    ("nullable", lambda g: g.repeat(g.optional(g.bytes(b"a")), 3, 4), "a{0,4}"),
    ("null star", lambda g: g.repeat(g.repeat(g.bytes(b"a"), 0, None), 5, None), "a*"),
    (
        "nested",
        lambda g: g.repeat(g.seq(g.repeat(abc(g)[0], 1, 2), abc(g)[1]), 2, 2),
        "(a{1,2}b){2}",
    ),
    ("graph", a_graph, "(ab)*ac*"),
    ("capture", lambda g: g.seq(g.capture("/x", "tag", abc(g)[0]), abc(g)[1]), "ab"),
    ("fail", lambda g: g.alt(g.fail(), abc(g)[0]), "a"),
]


@pytest.mark.parametrize(
    ("build", "pattern"), [row[1:] for row in REGULAR], ids=[r[0] for r in REGULAR]
)
def test_regular_nodes_equal_their_expression(build, pattern):
    """Every kind of node that has one equals a regular expression on words of up to 6 letters."""
    assert words(recogniser(build), b"abc", 6) == matching(pattern, b"abc", 6)


def left(g, me):
    return g.alt(g.seq(me, g.bytes(b"a")), g.bytes(b"b"))


def right(g, me):
    return g.alt(g.seq(g.bytes(b"a"), me), g.empty())


def hidden_left(g, me):
    return g.alt(g.seq(g.optional(g.bytes(b"c")), me, g.bytes(b"a")), g.bytes(b"b"))


def ambiguous(g, me):
    return g.alt(g.seq(me, me), g.bytes(b"a"), g.empty())


def cyclic(g, me):
    return g.alt(me, g.seq(me, me), g.bytes(b"a"))


def nested(g, me):
    return g.optional(g.seq(g.bytes(b"a"), me, g.bytes(b"b")))


def palindromes(g, me):
    a, b, _ = abc(g)
    return g.alt(g.seq(a, me, a), g.seq(b, me, b), a, b, g.empty())


def is_nested(text: bytes) -> bool:
    return text == b"a" * (len(text) // 2) + b"b" * (len(text) // 2)


RECURSIVE = [
    (left, lambda t: re.fullmatch(b"ba*", t)),
    (right, lambda t: re.fullmatch(b"a*", t)),
    (hidden_left, lambda t: re.fullmatch(b"c*ba*", t) and t.count(b"c") <= t.count(b"a")),
    (ambiguous, lambda t: re.fullmatch(b"a*", t)),
    (cyclic, lambda t: re.fullmatch(b"a+", t)),
    (nested, is_nested),
    (palindromes, lambda t: set(t) <= set(b"ab") and t == t[::-1]),
]


@pytest.mark.parametrize(("build", "holds"), RECURSIVE, ids=[r[0].__name__ for r in RECURSIVE])
def test_recursive_rules(build, holds):
    """Left, right, hidden and cyclic recursion and ambiguity give the known languages."""
    every = (bytes(t) for n in range(8) for t in itertools.product(b"abc", repeat=n))
    assert words(recursive(build), b"abc", 7) == {text for text in every if holds(text)}


def test_nodes_without_words_are_no_prefixes():
    """A state that is not None can still be completed, also where a branch can never end."""

    def build(g, me):
        dead = g.seq(g.bytes(b"b"), g.seq(g.bytes(b"a"), me), g.bytes(b"x"))
        blind = g.graph(2, [(0, g.bytes(b"c"), 1), (0, g.bytes(b"a"), 0)], [0])
        return g.alt(
            g.seq(dead, g.fail()), g.seq(g.bytes(b"q"), g.chars([(0xD800, 0xDFFF)])), blind
        )

    start = recursive(build).start()
    assert [start.step(c) is not None for c in b"abcq"] == [True, False, False, False]

    def endless(g, me):
        return g.seq(g.bytes(b"a"), me)

    made = recursive(endless)
    assert made.start().step(ord("a")) is None
    assert not made.start().accepts()


def test_large_counts_are_exact():
    """Counts are numbers in an item, so large bounds cost nothing and hold to the letter."""
    made = recogniser(lambda g: g.repeat(g.alt(g.bytes(b"ab"), g.bytes(b"c")), 300, 400))
    for count, expected in ((299, False), (300, True), (400, True), (401, False)):
        assert made.matches(b"ab" * count) is expected
        assert made.matches(b"c" * count) is expected
    assert recogniser(lambda g: g.repeat(g.bytes(b"a"), 0, 10**9)).matches(b"a" * 50)
    assert recogniser(lambda g: g.repeat(g.optional(g.bytes(b"a")), 10**8, 10**9)).matches(b"aa")


def test_states_can_be_stepped_in_many_directions():
    """A state is persistent: stepping it twice gives two independent states."""
    start = recogniser(lambda g: g.alt(g.bytes(b"ab"), g.bytes(b"ac"))).start()
    one = start.step(ord("a"))
    assert one.step(ord("b")).accepts()
    assert one.step(ord("c")).accepts()
    assert one.step(ord("a")) is None
    assert not one.accepts()


def test_some_texts():
    """A text is one of those listed, whatever they share."""
    made = recogniser(lambda g: g.texts(["a", "ab", "", "b\u00e9"]))
    for text in ("", "a", "ab", "b\u00e9", "\\u0061b", "b\\u00E9"):
        assert made.matches(text.encode())
    for text in ("b", "aa", "abb", "\u00e9"):
        assert not made.matches(text.encode())


def test_bounded_words():
    """Of a graph's words those of the right length, in characters."""
    for low, high in ((0, 3), (2, None), (1, 4), (3, 3)):

        def build(g, low=low, high=high):
            a, e = g.chars([(97, 97)]), g.chars([(0xE9, 0xE9)])
            return g.bounded(g.graph(2, [(0, a, 1), (1, e, 1)], [0, 1]), low, high)

        made = recogniser(build)
        for n in range(6):
            text = ("a" + "\u00e9" * (n - 1)) if n else ""
            assert made.matches(text.encode()) == (low <= n and (high is None or n <= high))


# -- objects --------------------------------------------------------------------------------------


def an_object(**more):
    """Members a (optional), b (required), c (optional); every value is 1, every other key x."""

    def build(g):
        one = g.bytes(b"1")
        options = {"extra": g.fail(), "space": g.empty(), "may_be_empty": True} | {
            name: g.bytes(node) if isinstance(node, bytes) else node for name, node in more.items()
        }
        return g.object([("a", one, False), ("b", one, True), ("c", one, False)], **options)

    return recogniser(build)


@pytest.mark.parametrize("more", [{}, {"extra": b'"x":1'}, {"extra": b'"x":1', "extra_last": True}])
def test_members_stand_in_their_order(more):
    """Every list of keys is an object's, or not, as its order says."""
    made = an_object(**more)
    order = "x*(ax*)?bx*(cx*)?" if more else "a?bc?"
    for n in range(5):
        for keys in map("".join, itertools.product("abcx", repeat=n)):
            text = "{" + ",".join(f'"{key}":1' for key in keys) + "}"
            right = order if not more.get("extra_last") else "a?bc?x*"
            assert made.matches(text.encode()) == bool(re.fullmatch(right, keys)), keys


def test_an_object_that_needs_no_member():
    """Whether braces alone are an object is said by the node."""
    for may_be_empty in (False, True):
        made = recogniser(
            lambda g, empty=may_be_empty: g.object(
                [("a", g.bytes(b"1"), False)], extra=g.fail(), space=g.empty(), may_be_empty=empty
            )
        )
        assert made.matches(b"{}") == may_be_empty
        assert made.matches(b'{"\\u0061":1}')


# -- characters -----------------------------------------------------------------------------------

PLACES = [
    0,
    0x7F,
    0x80,
    0x7FF,
    0x800,
    0xD7FF,
    0xE000,
    0xFFFF,
    0x10000,
    0x10FFFF,
    0x41,
    0xE9,
    0x1F600,
]


def test_chars_are_exact_utf8():
    """CHARS reads exact UTF-8; overlong forms, surrogates and cut-off characters are refused."""
    made = recogniser(lambda g: g.chars(ANY_CHAR))
    for point in PLACES:
        data = chr(point).encode()
        assert made.matches(data)
        assert not any(made.matches(data[:n]) for n in range(len(data)))
        assert made.start().step(data[0]) is not None
    for bad in (
        b"\x80",
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xf0\x8f\xbf\xbf",
    ):
        assert not made.matches(bad)
    for bad in (b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xff", b"ab"):
        assert not made.matches(bad)


def test_chars_ranges_hold_to_the_code_point():
    """At both ends of every range, in one to four bytes, at the first byte that decides."""
    ranges = [(0x61, 0x63), (0xE9, 0xE9), (0x7FE, 0x801), (0xFFFE, 0x10001)]
    made = recogniser(lambda g: g.chars(ranges))
    for point in sorted({p + d for pair in ranges for p in pair for d in (-1, 0, 1)}):
        expected = any(low <= point <= high for low, high in ranges)
        assert made.matches(chr(point).encode()) is expected, hex(point)
    assert made.start().step(0xC4) is None
    assert made.start().step(0xC3).step(0xA8) is None


def spellings(char: str) -> set[bytes]:
    """All spellings of a character inside a JSON string, as Python's json judges candidates."""
    units = char.encode("utf-16-be")
    digits = [f"{units[k]:02x}{units[k + 1]:02x}" for k in range(0, len(units), 2)]
    cases = ({"".join(p) for p in itertools.product(*((d, d.upper()) for d in x))} for x in digits)
    tries = {"".join("\\u" + unit for unit in pair) for pair in itertools.product(*cases)}
    tries |= {char} | {"\\" + chr(c) for c in range(0x21, 0x7F)}
    found = set()
    for text in tries:
        try:
            if json.loads(f'"{text}"', strict=True) == char:
                found.add(text.encode())
        except ValueError:
            pass
    return found


CHARS = [*'"\\/\b\f\n\r\ta\x00\x1f\x7fé\u2028\uffff\U0001f600\U0010ffff']


@pytest.mark.parametrize("char", CHARS)
def test_json_spellings_are_those_of_a_json_reader(char):
    """TEXT and JSON_CHARS take exactly what a strict JSON reader maps to the character."""
    text = recogniser(lambda g: g.text(char))
    chars = recogniser(lambda g: g.json_chars([(ord(char), ord(char))]))
    expected = spellings(char)
    tries = {
        s for c in ('"', "\\", "/", "\n", "a", "é", "\U0001f600", "\x00", "n") for s in spellings(c)
    }
    for spelling in tries | expected | {char.encode(), b"\\x41", b"\\U0041", b"\\u004", b"\\ud83d"}:
        assert text.matches(spelling) is (spelling in expected), spelling
        assert chars.matches(spelling) is (spelling in expected), spelling


def test_json_chars_decide_as_early_as_possible():
    """A prefix of an escape lives on exactly if some character of the ranges starts like that."""
    made = recogniser(lambda g: g.json_chars([(0x41, 0x42), (0x1F600, 0x1F601)]))
    alive = [
        b"A",
        b"\\",
        b"\\u0",
        b"\\u004",
        b"\\ud",
        b"\\uD83",
        b"\\ud83D",
        b"\\ud83d\\",
        b"\\ud83d\\ude0",
    ]
    dead = [
        b"C",
        b"\\n",
        b"\\u1",
        b"\\u005",
        b"\\u0043",
        b"\\ud83e",
        b"\\ud83d\\n",
        b"\\ud83d\\ude1",
        b"\\ud83d\\u0",
    ]
    for text in alive + dead:
        state = made.start()
        for byte in text:
            state = state and state.step(byte)
        assert (state is not None) is (text in alive), text
    assert made.matches(b"\\ud83d\\uDe01")
    assert not made.matches(b"\\ud83d\\ude02")


def test_text_is_a_sequence_of_spelled_characters():
    made = recogniser(lambda g: g.text('a"é'))
    for good in (b'a\\"\xc3\xa9', b"\\u0061\\u0022\\u00E9", b'a\\"\\u00e9'):
        assert made.matches(good)
    for bad in (b'a"\xc3\xa9', b'a\\"', b'a\\"e', b'a\\"\xc3\xa9a'):
        assert not made.matches(bad)


# -- tokens and free text -------------------------------------------------------------------------


def symbols(*parts) -> list[int]:
    """Letters from bytes and token numbers."""
    return [x for p in parts for x in (p if isinstance(p, bytes) else [TOKEN + p])]


def test_tokens_match_ids_only():
    made = recogniser(lambda g: g.seq(g.tokens([7, 300]), g.bytes(b"a")))
    assert made.matches_symbols(symbols(7, b"a"))
    assert made.matches_symbols(symbols(300, b"a"))
    assert not made.matches_symbols(symbols(8, b"a"))
    assert not made.matches(b"\x07a")
    assert made.start().step_token(7) is not None
    assert made.start().step_token(97) is None


def free(arms=(), excludes=(), specials=(), open_end=True):
    """A DISPATCH whose arms are (pattern parts, bytes that follow, returns)."""

    def build(g):
        made = [(tuple(symbols(*p)), g.bytes(then), returns) for p, then, returns in arms]
        banned = [tuple(symbols(*p)) for p in excludes]
        return g.dispatch(made, excludes=banned, specials=specials, open_end=open_end)

    return recogniser(build)


def test_free_text_is_utf8_and_may_be_cut_between_characters_only():
    made = free()
    for good in (b"", b"a", "é\U0001f600".encode()):
        assert made.matches(good)
    for bad in (b"\xc3", b"\xff", b"\xc3a", b"a\xe2\x82"):
        assert not made.matches(bad)


FREE = [
    # arms, excludes, open end, expression that says the same over "abc"
    ([], [(b"ab",)], True, "((?!ab)[abc])*"),
    ([], [(b"ab",), (b"c",)], True, "((?!ab)[ab])*"),
    ([((b"ab",), b"c", False)], [], False, "((?!ab)[abc])*abc"),
    ([((b"ab",), b"c", False)], [], True, "((?!ab)[abc])*(abc)?"),
    ([((b"ab",), b"c", True)], [], True, "(((?!ab)[abc])*abc)*((?!ab)[abc])*"),
    ([((b"ab",), b"c", True)], [], False, "(?!)"),
    ([((b"a",), b"b", False), ((b"ab",), b"c", False)], [], False, "[bc]*ab"),
    ([((b"b",), b"a", False), ((b"ab",), b"c", False)], [], False, "(c|a(?!b))*(ba|abc)"),
    ([((b"b",), b"a", True)], [(b"ca",)], True, "(((?!ca)[ac])*ba)*((?!ca)[ac])*"),
    ([((b"cab",), b"", False)], [(b"ab",)], True, "((?!ab)[abc])*"),
    (
        [((b"ab",), b"", False), ((b"ac",), b"", False)],
        [],
        False,
        "(b|c|a+(?![abc])|a(?=a))*a(b|c)",
    ),
    ([((b"aa",), b"", True)], [], True, "[abc]*"),
    ([((b"aa",), b"b", True)], [], True, "((?!aa)[abc]|aab)*"),
]


@pytest.mark.parametrize(("arms", "excludes", "open_end", "pattern"), FREE)
def test_free_text_equals_an_expression(arms, excludes, open_end, pattern):
    """The first pattern to be completed decides; excludes win; patterns are looked for afresh."""
    made = free(arms, excludes, (), open_end)
    assert words(made, b"abc", 6) == matching(pattern, b"abc", 6)


SPECIAL = [
    # specials of the free text, letters, accepted
    ([1, 2], (b"x", 1, b"y", 2), True),
    ([1], (b"x", 2), False),
    ([1], (b"\xc3", 1, b"\xa9"), False),  # no token inside a character
    ([1], (b"a", 1, b"b"), True),  # a token between breaks a pattern of bytes ...
    ([1], (b"ab",), False),  # ... which leads to the arm otherwise
    ([1], (b"ab", b"!"), True),
    ([], (3, b"?"), True),  # a token that is a pattern
    ([], (b"q", 3), False),
    ([], (b"a", 4, b"b", b";"), True),  # a token inside a pattern, nowhere else
    ([], (b"a", 4, b"c"), False),
    ([], (4, b"b"), False),
    ([4], (b"a", 4, b"c"), True),  # unless free text may hold it
    ([4], (b"a", 4, b"b"), False),
    ([4], (b"a", 4, b"b;"), True),
    ([4], (b"aa", 4, b"b;", 4), True),
]


@pytest.mark.parametrize(("specials", "parts", "accepted"), SPECIAL)
def test_tokens_in_free_text(specials, parts, accepted):
    """Specials stand between characters; other tokens only inside the pattern that completes."""
    arms = [((b"ab",), b"!", True), ((3,), b"?", True), ((b"a", 4, b"b"), b";", True)]
    assert free(arms, (), specials).matches_symbols(symbols(*parts)) is accepted


def test_excluded_tokens_and_mixed_patterns():
    made = free((), [(b"a", 1)], [1, 2])
    assert made.matches_symbols(symbols(1, b"b", 1, b"a", 2, 1))
    assert not made.matches_symbols(symbols(b"ba", 1))


# -- a whole document -----------------------------------------------------------------------------


def json_grammar(g: Grammar, value: Node) -> Node:
    space = g.repeat(g.chars([(0x20, 0x20), (0x0A, 0x0A)]), 0, None)
    string = g.seq(g.bytes(b'"'), g.repeat(g.json_chars(ANY_CHAR), 0, None), g.bytes(b'"'))
    number = g.repeat(g.chars([(0x30, 0x39)]), 1, 5)
    comma = g.seq(space, g.bytes(b","), space)

    def listed(item: Node) -> Node:
        return g.optional(g.seq(item, g.repeat(g.seq(comma, item), 0, None)))

    member = g.seq(string, space, g.bytes(b":"), space, value)
    array = g.seq(g.bytes(b"["), space, listed(value), space, g.bytes(b"]"))
    whole = g.seq(g.bytes(b"{"), space, listed(member), space, g.bytes(b"}"))
    words = [g.bytes(w) for w in (b"true", b"false", b"null")]
    return g.alt(string, number, array, whole, *words)


def test_a_json_document():
    """A recursive grammar takes documents of some 500 bytes, and no broken ones."""
    made = recursive(json_grammar)
    document = {f"näme {k}": [k, "a\nb" * 5, {"x": None, "y": [True, []]}] for k in range(12)}
    for data in (json.dumps(document), json.dumps(document, ensure_ascii=False, indent=1)):
        encoded = data.encode()
        assert len(encoded) > 500
        assert made.matches(encoded)
        for cut in (1, 100, len(encoded) - 1):
            assert not made.matches(encoded[:cut])
            assert not made.matches(encoded + b"}")
            assert not made.matches(encoded[:cut] + b"\t" + encoded[cut:])
