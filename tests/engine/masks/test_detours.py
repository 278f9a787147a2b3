"""Masks lack tokens that the tokenizer never writes before any text that may follow."""

import json
import re
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

import engine
from bench.forced import call_schema
from bench.made import tool_case
from bench.vocabularies import NAMES, load
from engine.vocabulary.detour_table import detour_entries
from tests.engine.harness import bits, new_mask
from tests.engine.masks.detours import (
    MAY_END,
    accepted,
    allowed,
    detours,
    vocabulary_of,
)
from tests.turns import seeds

#: layouts of JSON, as arguments of json.dumps
LAYOUTS: dict[str, dict[str, Any]] = {
    "python": {"separators": (", ", ": ")},
    "compact": {"separators": (",", ":")},
    "indented": {"indent": 2},
}


def left_out(compiled: engine.Compiled, before: str = "") -> set[bytes]:
    """The tokens that a mask lacks although the matcher accepts them."""
    matcher = engine.Matcher(compiled)
    assert matcher.accept_bytes(before.encode())
    mask, every, tokens = allowed(matcher), accepted(matcher), compiled.vocabulary.tokens
    assert mask
    assert mask <= every
    return {tokens[number] for number in every - mask}


# -- cases -----------------------------------------------------------------------------------------

WORDS = (" t", " f", " tr", ' "', " [", "\n", "\n\n", " -", "tr", '{"', "{{", "[{")

#: (pattern, text before, tokens that are left out)
PATTERNS = [
    (": (true|false)", ":", {b" "}),
    (': "a"', ":", {b" "}),
    # a digit joins no space
    (": (true|[0-9])", ":", set()),
    (": (-?[0-9])", ":", set()),
    (": -[0-9]", ":", {b" "}),
    # the text may end after the space
    (": (true)?", ":", set()),
    # nothing joins these
    (": xyz", ":", set()),
    ('{"(a|b)', "", {b"{"}),
    # a line break does not join
    ('{\\n?"a', "", set()),
    ("[{]a", "", set()),
    ('\\[([{]"a|[{][{])', "", {b"["}),
    # two spaces: the second one belongs to the word
    (":  true", ":", set()),
    (":  true", ": ", {b" "}),
    # the tokenizer splits at the space, and then writes `tr`
    (": ?true", "", set()),
    ("[^b]*", "", set()),
]


@pytest.mark.parametrize(("pattern", "before", "expected"), PATTERNS)
def test_a_token_is_left_out_if_every_continuation_joins_it(
    pattern: str, before: str, expected: set[bytes]
) -> None:
    compiler = engine.Compiler(vocabulary_of(*WORDS))
    assert left_out(compiler.compile_regex(pattern), before) == expected


def test_an_inspection_counts_detours() -> None:
    compiled = engine.Compiler(vocabulary_of(*WORDS)).compile_regex(" (true|false)")
    assert left_out(compiled) == {b" "}
    found = engine.inspect(compiled)
    assert [(mask.allowed, mask.detours) for mask in found.masks] == [(3, 1)]
    assert " = 4 one by one - 1 detours" in found.text()


def test_matchers_accept_detours() -> None:
    compiled = engine.Compiler(vocabulary_of(*WORDS)).compile_regex(": (true|false)")
    matcher = engine.Matcher(compiled)
    for token in b": true":
        assert matcher.accept_token(token)
    assert matcher.can_stop()


def test_detours_can_be_allowed() -> None:
    compiler = engine.Compiler(vocabulary_of(*WORDS), avoid_detours=False)
    assert left_out(compiler.compile_regex(": (true|false)"), ":") == set()


@pytest.mark.parametrize(
    "written",
    [str.upper, lambda text: text.replace(" ", "_")],
)
def test_a_tokenizer_that_changes_spaces_has_no_detour_of_a_space(written: Any) -> None:
    plain = vocabulary_of(*WORDS).encode
    assert plain is not None
    vocabulary = vocabulary_of(*WORDS, encode=lambda text: plain(written(text)))
    assert b" " not in detour_entries(vocabulary)


@pytest.mark.parametrize(
    "written",
    [lambda text: normalize("NFC", text), lambda text: text.replace("tz", "t")],
)
def test_texts_that_the_tokenizer_changes_are_left_out(written: Any) -> None:
    pieces = (*WORDS, "te\u0301", "tz", "fi", "fa")
    plain = vocabulary_of(*pieces).encode
    assert plain is not None
    vocabulary = vocabulary_of(*pieces, encode=lambda text: plain(written(text)))
    assert detour_entries(vocabulary)[b" "] == dict.fromkeys(b'tf"[-', set())


def test_a_vocabulary_that_lacks_bytes_has_no_detours() -> None:
    """There ` t` would be allowed although nothing spells the rest of `true`."""
    tokens = [b" ", b"t", b"true", b" t"]
    vocabulary = engine.Vocabulary(
        [*tokens, b"<end>"], stop_token_ids=[4], encode=lambda text: [0, 2]
    )
    assert detour_entries(vocabulary) == {}


def test_texts_on_which_the_tokenizer_fails_are_left_out() -> None:
    plain = vocabulary_of(*WORDS).encode
    assert plain is not None

    def encode(text: str) -> list[int]:
        if "[" in text:
            raise RuntimeError("no brackets")
        return plain(text)

    entries = detour_entries(vocabulary_of(*WORDS, encode=encode))
    assert set(entries) == {b" ", b"{"}
    assert set(detour_entries(vocabulary_of(*WORDS))) == {b" ", b"{", b"["}


@pytest.mark.parametrize("beyond", [1 << 20, -1])
def test_ids_that_the_vocabulary_lacks_tell_nothing(beyond: int) -> None:
    """Nor are they forced."""
    vocabulary = vocabulary_of(*WORDS, encode=lambda text: [beyond] * len(text))
    assert detour_entries(vocabulary) == {}
    compiled = engine.Compiler(vocabulary).compile_regex(": true")
    assert engine.Matcher(compiled).forced_tokens() == []


def test_second_bytes_decide() -> None:
    """The tokenizer writes ` ` and `nder`, but ` nu`: a word that goes on with `u` joins."""

    def encode(text: str) -> list[int]:
        for piece in ("nder", " n"):
            text = text.replace(piece, {"nder": "\0", " n": "\1"}[piece])
        return [{"\0": 257, "\1": 256}.get(char, ord(char)) for char in text]

    compiler = engine.Compiler(vocabulary_of(" n", "nder", encode=encode))
    assert left_out(compiler.compile_regex(": null"), ":") == {b" "}
    assert left_out(compiler.compile_regex(": nder"), ":") == set()
    assert left_out(compiler.compile_regex(": n[a-z]+"), ":") == set()


def test_detours_and_a_bound_on_tokens() -> None:
    compiler = engine.Compiler(vocabulary_of(*WORDS))
    text = {"type": "any_text", "max_tokens": 2}
    for content, expected in [
        ([{"type": "const_string", "value": " true"}], {b" "}),
        ([{"type": "const_string", "value": " "}, text], set()),
        # the bound begins to count after the longer token
        ([{"type": "const_string", "value": " t"}, text], {b" "}),
    ]:
        tag = {"type": "tag", "begin": "<a>", "content": _sequence(content), "end": "</a>"}
        spec = {"type": "structural_tag", "format": tag}
        assert left_out(compiler.compile_structural_tag(spec), "<a>") == expected


def _sequence(elements: list[Any]) -> dict[str, Any]:
    return {"type": "sequence", "elements": elements}


def test_a_token_edge_keeps_the_token_before_it() -> None:
    tokens = vocabulary_of(*WORDS).tokens[:-1]
    plain = vocabulary_of(*WORDS).encode
    vocabulary = engine.Vocabulary(
        [*tokens, b"<call>", b"<end>"],
        stop_token_ids=[len(tokens) + 1],
        special_token_ids=[len(tokens)],
        encode=plain,
    )
    compiler = engine.Compiler(vocabulary)
    token = {"type": "token", "token": "<call>"}
    for after, expected in [(token, set()), ({"type": "const_string", "value": "fa"}, {b" "})]:
        either = {"type": "or", "elements": [{"type": "const_string", "value": "true"}, after]}
        elements = [{"type": "const_string", "value": ": "}, either]
        spec = {"type": "structural_tag", "format": _sequence(elements)}
        assert left_out(compiler.compile_structural_tag(spec), ":") == expected


def test_items_that_must_differ() -> None:
    """The detour's longer token may only repeat an item: then nothing may follow the detour."""
    compiler = engine.Compiler(vocabulary_of(" true", *WORDS))
    schema = {
        "type": "array",
        "items": {"enum": [True, False, "t"]},
        "uniqueItems": True,
        "minItems": 3,
    }
    compiled = compiler.compile_json_schema(schema, separators=[", ", ": "])
    for text in ('[true, false, "t"]', '["t", true, false]'):
        matcher = engine.Matcher(compiled)
        for byte in text.encode():
            assert allowed(matcher)
            assert matcher.accept_bytes(bytes([byte]))
        assert matcher.can_stop()


def sentencepiece() -> engine.Vocabulary:
    """Pieces with byte fallback, and a blank before each text, as Llama 2 has them."""
    pieces = ["<unk>", "</s>", *(f"<0x{k:02X}>" for k in range(256)), *"▁trueas", "▁t", "▁tr"]
    merges = [("▁", "t"), ("▁t", "r")]
    ids = {piece: number for number, piece in enumerate(pieces)}
    made = Tokenizer(models.BPE(ids, merges, unk_token="<unk>", byte_fallback=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", unk_token="<unk>")
    return engine.Vocabulary.from_huggingface(tokenizer)


def test_a_blank_before_each_text_does_not_count() -> None:
    """Pieces of characters and of bytes are two tokens with the same bytes: both are left out."""
    vocabulary = sentencepiece()
    assert detour_entries(vocabulary) == {b" ": {ord("t"): set()}}
    compiled = engine.Compiler(vocabulary).compile_regex("a (true|tears)")
    assert left_out(compiled, "a") == {b" "}
    assert b" " not in {vocabulary.tokens[number] for number in allowed(_after(compiled, "a"))}


def _after(compiled: engine.Compiled, text: str) -> engine.Matcher:
    matcher = engine.Matcher(compiled)
    assert matcher.accept_bytes(text.encode())
    return matcher


# -- real tokenizers -------------------------------------------------------------------------------


@cache
def compiler(name: str, *, avoid_detours: bool = True) -> engine.Compiler:
    loaded = load(name)
    vocabulary = engine.Vocabulary(
        loaded.tokens,
        stop_token_ids=[loaded.stop],
        special_token_ids=sorted(loaded.special.values()),
        encode=lambda text: loaded.encoding.encode(text, disallowed_special=()),
    )
    return engine.Compiler(vocabulary, avoid_detours=avoid_detours)


@pytest.mark.parametrize("name", NAMES)
def test_a_space_is_left_out_before_every_literal_of_json(name: str) -> None:
    for value in ({"type": "boolean"}, {"type": ["boolean", "null"]}, {"enum": ["a", "b"]}):
        schema = {
            "type": "object",
            "properties": {"paid": value, "size": {"type": "integer"}},
            "required": ["paid", "size"],
        }
        compiled = compiler(name).compile_json_schema(schema, separators=[", ", ": "])
        assert left_out(compiled, '{"paid":') == {b" "}
    assert left_out(compiled, '{"paid": "a",') == {b" "}
    assert left_out(compiled, '{"paid": "a", "size":') == set()


def calls(seed: int, layout: dict[str, Any]) -> Iterator[tuple[Any, str]]:
    """Schemas of calls with the texts of true calls."""
    case = tool_case(Random(seed))
    for name, arguments in case.calls:
        call = {"name": name, "arguments": arguments}
        yield call_schema(case), json.dumps(call, ensure_ascii=False, **layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", NAMES)
def test_tokens_of_the_tokenizer_are_never_left_out(name: str, layout: str) -> None:
    made = compiler(name)
    encode = made.vocabulary.encode
    assert encode is not None
    for seed in seeds(10):
        for schema, text in calls(seed, LAYOUTS[layout]):
            compiled = made.compile_json_schema(schema, spelling="canonical", **LAYOUTS[layout])
            matcher = engine.Matcher(compiled)
            for number in encode(text):
                mask = allowed(matcher)
                assert number in mask, text
                assert set(matcher.forced_tokens(1)) <= mask, text
                assert matcher.accept_token(number)


@pytest.mark.exact
@pytest.mark.parametrize("layout", [*LAYOUTS, "flexible"])
@pytest.mark.parametrize("name", NAMES)
def test_masks_lack_exactly_the_detours(name: str, layout: str) -> None:
    options = LAYOUTS.get(layout, {})
    table = detour_entries(compiler(name).vocabulary)
    for seed in range(2):
        schema, text = next(calls(seed, options))
        matcher, other = (
            engine.Matcher(made.compile_json_schema(schema, spelling="canonical", **options))
            for made in (compiler(name), compiler(name, avoid_detours=False))
        )
        mask, expected = new_mask(compiler(name).vocabulary), new_mask(compiler(name).vocabulary)
        for byte in text.encode():
            matcher.fill_bitmask(mask)
            other.fill_bitmask(expected)
            for number in detours(matcher, table):
                assert expected[0, number >> 5] & np.int32(1 << (number & 31))
                expected[0, number >> 5] ^= np.int32(1 << (number & 31))
            assert np.array_equal(mask, expected)
            assert matcher.accept_bytes(bytes([byte]))
            assert other.accept_bytes(bytes([byte]))


@pytest.mark.exact
@pytest.mark.parametrize("name", NAMES)
def test_the_table_says_what_the_tokenizer_writes(name: str) -> None:
    """Over the whole vocabulary: the tokenizer joins a space with every token behind it, except
    before the table's pairs of bytes, and before at most 40 of 50,000 tokens.
    """
    made = compiler(name).vocabulary
    assert made.encode is not None
    entries, special = detour_entries(made)[b" "], set(made.special_token_ids)
    alone = 0
    for number, token in enumerate(made.tokens):
        if number in special or not token or token[0] not in entries:
            continue
        second = token[1] if len(token) > 1 else MAY_END
        if second not in entries[token[0]] and is_text(token):
            alone += made.tokens[made.encode(f"a {token.decode()}")[1]] == b" "
    assert alone < 40


def is_text(token: bytes) -> bool:
    return token.decode(errors="ignore").encode() == token


# -- every path ------------------------------------------------------------------------------------


def test_every_path_gives_the_same_mask() -> None:
    compiler = engine.Compiler(vocabulary_of(*WORDS))
    schema = {"properties": {"paid": {"type": "boolean"}}, "required": ["paid"]}
    text = '{"paid":'

    def compiled() -> engine.Compiled:
        compiler.clear()
        return compiler.compile_json_schema(schema, separators=[", ", ": "])

    def at(made: engine.Compiled) -> engine.Matcher:
        matcher = engine.Matcher(made)
        assert matcher.accept_bytes(text.encode())
        return matcher

    expected = allowed(at(compiled()))
    assert 32 not in expected
    warm = compiled()
    assert [allowed(at(warm)) for _ in range(2)] == [expected] * 2
    ahead = at(compiled())
    ahead.make_mask()
    assert allowed(ahead) == expected
    prepared = compiled()
    prepared.prepare(1_000)
    assert not at(prepared).lacks_mask()
    assert allowed(at(prepared)) == expected
    back = at(compiled())
    fork = back.fork()
    assert back.accept_token(32)
    back.rollback(1)
    assert allowed(back) == allowed(fork) == expected
    rows = np.zeros((3, compiler.vocabulary.words), dtype=np.int32)
    engine.fill_bitmask_batch([at(compiled()), at(warm), at(warm)], rows, [0, 1, 2])
    assert [set(bits(rows[k : k + 1]).tolist()) for k in range(3)] == [expected] * 3
    tree = np.zeros((1, compiler.vocabulary.words), dtype=np.int32)
    start = engine.Matcher(warm)
    assert start.accept_bytes(text[:-1].encode())
    assert engine.fill_bitmask_tree(start, [ord(":")], [-1], tree) == [True]
    assert set(bits(tree).tolist()) == expected
    memoless = engine.Compiler(
        vocabulary_of(*WORDS), features=engine.Features(mask_memo=False, cross_grammar=False)
    )
    assert allowed(at(memoless.compile_json_schema(schema, separators=[", ", ": "]))) == expected


# -- any vocabulary --------------------------------------------------------------------------------

PIECES = (" ", "\n", "a", "b", "{", '"')


def _piece(random: Random) -> str:
    return "".join(random.choices(PIECES, k=random.randint(2, 4)))


def _pattern(random: Random, depth: int = 3) -> str:
    if depth == 0 or random.random() < 0.3:
        return re.escape("".join(random.choices(PIECES, k=random.randint(1, 3))))
    one, other = _pattern(random, depth - 1), _pattern(random, depth - 1)
    return random.choice(
        (f"{one}{other}", f"({one}|{other})", f"({one})?{other}", f"({one}){{1,2}}", f"({one})*")
    )


def test_masks_are_never_empty_and_equal_the_definition() -> None:
    """Random vocabularies, whose tokenizer takes the longest token, and random patterns."""
    found = 0
    for seed in range(60):
        random = Random(seed)
        vocabulary = vocabulary_of(*sorted({_piece(random) for _ in range(12)}))
        compiler = engine.Compiler(vocabulary)
        table = detour_entries(vocabulary)
        for _ in range(4):
            matcher = engine.Matcher(compiler.compile_regex(_pattern(random)))
            for _ in range(12):
                mask, every = allowed(matcher), accepted(matcher)
                assert mask
                assert mask == every - detours(matcher, table)
                found += len(every - mask)
                if not matcher.accept_token(random.choice(sorted(mask))):
                    raise AssertionError("a set bit means that the token is accepted")
                if matcher.is_terminated():
                    break
    assert found
