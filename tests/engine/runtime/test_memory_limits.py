"""Caches are bounded, and dropping entries changes no answer."""

import gc
import json
from typing import Any

import numpy as np
import pytest

import engine
from engine.native import resources
from tests.engine.cases import CASES, Case
from tests.engine.harness import compile_case, masks_of, new_mask
from tests.vocabularies import real_vocabulary, small_vocabulary


@pytest.mark.parametrize("case", CASES[::4], ids=lambda case: case.name)
def test_masks_are_the_same_after_a_generation_was_dropped(case: Case) -> None:
    kept = compile_case(engine.Compiler(small_vocabulary()), case)
    limits = engine.Limits(generation_bytes=1)
    dropped = compile_case(engine.Compiler(small_vocabulary(), limits=limits), case)
    assert masks_of(kept, case) == masks_of(dropped, case)
    assert dropped.stats()["rows"] <= kept.stats()["rows"]


def test_a_matcher_goes_on_in_the_generation_it_began_with() -> None:
    compiler = engine.Compiler(small_vocabulary(), limits=engine.Limits(generation_bytes=1))
    compiled = compiler.compile_json_schema({"properties": {"a": {"type": "string"}}})
    first = engine.Matcher(compiled)
    assert first.accept_bytes(b'{"a": ')
    second = engine.Matcher(compiled)
    assert second.accept_bytes(b'{"a": ')
    one, other = new_mask(small_vocabulary()), new_mask(small_vocabulary())
    first.fill_bitmask(one)
    second.fill_bitmask(other)
    assert np.array_equal(one, other)


def test_compiled_grammars_are_bounded_in_bytes() -> None:
    compiler = engine.Compiler(small_vocabulary(), limits=engine.Limits(kept_bytes=200_000))
    for n in range(200):
        schema = {"properties": {f"key{n}-{k}": {"type": "string"} for k in range(5)}}
        matcher = engine.Matcher(compiler.compile_json_schema(schema))
        assert matcher.accept_bytes(b'{"key%d-0": "x"}' % n)
        # grammars that are not measured yet come on top
        assert compiler.stats()["grammar_bytes"] <= 400_000
    stats = compiler.stats()
    assert stats["grammar_evictions"] > 0
    assert stats["grammars"] + stats["grammar_evictions"] == 200


def test_a_parser_of_long_text_stays_small() -> None:
    """REGRESSION: it kept 47 bytes for each byte of free text."""
    grammar = engine.Compiler(small_vocabulary()).compile_structural_tag(tool_set(0, 1))
    parsers = [grammar.parser() for _ in range(50)]
    text = b"Take the tram, not the bus. "
    for parser in parsers:
        parser.feed_bytes(text)
        parser.feed_all(text)
        parser.feed_text(text)
    before = resources.stats()["taken"]
    for parser in parsers:
        for _ in range(100):
            parser.feed_bytes(text)
            parser.feed_all(text)
            assert parser.feed_text(text)
    # other threads take memory, too: 20 MB were kept
    assert resources.stats()["taken"] - before < 1 << 20


def tool_set(number: int, tools: int) -> dict[str, Any]:
    """A structural tag with so many tools."""
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"enum": [1, 2]}},
    }
    tags = [
        {
            "begin": f"<tool{number}x{k}>",
            "content": {"type": "json_schema", "json_schema": schema},
            "end": "</tool>",
        }
        for k in range(tools)
    ]
    return {"format": {"type": "triggered_tags", "triggers": ["<tool"], "tags": tags}}


@pytest.mark.parametrize("as_text", [False, True])
def test_a_kept_grammar_keeps_no_parsed_spec(as_text: bool) -> None:
    """REGRESSION: a set of 1,000 tools held 8,000 Python objects, which nothing counted."""
    compiler = engine.Compiler(small_vocabulary())
    compiler.compile_structural_tag(tool_set(0, 100))
    gc.collect()
    before = len(gc.get_objects())
    for number in range(1, 11):
        spec = tool_set(number, 100)
        compiler.compile_structural_tag(json.dumps(spec) if as_text else spec)
    del spec
    gc.collect()
    assert len(gc.get_objects()) - before < 10 * 30


def test_a_compiler_lists_each_grammar_once() -> None:
    """REGRESSION: the list of those to be measured again grew with each compile."""
    compiler = engine.Compiler(small_vocabulary(), limits=engine.Limits(kept_grammars=20))
    for n in range(210):
        compiler.compile_regex("a" * (1 + n % 21))
    assert compiler.stats()["grammar_evictions"] == 190
    # the newest is not measured yet
    assert compiler._grammars.measured == compiler.stats()["grammars"] - 1


def test_what_masks_share_is_bounded_where_none_is_kept() -> None:
    """REGRESSION."""
    vocabulary = small_vocabulary()
    compiler = engine.Compiler(
        vocabulary,
        limits=engine.Limits(mask_bytes=1_000),
        features=engine.Features(mask_memo=False),
    )
    schema = {"properties": {f"key{n}": {"type": "string"} for n in range(20)}}
    compiled = compiler.compile_json_schema(schema)
    matcher = engine.Matcher(compiled)
    mask, most = new_mask(vocabulary), 0
    for byte in b"{" + b", ".join(b'"key%d": "a"' % n for n in range(20)):
        matcher.fill_bitmask(mask)
        assert matcher.accept_bytes(bytes((byte,)))
        most = max(most, compiled.stats()["mask_bytes"])
    assert 0 < most < 2_000


@pytest.mark.parametrize("first", range(4))
def test_bytes_are_counted_however_instances_are_made(first: int) -> None:
    """REGRESSION: in a counted array they come in twos; bytes were counted at even numbers only."""
    limits = engine.Limits(most_generation_bytes=200_000, generation_bytes=150_000)
    texts = ["".join(chr(97 + (i * j + j * j) % 26) for j in range(300)) for i in range(1, 6)]
    schema = {"type": "array", "maxItems": 500, "items": {"enum": ["a" * first, "b", *texts]}}
    compiled = engine.Compiler(small_vocabulary(), limits=limits).compile_json_schema(schema)
    matcher = engine.Matcher(compiled)
    items = ",".join(f'"{text}"' for text in ["a" * first, "b", "b", *texts])
    with pytest.raises(engine.LimitExceeded, match="most_generation_bytes"):
        follow(matcher, f"[{items}".encode())
    assert compiled.stats()["bytes"] < 300_000


def follow(matcher: engine.Matcher, text: bytes) -> None:
    for byte in text:
        assert matcher.accept_bytes(bytes((byte,)))


def test_long_names_are_not_kept_for_each_rule_below_them() -> None:
    """REGRESSION: a rule has the name of its place, in which all keys above it occur."""
    below = {f"k{n}": {"type": "object", "properties": {"a": {}}} for n in range(300)}
    schema = {"properties": {"k" * 30_000: {"type": "object", "properties": below}}}
    compiled = engine.Compiler(small_vocabulary()).compile_json_schema(schema)
    names = compiled.grammar.rule_names
    assert len(names) == len(compiled.grammar.rules) > 300
    assert 4 << 20 <= sum(map(len, names)) < (4 << 20) + 110_000
    assert compiled.held_bytes() < 6 << 20


def test_a_grammar_that_grew_is_measured_when_it_is_used_again() -> None:
    """REGRESSION: only compiles measured, so that hits alone let memory grow past its bound."""
    compiler = engine.Compiler(small_vocabulary())
    schema = {"properties": {f"key{k}": {"type": "string"} for k in range(50)}}
    compiled = compiler.compile_json_schema(schema)
    first = compiler.stats()["grammar_bytes"]
    compiled.prepare(100)
    assert compiled.held_bytes() > first
    assert compiler.compile_json_schema(schema) is compiled
    assert compiler.stats()["grammar_bytes"] == compiled.held_bytes()


def test_a_grammar_that_grew_makes_others_go() -> None:
    one, other = {"enum": [f"a{k}" for k in range(99)]}, {"type": "object"}
    alone = engine.Compiler(small_vocabulary())
    sizes = [alone.compile_json_schema(schema).held_bytes() for schema in (other, one)]
    limits = engine.Limits(kept_bytes=sum(sizes))
    compiler = engine.Compiler(small_vocabulary(), limits=limits)
    compiler.compile_json_schema(other)
    grown = compiler.compile_json_schema(one)
    before = compiler.stats()
    assert before["grammars"] == 2
    grown.prepare(10)
    assert compiler.compile_json_schema(one) is grown
    after = compiler.stats()
    assert (after["grammars"], after["grammar_evictions"]) == (1, before["grammar_evictions"] + 1)


def test_the_grammar_used_last_is_dropped_last() -> None:
    compiler = engine.Compiler(small_vocabulary(), limits=engine.Limits(kept_grammars=2))
    first = compiler.compile_regex("a")
    compiler.compile_regex("b")
    assert compiler.compile_regex("a") is first
    compiler.compile_regex("c")
    assert compiler.compile_regex("a") is first
    assert compiler.stats()["grammar_hits"] == 2


def test_a_cleared_compiler_has_no_grammars_and_goes_on() -> None:
    compiler = engine.Compiler(small_vocabulary())
    old = compiler.compile_regex("a+")
    compiler.clear()
    assert (compiler.stats()["grammars"], compiler.stats()["grammar_bytes"]) == (0, 0)
    assert compiler.stats()["grammars"] == 0
    assert compiler.compile_regex("a+") is not old
    assert engine.Matcher(old).accept_bytes(b"aa")


def test_memory_is_shared_out_as_in_the_defaults() -> None:
    defaults = engine.Limits()
    whole = defaults.kept_bytes + defaults.token_mask_bytes + defaults.automaton_bytes
    assert defaults.within(whole + defaults.fragment_bytes) == defaults
    least = defaults.within(1)
    assert (least.kept_bytes, least.token_mask_bytes, least.automaton_bytes) == (16, 8, 2)
    assert least.fragment_bytes == 1
    compiled = engine.Compiler(small_vocabulary(), limits=least).compile_regex("a+")
    assert engine.Matcher(compiled).accept_bytes(b"aa")


def test_the_last_grammar_stays_however_large() -> None:
    compiler = engine.Compiler(small_vocabulary(), limits=engine.Limits(kept_bytes=1))
    compiler.compile_regex("a+")
    compiler.compile_regex("a+")
    assert compiler.stats()["grammar_hits"] == 1


def test_equal_states_of_a_batch_are_made_once() -> None:
    compiler = engine.Compiler(small_vocabulary())
    compiled = compiler.compile_json_schema({"type": "string"})
    matchers = [engine.Matcher(compiled) for _ in range(5)]
    mask = np.full((5, small_vocabulary().words + 1), -1, dtype=np.int32)
    before = compiled.stats()
    engine.fill_bitmask_batch(matchers, mask, [4, 3, 2, 1, 0])
    after = compiled.stats()
    assert after["masks_made"] + after["masks_reused"] == (
        before["masks_made"] + before["masks_reused"] + 1
    )
    assert (mask == mask[0]).all()
    assert not mask[:, -1].any()


def test_a_batch_wants_rows_of_their_own() -> None:
    compiled = engine.Compiler(small_vocabulary()).compile_json_schema({"type": "string"})
    matchers = [engine.Matcher(compiled) for _ in range(2)]
    with pytest.raises(ValueError, match="must not repeat"):
        engine.fill_bitmask_batch(matchers, new_mask(small_vocabulary()), [0, 0])


def test_a_text_that_met_a_limit_spoils_no_later_one() -> None:
    """REGRESSION: new matchers were given the generation that had met its limit."""
    limits = engine.Limits(row_items=60)
    grammar = 'root ::= root root | "a"'
    compiled = engine.Compiler(small_vocabulary(), limits=limits).compile_grammar(grammar)
    ambiguous = engine.Matcher(compiled)
    with pytest.raises(engine.LimitExceeded, match="row_items"):
        ambiguous.accept_bytes(b"a" * 100)
    later = engine.Matcher(compiled)
    later.fill_bitmask(new_mask(small_vocabulary()))
    assert later.accept_bytes(b"a")
    assert later.can_stop()


#: of each limit: an alternative that passes it on "aaa...", and two that do not
REST = '| "x" [a-c]* | "y" [0-9]{2,9}'
LIMITS = {
    "row_items": (engine.Limits(row_items=60), f'root ::= b {REST}\nb ::= b b | "a"'),
    "rows": (engine.Limits(rows=400), f'root ::= "{"a" * 600}" {REST}'),
    "mask_items": (
        engine.Limits(mask_items=4000),
        f'root ::= "a" (("ab"* [a-f.]{{0,20}}){{0,20}} | ([abc]{{0,20}} "ab"+){{0,20}})+ {REST}',
    ),
}


def masks_behind(compiled: engine.Compiled, text: bytes) -> list[bytes]:
    """The masks before a text and behind each of its bytes."""
    matcher, mask, found = engine.Matcher(compiled), new_mask(small_vocabulary()), []
    for byte in text:
        matcher.fill_bitmask(mask)
        found.append(mask.tobytes())
        assert matcher.accept_bytes(bytes([byte]))
    matcher.fill_bitmask(mask)
    return [*found, mask.tobytes()]


def go_on_until_a_limit(matcher: engine.Matcher) -> None:
    mask = new_mask(small_vocabulary())
    for _ in range(600):
        assert matcher.accept_bytes(b"a")
        matcher.fill_bitmask(mask)


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_ends_the_text_that_passed_it_and_no_other(name: str) -> None:
    """REGRESSION: all that walked in the same rows ended with it. No row keeps a step cut short."""
    limits, grammar = LIMITS[name]
    compiled = engine.Compiler(small_vocabulary(), limits=limits).compile_grammar(grammar)
    free = engine.Compiler(small_vocabulary()).compile_grammar(grammar)
    texts = (b"xab", b"y12")
    for text in texts:
        masks_behind(compiled, text)  # where no more rows may be made, these are there
    under_way = engine.Matcher(compiled)
    assert under_way.accept_bytes(b"x")
    greedy = engine.Matcher(compiled)
    for _ in range(3):
        with pytest.raises(engine.LimitExceeded, match=name):
            go_on_until_a_limit(greedy)
    assert under_way.accept_bytes(b"ab") and under_way.can_stop()
    for text in texts:
        assert masks_behind(compiled, text) == masks_behind(free, text)


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_made_ahead_keeps_away_from_limits(name: str) -> None:
    """REGRESSION: a request ended at a mask made ahead that its text never came to."""
    limits, grammar = LIMITS[name]
    compiled = engine.Compiler(small_vocabulary(), limits=limits).compile_grammar(grammar)
    matcher = engine.Matcher(compiled)
    for _ in range(5):
        compiled.prepare(50)
    mask = new_mask(small_vocabulary())
    for text in (b"x", b"abc"):
        assert matcher.accept_bytes(text)
        matcher.fill_bitmask(mask)
    assert matcher.can_stop()


def mask_of(pattern: str, mask_items: int) -> bytes:
    """The first mask of a pattern that may meet so many items."""
    limits, vocabulary = engine.Limits(mask_items=mask_items), small_vocabulary()
    mask = new_mask(vocabulary)
    engine.Matcher(engine.Compiler(vocabulary, limits=limits).compile_regex(pattern)).fill_bitmask(
        mask
    )
    return mask.tobytes()


def test_one_mask_meets_so_many_items_and_no_more() -> None:
    """At the bound it is made, one below it is refused: a whole batch would wait for it."""
    pattern = r"(?:(?:(?:abc)*(?:\.|[a-f]){0,20}){0,20}|(?:(?:[abc]){0,20}(?:abc)+){0,20})+"
    refused, least = 1, 1 << 20
    while least - refused > 1:
        middle = (least + refused) // 2
        try:
            mask_of(pattern, middle)
            least = middle
        except engine.LimitExceeded:
            refused = middle
    assert mask_of(pattern, least) == mask_of(pattern, 1 << 30)
    with pytest.raises(engine.LimitExceeded) as caught:
        mask_of(pattern, refused)
    error = caught.value
    assert (error.limit, error.maximum, error.got) == ("mask_items", refused, least)
    assert least > 10


def test_a_mask_that_is_given_up_is_given_up_at_once() -> None:
    """REGRESSION: past the limit each of millions of steps was still tried, for a minute."""
    pattern = r"(?:(?:(?:[^x])+|(?:é)?)|(?:(?:[^x]|[a-f]|_)*(?:[^x]){1,3}){0,20}){0,20}"
    compiled = engine.Compiler(real_vocabulary("llama3")).compile_regex(pattern)
    mask = new_mask(compiled.vocabulary)
    for text in (b"", b"a", b"ab"):
        matcher = engine.Matcher(compiled)
        assert matcher.accept_bytes(text)
        with pytest.raises(engine.LimitExceeded, match="mask_items"):
            matcher.fill_bitmask(mask)
    compiled.prepare(16)
