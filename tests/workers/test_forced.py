"""Forced text in the transformers worker: it costs no pass, and everything that ends, shows or
counts tokens treats its tokens as any others.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra 'embedded' is not installed")
transformers = pytest.importorskip("transformers", reason="the extra 'embedded' is not installed")

from adapters.workers import Chunk, Generation, SamplingOptions  # noqa: E402
from engine import Compiler, Matcher  # noqa: E402

from .helpers import Held, check_invariants, collect, ids_of, run, started, tag  # noqa: E402

SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "string", "maxLength": 10}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
CALL = {
    "type": "tag",
    "begin": '{"name": "get_current_weather", "arguments": {"city": "',
    "content": {"type": "regex", "pattern": "[a-z]{40}"},
    "end": '"}, "done": true}',
}
CODE = "return self.decode(source)\n" * 8
#: texts of which much is forced
FORCED = {
    "a call": CALL,
    "choices": {"type": "regex", "pattern": "(import json|import os){1,9}\n"},
    "an object": {"type": "json_schema", "json_schema": SCHEMA},
    "all of it": {"type": "const_string", "value": CODE},
}


def ask(content: dict[str, Any], **changes: Any) -> Generation:
    values: dict[str, Any] = {"rid": "r", "prompt": "def f(", "spec": tag(content)}
    return Generation(**values | {"max_tokens": 200, "temperature": 0.0} | changes)


def answered(directory: Path, compiler: Compiler, asked: Generation) -> tuple[list[Chunk], int]:
    """The answer's chunks, and the model's passes."""

    async def work() -> tuple[list[Chunk], int]:
        worker = await started(directory, compiler)
        held = worker._model = Held(worker._model)
        held.go.set()
        chunks = await collect(worker, asked)
        await worker.aclose()
        return chunks, held.passes

    chunks, passes = run(work())
    check_invariants(chunks)
    return chunks, passes


def step_by_step(directory: Path, compiler: Compiler, asked: Generation) -> tuple[list[int], int]:
    """The greedy answer by a pass over all that came before for each token that is not forced, and
    how many there were.
    """
    model = transformers.AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32)
    encode, size = compiler.vocabulary.encode, compiler.vocabulary.size
    assert encode is not None and isinstance(asked.prompt, str) and asked.spec is not None
    matcher = Matcher(compiler.compile_structural_tag(asked.spec))
    prompt, answer, passes = list(encode(asked.prompt)), list[int](), 0
    mask = np.zeros((1, compiler.vocabulary.words), dtype=np.int32)
    while not matcher.is_terminated() and len(answer) < asked.max_tokens:
        tokens = matcher.forced_tokens()
        if not tokens:
            matcher.fill_bitmask(mask)
            bits = np.unpackbits(mask.view(np.uint8), bitorder="little")[:size]
            allowed = np.flatnonzero(bits).tolist()
            if len(allowed) > 1:
                with torch.inference_mode():
                    logits = model(input_ids=torch.tensor([prompt + answer])).logits[0, -1]
                passes += 1
                allowed = [allowed[int(logits[allowed].argmax())]]
            tokens = allowed
        assert all(matcher.accept_token(token) for token in tokens)
        answer += tokens
    return answer, passes


@pytest.mark.parametrize("name", FORCED)
def test_forced_text_costs_no_pass_of_its_own(
    directory: Path, compiler: Compiler, name: str
) -> None:
    """Forced tokens go through the model with the next token that is drawn, all in one pass, and
    greedy answers are those of a pass for each token over all that came before.
    """
    asked = ask(FORCED[name])
    chunks, passes = answered(directory, compiler, asked)
    ids = ids_of(chunks)
    assert (ids, passes) == step_by_step(directory, compiler, asked)
    if name == "all of it":
        assert passes == 0
    if name == "a call":
        assert passes <= 40 + 4  # a token may hold several letters, and a mark may join the last
        assert passes < len(ids) - 20


#: how an answer that is CODE ends: options, and (finish reason, stop string, text shown)
ENDS: dict[str, tuple[dict[str, Any], tuple[str, str | None, str]]] = {
    "the grammar's end": ({}, ("stop", None, CODE)),
    "a stop string": ({"stop": ("xyz", "decode")}, ("stop", "decode", "return self.")),
    "a stop string's start alone": ({"stop": ("decoded",)}, ("stop", None, CODE)),
    "a stop string before max_tokens": (
        {"stop": ("self",), "max_tokens": 90},
        ("stop", "self", "return "),
    ),
    "no end below min_tokens": ({"sampling": SamplingOptions(min_tokens=5)}, ("stop", None, CODE)),
}


@pytest.mark.parametrize("name", ENDS)
def test_an_answer_ends_where_it_would_end_anyway(
    directory: Path, compiler: Compiler, name: str
) -> None:
    options, end = ENDS[name]
    asked = ask(FORCED["all of it"], **options)
    chunks, passes = answered(directory, compiler, asked)
    tokens, ids = compiler.vocabulary.tokens, ids_of(chunks)
    text = b"".join(tokens[number] for number in ids).removesuffix(b"<|end|>")
    last = chunks[-1]
    shown = text[: len(text) - last.trim].decode()
    assert (last.finish_reason, last.stop_text, shown) == end
    assert passes == 0
    # no token behind the one that completes the stop string is made or counted
    assert last.trim < len(last.stop_text or " ") + len(tokens[ids[-1]])


@pytest.mark.parametrize("most", [1, 2, 7])
def test_max_tokens_ends_an_answer_within_forced_text(
    directory: Path, compiler: Compiler, most: int
) -> None:
    whole, _ = answered(directory, compiler, ask(FORCED["all of it"]))
    chunks, passes = answered(directory, compiler, ask(FORCED["all of it"], max_tokens=most))
    assert ids_of(chunks) == ids_of(whole)[:most]
    assert (chunks[-1].finish_reason, chunks[-1].completion_tokens) == ("length", most)
    assert passes == 0


def test_forced_text_is_shown_at_once(directory: Path, compiler: Compiler) -> None:
    """A call's name and first key reach the client before the model is asked for its value."""
    chunks, _ = answered(directory, compiler, ask(CALL))
    begin = b"".join(compiler.vocabulary.tokens[number] for number in chunks[0].token_ids)
    assert begin.startswith(b'{"name": "get_current_weather", "arguments": {"city":')


@pytest.mark.parametrize("left", "ahq")
def test_penalties_count_forced_tokens(directory: Path, compiler: Compiler, left: str) -> None:
    """A random model's logits lie closer together than a penalty of 2: of eight letters it draws
    the one that was not forced.
    """
    letters = "abchmqxz"
    # nothing joins a control character, so each letter is a token
    forced = {"type": "const_string", "value": "".join(f"{c}\x01" for c in letters if c != left)}
    drawn = {"type": "regex", "pattern": f"[{letters}]"}
    asked = ask(
        {"type": "sequence", "elements": [forced, drawn]},
        sampling=SamplingOptions(presence_penalty=2.0),
    )
    chunks, passes = answered(directory, compiler, asked)
    assert compiler.vocabulary.tokens[ids_of(chunks)[-2]] == left.encode()
    assert passes == 1
