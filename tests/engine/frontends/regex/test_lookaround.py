"""Look-around and word boundaries, against Python's ``re``: in automata and in the engine."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engine
from engine.errors import LimitExceeded, UnsupportedSchema
from engine.frontends.regex.char_automaton import Bound
from engine.frontends.regex.char_nfa import from_tree
from engine.frontends.regex.front_end import by_length, search_automaton, within
from engine.frontends.regex.regex_syntax import END, START, cat, parse
from engine.limits import Limits
from tests.engine.frontends.accepting import compiler
from tests.engine.frontends.random_schemas import takes
from tests.engine.frontends.regex.regex_cases import PEOPLE

ATOMS = ["a", "b", "ab", ".", "[ab]", "[^a]", "-", r"\w", r"\W", r"\b", r"\B", "^", "$"]
#: Python wants one width of what it looks behind for
BEHIND = ["a", "ab", "^a", "[ab]-", "a|b", "^", "(?<!a)b", r"\w", "(?<=^a)b"]
QUANTIFIERS = ["*", "+", "?", "{2}", "{1,2}", "{0,2}"]


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("(?:{0[0]}|{0[1]})".format),
        st.tuples(inner, st.sampled_from(QUANTIFIERS)).map("(?:{0[0]}){0[1]}".format),
        st.tuples(st.sampled_from(["(?=", "(?!"]), inner).map("{0[0]}{0[1]})".format),
    )


behind = st.tuples(st.sampled_from(["(?<=", "(?<!"]), st.sampled_from(BEHIND))
patterns = st.recursive(
    st.sampled_from(ATOMS) | behind.map("{0[0]}{0[1]})".format), larger, max_leaves=8
)
#: Python before 3.14 finds no \B in the empty text
texts = st.lists(st.text("aab-", min_size=1, max_size=7), min_size=20, max_size=20)


def tree_of(pattern: str):
    return parse(pattern, pointer="", limits=Limits())


@settings(max_examples=300)
@given(patterns, texts)
def test_looks_mean_what_they_mean_to_python(pattern: str, several: list[str]) -> None:
    oracle = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    search = search_automaton(tree_of(pattern), Bound(20_000, ""))
    whole = from_tree(tree_of(pattern), Bound(20_000, ""), search=False)
    for text in several:
        assert search.accepts(text) == bool(oracle.search(text)), text
        assert whole.accepts(text) == bool(oracle.fullmatch(text)), text


@settings(max_examples=40)
@given(patterns, st.integers(0, 4), st.integers(2, 6), texts)
def test_looks_mean_the_same_in_the_engine(
    pattern: str, least: int, most: int, several: list[str]
) -> None:
    oracle = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    bounded = {"type": "string", "pattern": pattern, "minLength": least, "maxLength": most}
    fits = [x for x in several if oracle.search(x)]
    by_length = [x for x in fits if least <= len(x) <= most]
    takers = (
        (lambda: compiler().compile_regex(pattern), str, [x for x in several if oracle.fullmatch(x)]),
        (lambda: compiler().compile_json_schema({"type": "string", "pattern": pattern}), json.dumps, fits),
        (lambda: compiler().compile_json_schema(bounded), json.dumps, by_length),
    )  # fmt: skip
    for compiled, spell, expected in takers:
        try:
            found = compiled()
        except engine.SpecError:  # nothing matches, or no short text
            assert expected == []
            continue
        assert [text for text in several if takes(found, spell(text))] == expected


@pytest.mark.parametrize(("pattern", "good", "bad"), PEOPLE, ids=[case[0] for case in PEOPLE])
def test_patterns_that_people_write(pattern: str, good: list[str], bad: list[str]) -> None:
    found = compiler().compile_json_schema({"type": "string", "pattern": pattern}) if good else None
    automata = [
        search_automaton(way.tree, Bound(20_000, "")) for way in by_length(tree_of(pattern))
    ]
    assert [x for x in good if not takes(found, json.dumps(x))] == []
    assert [x for x in good if not any(each.accepts(x) for each in automata)] == []
    assert [x for x in bad if found and takes(found, json.dumps(x))] == []


# (pattern, the patterns that are left, with their bounds)
LENGTHS = [
    (r"^(?=.{1,9}$)[ab]+$", [(r"^(?=.*$)[ab]*$", 1, 9)]),
    (r"^(?=.{3,}$)(?!a)[ab]{2,5}c$", [(r"^(?=.*$)(?!a)[ab]*c$", 3, 6)]),
    (r"^(?=.{1,9}c?$)a*b*", [(r"^(?=.*$)a*b*", 1, 9), (r"^(?=.*c$)a*b*", 2, 10)]),
    (r"^(?=.{1,9}(?:cd){0,2}$)a", [(rf"^(?=.*(?:cd){{{n}}}$)a", 1 + 2 * n, 9 + 2 * n) for n in range(3)]),
    (r"^(?=a?.{1,9}b$)c", [(r"^(?=.*b$)c", 2, 10), (r"^(?=a.*b$)c", 3, 11)]),
    (r"^ab(?=.{1,9}$)c[de](?=.{0,3}$)", [(r"^ab(?=.*$)c[de](?=.*$)", 4, 7)]),
    (r"^a?(?=.{1,9}$)c", [(r"^a?(?=.{1,9}$)c", 0, None)]),
    (r"^(?=.{1,9}a*$)c", [(r"^(?=.{1,9}a*$)c", 0, None)]),
    (r"^(?=.{1,9}(?:a|bc)$)d", [(r"^(?=.{1,9}(?:a|bc)$)d", 0, None)]),
    (r"^(?=.{1,9}a{0,8}$)c", [(r"^(?=.{1,9}a{0,8}$)c", 0, None)]),
    (r"^(?=.{1,9}(?=a)$)c", [(r"^(?=.{1,9}(?=a)$)c", 0, None)]),
    (r"^(?!a).{2,5}", [(r"^(?!a).{2,5}", 0, None)]),
    (r"^(?!a)b*c{2,5}$", [(r"^(?!a)b*c{2,5}$", 0, None)]),
    (r"(?=.{1,9}$)[ab]+$", [(r"(?=.{1,9}$)[ab]+$", 0, None)]),
    (r"^(?!.{1,9}$)[ab]{2}$", [(r"^(?!.{1,9}$)[ab]{2}$", 0, None)]),
    (r"^[ab]+$", [(r"^[ab]+$", 0, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "ways"), LENGTHS)
def test_lengths_beside_looks_are_left_to_registers(
    pattern: str, ways: list[tuple[str, int, int | None]]
) -> None:
    found = by_length(tree_of(pattern))
    assert found == [(tree_of(rest), least, most) for rest, least, most in ways]


#: parts of a look-ahead that counts, of which some have many lengths, and what follows it
COUNTED = ["a{1,3}", "[ab]{2,4}", ".{0,5}", ".{2,}", "b?", "(?:ab){0,2}", "c", "(?:a|bc)", "a*"]
BODIES = ["[ab]*c?", ".*", "[ab]{1,6}", "(?:a|bc)*", "a.*"]
counting = st.tuples(
    st.sampled_from(["", "a", "[ab]b", "a?"]),
    st.lists(st.lists(st.sampled_from(COUNTED), min_size=1, max_size=3).map("".join), max_size=2),
    st.sampled_from(BODIES), st.sampled_from(["$", ""]),
).map(lambda p: f"^{p[0]}{''.join(f'(?={each}$)' for each in p[1])}{p[2]}{p[3]}")  # fmt: skip


@settings(max_examples=200)
@given(counting, st.lists(st.text("abc", max_size=9), min_size=20, max_size=20))
def test_trees_by_length_are_together_the_whole(pattern: str, several: list[str]) -> None:
    oracle = re.compile(pattern.replace("$", r"\Z"))
    ways = by_length(tree_of(pattern))
    automata = [
        (search_automaton(tree, Bound(20_000, "")), least, most) for tree, least, most in ways
    ]
    for text in several:
        found = any(
            least <= len(text) <= (len(text) if most is None else most) and automaton.accepts(text)
            for automaton, least, most in automata
        )
        assert found == bool(oracle.search(text)), text


@settings(max_examples=150, deadline=None)
@given(
    st.lists(counting, max_size=2), st.lists(counting, max_size=2), st.integers(0, 3),
    st.integers(4, 9) | st.none(), st.lists(st.text("abc", max_size=9), min_size=20, max_size=20),
)  # fmt: skip
def test_strings_match_some_of_them_and_not_others(
    wanted: list[str], unwanted: list[str], least: int, most: int | None, several: list[str]
) -> None:
    """Also as keys, and of the values of an enum."""
    bounds = {"minLength": least} | ({} if most is None else {"maxLength": most})
    schema = {
        "type": "string", **bounds, "allOf": [True, *({"pattern": each} for each in wanted)],
        "not": {"anyOf": [False, *({"pattern": each} for each in unwanted)]},
    }  # fmt: skip
    wanted, unwanted = ([each.replace("$", r"\Z") for each in ps] for ps in (wanted, unwanted))
    expected = [
        text for text in several if least <= len(text) <= (len(text) if most is None else most)
        and all(re.search(each, text) for each in wanted)
        and not any(re.search(each, text) for each in unwanted)
    ]  # fmt: skip
    keys = {"type": "object", "propertyNames": schema, "additionalProperties": {"type": "null"}}
    listed = {"enum": sorted({*several}), **schema}
    for asked, spell in (
        (schema, json.dumps), (listed, json.dumps), (keys, lambda text: json.dumps({text: None}))
    ):  # fmt: skip
        try:
            found = compiler().compile_json_schema(asked)
        except engine.SpecError as error:
            assert "nothing can satisfy" in error.message and expected == []
            continue
        assert [text for text in several if takes(found, spell(text))] == expected


@settings(max_examples=200)
@given(patterns, st.integers(0, 7), texts)
def test_counts_beyond_the_length_are_dropped(
    pattern: str, longest: int, several: list[str]
) -> None:
    whole, shorter = tree_of(pattern), within(tree_of(pattern), longest)
    left, right = (search_automaton(tree, Bound(20_000, "")) for tree in (whole, shorter))
    for text in several:
        if len(text) <= longest:
            assert left.accepts(text) == right.accepts(text), text


def test_a_tree_without_such_counts_stays_the_same() -> None:
    tree = tree_of(r"\b(?:a{1,9}|(?=b{2,3})c)*$")
    assert within(tree, 10) is tree
    assert within(tree, 9) == tree_of(r"\b(?:a{1,}|(?=b{2,3})c)*$")


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(?<=a(?=b))", "position 6: look-ahead within look-behind"),
        (r"(?<!a\b)", "position 6: a word boundary within look-behind"),
        ("(?<=a$)", "position 6: $ within look-behind"),
        ("(?=(?<=a(?!b)))", "position 9: look-ahead within look-behind"),
    ],
)
def test_looking_ahead_within_looking_behind_is_refused(pattern: str, what: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        parse(pattern, pointer="/p", limits=Limits())
    assert f"pattern, {what} can't be enforced" in caught.value.message
    assert (caught.value.pointer, caught.value.keyword) == ("/p", "pattern")


HOSTILE = {
    "sixteen obligations": "".join(f"(?=.*{c})" for c in "abcdefghijklmnop"),
    "obligations that begin everywhere": "(?:(?=.*(?:a|bb|ccc|dddd|eeeee|ffffff))\\w){1,100}",
    "each letter once": "".join(f"(?!.*{c}.*{c})" for c in "abcdefghijklmnopqrstuvwxyz"),
    "a long one": "(?!a{19000})a*",
    "REGRESSION a thousand of them": "(?:(?!a{190}b))" * 1000,
    "far behind": "(?<=a.{15}).*(?<=b.{15})c",
    "many behind": "".join(f"(?<=a.{{{n}}})" for n in range(1, 14)),
    "three thousand boundaries": r"\b" * 3_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_on_looks_is_bounded(name: str) -> None:
    bound = Bound(20_000, "/p")
    with pytest.raises(LimitExceeded) as caught:
        search_automaton(tree_of(HOSTILE[name]), bound)
    assert (caught.value.limit, caught.value.pointer) == ("pattern_states", "/p")
    assert bound.work < 64 * 21_000


@pytest.mark.parametrize("kind", ["(?=", "(?!", "(?<=", "(?<!"])
def test_the_deepest_nesting_is_made(kind: str) -> None:
    tree = tree_of((kind + "a") * 64 + ")" * 64)
    assert len(search_automaton(tree, Bound(20_000, "")).edges) < 100


def test_what_is_found_needs_no_more_states() -> None:
    """Once a search has found its match it stays in one state."""
    search = search_automaton(tree_of(r"\bab\b"), Bound(20_000, ""))
    assert len(search.edges) == 5


def test_anchors_around_a_whole_pattern_change_nothing() -> None:
    tree = tree_of(r"(?!b)\w+|-")
    plain, anchored = (
        from_tree(each, Bound(999, ""), search=False) for each in (tree, cat((START, tree, END)))
    )
    assert plain.edges == anchored.edges
