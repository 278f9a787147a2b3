"""Patterns are read as ECMA-262 says; what has no meaning or can't be enforced is refused by place and name."""

import random
import re
import sys
from collections.abc import Callable

import pytest

from engine.errors import Cancelled, LimitExceeded, SpecError, UnsupportedSchema
from engine.frontends.regex.char_classes import any_case, property_ranges
from engine.frontends.regex.front_end import build_regex
from engine.frontends.regex.regex_syntax import Chars, Repeat, parse
from engine.limits import Limits
from engine.native.resources import WorkBudget
from tests.engine.frontends.recognise import accepts, language
from tests.engine.frontends.regex.regex_cases import ILL_FORMED, MATCHES


@pytest.mark.parametrize(("pattern", "good", "bad"), MATCHES, ids=[case[0] for case in MATCHES])
@pytest.mark.parametrize("inside_json", [False, True])
def test_a_pattern_matches_what_ecma_262_says(
    pattern: str, good: list[str], bad: list[str], inside_json: bool
) -> None:
    found = language(lambda g: build_regex(g, pattern, inside_json=inside_json))
    spell = (
        (lambda t: "".join(f"\\u{ord(c):04x}" if c < "\u0100" else c for c in t))
        if inside_json
        else str
    )
    assert [text for text in good if not accepts(found, spell(text))] == []
    assert [text for text in bad if accepts(found, spell(text))] == []


@pytest.mark.parametrize(
    ("pattern", "position", "words"), ILL_FORMED, ids=[c[0] for c in ILL_FORMED]
)
def test_an_ill_formed_pattern_is_refused_with_its_position(
    pattern: str, position: int, words: str
) -> None:
    with pytest.raises(SpecError) as caught:
        parse(pattern, pointer="/p", limits=Limits())
    assert not isinstance(caught.value, UnsupportedSchema)
    assert caught.value.pointer == "/p"
    assert f"position {position}: " in caught.value.message
    assert words in caught.value.message


UNENFORCEABLE = [
    (r"(a)\1", "back-reference"), (r"(?<n>a)\k<n>", "back-reference"), ("(?x)a", "the flag x"),
    ("(?iu:a)", "the flag u"), ("(?P=n)", "the flag P"), ("(?>a)", "an atomic group"), ("(?#a)", "begins with (?#"),
    (r"\p{Greek}", "Greek"), (r"\p{Script=}", "Script="),
    (r"\p{scx=greek}", "scx=greek"), (r"\p{RGI_Emoji}", "RGI_Emoji"), (r"\p{Script Greek}", "Script Greek"),
    (r"\p{gc=Any}", "gc=Any"),
]  # fmt: skip


#: (pattern, the construct of another dialect, what to write instead)
FOREIGN = [
    (r"ab\Z", r"position 4: \Z (an end", "$"),
    (r"\h+", r"position 2: \h (horizontal", r"[\t\p{Zs}]"),
    (r"[\h_]", r"position 3: \h (horizontal", r"[\t\p{Zs}]"),
    (r"\H", r"position 2: \H (", r"[^\t\p{Zs}]"),
    (r"a\R", r"position 3: \R (a line break", "(?:"),
    (r"\X", r"position 2: \X (", r"\P{M}\p{M}*"),
    (r"\Ga", r"position 2: \G (", "^"),
    (r"a\Kb", r"position 3: \K (", "a look-behind"),
    (r"\Qa\E", r"position 2: \Q (", "a backslash"),
    ("a{,2}", "position 1: a quantifier {,n}", "{0,n}"),
    ("a++", "position 3: a possessive quantifier", "it without the second +"),
    ("a*+b", "position 3: a possessive quantifier", "it without"),
    ("(a)?+", "position 5: a possessive quantifier", "it without"),
    ("a{1,2}+", "position 7: a possessive quantifier", "it without"),
    ("(?>a|ab)c", "position 3: an atomic group", "(?:...)"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "construct", "instead"), FOREIGN)
def test_syntax_of_other_dialects_is_refused_with_what_to_write_instead(
    pattern: str, construct: str, instead: str
) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        parse(pattern, pointer="/p", limits=Limits())
    assert construct in caught.value.message
    assert f"ECMA-262 with the flag u does not have it, write {instead}" in caught.value.message


@pytest.mark.parametrize(("pattern", "construct"), UNENFORCEABLE)
def test_what_cannot_be_enforced_is_refused_by_name(pattern: str, construct: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        parse(pattern, pointer="/p", limits=Limits())
    assert caught.value.keyword == "pattern"
    assert caught.value.pointer == "/p"
    assert construct in caught.value.message


@pytest.mark.parametrize("pattern", ["(?=a)", "(?!a)", "(?<=a)", "(?<!a)", r"a\b", r"\B"])
def test_where_nothing_may_look_around_it_is_refused(pattern: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        parse(pattern, pointer="/p", limits=Limits(), looks=False)
    assert "position" in caught.value.message


def test_the_length_of_a_pattern_is_bounded() -> None:
    limits = Limits(pattern_chars=5)
    parse("aaaaa", pointer="", limits=limits)
    with pytest.raises(LimitExceeded) as caught:
        parse("aaaaaa", pointer="/p", limits=limits)
    assert (caught.value.limit, caught.value.maximum, caught.value.got) == ("pattern_chars", 5, 6)


def test_the_nesting_of_groups_is_bounded() -> None:
    limits = Limits(spec_depth=3)
    parse("(((a)))", pointer="", limits=limits)
    with pytest.raises(LimitExceeded) as caught:
        parse("((((a))))", pointer="/p", limits=limits)
    assert (caught.value.limit, caught.value.maximum, caught.value.got) == ("spec_depth", 3, 4)


def test_ten_thousand_groups_do_not_reach_pythons_stack() -> None:
    with pytest.raises(LimitExceeded):
        parse("(" * 9_999 + ")" * 9_999, pointer="", limits=Limits())


def test_the_deepest_allowed_pattern_is_emitted_even_from_a_deep_stack() -> None:
    pattern = "(" * 127 + "a|b" + "c)*" * 127

    def below(frames: int) -> None:
        if frames:
            return below(frames - 1)
        language(lambda g: build_regex(g, pattern))
        return None

    below(min(300, sys.getrecursionlimit() // 3))


def test_trees_know_the_lengths_of_their_matches() -> None:
    tree = parse("(ab?|[cd]{3,7})(x|yz)", pointer="", limits=Limits())
    assert (tree.least, tree.most, tree.anchored) == (2, 9, False)
    assert parse("a*^", pointer="", limits=Limits()).anchored


def test_alternatives_of_one_character_are_one_set() -> None:
    assert parse("a|[bc]|d", pointer="", limits=Limits()) == Chars(((0x61, 0x64),))
    tree = parse("(a|b)*", pointer="", limits=Limits())
    assert isinstance(tree, Repeat) and tree.body == Chars(((0x61, 0x62),))


def folded(c: int) -> int:
    """CaseFolding.txt's mapping C or S, out of Python's full ones."""
    for made in (chr(c).casefold(), chr(c).lower()):
        if len(made) == 1:
            return ord(made)
    return c


def test_letters_fold_as_unicode_says() -> None:
    """Python may carry a later version: then more characters have partners."""
    groups: dict[int, set[int]] = {}
    for c in range(0x110000):
        groups.setdefault(folded(c), set()).add(c)
    differ = []
    for c in range(0x110000):
        alike = groups[folded(c)]
        if len(alike) > 1 and not 0xD800 <= c <= 0xDFFF:
            found = {each for low, high in any_case(((c, c),)) for each in range(low, high + 1)}
            differ += [c] if found != alike else []
    everything = ((0, 0xD7FF), (0xE000, 0x10FFFF))
    assert any_case(everything) == everything
    assert any_case(((0x30, 0x39),)) == ((0x30, 0x39),)
    assert len(differ) < 200


LETTERS = "aAbBkK\u212asSſéÉσςΣ-_1\n"


def random_pattern(rng: random.Random, depth: int = 0) -> str:
    made = ""
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(6 if depth < 2 else 4)
        if kind < 2:
            made += rng.choice([*LETTERS[:-4], "."])
        elif kind < 4:
            chosen = "".join(rng.choice([*LETTERS[:-4], "a-k", "é-σ", "\\d"]) for _ in range(2))
            made += f"[{rng.choice(['', '^'])}{chosen}]"
        else:
            flags = rng.choice(["?:", "?i:", "?-i:", "?s:", "?is:", "?s-i:", "?i-s:"])
            ways = "|".join(random_pattern(rng, depth + 1) for _ in range(rng.randint(1, 2)))
            made += f"({flags}{ways})"
        made += rng.choice(["", "", "", "?", "{1,2}"])
    return made


def test_flags_mean_what_python_says() -> None:
    """Where the two agree: not of line ends but \\n, and not of \\w."""
    rng = random.Random(11)
    wrong = []
    for _ in range(400):
        pattern = rng.choice(["", "(?i)", "(?is)", "(?s)"]) + random_pattern(rng)
        found = language(lambda g, pattern=pattern: build_regex(g, pattern))
        python = re.compile(pattern)
        for _ in range(40):
            text = "".join(rng.choice(LETTERS) for _ in range(rng.randint(0, 4)))
            if accepts(found, text) != bool(python.fullmatch(text)):
                wrong.append((pattern, text))
    assert wrong == []


# -- work ------------------------------------------------------------------------------------------

# (name, the pattern of n such constructs, steps that each takes at least)
SERIES: list[tuple[str, Callable[[int], str], float]] = [
    ("characters", lambda n: "a" * n, 1),
    ("properties", lambda n: r"\p{L}" * n, 5),
    ("negated properties", lambda n: r"\P{L}" * n, 80),
    ("properties in any case", lambda n: "(?i)" + r"\p{L}" * n, 100),
    ("classes", lambda n: "".join(rf"[\p{{L}}{chr(0x4E00 + k)}]" for k in range(n)), 80),
    ("negated classes", lambda n: "".join(rf"[^\p{{L}}{chr(0x4E00 + k)}]" for k in range(n)), 160),
    ("members of a class", lambda n: "[" + "".join(chr(0x4E00 + 2 * k) for k in range(n)) + "]", 1),
    ("alternatives", lambda n: "|".join(f"a{k}" for k in range(n)), 3),
    ("sets as alternatives", lambda n: "|".join(rf"[\p{{L}}{k % 10}]" for k in range(n)), 0.1),
    ("groups", lambda n: "(a)" * n, 3),
    ("word boundaries", lambda n: r"\b" * n, 2),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "each"), [row[1:] for row in SERIES], ids=[row[0] for row in SERIES]
)
def test_parsing_pays_for_characters_and_sets(pattern: Callable[[int], str], each: float) -> None:
    """REGRESSION: sets cost nothing, and each use of a property read its table again."""

    def steps(n: int) -> int:
        budget = WorkBudget()
        parse(pattern(n), pointer="", limits=Limits(), budget=budget)
        return budget.spent

    few, many = steps(10), steps(410)
    assert many - few >= 400 * each
    assert steps(410) == many, "cached sets cost as much as new ones"


def test_the_set_of_a_property_is_read_once() -> None:
    for name in ("L", "Lu", "Script=Greek", "gc=Nd", "Alphabetic", "Assigned"):
        assert property_ranges(name) is property_ranges(name)
    assert property_ranges("no property") is None


def test_similar_classes_share_their_ranges() -> None:
    """REGRESSION: 2,500 classes of letters took 216 MB."""
    tree = parse("".join(rf"[\p{{L}}{k}]" for k in "0149"), pointer="", limits=Limits())
    sets = [set(map(id, part.ranges)) for part in tree.parts]
    assert all(len(each & sets[0]) >= len(each) - 2 for each in sets)


def test_a_cancelled_parse_ends() -> None:
    budget = WorkBudget(Limits(compile_steps=1 << 60))
    budget.cancel()
    with pytest.raises(Cancelled):
        parse("a" * 5_000, pointer="", limits=Limits(), budget=budget)
    assert budget.spent <= 2_000
