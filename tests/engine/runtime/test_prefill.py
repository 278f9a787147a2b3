"""Masks made ahead of time are those that would be made later; trees of drafts, more tags."""

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import engine
from tests.engine.cases import CASES, Case
from tests.engine.harness import bits, compile_case, masks_of, new_mask, tokenise
from tests.vocabularies import real_vocabulary, small_vocabulary

FLAT = {
    "type": "object",
    "properties": {"unit": {"enum": ["C", "F"]}, "on": {"type": "boolean"}},
    "required": ["unit", "on"],
    "additionalProperties": False,
}


def compiler() -> engine.Compiler:
    return engine.Compiler(small_vocabulary())


def test_the_masks_of_formats_are_there_before_any_request() -> None:
    vocabulary = real_vocabulary("llama3")
    mask = new_mask(vocabulary)
    compiled = engine.Compiler(vocabulary).compile_json_schema(
        {"type": "string", "format": "date-time"}
    )
    matcher = engine.Matcher(compiled)
    for byte in b'"1999-12-31T23:59:59':
        matcher.fill_bitmask(mask)
        assert matcher.accept_bytes(bytes((byte,)))
    # one mask that walks the trie for a new state passes through thousands of its nodes
    assert compiled.stats()["trie_nodes"] < 1_000


@pytest.mark.parametrize("case", CASES[1::6], ids=lambda case: case.name)
def test_preparing_changes_no_mask(case: Case) -> None:
    expected = masks_of(compile_case(compiler(), case), case)
    prepared = compile_case(compiler(), case)
    assert prepared.prepare(40) <= 40
    assert masks_of(prepared, case) == expected


def test_preparing_makes_at_most_so_many_and_the_costly_ones_first() -> None:
    compiled = compiler().compile_json_schema({"properties": {"a": {"type": "string"}}})
    assert compiled.prepare(3) == 3
    assert compiled.stats()["masks_made"] == 3
    assert compiled.prepare(0) == 0


def test_after_precomputing_all_no_mask_is_made() -> None:
    compiled = compiler().compile_json_schema(FLAT)
    assert compiled.precompute_all() > 20
    made = compiled.stats()["masks_made"]
    mask = new_mask(small_vocabulary())
    for text in (b'{"unit": "C", "on": true}', b'{\n  "unit":"F","on":false}'):
        matcher = engine.Matcher(compiled)
        for token in tokenise(small_vocabulary(), text, 16):
            matcher.fill_bitmask(mask)
            assert matcher.accept_token(token)
        assert matcher.can_stop()
    assert compiled.stats()["masks_made"] == made
    assert compiled.precompute_all() == 0


def test_precomputing_all_is_refused_where_there_is_no_end() -> None:
    compiled = compiler().compile_json_schema({"items": {"$ref": "#"}, "type": "array"})
    with pytest.raises(engine.LimitExceeded, match="states"):
        compiled.precompute_all(2_000)


def test_masks_of_a_draft_tree() -> None:
    vocabulary = small_vocabulary()
    compiled = compiler().compile_json_schema(FLAT)
    matcher = engine.Matcher(compiled)
    ids = {token: n for n, token in enumerate(vocabulary.tokens)}
    tokens = [ids[b'{"'], ids[b"u"], ids[b"n"], ids[b"x"], ids[b"n"], ids[b"i"]]
    parents = [-1, 0, 0, 1, 1, 4]
    masks = np.full((len(tokens) + 1, vocabulary.words), -1, dtype=np.int32)
    taken = engine.fill_bitmask_tree(matcher, tokens, parents, masks)
    assert taken == [True, True, False, False, True, True]
    single = new_mask(vocabulary)
    for node in (0, 1, 4, 5):
        path: list[int] = []
        at = node
        while at >= 0:
            path.insert(0, tokens[at])
            at = parents[at]
        alone = engine.Matcher(compiled)
        assert all(alone.accept_token(token) for token in path)
        alone.fill_bitmask(single)
        assert np.array_equal(masks[node], single[0])
    assert not masks[2].any()
    assert not masks[3].any()
    assert (masks[-1] == -1).all()
    matcher.fill_bitmask(single)
    assert ids[b'{"'] in bits(single), "the matcher stays where it was"


@pytest.mark.parametrize(
    ("tokens", "parents"), [([1], []), ([1], [0]), ([1], [-2]), ([1] * 3, [-1] * 3)]
)
def test_ill_formed_trees(tokens: list[int], parents: list[int]) -> None:
    matcher = engine.Matcher(compiler().compile_json_schema(True))
    with pytest.raises(ValueError, match=r"tokens|must come before"):
        engine.fill_bitmask_tree(
            matcher, tokens, parents, new_mask(small_vocabulary()).repeat(2, 0)
        )


def tag(name: str) -> dict[str, Any]:
    content = {"type": "json_schema", "json_schema": FLAT}
    return {"type": "tag", "begin": f"<{name}>", "content": content, "end": f"</{name}>"}


@pytest.mark.parametrize("written", [dict, json.dumps, OrderedDict])
def test_more_tags(written: Callable[[Any], Any]) -> None:
    shared = compiler()
    spec = {
        "type": "structural_tag",
        "format": {"type": "triggered_tags", "triggers": ["<"], "tags": [tag("one")]},
    }
    one = shared.compile_structural_tag(written(spec))
    two = one.with_tags([tag("two")])
    text = b'hi <two>{"unit":"C","on":true}</two>'
    assert not engine.Matcher(one).accept_bytes(text)
    assert engine.Matcher(two).accept_bytes(text)
    assert engine.Matcher(two.with_tags([tag("three")])).accept_bytes(b"<three>{")
    assert spec["format"]["tags"] == [tag("one")]  # type: ignore[index]
    with pytest.raises(engine.SpecError, match="more tags"):
        shared.compile_regex("a").with_tags([tag("two")])
    alone = {"type": "structural_tag", "format": {"type": "any_text"}}
    with pytest.raises(engine.SpecError, match="/format"):
        shared.compile_structural_tag(alone).with_tags([tag("two")])
