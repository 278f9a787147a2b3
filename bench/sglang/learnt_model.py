"""A tiny Llama that is trained to write a given answer to each of some prompts.

    python -m bench.sglang.learnt_model FOLDER TEXTS       needs torch: the server's venv

The gain of forced text depends on the model's own tokens. A random model splits text at random;
this one writes its answers in its tokenizer's tokens (greedy decoding).

Representation   TEXTS is JSON: pairs of a prompt and an answer. The folder has the files that
                 tests.sglang.tiny_model makes, with 32,000 tokens and other weights.
Cost             one or two minutes for 40 answers on two cores: only tokens that occur are trained;
                 all others have logits of 0, below those of the answers.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.sglang.tiny_model import CONTEXT, make_tokenizer

VOCABULARY, WIDTH = 32_000, 128
#: maximum training steps, and the probability of each token at which training ends
STEPS, SURE = 3_000, 0.9
#: torch's mark of a position without a target
IGNORED = -100


def make_model(folder: Path, texts: Sequence[tuple[str, str]]) -> None:
    """Write tokenizer and model.

    Raises:
        RuntimeError: training did not converge in ``STEPS``.
    """
    import transformers

    tokenizer = make_tokenizer(VOCABULARY)
    rows = [_row(tokenizer, *pair) for pair in texts]
    used = sorted({token for ids, _ in rows for token in ids})
    model = _llama(tokenizer, len(used))
    _learn(model, [([used.index(t) for t in ids], start) for ids, start in rows])
    whole: Any = transformers.LlamaForCausalLM(_config(tokenizer, VOCABULARY))
    _widen(model, whole, used)
    tokenizer.save_pretrained(folder)
    whole.save_pretrained(folder)


def _row(tokenizer: Any, prompt: str, answer: str) -> tuple[list[int], int]:
    """Return the ids of prompt, answer and end, and the index of the answer's first id."""
    before = tokenizer.encode(prompt, add_special_tokens=False)
    after = tokenizer.encode(answer, add_special_tokens=False)
    return [*before, *after, tokenizer.eos_token_id], len(before)


def _config(tokenizer: Any, vocabulary: int) -> Any:
    import transformers

    return transformers.LlamaConfig(
        vocab_size=vocabulary, hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=32, max_position_embeddings=CONTEXT,
        bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=None,
        tie_word_embeddings=False,
    )  # fmt: skip


def _llama(tokenizer: Any, vocabulary: int) -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(_config(tokenizer, vocabulary))


def _learn(model: Any, rows: Sequence[tuple[list[int], int]]) -> None:
    """Train until each token of the answers has the probability ``SURE``."""
    import torch
    from torch.nn.functional import cross_entropy

    most = max(len(ids) for ids, _ in rows)
    inputs = torch.zeros(len(rows), most, dtype=torch.long)
    wanted = torch.full((len(rows), most), IGNORED)
    for number, (ids, start) in enumerate(rows):
        inputs[number, : len(ids)] = torch.tensor(ids)
        wanted[number, start - 1 : len(ids) - 1] = torch.tensor(ids[start:])
    asked = wanted != IGNORED
    learner = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(STEPS):
        logits = model(input_ids=inputs, use_cache=False).logits[asked]
        # the last column stands for all tokens that never occur
        logits = torch.cat([logits, torch.zeros(len(logits), 1)], dim=1)
        if float(logits.softmax(1).gather(1, wanted[asked][:, None]).min()) > SURE:
            return
        loss = cross_entropy(logits, wanted[asked])
        learner.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        learner.step()
    raise RuntimeError(f"{len(rows)} answers are not learnt after {STEPS} steps")


def _widen(model: Any, whole: Any, used: Sequence[int]) -> None:
    """Copy the weights into the model of all tokens, where ``used`` names the rows."""
    import torch

    state = model.state_dict()
    with torch.no_grad():
        for name, target in whole.state_dict().items():
            if target.shape == state[name].shape:
                target.copy_(state[name])
            else:
                target.zero_()
                target[list(used)] = state[name]


def main(arguments: Sequence[str]) -> None:
    folder, texts = arguments
    make_model(Path(folder), json.loads(Path(texts).read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
