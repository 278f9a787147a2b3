"""Words that must differ: masks say what accepting says, and are never empty."""

import itertools
import json
import random
import threading

import jsonschema
import numpy as np
import pytest

import engine
from tests.engine.harness import bits, new_mask

PIECES = (
    b'","', b'",', b"1,1", b"1,", b'["a","a"]', b'["', b"null", b",null", b"],[", b"},{", b'{"a":',
    b'a"', b"ab", b"true,", b'"}', b"12", b",1", b"\\u0061", b'"]', b"1.0", b'{"a":1}', b", ",
    b'"a",', b"e-0", b"1e", b"e+1", b"1e-05],",
)  # fmt: skip
STOP = 256
TOKENS = [bytes([k]) for k in range(256)] + [b"<eos>", *PIECES]
CLOSING = {b'"', b"]", b"}", b","}
STRING, INTEGER, ARRAY = {"type": "string"}, {"type": "integer"}, {"type": "array"}


def unique(items: object, **more: object) -> dict:
    return {"type": "array", "uniqueItems": True, "items": items, **more}


def closed(**properties: object) -> dict:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def between(least: int, most: int) -> dict:
    return {**INTEGER, "minimum": least, "maximum": most}


#: name -> schema
SCHEMAS = {
    "strings": unique(STRING),
    "anything": unique(True),
    "short strings, literals": unique({"type": ["string", "null", "boolean"], "maxLength": 2}),
    "closed objects": unique(
        {
            "type": "object",
            "properties": {"a": {"type": "boolean"}, "b": {"enum": [1, 2]}},
            "required": ["a"],
            "additionalProperties": False,
        }
    ),
    "integers within bounds": unique({**INTEGER, "minimum": 1, "maximum": 30}),
    "a long list": unique({"enum": [*"abcdefghijklmnopqrs", "ab", "ac"]}),
    "numbers": unique({"type": "number"}, minItems=3),
    "arrays of few": unique(unique({**INTEGER, "minimum": 0, "maximum": 2}), minItems=2),
    "beside another way to read it": {"anyOf": [unique(INTEGER), {"type": "array", "maxItems": 3}]},
    "a pattern of few words": unique({**STRING, "pattern": "^[ab]{1,3}$"}, minItems=2, maxItems=6),
    "some of them counted": unique({"type": ["integer", "string"]}, contains=INTEGER),
    "keys": {"type": "object", "minProperties": 3},
    "keys of a pattern": {
        "type": "object",
        "minProperties": 2,
        "propertyNames": {"pattern": "^[ab]{1,2}$"},
    },
    "a member that must be somewhere": {
        "type": "object",
        "additionalProperties": {"type": ["string", "integer"]},
        "not": {"patternProperties": {"a": STRING}},
    },
    "numbers with exponents within items": unique(
        {**ARRAY, "items": {"type": "number"}, "maxItems": 2}
    ),
    "listed numbers with exponents": unique(closed(x={"enum": [1e-7, 2e-7, 3e22]}), minItems=2),
    "beside a way in which numbers may repeat": {
        "anyOf": [unique(between(1, 12)), {**ARRAY, "items": between(10, 12)}]
    },
    "objects with keys": unique({"minProperties": 2, "additionalProperties": INTEGER}),
}


@pytest.fixture(scope="module")
def compiler() -> engine.Compiler:
    return engine.Compiler(
        engine.Vocabulary(TOKENS, stop_token_ids=[STOP], special_token_ids=[STOP])
    )


def walk(compiled: engine.Compiled, rng: random.Random, length: int) -> list[engine.Matcher]:
    """The matchers of one walk, a fork at each place; near the end it closes what it can."""
    matcher, found = engine.Matcher(compiled), []
    mask, brute = new_mask(compiled.vocabulary), new_mask(compiled.vocabulary)
    for k in range(length):
        found.append(matcher.fork())
        matcher.fill_bitmask(mask)
        matcher.brute_force_bitmask(brute)
        assert np.array_equal(mask, brute)
        allowed = bits(mask)
        assert len(allowed), "a mask is never empty"
        closing = [t for t in allowed if t == STOP or TOKENS[t] in CLOSING]
        likely = [t for t in allowed if TOKENS[t][:1] in b'"ab,]}[{:12n-']
        ends = closing and (k > 3 * length // 4 or rng.random() < 0.5)
        token = rng.choice(closing if ends else likely or list(allowed))
        assert matcher.accept_token(int(token))
        if token == STOP:
            break
    return found


def repeats(value: object) -> bool:
    """Whether an array somewhere holds two equal items; in JSON, 1 is 1.0 but not true."""
    items = value if isinstance(value, list) else list(getattr(value, "values", list)())
    texts = [json.dumps(item, sort_keys=True).replace(".0", "") for item in items]
    own = isinstance(value, list) and len(set(texts)) < len(texts)
    return own or any(map(repeats, items))


LAYOUTS: list[dict] = [{}, {"indent": 1}, {"indent": 0, "separators": (", ", " : ")}]
OPTIONS: list[dict] = [*LAYOUTS, {"spelling": "canonical"}]


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_what_accepting_says_and_never_empty(
    compiler: engine.Compiler, name: str, options: dict
) -> None:
    compiled = compiler.compile_json_schema(SCHEMAS[name], **options)
    for seed in range(12):
        walk(compiled, random.Random(f"{name} {seed}"), 50)


#: REGRESSION: (schema, texts of which nothing repeats where it must not, although it was said to)
EVERY_BYTE: list[tuple[dict, list[str]]] = [
    (SCHEMAS["beside a way in which numbers may repeat"], ["[10,10,12]", "[12,10,11,10]"]),
    (
        {"anyOf": [unique({"enum": [1.25, 1.5, *range(2, 13)]}), {"items": {"enum": [1.25, 1.5]}}]},
        ["[1.25,1.25]", "[1.5,1.25,1.5,1.5]"],
    ),
    (unique({**ARRAY, "items": {"type": "number"}}), ["[[1],[1e-05]]", "[[2],[3,1e-05]]"]),
    (
        unique({**ARRAY, "items": {"type": "number"}, "minItems": 1, "maxItems": 1}),
        ["[[1],[1e-05]]", "[[1e-05],[1e-06],[1e+16],[10]]", "[[0],[1e-05],[15],[1.5e-05]]"],
    ),
    (unique(ARRAY, contains=unique(True)), ['[["b"],["",1e-05]]', '[["b",1e-05,1e-05],[]]']),
    (
        {"anyOf": [unique(True), {**ARRAY, "items": {"type": ["string", "number"]}}]},
        ['["b",1e-05,1e-05]', "[1,2,3,4,5,6,7,8,9,10,1e-05]", "[1,1e+300,1.5e-07,5]"],
    ),
    (
        unique(closed(x={"enum": [1e-7, 2e-7, 3e22]}), minItems=2),
        ['[{"x":0.0000001},{"x":30000000000000000000000}]'],
    ),
    (unique({"enum": [1e-7, 1.5e22, *"abcdefghijk"]}, minItems=13), ["[0.0000001,1500"]),
]


@pytest.mark.parametrize("spelling", ["any", "canonical"])
@pytest.mark.parametrize(("schema", "texts"), EVERY_BYTE)
def test_what_repeats_nothing_is_taken_byte_by_byte(
    compiler: engine.Compiler, schema: dict, texts: list[str], spelling: str
) -> None:
    compiled = compiler.compile_json_schema(schema, spelling=spelling)
    for text in texts:
        matcher = engine.Matcher(compiled)
        for k in range(len(text)):
            assert matcher.accept_bytes(text[k].encode()), text[: k + 1]


@pytest.mark.parametrize("name", SCHEMAS)
def test_masks_are_the_same_in_batches_and_threads_and_after_rollback(
    compiler: engine.Compiler, name: str
) -> None:
    compiled = compiler.compile_json_schema(SCHEMAS[name])
    places = walk(compiled, random.Random(name), 40)
    single = new_mask(compiled.vocabulary).repeat(len(places), axis=0)
    for row, matcher in enumerate(places):
        matcher.fill_bitmask(single, row)
    batch = np.zeros_like(single)
    engine.fill_bitmask_batch(places, batch, list(range(len(places))))
    assert np.array_equal(batch, single)
    threaded = np.zeros_like(single)

    def fill(part: int) -> None:
        for row in range(part, len(places), 4):
            places[row].fill_bitmask(threaded, row)

    threads = [threading.Thread(target=fill, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.array_equal(threaded, single)
    last = places[-1].fork()
    for row in range(len(places) - 2, -1, -1):
        last.rollback(1)
        again = new_mask(compiled.vocabulary)
        last.fill_bitmask(again)
        assert np.array_equal(again[0], single[row])


# (items so far, one more, whether it may stand)
PAIRS = [
    ('"a"', '"a"', False),
    ('"a"', '"\\u0061"', False),
    ('"\\ud83d\\ude00"', '"😀"', False),
    ('"\\n"', '"\\u000A"', False),
    ('"a"', '"A"', True),
    ("1", "1.0", False),
    ("100", "1e2", False),
    ("0", "-0.0", False),
    ("1", "true", True),
    ("0", "false", True),
    ("1", '"1"', True),
    ("[]", "{}", True),
    ("[1, 2]", "[1,2]", False),
    ("[1,2]", "[2,1]", True),
    ('{"a":1,"b":2}', '{"b":2, "a":1.0}', False),
    ('{"a":1}', '{"\\u0061":1}', False),
    ('{"a":1}', '{"a":1,"b":2}', True),
    ('{"a":1,"a":2}', '{"a":2}', False),
    ('[["x"]]', '[["x"]]', False),
    ("null", "null", False),
]


@pytest.mark.parametrize(("before", "after", "differs"), PAIRS)
@pytest.mark.parametrize("between", ["", "3,"])
def test_equal_is_what_json_calls_equal(
    compiler: engine.Compiler, before: str, after: str, differs: bool, between: str
) -> None:
    """Numbers in nested values keep all their spellings."""
    matcher = engine.Matcher(compiler.compile_json_schema({"items": {"uniqueItems": True}}))
    number = any(c in before + after for c in ".e-") and before[0] not in "[{"
    text = f"[[[{before}],{between}[{after}]]]" if number else f"[[{before},{between}{after}]]"
    assert (matcher.accept_bytes(text.encode()) and matcher.can_stop()) == differs


def test_every_array_of_small_values_is_judged_as_python_does(compiler: engine.Compiler) -> None:
    values = ("1", "2", '"a"', "null", "[1]", "[]", '{"a":1}')
    compiled = compiler.compile_json_schema({"type": "array", "uniqueItems": True})
    for n in range(4):
        for items in itertools.product(values, repeat=n):
            text = f"[{','.join(items)}]"
            matcher = engine.Matcher(compiled)
            accepted = matcher.accept_bytes(text.encode()) and matcher.can_stop()
            assert accepted != repeats(json.loads(text)), text


def test_other_grammars_keep_no_places(compiler: engine.Compiler) -> None:
    compiled = compiler.compile_json_schema({"type": "array", "items": STRING})
    matcher = engine.Matcher(compiled)
    assert matcher.accept_bytes(b'["a","a"')
    assert len(matcher.place()) == 2


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_was_built_can_be_looked_at(compiler: engine.Compiler, name: str) -> None:
    """REGRESSION: a step that completes such a word is marked in the memo, which crashed this."""
    compiled = compiler.compile_json_schema(SCHEMAS[name])
    walk(compiled, random.Random(name), 20)
    assert engine.inspect(compiled, explore=50).text()


DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
LISTED = [f"v{k}" for k in range(12)]
ESCAPED = [f'"{k}\n' for k in range(12)]
CONTROLS = [*'\x01\x02\x1b\n\t"\\', "/", "A", "A\x01", "\x01A", "\x01\x02", "0"]


#: REGRESSION: name -> schema whose texts were stuck, or went on with spellings of one value
FEW = {
    "all days": unique(closed(day={"enum": DAYS}), minItems=7, maxItems=7),
    "no minimum": unique(closed(role={"enum": ["admin", "member"]})),
    "one value": unique(closed(k={"const": 1})),
    "numbers of a range": unique({"type": "number", "minimum": 0, "maximum": 5}, minItems=4),
    "zeros behind a point": unique(
        {"type": "number", "multipleOf": 0.5, "minimum": 0, "maximum": 5}, minItems=11
    ),
    "numbers of members": unique(closed(n={**INTEGER, "minimum": -2, "maximum": 2}), minItems=5),
    "tens": unique({**INTEGER, "multipleOf": 10, "minimum": 0, "maximum": 200}, minItems=12),
    "pairs": unique(closed(a={"type": "boolean"}, b={"type": "boolean"}), minItems=4),
    "optional members": unique(
        {**closed(a={"type": "boolean"}, b={"type": "boolean"}), "required": []}, minItems=9
    ),
    "words of a pattern": unique({**STRING, "pattern": "^[ab]{1,3}$"}, minItems=14),
    "a list": unique({"enum": LISTED}, minItems=12),
    "escaped characters": unique({"enum": ESCAPED}, minItems=12),
    "control characters": unique({"enum": CONTROLS}, minItems=13),
    "escaped keys": unique(
        closed(**{'a"b\n': {"type": "boolean"}, "c": {"enum": [1, 2]}}), minItems=4
    ),
    "characters outside ASCII": unique({"enum": [f"é{k}😀" for k in range(12)]}, minItems=12),
    "of several types": unique(
        {"anyOf": [closed(a={"enum": LISTED}), {"type": "boolean"}]}, minItems=14
    ),
    "arrays": unique({"type": "array", "items": {"type": "boolean"}, "maxItems": 2}, minItems=7),
    "one character": unique({**STRING, "maxLength": 1}),
    "places of one list": {
        "type": "array",
        "uniqueItems": True,
        "prefixItems": [{"enum": LISTED}, {"enum": LISTED}],
        "items": {"enum": LISTED},
        "minItems": 6,
    },
    "keys of a pattern": {
        "type": "object",
        "patternProperties": {"^[ab]{1,2}$": True},
        "additionalProperties": False,
        "minProperties": 6,
    },
    "keys of two patterns": {
        "type": "object",
        "patternProperties": {"^[ab]$": True},
        "propertyNames": {"pattern": "^[bc]?$"},
        "minProperties": 3,
    },
    "listed keys among few names": {
        "type": "object",
        "propertyNames": {"enum": ["listed", "name", "b", "other"]},
        "properties": {"listed": True, "other": True},
        "required": ["name"],
        "minProperties": 3,
    },
}


def finished(compiled: engine.Compiled, rng: random.Random, options: dict) -> str:
    """The text of a random walk that closes what it can; empty if it takes too long."""
    matcher, mask, text = engine.Matcher(compiled), new_mask(compiled.vocabulary), b""
    # in a layout with lines, brackets close behind a new one
    ending = CLOSING - {b","} | {b"\n"} if "indent" in options else CLOSING
    for k in range(4000):
        matcher.fill_bitmask(mask)
        allowed = list(bits(mask))
        assert allowed, f"stuck behind {text!r}"
        if STOP in allowed:
            return text.decode()
        closing = [t for t in allowed if TOKENS[t] in ending]
        token = rng.choice(closing if closing and rng.random() < (k + 100) / 400 else allowed)
        assert matcher.accept_token(int(token))
        text += TOKENS[token]
    return ""


@pytest.mark.parametrize("options", OPTIONS, ids=repr)
@pytest.mark.parametrize("name", FEW)
def test_few_values_are_never_stuck_and_all_of_them_can_be_written(
    compiler: engine.Compiler, name: str, options: dict
) -> None:
    compiled = compiler.compile_json_schema(FEW[name], **options)
    for seed in range(6):
        walk(compiled, random.Random(f"{name} {seed}"), 60)
        text = finished(compiled, random.Random(f"{name} {seed}"), options)
        assert text
        jsonschema.Draft202012Validator(FEW[name]).validate(json.loads(text))


#: REGRESSION: schema, what the error says
REFUSED = {
    "too few values": (unique(closed(day={"enum": DAYS}), minItems=8), "nothing can satisfy"),
    "too few numbers": (
        unique({**INTEGER, "minimum": 1, "maximum": 30}, minItems=31),
        "nothing can satisfy",
    ),
    "one value twice": (
        unique(True, contains={"const": "x"}, minContains=2),
        "nothing can satisfy",
    ),
    "too few keys": (
        {**FEW["keys of a pattern"], "minProperties": 7},
        "nothing can satisfy",
    ),
    "too few keys of several patterns": (
        {
            "type": "object",
            "patternProperties": {"^a$": True, "^b$": False},
            "additionalProperties": False,
            "minProperties": 2,
        },
        "nothing can satisfy",
    ),
    "too few keys, the same in two schemas": (
        {
            "type": "object",
            "propertyNames": {"anyOf": [{"pattern": "^[ab]$"}, {"pattern": "^[bc]$"}]},
            "minProperties": 4,
        },
        "/minProperties",
    ),
    "places with other values": (
        {
            "type": "array",
            "uniqueItems": True,
            "prefixItems": [{"enum": LISTED}, {"enum": LISTED[:1]}],
            "items": {"enum": LISTED},
            "minItems": 3,
        },
        "/uniqueItems",
    ),
    "alternatives that overlap": (
        unique({"anyOf": [{**STRING, "pattern": p} for p in ("^[a-l]$", "^[h-p]$")]}, minItems=16),
        "/uniqueItems",
    ),
    "few items of few": (unique(unique({"enum": LISTED}), minItems=2), "/uniqueItems"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_too_few_values_are_refused_by_name(compiler: engine.Compiler, name: str) -> None:
    schema, message = REFUSED[name]
    with pytest.raises(engine.SpecError) as caught:
        compiler.compile_json_schema(schema)
    assert message in str(caught.value) or message in caught.value.pointer


#: REGRESSION: schema, arrays that it takes; used items of other languages counted as if one of them
#: could come again
OTHERS = {
    "one listed, at most two": (
        unique(True, contains={"enum": [True]}, maxItems=2),
        ["[false,true]", '["}",true]', "[1,true]"],
    ),
    "a word among others": (
        unique({"type": "string"}, contains={"enum": ["ab"]}, maxItems=3), ['["abc","aba","ab"]']
    ),
    "integers of other bounds": (
        unique(between(10, 12), prefixItems=[between(12, 19)] * 4, minItems=2),
        ["[13,14,15,16,10]", "[16,13,14,15,12,11,10]"],
    ),
    "integers after fractions": (
        unique(between(1, 1), prefixItems=[{"type": "number", "minimum": 1}] * 3),
        ["[1.5,1.25,1.125,1]", "[1.00625,10.5,1.50,1]"],
    ),
    "negative ones": (
        unique(between(-2, 0), prefixItems=[between(-29, -2)] * 3),
        ["[-3,-4,-5,-2]", "[-23,-24,-25,0,-1,-2]", "[-29,-8,-27,-1]"],
    ),
    "numbers of members": (
        unique(closed(n=between(10, 12)), prefixItems=[closed(n=between(12, 19))] * 4),
        ['[{"n":13},{"n":14},{"n":15},{"n":16},{"n":10}]'],
    ),
    "beside the members of others": (
        unique(
            closed(n=between(1, 1), k=between(3, 5)),
            prefixItems=[closed(n=between(1, 1), k=between(5, 9))] * 3,
        ),
        ['[{"n":1,"k":9},{"n":1,"k":6},{"n":1,"k":7},{"n":1,"k":3}]'],
    ),
}  # fmt: skip


@pytest.mark.parametrize("options", LAYOUTS, ids=repr)
@pytest.mark.parametrize("name", OTHERS)
def test_used_items_count_only_where_they_may_come_again(
    compiler: engine.Compiler, name: str, options: dict
) -> None:
    schema, texts = OTHERS[name]
    compiled = compiler.compile_json_schema(schema, **options)
    for text in texts:
        jsonschema.Draft202012Validator(schema).validate(json.loads(text))
        text = json.dumps(json.loads(text), **options) if options else text
        matcher, mask = engine.Matcher(compiled), new_mask(compiled.vocabulary)
        for byte in text.encode():
            matcher.fill_bitmask(mask)
            assert byte in bits(mask), text
            assert matcher.accept_token(byte)
        assert matcher.can_stop()
    for seed in range(6):
        walk(compiled, random.Random(f"{name} {seed}"), 60)
        finished(compiled, random.Random(f"{name} {seed}"), options)


def test_just_enough_values_are_taken(compiler: engine.Compiler) -> None:
    """At the bound that the refusals above are one past."""
    for schema in (
        unique(closed(day={"enum": DAYS}), minItems=7),
        unique({**INTEGER, "minimum": 1, "maximum": 30}, minItems=30),
        unique({"type": "string"}, contains={"enum": ["x", "y"]}, minContains=2),
        FEW["keys of a pattern"],
    ):
        compiler.compile_json_schema(schema)
