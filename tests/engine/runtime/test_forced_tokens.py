"""Forced tokens are those that the tokenizer writes, whatever text follows them."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast

import engine
from bench.forced import KINDS, call_schema, texts, token_walk
from bench.made import tool_case
from bench.vocabularies import NAMES, load


def compiler(name: str) -> engine.Compiler:
    loaded = load(name)
    vocabulary = engine.Vocabulary(
        loaded.tokens,
        stop_token_ids=[loaded.stop],
        special_token_ids=sorted(loaded.special.values()),
        encode=lambda text: loaded.encoding.encode(text, disallowed_special=()),
    )
    return engine.Compiler(vocabulary)


@pytest.fixture(scope="module")
def llama() -> engine.Compiler:
    return compiler("llama3")


def forced(compiled: engine.Compiled, before: str, most: int | None = None) -> list[str]:
    matcher = engine.Matcher(compiled)
    assert matcher.accept_bytes(before.encode())
    tokens = compiled.vocabulary.tokens
    return [tokens[number].decode() for number in matcher.forced_tokens(most)]


#: (pattern, text before, forced tokens of llama3)
PATTERNS = [
    # all of it is forced, and the end is not
    ("location(:x)?", "", ["location"]),
    # REGRESSION: a longer token than the last two may stand there, `":{"`
    ('arguments":[{]("a"|})', "", ["arguments"]),
    ('arguments":[{][0-9]', "", ["arguments", '":', "{"]),
    # no letter joins these signs, though `"a` is a token; a sign would
    ('days":"[a-z]', "", ["days", '":"']),
    ('days":"[a-z/]', "", ["days"]),
    # digits join in threes
    ("12[a-z]", "", ["12"]),
    ("12[0-9]", "", []),
    ("1234[0-9]", "", ["123"]),
    ("x 1234567[a-z]", "x", [" ", "123", "456", "7"]),
    # a blank joins the word behind it
    ("it is [a-z]", "", ["it", " is"]),
    ("it is [0-9]", "", ["it", " is", " "]),
    # the text ends within a character: é, è
    ("days:(é|è)", "", ["days", ":"]),
    ("caf(é|è)", "", []),
    ("a+", "", []),
]


@pytest.mark.parametrize(("pattern", "before", "expected"), PATTERNS)
def test_tokens_that_may_be_others_are_left_out(
    llama: engine.Compiler, pattern: str, before: str, expected: list[str]
) -> None:
    assert forced(llama.compile_regex(pattern), before) == expected


def test_no_more_tokens_come_than_are_asked_for(llama: engine.Compiler) -> None:
    text = " ".join(["the quick brown fox"] * 200)
    compiled = llama.compile_regex(f"{text}[.!]")
    every = forced(compiled, "")
    assert "".join(every) == text
    for most in (0, 1, 2, 7, len(every), len(every) + 1):
        assert forced(compiled, "", most) == every[:most]


#: a tokenizer of pairs: (tokens, grammar, what is forced)
PAIRS = {
    # "bc" goes before "ab": so does what follows "ab"
    "a later merge takes a part of an earlier token": (["bc", "ab"], "xab[cd]", ["x"]),
    "nothing that may follow joins": (["bc", "ab"], "xab[de]", ["x", "ab"]),
    "what would join may not follow": (["bc", "ab"], "xab[a]|xab[d]", ["x", "ab"]),
}


def pairs(merges: list[str]) -> engine.Compiler:
    """Byte-pair merging without words: the first of ``merges`` goes first."""
    tokens = [bytes([k]) for k in range(256)] + [merge.encode() for merge in merges]

    def encode(text: str) -> list[int]:
        parts = [bytes([byte]) for byte in text.encode()]
        for merge in (merge.encode() for merge in merges):
            at = 0
            while at + 1 < len(parts):
                if parts[at] + parts[at + 1] == merge:
                    parts[at : at + 2] = [merge]
                at += 1
        return [tokens.index(part) for part in parts]

    vocabulary = engine.Vocabulary([*tokens, b"<end>"], stop_token_ids=[len(tokens)], encode=encode)
    return engine.Compiler(vocabulary)


@pytest.mark.parametrize(("merges", "pattern", "expected"), PAIRS.values(), ids=PAIRS)
def test_merges_behind_the_forced_text(merges: list[str], pattern: str, expected: Any) -> None:
    assert forced(pairs(merges).compile_regex(pattern), "") == expected


def by_bytes(written: Callable[[str], str]) -> engine.Compiler:
    """A tokenizer of single bytes that changes the text first."""
    tokens = [bytes([k]) for k in range(256)]
    vocabulary = engine.Vocabulary(
        [*tokens, b"<end>"], stop_token_ids=[256], encode=lambda text: list(written(text).encode())
    )
    return engine.Compiler(vocabulary)


@pytest.mark.parametrize("written", [str.upper, str.strip, lambda text: " " + text.upper()])
def test_a_tokenizer_that_changes_the_text_forces_nothing(written: Callable[[str], str]) -> None:
    assert forced(by_bytes(written).compile_regex(" abc"), "") == []


def test_few_tokens_need_little_of_a_long_text() -> None:
    """REGRESSION: each draft of a few tokens walked 64 KB of forced text."""
    matcher = engine.Matcher(by_bytes(str).compile_regex("ab" * 3_000))
    assert matcher.forced_tokens(4) == [*b"abab"]
    assert len(engine.inspect(matcher).rows) < 20
    assert len(matcher.forced_bytes()) == 6_000


def sentencepiece() -> engine.Compiler:
    """Pieces with byte fallback, and a blank before each text, as Llama 2 has them."""
    pieces = ["<unk>", "</s>", *(f"<0x{k:02X}>" for k in range(256)), *"▁abc:", "ab", "▁ab", ":▁"]
    merges = [("a", "b"), ("▁", "ab"), (":", "▁")]
    ids = {piece: number for number, piece in enumerate(pieces)}
    made = Tokenizer(models.BPE(ids, merges, unk_token="<unk>", byte_fallback=True))
    made.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, eos_token="</s>", unk_token="<unk>")
    return engine.Compiler(engine.Vocabulary.from_huggingface(tokenizer))


#: (pattern, text before, forced tokens)
PIECES = [
    ("abc", "", ["ab", "c"]),
    (" abc", "", [" ab", "c"]),
    ("  c", "", [" ", " ", "c"]),
    (": abc", "", [":", " ab", "c"]),
    ("c: abc", "c", [":", " ab", "c"]),
    ("\nab", "", ["\n", "ab"]),
    ("é", "", None),
    # "ab" may follow
    ("c(a|c)", "", ["c"]),
    ("ca(b|c)", "", ["c"]),
    (": (ab|c)", "", []),
]


@pytest.mark.parametrize(("pattern", "before", "expected"), PIECES)
def test_a_blank_before_each_text_is_left_out(
    pattern: str, before: str, expected: list[str] | None
) -> None:
    """REGRESSION: a tokenizer that puts a blank before a text forced nothing."""
    compiled = sentencepiece().compile_regex(pattern)
    if expected is None:  # a character of two byte tokens
        assert len(engine.Matcher(compiled).forced_tokens()) == 2
    else:
        assert forced(compiled, before) == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_ids_of_a_call_are_those_of_its_whole_text(name: str, kind: str) -> None:
    """A model that writes as its tokenizer does, but where text is forced."""
    made = compiler(name)
    encode = made.vocabulary.encode
    assert encode is not None
    for seed in range(40):
        case = tool_case(Random(seed))
        schema = call_schema(case)
        whitespace = "compact" if kind == "compact" else "flexible"
        compiled = made.compile_json_schema(schema, whitespace=whitespace, spelling="canonical")
        for text in texts(case, kind):
            walk = token_walk(engine.Matcher(compiled), list(encode(text)))
            assert walk.ids == encode(text)
            assert walk.forced > 0
