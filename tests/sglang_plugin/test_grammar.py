"""A grammar does what SGLang calls, call by call, and an error of ours ends its request alone."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the SGLang worker's own environment has torch")
pytest.importorskip("sglang", reason="the SGLang worker's own environment has SGLang")

from adapters.sglang_plugin.grammar import Shared, SwitchyardGrammar, walk_tree  # noqa: E402
from adapters.sglang_plugin.mask_buffers import MaskBuffers  # noqa: E402
from engine import Compiler, LimitExceeded, Matcher  # noqa: E402
from tests.engine.frontends.random_schemas import STOP, byte_vocabulary  # noqa: E402

from .standins import no_kernel  # noqa: E402

COMPILER = Compiler(byte_vocabulary())
WIDTH = COMPILER.vocabulary.size


class Row(NamedTuple):
    row: int
    grammar: Any


@pytest.fixture
def shared() -> Shared:
    vocabulary = COMPILER.vocabulary
    masks = MaskBuffers(can_pin=False, device_kernel=no_kernel)
    return Shared(masks, vocabulary.stop_token_ids, vocabulary.words)


def grammar(shared: Shared, pattern: str) -> SwitchyardGrammar:
    return SwitchyardGrammar(COMPILER.compile_regex(pattern), shared)


def allowed(row: Any) -> str:
    """The bytes that a mask's row allows; the stop token as a dot."""
    ids = np.unpackbits(row.numpy().view(np.uint8), bitorder="little").nonzero()[0]
    return "".join("." if number == STOP else chr(number) for number in ids if number <= STOP)


def masks_of(grammars: Sequence[Any], rows: Sequence[int], height: int) -> list[str]:
    first = grammars[0]
    mask = first.allocate_vocab_mask(WIDTH, height, "cpu")
    first.fill_vocab_mask_batched([Row(*pair) for pair in zip(rows, grammars, strict=True)], mask)
    return [allowed(mask[row]) for row in rows]


def test_one_answer_from_its_first_token_to_its_stop(shared: Shared) -> None:
    made = grammar(shared, "ab?c")
    seen = []
    for token in (*b"abc", STOP):
        assert made and not made.is_terminated() and not made.finished
        seen += masks_of([made], [0], 1)
        made.accept_token(token)
    assert seen == ["a", "bc", "c", "."]
    assert made.is_terminated()


def test_a_batch_fills_its_rows_and_no_other(shared: Shared) -> None:
    first, second = grammar(shared, "a"), grammar(shared, "[bc]")
    mask = first.allocate_vocab_mask(WIDTH, 4, "cpu")
    first.fill_vocab_mask_batched([Row(3, first), Row(1, second)], mask)
    assert (allowed(mask[3]), allowed(mask[1])) == ("a", "bc")
    assert bool((mask[0] == -1).all()) and bool((mask[2] == -1).all())
    first.fill_vocab_mask_batched([], mask)


def test_a_token_that_does_not_fit_is_a_value_error(shared: Shared) -> None:
    made = grammar(shared, "ab")
    for token in (ord("b"), STOP, -1, WIDTH, 1 << 40):
        with pytest.raises(ValueError, match="does not fit"):
            made.accept_token(token)
    made.accept_token(ord("a"))
    assert shared.counters.refused_tokens == 5 and shared.counters.errors == 0


def test_rollback_takes_tokens_back_one_by_one_and_many(shared: Shared) -> None:
    made = grammar(shared, "abc")
    for token in (*b"abc", STOP):
        made.accept_token(token)
    made.rollback(1)
    assert not made.is_terminated() and masks_of([made], [0], 1) == ["."]
    made.rollback(2)
    assert masks_of([made], [0], 1) == ["b"]


def test_tokens_after_the_end_count_for_rollback(shared: Shared) -> None:
    made = grammar(shared, "a")
    for token in (ord("a"), STOP, ord("x"), ord("y")):
        made.accept_token(token)
    assert made.is_terminated()
    made.rollback(2)
    assert made.is_terminated()
    made.rollback(1)
    assert not made.is_terminated()


def test_a_copy_begins_at_the_beginning(shared: Shared) -> None:
    made = grammar(shared, "ab")
    made.accept_token(ord("a"))
    assert masks_of([made.copy(), made], [0, 1], 2) == ["a", "b"]


def test_masks_over_logits(shared: Shared) -> None:
    made = grammar(shared, "[xy]")
    mask = made.allocate_vocab_mask(WIDTH, 1, "cpu")
    made.fill_vocab_mask(mask, 0)
    logits = torch.zeros((1, WIDTH))
    made.apply_vocab_mask(logits, made.move_vocab_mask(mask, "cpu"))
    assert logits.isfinite().nonzero()[:, 1].tolist() == [ord("x"), ord("y")]


# -- errors of ours --------------------------------------------------------------------------------
class Broken:
    """A matcher that fails in everything."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def is_terminated(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any) -> Any:
            raise self._error

        return fail


ERRORS = [RuntimeError("secret"), MemoryError(), LimitExceeded("rows", 1, 2)]


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("call", ["fill", "batch", "accept", "rollback", "tree"])
def test_an_error_of_ours_ends_the_request_as_an_error(
    shared: Shared, error: Exception, call: str
) -> None:
    made, other = grammar(shared, "ab"), grammar(shared, "xy")
    made._matcher = Broken(error)
    mask = made.allocate_vocab_mask(WIDTH, 3, "cpu")
    if call == "fill":
        made.fill_vocab_mask(mask, 0)
    elif call == "batch":
        made.fill_vocab_mask_batched([Row(0, made), Row(1, other)], mask)
        assert allowed(mask[1]) == "x"
    elif call == "tree":
        made.fill_tree([1, -1], [-1, -1], [0, ord("a")], mask)
    elif call == "rollback":
        made.rollback(1)
        made.fill_vocab_mask(mask, 0)
    else:
        with pytest.raises(ValueError, match="failed"):
            made.accept_token(ord("a"))
        made.fill_vocab_mask(mask, 0)
    # nothing but the stop token, which ends it as an error, not as an answer
    assert allowed(mask[0]) == "." and bool((mask[2] == -1).all())
    assert not made.is_terminated()
    with pytest.raises(ValueError, match="failed") as caught:
        made.accept_token(STOP)
    assert "secret" not in str(caught.value)
    assert not made.is_terminated() and masks_of([made, other], [0, 1], 2) == [".", "x"]
    counted = shared.counters.limits if isinstance(error, LimitExceeded) else shared.counters.errors
    assert counted == 1


def test_memory_that_can_not_be_written_ends_the_request(shared: Shared) -> None:
    made = grammar(shared, "ab")
    poor = torch.full((1, 1), -1, dtype=torch.int32).expand(2, 9)
    made.fill_vocab_mask_batched([Row(0, made)], poor)
    with pytest.raises(ValueError, match="failed"):
        made.accept_token(ord("a"))


# -- draft trees -----------------------------------------------------------------------------------
def tree_of(tokens: Sequence[int], parents: Sequence[int]) -> tuple[Any, Any, Any]:
    """SGLang's form: for each node its first child and its next sibling."""
    children, siblings = [-1] * len(tokens), [-1] * len(tokens)
    for node in range(len(tokens) - 1, 0, -1):
        siblings[node], children[parents[node]] = children[parents[node]], node
    return torch.tensor(children), torch.tensor(siblings), torch.tensor(tokens)


def masks_by_path(
    made: SwitchyardGrammar, tokens: Sequence[int], parents: Sequence[int]
) -> list[str]:
    """The same, by a matcher of its own for every node."""
    found = []
    for node in range(len(tokens)):
        path, at = [], node
        while at:
            path.append(tokens[at])
            at = parents[at]
        matcher, mask = Matcher(made._compiled), np.zeros((1, COMPILER.vocabulary.words), np.int32)
        fits = all(matcher.accept_token(token) for token in reversed(path))
        if fits and not matcher.is_terminated():
            matcher.fill_bitmask(mask)
            found.append(allowed(torch.from_numpy(mask[0])))
        else:
            found.append("all")
    return found


@pytest.mark.parametrize(
    ("pattern", "tokens", "parents"),
    [
        ("abc", b"\0abc", [0, 0, 1, 2]),
        ("(ab|ac|x)y*", b"\0aabcxyyz", [0, 0, 0, 1, 1, 0, 3, 6, 5]),
        ("[a-z]*", b"\0zz9zzz", [0, 0, 1, 2, 3, 0, 5]),
        ("a", [0, ord("a"), STOP, ord("b")], [0, 0, 1, 2]),
    ],
)
def test_a_draft_tree_gets_the_mask_of_every_path(
    shared: Shared, pattern: str, tokens: Sequence[int], parents: Sequence[int]
) -> None:
    made = grammar(shared, pattern)
    mask = made.allocate_vocab_mask(WIDTH, len(tokens), "cpu")
    children, siblings, drafts = tree_of(list(tokens), parents)
    assert walk_tree(made, children, siblings, drafts, mask)
    seen = ["all" if bool((row == -1).all()) else allowed(row) for row in mask]
    assert seen == masks_by_path(made, tokens, parents)
    # the walk leaves the matcher where it was
    assert masks_of([made], [0], 1) == [seen[0]]


def test_a_tree_of_another_backend_is_left_to_sglang() -> None:
    assert not walk_tree(object(), None, None, None, None)
