"""A draft model changes how fast a constrained answer comes, and nothing else.

The draft proposes tokens, the target looks at all of them in one pass, and the masks behind every
proposal come from one call: as a draft tree, or as a batch of forks. A token is accepted if the
target's best allowed token equals it, so the answer is that of constrained greedy decoding.
"""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra 'embedded' is not installed")
transformers = pytest.importorskip("transformers", reason="the extra 'embedded' is not installed")

from adapters.workers import Generation, TransformersWorker  # noqa: E402
from engine import (  # noqa: E402
    Compiler,
    Matcher,
    fill_bitmask_batch,
    fill_bitmask_tree,
)

from .helpers import collect, ids_of, run  # noqa: E402

PROMPT = "def f("
MAX_TOKENS = 40
AHEAD = 4

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 9}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
JSON = {"type": "json_schema", "json_schema": SCHEMA}
THINKING = {
    "type": "tag",
    "begin": "<think>",
    "content": {"type": "any_text", "max_tokens": 9, "excludes": ["<|end|>"]},
    "end": "</think>",
}
FORMATS = {
    "json": JSON,
    "letters": {"type": "regex", "pattern": "[a-z]{30}"},
    "thinking, then json": {"type": "sequence", "elements": [THINKING, JSON]},
}

Models = tuple[Any, Any]
Masks = Callable[[Matcher, list[int]], tuple[np.ndarray, list[bool]]]


@pytest.fixture(scope="module")
def models(directory: Path) -> Models:
    """The target, and a draft that is often of its opinion: the same weights, disturbed."""
    target = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    draft = copy.deepcopy(target)
    torch.manual_seed(7)
    with torch.no_grad():
        for weights in draft.parameters():
            weights += 0.02 * weights.std() * torch.randn_like(weights)
    return target, draft


def logits_of(model: Any, ids: list[int], last: int) -> np.ndarray:
    """Return the model's logits after each of the last tokens, from one pass."""
    with torch.inference_mode():
        found: np.ndarray = model(input_ids=torch.tensor([ids])).logits[0, -last:].numpy()
    return found


def best(logits: np.ndarray, mask: np.ndarray) -> int:
    """The best allowed token."""
    allowed = np.unpackbits(mask.view(np.uint8), bitorder="little").astype(bool)
    width = min(len(logits), len(allowed))
    return int(np.where(allowed[:width], logits[:width], -np.inf).argmax())


def proposed(draft: Any, matcher: Matcher, ids: list[int], *, constrained: bool) -> list[int]:
    """The draft's own next tokens; unconstrained, some of them do not fit the grammar."""
    fork, taken = matcher.fork(), list[int]()
    mask = np.zeros((1, matcher.compiled.vocabulary.words), dtype=np.int32)
    while len(taken) < AHEAD and not fork.is_terminated():
        if constrained:
            fork.fill_bitmask(mask)
        else:
            mask[:] = -1
        token = best(logits_of(draft, [*ids, *taken], 1)[0], mask[0])
        taken.append(token)
        if constrained:
            assert fork.accept_token(token)
    return taken


def by_tree(matcher: Matcher, tokens: list[int]) -> tuple[np.ndarray, list[bool]]:
    """Masks before the first token and behind each, and which the grammar takes."""
    masks = np.zeros((len(tokens) + 1, matcher.compiled.vocabulary.words), dtype=np.int32)
    matcher.fill_bitmask(masks)
    taken = fill_bitmask_tree(matcher, tokens, list(range(-1, len(tokens) - 1)), masks[1:])
    return masks, list(taken)


def by_batch(matcher: Matcher, tokens: list[int]) -> tuple[np.ndarray, list[bool]]:
    """The same from forks; the matcher itself goes ahead, and back."""
    masks = np.zeros((len(tokens) + 1, matcher.compiled.vocabulary.words), dtype=np.int32)
    forks, place = [matcher.fork()], matcher.place()
    for token in tokens:
        if not matcher.accept_token(token):
            break
        forks.append(matcher.fork())
    fill_bitmask_batch(forks, masks, list(range(len(forks))))
    matcher.rollback(len(forks) - 1)
    assert matcher.place() == place
    return masks, [n < len(forks) - 1 for n in range(len(tokens))]


def speculated(
    compiler: Compiler, models: Models, form: dict[str, Any], masks_of: Masks, *, constrained: bool
) -> tuple[list[int], int]:
    """The answer's tokens, and how many of them the draft had proposed."""
    target, draft = models
    assert compiler.vocabulary.encode is not None
    prompt, agreed = list(compiler.vocabulary.encode(PROMPT)), 0
    matcher = Matcher(compiler.compile_structural_tag({"format": form}))
    answer: list[int] = []
    while len(answer) < MAX_TOKENS and not matcher.is_terminated():
        # where there is one way to go on, the worker asks no model
        forced = matcher.forced_tokens()
        assert all(matcher.accept_token(token) for token in forced)
        answer += forced
        ids = [*prompt, *answer]
        tokens = proposed(draft, matcher, ids, constrained=constrained)
        masks, taken = masks_of(matcher, tokens)
        logits = logits_of(target, [*ids, *tokens], len(tokens) + 1)
        for k in range(len(tokens) + 1):
            token = best(logits[k], masks[k])
            assert matcher.accept_token(token)
            answer.append(token)
            if matcher.is_terminated() or k == len(tokens) or token != tokens[k]:
                break
            if matcher.forced_tokens():
                break
            assert taken[k], "the target's best allowed token is one that the grammar takes"
            agreed += 1
    return answer[:MAX_TOKENS], agreed


def plain(directory: Path, compiler: Compiler, form: dict[str, Any]) -> list[int]:
    """The worker's greedy answer."""
    spec = json.dumps({"type": "structural_tag", "format": form})
    asked = Generation(
        rid="r", prompt=PROMPT, spec=spec, max_tokens=MAX_TOKENS, temperature=0.0, seed=1
    )

    async def work() -> list[int]:
        worker = TransformersWorker(directory, compiler)
        await worker.start()
        try:
            return ids_of(await collect(worker, asked))
        finally:
            await worker.aclose()

    return run(work())


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_a_draft_model_does_not_change_the_answer(
    directory: Path, compiler: Compiler, models: Models, form: dict[str, Any]
) -> None:
    """For any proposal, within the grammar or not, and for both ways to compute masks."""
    wanted, agreed = plain(directory, compiler, form), 0
    for masks_of in (by_tree, by_batch):
        for constrained in (True, False):
            answer, some = speculated(compiler, models, form, masks_of, constrained=constrained)
            assert answer == wanted
            agreed += some
    assert agreed > 0, "the draft is of some use"
