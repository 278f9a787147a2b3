"""The masks are exact.

They equal brute force over whole vocabularies, and a recogniser that shares no code with them.
"""

import heapq
import json
import random

import numpy as np
import pytest

import engine
from tests.engine.cases import CASES, Case
from tests.engine.harness import (
    MaskChecker,
    bits,
    compile_case,
    new_mask,
    walk_randomly,
    walk_samples,
)
from tests.reference import Recogniser
from tests.vocabularies import REAL_NAMES, VOCABULARIES, small_vocabulary, special_texts

BY_NAME = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


#: (vocabulary, case): every case with every vocabulary that has the special tokens it names
APPLICABLE = [
    pytest.param(
        name,
        case,
        id=f"{name}-{case.name}",
        marks=[pytest.mark.exact] if name in REAL_NAMES else [],
    )
    for name in VOCABULARIES
    for case in CASES
    if set(case.needs) <= special_texts(name)
]


def small_compiler(**options: object) -> engine.Compiler:
    return engine.Compiler(small_vocabulary(), **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def compilers() -> dict[str, engine.Compiler]:
    """One compiler for each vocabulary: later cases meet what earlier ones left in its caches."""
    return {name: engine.Compiler(make()) for name, make in VOCABULARIES.items()}


def test_the_table_is_large_enough_and_its_names_are_unique() -> None:
    names = {case.name for case in CASES}
    assert len(CASES) >= 150
    assert len(names) == len(CASES)


def test_the_small_vocabulary_has_every_token_that_a_case_needs() -> None:
    applicable = [param.values[1] for param in APPLICABLE if param.values[0] == "small"]
    assert applicable == CASES


@pytest.mark.parametrize(("name", "case"), APPLICABLE)
def test_mask_equals_brute_force(
    compilers: dict[str, engine.Compiler], name: str, case: Case
) -> None:
    """Once per distinct row on valid outputs and on random walks of 200 tokens."""
    compiled = compile_case(compilers[name], case)
    check = MaskChecker(compiled, f"{name} {case.name}", saturated=name in REAL_NAMES)
    walk_samples(compiled, case, check, longest=6)
    for walk in range(1 if name in REAL_NAMES else 4):
        walk_randomly(compiled, f"{case.name}/{walk}", 200, check)
    assert check.seen


@pytest.mark.exact
@BY_NAME
def test_reference_agrees_byte_by_byte(case: Case) -> None:
    """On random walks, the same bytes and tokens may follow, and the text may end alike."""
    compiled = compile_case(small_compiler(), case)
    reference = Recogniser(compiled.grammar)
    vocabulary = compiled.vocabulary
    rng = random.Random(case.name)
    for _ in range(3):
        matcher, state = engine.Matcher(compiled), reference.start()
        for step in range(40):
            assert matcher.can_stop() == state.accepts()
            followers = {b: state.step(b) for b in range(256)} if step % 4 == 0 else {}
            for byte, after in followers.items():
                assert matcher.fork().accept_bytes(bytes([byte])) == (after is not None), (
                    case.name,
                    byte,
                )
            tokens = {
                t: after[0]
                for t in vocabulary.special_token_ids
                if (after := reference.after_token([state], t, b""))
            }
            allowed = [b for b, after in followers.items() if after is not None] or [
                b for b in range(256) if matcher.fork().accept_bytes(bytes([b]))
            ]
            for token in vocabulary.special_token_ids:
                wanted = token in tokens
                if token in vocabulary.stop_token_ids:
                    wanted = tokens[token].accepts() if wanted else state.accepts()
                assert matcher.fork().accept_token(token) == wanted, (case.name, token)
            if tokens and (not allowed or rng.random() < 0.3):
                token = rng.choice(sorted(tokens))
                assert matcher.accept_token(token)
                state = tokens[token]
                if matcher.is_terminated():
                    break
            elif allowed:
                byte = rng.choice(allowed)
                assert matcher.accept_bytes(bytes([byte]))
                state = state.step(byte)
                assert state is not None
            else:
                assert state.accepts()
                break


@pytest.mark.exact
@BY_NAME
def test_reference_agrees_token_by_token(case: Case) -> None:
    """On random walks over whole tokens, which is what bounds on tokens count."""
    compiled = compile_case(small_compiler(), case)
    reference = Recogniser(compiled.grammar)
    vocabulary, rng = compiled.vocabulary, random.Random(f"tokens {case.name}")
    special = {*vocabulary.special_token_ids, *vocabulary.stop_token_ids}
    for _ in range(2):
        matcher, states = engine.Matcher(compiled), [reference.start()]
        for _ in range(12):
            taken = []
            for token in rng.sample(range(vocabulary.size), 60):
                data = b"" if token in special else vocabulary.tokens[token]
                after = reference.after_token(states, token, data)
                if token in vocabulary.stop_token_ids:
                    after = [state for state in after or states if state.accepts()]
                wanted = bool(after) and bool(vocabulary.tokens[token])
                assert matcher.fork().accept_token(token) == wanted, (case.name, token)
                if wanted and token not in vocabulary.stop_token_ids:
                    taken.append((token, after))
            if not taken:
                break
            token, states = rng.choice(taken)
            assert matcher.accept_token(token)
            assert matcher.can_stop() == any(state.accepts() for state in states)


@pytest.mark.exact
@BY_NAME
def test_every_text_can_go_on_and_can_stop(case: Case) -> None:
    """From wherever a walk leads, some finite continuation ends the text."""
    compiled = compile_case(small_compiler(), case)
    for walk in range(3):
        end = walk_randomly(compiled, f"stop {case.name}/{walk}", 25, lambda matcher, path: None)
        assert way_to_stop(end), case.name


#: what a letter costs on the way to an end: closing is cheap, opening and white space are dear
COST = {
    **dict.fromkeys(range(256), 3),
    **dict.fromkeys(b'"]}>:', 1),
    **dict.fromkeys(b"0123456789,", 2),
    **dict.fromkeys(b" \n\t\\[{", 8),
}


def way_to_stop(matcher: engine.Matcher) -> bool:
    """Cheapest first over places, letter by letter."""
    tokens = matcher.compiled.vocabulary.special_token_ids
    seen, number = {matcher.place()}, 0
    todo = [(0, number, matcher)]
    while todo and len(seen) < 200_000:
        cost, _, at = heapq.heappop(todo)
        if at.can_stop():
            return True
        for letter in (*range(256), *(256 + token for token in tokens)):
            after = at.fork()
            taken = (
                after.accept_bytes(bytes([letter]))
                if letter < 256
                else after.accept_token(letter - 256)
            )
            if taken and after.place() not in seen:
                seen.add(after.place())
                number += 1
                heapq.heappush(todo, (cost + COST.get(letter, 1), number, after))
    return False


def record(compiled: engine.Compiled, case: Case) -> list[bytes]:
    """The masks along one random walk; the walk depends on the masks only."""
    masks: list[bytes] = []
    mask = new_mask(compiled.vocabulary)

    def visit(matcher: engine.Matcher, path: list[int]) -> None:
        matcher.fill_bitmask(mask)
        masks.append(mask.tobytes())

    walk_randomly(compiled, f"paths {case.name}", 60, visit)
    return masks


@pytest.mark.parametrize(
    "counted", [{}, {"minItems": 2, "maxItems": 2000}], ids=["uncounted", "counted"]
)
@pytest.mark.parametrize(
    "item",
    [
        {"type": "string"},
        {"type": "object", "properties": {"n": {"type": "string", "maxLength": 60}}},
    ],
    ids=["strings", "objects"],
)
def test_rows_do_not_grow_with_the_number_of_elements(counted: dict, item: dict) -> None:
    """Rows after 1,000 elements are those after 3 and a constant."""
    element = "text" if item["type"] == "string" else {"n": "some text"}

    def rows(elements: int) -> int:
        compiled = small_compiler().compile_json_schema({"type": "array", "items": item, **counted})
        matcher = engine.Matcher(compiled)
        assert matcher.accept_bytes(json.dumps([element] * elements).encode())
        assert matcher.can_stop()
        return compiled.stats()["rows"]

    assert rows(1000) <= rows(3) + 8


def test_rows_do_not_grow_with_the_length_of_a_counted_string() -> None:
    def rows(length: int) -> int:
        compiled = small_compiler().compile_json_schema(
            {"type": "string", "minLength": 2, "maxLength": 65_536}
        )
        assert engine.Matcher(compiled).accept_bytes(b'"' + b"x" * length + b'"')
        return compiled.stats()["rows"]

    assert rows(60_000) <= rows(3) + 4


def test_right_recursion_takes_constant_rows() -> None:
    grammar = engine_grammar_of_right_recursive_list()
    compiled = compiled_from(grammar)
    matcher = engine.Matcher(compiled)
    assert matcher.accept_bytes(b"a" * 500)
    assert compiled.stats()["rows"] <= 3


def engine_grammar_of_right_recursive_list():  # type: ignore[no-untyped-def]
    from engine.grammar.ir import Grammar

    grammar = Grammar()
    rule = grammar.declare("list")
    grammar.define(rule, grammar.optional(grammar.seq(grammar.bytes(b"a"), grammar.ref(rule))))
    grammar.root = rule
    return grammar


def compiled_from(grammar) -> engine.Compiled:  # type: ignore[no-untyped-def]
    return engine.Compiled(
        small_vocabulary(),
        grammar,
        limits=engine.Limits(),
        features=engine.Features(),
        table=None,
        automata_table=None,
    )


def test_batch_equals_single_fills() -> None:
    compiler = small_compiler()
    matchers = []
    for case in CASES[::9]:
        matcher = engine.Matcher(compile_case(compiler, case))
        matchers.append(matcher)
    words = small_vocabulary().words
    batch = np.full((len(matchers) + 1, words + 2), -1, dtype=np.int32)
    rows = list(range(len(matchers)))[::-1]
    engine.fill_bitmask_batch(matchers, batch, rows)
    single = new_mask(small_vocabulary())
    for matcher, row in zip(matchers, rows, strict=True):
        matcher.fill_bitmask(single)
        assert np.array_equal(batch[row, :words], single[0])
        assert not batch[row, words:].any()
    assert (batch[-1] == -1).all(), "a row that was not asked for stays as it is"


def test_rollback_and_fork_restore_every_place() -> None:
    compiled = small_compiler().compile_json_schema(True)
    rng = random.Random(5)
    mask = new_mask(compiled.vocabulary)
    matcher = engine.Matcher(compiled)
    history: list[tuple[tuple[int, bool], engine.Matcher]] = []
    for _ in range(300):
        if history and rng.random() < 0.3:
            n = rng.randrange(1, len(history) + 1)
            place, fork = history[-n]
            del history[-n:]
            matcher.rollback(n)
            assert matcher.place() == place
            if rng.random() < 0.5:
                matcher = fork
                history = []
        matcher.fill_bitmask(mask)
        allowed = bits(mask)
        if matcher.is_terminated():
            matcher, history = engine.Matcher(compiled), []
            continue
        history.append((matcher.place(), matcher.fork()))
        assert matcher.accept_token(int(rng.choice(list(allowed))))
    with pytest.raises(ValueError, match="rollback"):
        matcher.rollback(100_000)


def test_a_failed_accept_changes_nothing() -> None:
    compiled = small_compiler().compile_json_schema({"type": "integer"})
    matcher = engine.Matcher(compiled)
    place = matcher.place()
    assert not matcher.accept_bytes(b"12x")
    assert not matcher.accept_token(10_000_000)
    assert not matcher.accept_token(-1)
    assert matcher.place() == place
    assert matcher.accept_bytes(b"12")
    assert matcher.accept_token(small_vocabulary().stop_token_ids[-1])
    assert matcher.is_terminated()
    assert not matcher.accept_bytes(b"3")
    matcher.rollback(1)
    assert matcher.accept_bytes(b"3")
