"""Formats accept no value that the RFC or ``jsonschema``'s own checker refuses."""

import random

import jsonschema
import pytest

from engine.errors import UnsupportedSchema
from engine.frontends.json_schema import build_json_schema
from engine.frontends.json_schema.formats import PATTERNS, REFUSED, SHORT
from engine.frontends.regex_syntax import parse
from engine.ir import Grammar
from engine.limits import Limits
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
    "duration": (["P4DT12H30M5S", "P1Y2M3D", "PT36H", "P4W", "PT1M", "P1YT1H", "PT0S"],
                 ["", "P", "PT", "P1", "4DT12H", "P1D2H", "P2D1Y", "P1W2D", "P1YT", "PT1D", "P1Y2D", "PT1H5S", "P١Y"]),
    "ipv4": (["0.0.0.0", "255.255.255.255", "192.168.0.1"],
             ["256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.4/24", "1.2.3.", "1.2.3.٤"]),
    "ipv6": (["::", "::1", "1::", "1:2:3:4:5:6:7:8", "1::8", "::ffff:1.2.3.4", "64:ff9b::1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "A:b::C", "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8"],
             ["", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", "g::", "::1.2.3", "::1.2.3.256", "1:2:3:4:5:6:7:1.2.3.4", "fe80::1%eth0", "::1/64"]),
    "uuid": (["2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
             ["2eb8aa08aa9811eab4aa73b441d16380", "2eb8aa08-aa98-11ea-b4aa-73b441d1638", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g", "2eb8-aa08-aa98-11ea-b4aa73b44-1d16380", "{2eb8aa08-aa98-11ea-b4aa-73b441d16380}"]),
    "email": (["a@b", "joe.bloggs@example.com", "te~st+x@example.co.uk", '"joe bloggs"@example.com', '"a\\"@b"@c', "a@[127.0.0.1]", "a@[IPv6:::1]"],
              ["", "a", "@b", "a@", ".a@b", "a.@b", "a..b@c", "a@b..c", "a@-b", "a@b-", "a b@c", "a@b c", "a@[300.0.0.1]", '"a@b', "é@b", "a@é", "a@b@c"]),
    "uri": (["http://a", "http://u:p@h.x:80/p/q;r?s=t&u#v", "urn:oasis:names", "mailto:a@b", "file:///x", "http://[::1]:8/", "http://[v1.a:b]/", "a:", "a:?b", "http://x/%20", "ldap://[2001:db8::7]/c=GB?objectClass?one", "tel:+1-816-555-1212", "http://a?b/?c#d/?e"],
            ["", "//a", "/a", "a", ":a", "1a:b", "http://a b", "http://a/%2", "http://a/%zz", "http://[::1", "http://[1::2::3]/", "http://a:b:c/", "http://é", "http://a#b#c", "http://a/<>", "http://a\\b", "http://a/[", "http://u@v@w"]),
    "uri-reference": (["", "a", "/a/b?c#d", "//h/p", "../x", "?q", "#f", "http://a", "a/b:c", "./a:b"],
                      ["a b", "%2", "\\\\WINDOWS\\f", "#a#b", "1a:b", "é", "//[::1"]),
    "iri": (["http://é.x/ü?ö#ß", "http://a/漢字", "http://a?\ue000", "urn:x", "http://[::1]/", "http://😀"],
            ["", "/é", "http://a b", "http://a/\ue000", "http://é^", "http://a/\ufffe", "http://a/\u0080"]),
    "iri-reference": (["é", "/漢", "#ü", "http://é", ""], ["é é", "é\\b", "#é#"]),
    "uri-template": (["", "http://x/{a}", "{+a,b*,c:3}/{#d.e}{?f_%41}", "x%20y", "é", "{a:999}"],
                     ["{", "}", "{a", "a}", "{}", "{a:0}", "{a:10000}", "{a b}", "{$a}", "{{a}}", "a b", "%2", "<", '"', "'", "a|b", "{a..b}"]),
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


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_format_without_an_exact_form_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedSchema) as caught:
        build_json_schema(Grammar(), {"properties": {"a": {"type": "string", "format": name}}})
    assert (caught.value.pointer, caught.value.keyword) == ("/properties/a/format", "format")
    assert name in caught.value.message
    build_json_schema(Grammar(), {"type": "integer", "format": name})


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
