"""Patterns are read as ECMA-262 says; what has no meaning or can't be enforced is refused by place and name."""

import random
import re
import sys
import unicodedata

import pytest

from engine.errors import LimitExceeded, SpecError, UnsupportedSchema
from engine.frontends.case_folding import any_case
from engine.frontends.regex import build_regex
from engine.frontends.regex_classes import property_ranges
from engine.frontends.regex_syntax import parse
from engine.frontends.regex_tree import Chars, Repeat
from engine.limits import Limits
from tests.engine.frontends.recognise import accepts, language

# (pattern, texts that match as a whole, texts that don't)
MATCHES = [
    ("", [""], ["a"]),
    ("abc", ["abc"], ["ab", "abcd", ""]),
    ("a|bc|", ["a", "bc", ""], ["b", "abc"]),
    ("(a)(?:b)(?<name>c)(?P<other>d)", ["abcd"], ["abc"]),
    ("(?:ab)*?c", ["c", "ababc"], ["abac"]),
    ("a{2}b{1,3}c{2,}d{0}", ["aabcc", "aabbbccc"], ["abcc", "aabbbbcc", "aabc", "aabccd"]),
    ("a??b+?c*?", ["b", "abbc"], ["a"]),
    (
        r"\d\D\w\W\s\S",
        ["1a_ \u00a0x", "0-9!\ufeffé"],
        ["1aé \u00a0x", "1a_ x\u3000", "١a_ \u00a0x"],
    ),
    (".", ["a", "é", "😀", "\u0085", "\t"], ["\n", "\r", "\u2028", "\u2029", ""]),
    ("[a-cx]", ["a", "c", "x"], ["d", "-"]),
    ("[^a-c]", ["d", "\n", "😀"], ["a", ""]),
    ("[]", [], ["", "]", "a"]),
    ("[^]", ["a", "\n", "😀"], [""]),
    (r"[\]\-\\^]", ["]", "-", "\\", "^"], ["a"]),
    ("[a-]", ["a", "-"], ["b"]),
    ("[-a]", ["a", "-"], ["b"]),
    ("[--/]", ["-", ".", "/"], [",", "0"]),
    (r"[\w-]", ["a", "-"], ["!"]),
    (r"[a-\d]", ["a", "-", "5"], ["b"]),
    (r"[\w-z]", ["a", "-", "z"], ["!"]),
    (r"[\b]", ["\b"], ["b"]),
    (r"[\d\s]", ["1", " "], ["a"]),
    (r"\t\n\v\f\r\0", ["\t\n\v\f\r\0"], []),
    (r"\cA\cz", ["\x01\x1a"], []),
    (r"\x41\u0042\u{43}\u{1f600}", ["ABC😀"], []),
    (r"\ud83d\ude00", ["😀"], []),
    (r"[\ud83d\ude00-\ud83d\ude02]", ["😀", "😁", "😂"], ["😃"]),
    (r"[\u0000-\uffff]", ["a", "\uffff"], ["😀"]),
    (r"\ud800", [], ["\ud800", "a"]),
    (r"[\ud800-\udbffa]", ["a"], ["\ud800"]),
    ("\ud800|b", ["b"], ["\ud800"]),
    (r"\.\/\-\_\:\@\#\"\'\ \%\&\=\~\`\<\>\,\;\!", ["./-_:@#\"' %&=~`<>,;!"], []),
    ("]}{", ["]}{"], []),
    ("a{x}b{}c{1", ["a{x}b{}c{1"], []),
    ("x{,}", ["x{,}"], []),
    (r"\p{L}+\p{Nd}", ["aéЖ漢3"], ["1", "a", "a_1"]),
    (r"\p{Lu}\P{Lu}", ["Aa", "É1"], ["AA", "a1"]),
    (r"\p{Letter}\p{General_Category=Uppercase_Letter}\p{gc=Ps}", ["aB("], ["1B("]),
    (r"[\p{ASCII}é]", ["a", "é"], ["è"]),
    (r"\p{Any}\p{LC}", ["\nA"], ["\nʻ"]),
    (r"\p{Script=Greek}\p{sc=Cyrl}\P{Script=Latin}", ["αж1", "Ωяω"], ["aж1", "ααα", "αжz"]),
    (r"[\p{Script=Han}\p{sc=Hiragana}]+", ["漢字", "かな"], ["カ", "a", ""]),
    (r"\p{Lowercase}\p{Uppercase}\p{Alphabetic}\p{Alpha}", ["aAéʰ"], ["AAéé", "aa1a"]),
    (
        r"\p{White_Space}\p{Emoji_Presentation}\p{AHex}",
        ["\u0085😀f", "\u3000🎉0"],
        ["\ufeff😀f", " ©f", " 😀g"],
    ),
    (r"\p{punct}\p{digit}\p{Combining_Mark}", ["!7\u0301"], ["a7\u0301", "!7a"]),
    (r"\p{Surrogate}", [], ["a", "\ud800"]),
    (r"[^\p{L}\d]\P{Assigned}", ["-\u0378"], ["a\u0378", "-a"]),
    (r"\d\w", ["1a"], ["١a", "1é"]),
    (r"\s", [" ", "\u00a0", "\u2028", "\ufeff", "\u3000", "\v"], ["\u0085", "\u200b", "a"]),
    (r"(?<$a_1>b)", ["b"], []),
    (r"a(?:b|)c|(?:)", ["abc", "ac", ""], ["ab"]),
    (r"a{2,}?b*?c+?d??", ["aac", "aaabbccd"], ["ac"]),
    (r"x{1", ["x{1"], ["x"]),
    (r"x{1,a}", ["x{1,a}"], ["x"]),
    (r"\$\^\{\}", ["$^{}"], []),
    (r"a^b|c$d|e", ["e"], ["ab", "cd", "a^b"]),
    ("(^)?a", ["a"], []),
    ("(?i)aé[x-zß]", ["aÉZ", "Aéẞ"], ["aéa", "bÉZ"]),
    ("(?i:a)b", ["ab", "Ab"], ["aB", "AB"]),
    ("a(?i)b|c", ["aB", "C", "ab"], ["AB", "Ab"]),
    ("(a(?i)b|c)d", ["aBd", "Cd"], ["aBD", "ABd"]),
    ("(?i)a(?-i:b)c", ["AbC"], ["ABC"]),
    ("(?i)a(?-i)b", ["Ab"], ["AB"]),
    ("(?i)[^a-ck]", ["d", "_"], ["A", "b", "K", "\u212a"]),
    (r"(?i)\w\W", ["ſ-", "\u212aé"], ["éa", "kſ", "k\u212a"]),
    (r"(?i)\P{Lu}[^\P{Lu}]?", ["A", "a", "1"], ["AA", "Aa"]),
    (r"(?i)\x41\u00e9\u{3c3}", ["aÉς", "AéΣ"], ["béσ"]),
    ("(?i)s\u212a\u00b5i", ["ſkμI", "SKΜi"], ["skmi", "sk\u00b5ı", "sk\u00b5İ"]),
    (r"(?i)[\p{Ll}-]", ["A", "a", "-"], ["1", "漢"]),
    ("(?s).(?-s:.)(?s).", ["\na\n"], ["\n\n\n"]),
    ("(?s:.).", ["\na"], ["a\n"]),
    (r"(?m)^a$\n^b$", ["a\nb"], ["a\n", "ab"]),
    ("(?m)a(?:$|.)(?s:.)^b", ["a\nb".replace("\n", "x\n"), "a\u2028b"], ["axxb", "axb"]),
    (r"(?im:A$)[\s\S]*", ["a", "A\n", "a\rb"], ["ab"]),
    (r"(?i)\ba.*s\b.*", ["aſ", "As-", "Aſ é"], ["aſk", "as\u212a"]),
    (r"(?-i:a)(?i-:b)(?ims-:c)(?s-m)", ["aBC"], ["ABC"]),
]


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


# (pattern, position, words of the message)
ILL_FORMED = [
    ("(", 1, "missing )"),
    ("a(b(c)", 6, "missing )"),
    (")", 0, "unmatched )"),
    ("a|b)", 3, "unmatched )"),
    ("*a", 0, "nothing to repeat"),
    ("a**", 2, "nothing to repeat"),
    ("a+*", 2, "nothing to repeat"),
    ("a*+", 2, "nothing to repeat"),
    ("^*", 2, "nothing to repeat"),
    (r"\b+", 3, "nothing to repeat"),
    ("(?<=a)*", 7, "nothing to repeat"),
    ("a{2}{3}", 7, "nothing to repeat"),
    ("{2}", 3, "nothing to repeat"),
    ("(|{2})", 5, "nothing to repeat"),
    ("a{3,2}", 6, "numbers out of order"),
    ("a{,2}", 1, "{,n}"),
    ("a{1234567890}", 1, "more than 9 digits"),
    ("[a", 2, "missing ]"),
    ("[z-a]", 4, "range out of order"),
    ("[a-", 3, "missing ]"),
    ("a\\", 2, "a backslash at the end"),
    ("[\\", 2, "a backslash at the end"),
    (r"\q", 2, "unknown escape"),
    (r"\Z", 2, "unknown escape"),
    (r"\01", 2, "unknown escape"),
    (r"\xg", 2, "unknown escape"),
    (r"\u12", 2, "four hexadecimal digits"),
    (r"\u{}", 3, "hexadecimal digits"),
    (r"\u{110000}", 3, "hexadecimal digits"),
    (r"\pL", 1, "a property needs a name"),
    ("(?<>a)", 3, "needs a name"),
    ("(?<a", 3, "needs a name"),
    ("(?i", 3, "missing )"),
    ("(?", 2, "missing )"),
    ("(?ii)a", 3, "the flag i stands there twice"),
    ("(?i-i:a)", 4, "the flag i stands there twice"),
    ("(?)a", 2, "a group needs flags"),
    ("(?-:a)", 3, "a group needs flags"),
    ("(?i-)a)", 6, "unmatched )"),
    ("(?i!a)", 3, "a group needs flags"),
]


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
    (r"\p{scx=Greek}", "scx=Greek"), (r"\p{ID_Start}", "ID_Start"), (r"\p{Script Greek}", "Script Greek"),
    (r"\p{gc=Any}", "gc=Any"),
]  # fmt: skip


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


@pytest.mark.parametrize("category", ["Lu", "Ll", "Nd", "Mn", "Po", "Zs", "Cf"])
def test_categories_are_those_of_unicode(category: str) -> None:
    """REGRESSION: to ask Python for every character took 100 ms of the first compile.

    Python may carry a later version: then there are more characters, and some have moved.
    """
    listed = {c for low, high in property_ranges(category) or () for c in range(low, high + 1)}
    held = {c for c in listed if unicodedata.category(chr(c)) == category}
    assert len(listed - held) <= 10
    if unicodedata.unidata_version == "14.0.0":
        assert listed == {c for c in range(0x110000) if unicodedata.category(chr(c)) == category}


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
    if unicodedata.unidata_version == "14.0.0":
        assert differ == []
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
