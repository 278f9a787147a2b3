"""Formats accept no value that the RFC or ``jsonschema``'s own checker refuses."""

import json
import random
import warnings
from collections.abc import Callable
from functools import cache

import jsonschema
import pytest

import engine
from engine.errors import UnsupportedSchema
from engine.frontends.json_schema.formats import (
    EXACT,
    MAX_LENGTHS,
    PATTERNS,
    SHORT,
    UUID_VERSIONS,
    WIDE,
)
from engine.frontends.regex.char_automaton import Bound, CharAutomaton
from engine.frontends.regex.front_end import search_automaton
from engine.frontends.regex.regex_syntax import parse
from engine.limits import Limits
from tests.engine.frontends.random_schemas import byte_vocabulary, takes
from tests.engine.frontends.recognise import accepts, quoted, schema_language

#: of the current draft; a plain FormatChecker() takes "time" for what Draft 3 took it for
CHECKER = jsonschema.Draft202012Validator.FORMAT_CHECKER

# format -> (valid, invalid)
TEXTS = {
    "date": (["2024-02-29", "2000-02-29", "0001-01-01", "9999-12-31", "2023-04-30"],
             ["2023-02-29", "1900-02-29", "0000-01-01", "2023-04-31", "2023-13-01", "2023-00-10", "2023-1-1", "23-01-01", "2023-01-01 ", "２０23-01-01"]),
    "time": (["00:00:00Z", "23:59:59.123456789012z", "12:30:00+05:30", "12:30:00.5-23:59"],
             ["24:00:00Z", "23:60:00Z", "23:59:60Z", "12:30Z", "12:30:00", "12:30:00.Z", "12:30:00+24:00", "12:30:00+0530"]),
    "date-time": (["2024-02-29T12:00:00Z", "2024-01-31t00:00:00.1z", "1990-12-31T15:59:59-08:00"],
                  ["2023-02-29T12:00:00Z", "2024-01-31 00:00:00Z", "2024-01-31T00:00:00", "2024-01-31", "1998-12-31T23:59:60Z"]),
    "duration": (["P4DT12H30M5S", "P1Y2M3D", "PT36H", "P4W", "PT1M", "P1YT1H", "PT0S", "P999999Y000012M"],
                 ["", "P1000000Y", "PT77443084M", "P", "PT", "P1", "4DT12H", "P1D2H", "P2D1Y", "P1W2D", "P1YT", "PT1D", "P1Y2D", "PT1H5S", "P١Y"]),
    "ipv4": (["0.0.0.0", "255.255.255.255", "192.168.0.1"],
             ["256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4/24", "1.2.3.", "1.2.3.٤"]),
    "ipv6": (["::", "::1", "1::", "1:2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4", "64:ff9b::1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "A:b::C", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8"],
             ["", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "::1.2.3", "::1.2.3.256", "1:2:3:4:5:6:7:1.2.3.4", "fe80::1%eth0", "::1/64"]),
    "uuid": (["2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
             ["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g", "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"]),
    **{
        f"uuid{n}": (
            [f"0191a3c4-5b6d-{n}abc-9def-0123456789ab", f"0191A3C4-5B6D-{n}ABC-BDEF-0123456789AB"],
            [f"0191a3c4-5b6d-{n % 8 + 1}abc-9def-0123456789ab", f"0191a3c4-5b6d-{n}abc-cdef-0123456789ab", f"0191a3c45b6d{n}abc9def0123456789ab", f"{{0191a3c4-5b6d-{n}abc-9def-0123456789ab}}"],
        )
        for n in UUID_VERSIONS
    },
    "email": (["a@b", "joe.bloggs@example.com", "te~st+x@example.co.uk", '"joe bloggs"@example.com', '"a\\"@b"@c', "a@[127.0.0.1]", "a@[IPv6:::1]"],
              ["", "a", "@b", "a@", ".a@b", "a.@b", "a..b@c", "a@b..c", "a@-b", "a@b-", "a b@c", "a@b c", "a@[300.0.0.1]", '"a@b', "é@b", "a@é", "a@b@c"]),
    "idn-email": (["a@b", "é@b", "用户@例え.テスト", "a.β@почта.рф", '"é b"@c', "a@[127.0.0.1]", "é@A-b.c"],
                  ["", "@b", "é", "é..a@b", "é b@c", "a@É", "a@-é", "a@xn--b", "é@", "a@\u0301a", "\x7f@b", "\u0080@b"]),
    "hostname": (["a", "example.com", "EXAMPLE.com", "1.2", "a-b.c--d", "abc--d", "a" * 63, ".".join(["a" * 63] * 3 + ["b" * 61])],
                 ["", ".", "a.", ".a", "a..b", "-a", "a-", "a.-b", "a_b", "a b", "é", "xn--bcher-kva", "ab--c", "a" * 64, ".".join(["a" * 63] * 3 + ["b" * 62]), "a\n"]),
    "idn-hostname": (["a", "example.com", "bücher.de", "例え.テスト", "почта.рф", "한국.kr", "ελλάς", "A-b.ß", "々ー", "가" * 11, "a" * 48],
                     ["", ".", "a.", "-é", "é-", "É", "xn--bcher-kva", "ab--c", "a\u0301", "\u0301a", "א", "・", "가" * 12, "a" * 49, "ａ", "e\u3002f", "ﬁ", "ſ"]),
    "regex": (["", "a", "^[a-z]+$", "(?:a|b)*?c{2,3}", r"\d\.\x41é", "[^a-zA-Z0-9_-]", "(?=a)(?!b)(?<=c)(?<![de]f)g", "((a)b){0,10}|", r"[\]\-\u0041-\uffff]", "[!@#$%^&*]", r"^\b(a{12,120}){3,}?$", "[|]", "😀"],
              ["(", ")", "a)", "[", "[]", "[^]", "a**", "a{2}{3}", "*a", "^*", "{", "a{,2}", "a{3,2}", "[z-a]", "]", "}", "\\", r"\q", r"\1", r"\p{L}", "(?P<a>b)", "(?<a>b)", "(?i)a", "(?<=a*)b", "(?=a)*", "[a&&b]", "((((a))))"]),
    "uri": (["http://a", "http://u:p@h.x:80/p/q;r?s=t&u#v", "urn:oasis:names", "mailto:a@b", "file:///x", "http://[::1]:8/", "http://[v1F.a:b]/", "a:", "a:?b", "http://x/%20", "ldap://[2001:db8::7]/c=GB?objectClass?one", "tel:+1-816-555-1212", "http://a?b/?c#d/?e"],
            ["", "//a", "/a", "a", ":a", "1a:b", "http://a b", "http://a/%2", "http://a/%zz", "http://[::1", "http://[1::2::3]/", "http://a:b:c/", "http://é", "http://a#b#c", "http://a/<>", "http://a\\b", "http://a/[", "http://u@v@w", "http://[V1.a]/"]),
    "uri-reference": (["", "a", "/a/b?c#d", "//h/p", "../x", "?q", "#f", "http://a", "a/b:c", "./a:b"],
                      ["a b", "%2", "\\\\WINDOWS\\f", "#a#b", "1a:b", "é", "//[::1"]),
    "iri": (["http://é.x/ü?ö#ß", "http://a/漢字", "http://a?\ue000", "urn:x", "http://[::1]/", "http://😀"],
            ["", "/é", "http://a b", "http://a/\ue000", "http://é^", "http://a/\ufffe", "http://a/\u0080"]),
    "iri-reference": (["é", "/漢", "#ü", "http://é", ""], ["é é", "é\\b", "#é#"]),
    "uri-template": (["", "http://x/{a}", "{+a,b*,c:3}/{#d.e}{?f_%41}", "x%20y", "é", "{a:999}"],
                     ["{", "}", "{a", "a}", "{}", "{a:0}", "{a:10000}", "{a b}", "{$a}", "{{a}}", "a b", "%2", "<", '"', "'", "a|b", "{a..b}", "{%41}", "{=a}", "{,a}", "{|a}"]),
    "json-pointer": (["", "/", "/a", "/a~1b/~0/é", "//"], ["a", "#/a", "/~", "/~2", "/a~", "a/"]),
    "relative-json-pointer": (["0", "1/a", "10#", "0/~0", "2/"], ["", "/a", "01", "-1", "1a", "1##", "0#/a", "+1"]),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_a_known_format_is_asserted(name: str) -> None:
    found = schema_language({"type": "string", "format": name})
    for verdict, texts in zip((True, False), TEXTS[name], strict=True):
        for text in texts:
            assert accepts(found, quoted(text)) == verdict, text
            assert not (verdict and name in CHECKER.checkers) or CHECKER.conforms(text, name), text


def test_every_format_has_its_texts() -> None:
    assert set(TEXTS) == set(PATTERNS)


@pytest.mark.campaign
@pytest.mark.parametrize("name", sorted(set(PATTERNS) & set(CHECKER.checkers)))
def test_texts_close_to_valid_ones_are_judged_no_laxer_than_by_the_checker(name: str) -> None:
    rng = random.Random(name)
    found = schema_language({"type": "string", "format": name})
    pool = TEXTS[name][0] + TEXTS[name][1]
    letters = "".join(pool) or "0"
    for _ in range(250):
        text = list(rng.choice(pool))
        for _ in range(rng.randrange(1, 3)):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.randrange(2)] = rng.choice(["", rng.choice(letters)])
        if accepts(found, quoted("".join(text))):
            assert CHECKER.conforms("".join(text), name), "".join(text)


@pytest.mark.parametrize(
    "name", sorted(set(SHORT) - {n for n in PATTERNS if SHORT[n] == PATTERNS[n]})
)
def test_beside_a_length_a_format_is_narrower_never_wider(name: str) -> None:
    whole = schema_language({"type": "string", "format": name})
    short = schema_language({"type": "string", "format": name, "maxLength": 40})
    for text in TEXTS[name][0] + TEXTS[name][1]:
        if accepts(short, quoted(text)):
            assert accepts(whole, quoted(text)) and len(text) <= 40
        elif "[" not in text and len(text) <= 40:
            assert not accepts(whole, quoted(text)), text


@pytest.mark.parametrize("name", sorted(WIDE))
def test_no_text_of_a_format_is_taken_for_another(name: str) -> None:
    others = schema_language({"type": "string", "not": {"format": name}})
    for text in TEXTS[name][0]:
        assert not accepts(others, quoted(text)), text


@pytest.mark.parametrize(
    ("name", "other"),
    [("date", "date-time"), ("time", "uri"), ("date-time", "iri"), ("ipv6", "uri")],
)
def test_a_choice_of_two_formats_takes_the_texts_of_both(name: str, other: str) -> None:
    """REGRESSION: a date was taken for what may be a date-time, a time for what may be a URI."""
    found = schema_language({"type": "string", "oneOf": [{"format": name}, {"format": other}]})
    for text in TEXTS[name][0] + TEXTS[other][0]:
        if CHECKER.conforms(text, name) != CHECKER.conforms(text, other):
            assert accepts(found, quoted(text)), text


@pytest.mark.parametrize("name", sorted(set(WIDE) & set(CHECKER.checkers)))
def test_the_empty_text_is_of_no_format_that_refuses_it(name: str) -> None:
    """REGRESSION: beside `hostname`, `oneOf` with anything else refused the empty text."""
    others = schema_language({"oneOf": [{}, {"type": "string", "format": name}]})
    assert accepts(others, '""') == (not CHECKER.conforms("", name))


@cache
def automaton(name: str) -> CharAutomaton:
    tree = parse(PATTERNS[name], pointer="", limits=Limits())
    return search_automaton(tree, Bound(20_000, ""))


def sampler(name: str, stop: float, rng: random.Random) -> Callable[[], str]:
    """Random texts of a format: a walk that prefers the ends of the ranges of characters."""
    edges, finals = automaton(name).edges, automaton(name).finals

    def sample() -> str:
        state, text = 0, ""
        while not (state in finals and (not edges[state] or rng.random() < stop)):
            ranges, target = rng.choice(edges[state])
            low, high = rng.choice(ranges)
            text += chr(rng.choice((low, high, rng.randint(low, high))))
            state = target
        return text

    return sample


@pytest.mark.parametrize("stop", [0.05, 0.3])
@pytest.mark.parametrize("name", sorted(set(PATTERNS) & set(CHECKER.checkers)))
def test_what_is_accepted_the_checker_accepts(name: str, stop: float) -> None:
    sample = sampler(name, stop, random.Random(f"{name} {stop}"))
    texts = {sample() for _ in range(1_000)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wrong = [
            x
            for x in texts
            if len(x) <= MAX_LENGTHS.get(name, 999) and not CHECKER.conforms(x, name)
        ]
    assert wrong == []


def test_the_longest_international_hosts_are_no_longer_than_dns_takes() -> None:
    idna = pytest.importorskip("idna")
    rng = random.Random(1)
    alphabets = ["가힣", "ß힣", "一힣ßz", "힣", "ぁー龥힣09"]
    for _ in range(2_000):
        alphabet, size = rng.choice(alphabets), rng.choice([1, 2, 6, 11, 11])
        labels = ["".join(rng.choices(alphabet, k=size)) for _ in range(48)]
        text = ".".join(labels)[:48].rstrip(".")
        assert automaton("idn-hostname").accepts(text)
        assert len(idna.encode(text)) <= 253


#: what texts that are close to the exact formats are made of
NEAR = {
    "date": "0123456789-٣\n ",
    "ipv4": "0123456789.+_٣\n ",
    "ipv6": "0123456789abF::.%/٣\n ",
    "json-pointer": "~~//01a#\n ",
}


@pytest.mark.parametrize("name", sorted(EXACT & set(CHECKER.checkers)))
def test_an_exact_format_accepts_all_that_the_checker_accepts(name: str) -> None:
    rng = random.Random(name)
    valid = [x for x in TEXTS[name][0] + TEXTS[name][1] if CHECKER.conforms(x, name)]
    for _ in range(10_000):
        text = list(rng.choice(valid))
        for _ in range(rng.randrange(3)):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.randrange(2)] = rng.choice(["", rng.choice(NEAR[name])])
        found = automaton(name).accepts("".join(text))
        assert found == CHECKER.conforms("".join(text), name), "".join(text)


@pytest.mark.parametrize("name", sorted(MAX_LENGTHS))
@pytest.mark.parametrize("more", [{}, {"maxLength": 999}, {"minLength": 2}, {"pattern": "a"}])
def test_the_most_characters_of_a_format_are_counted(name: str, more: dict[str, object]) -> None:
    compiled = engine.Compiler(byte_vocabulary()).compile_json_schema(
        {"type": "string", "format": name, **more}
    )
    begin = "a@" if name.endswith("email") else ""
    text = f"{begin}{'.'.join(['a' * 31] * 8)}"[: MAX_LENGTHS[name]]
    assert takes(compiled, json.dumps(text))
    assert not takes(compiled, json.dumps(text + "a"))


@pytest.mark.parametrize("name", ["email", "idn-email"])
@pytest.mark.parametrize(
    ("longest", "too_long"),
    [
        (f"{'a' * 64}@b.c", f"{'a' * 65}@b.c"),
        (f"{'a.' * 31}aa@b.c", f"{'a.' * 32}a@b.c"),
        (f'"{"@" * 31}"@b.c', f'"{"@" * 32}"@b.c'),
    ],
)
def test_the_part_before_the_at_sign_is_bounded(name: str, longest: str, too_long: str) -> None:
    assert automaton(name).accepts(longest)
    assert not automaton(name).accepts(too_long)


def test_values_of_an_enum_are_judged_by_the_most_characters_too() -> None:
    texts = ["a" * 48, "b" * 49]
    found = schema_language({"enum": texts, "format": "idn-hostname"})
    assert [accepts(found, quoted(text)) for text in texts] == [True, False]


def test_an_unknown_format_is_an_annotation_or_refused_as_asked() -> None:
    schema = {"type": "string", "format": "int32"}
    assert accepts(schema_language(schema), '"x"')
    with pytest.raises(UnsupportedSchema) as caught:
        schema_language(schema, unknown_formats="refuse")
    assert caught.value.pointer == "/format"
    schema_language({"type": "integer", "format": "int32"}, unknown_formats="refuse")


@pytest.mark.parametrize(
    "pattern",
    [*PATTERNS.values(), *SHORT.values()],
    ids=[*PATTERNS, *(f"{n}-short" for n in SHORT)],
)
def test_the_patterns_are_well_formed(pattern: str) -> None:
    assert parse(pattern, pointer="", limits=Limits()).least >= 0
