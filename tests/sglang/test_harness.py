"""The stock server runs here, drafts or not, and nothing of it stays behind."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from app.conversation.tokenizer import HuggingFaceTokenizer

from . import processes
from .environment import ROOT, version
from .server import GUARD, SGLangServer
from .servers import Servers

#: A random model would fill its tokens with white space.
COMPACT = "--constrained-json-disable-any-whitespace"
#: as many n-grams as these tests write; the usual million takes 1.8 GB
NGRAM = [
    *("--speculative-algorithm", "NGRAM"),
    *("--speculative-num-draft-tokens", "4"),
    *("--speculative-ngram-capacity", "10000"),
]

SCHEMA = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["file", "folder"]},
        "size": {"type": "integer", "minimum": 0, "maximum": 999},
        "shown": {"type": "boolean"},
    },
    "required": ["kind", "size", "shown"],
    "additionalProperties": False,
}
PROMPTS = ["import os\nclass", "def f(x):\n    return", "x = 1\n" * 20, "raise ValueError("]
LENGTH = 96


def test_the_servers_processes_are_known(sglang_server: Servers) -> None:
    """All that it spawned is in its session, with the memory that a server takes."""
    server = sglang_server("xgrammar", COMPACT)
    found = set(server.processes())
    assert len(found) >= 4 and _descendants(min(found)) <= found
    titles = " ".join(server.processes().values())
    assert "sglang::scheduler" in titles and "sglang::detokenizer" in titles
    assert 100e6 < server.resident_bytes("sglang::scheduler") < server.resident_bytes() < 4e9


def test_it_runs_the_backend_that_was_asked_for(sglang_server: Servers) -> None:
    told = sglang_server("xgrammar", COMPACT).get_json("/server_info")
    assert (told["version"], told["grammar_backend"]) == (version(), "xgrammar")


@pytest.mark.parametrize("prompt", PROMPTS)
def test_stock_output_fits_the_schema(sglang_server: Servers, prompt: str) -> None:
    server = sglang_server("xgrammar", COMPACT)
    answer = server.generate(prompt, max_new_tokens=100, json_schema=json.dumps(SCHEMA))
    assert answer["meta_info"]["finish_reason"]["type"] == "stop"
    jsonschema.validate(json.loads(answer["text"]), SCHEMA)


def test_drafts_change_nothing_in_greedy_output(sglang_server: Servers) -> None:
    """NGRAM speculation, whose verification here is a stand-in: the same tokens, in fewer steps."""
    plain, drafting = sglang_server("xgrammar", COMPACT), sglang_server("xgrammar", COMPACT, *NGRAM)
    accepted = 0
    for prompt in PROMPTS * 2:  # what was written once is drafted the next time
        wanted, found = _greedy(plain, prompt), _greedy(drafting, prompt)
        assert found["output_ids"] == wanted["output_ids"]
        accepted += found["meta_info"]["spec_num_correct_drafts"]
    assert accepted > LENGTH


def test_drafts_change_nothing_under_a_schema(sglang_server: Servers) -> None:
    """Several requests at once, so that every tree of a batch is verified by its own mask."""
    plain, drafting = sglang_server("xgrammar", COMPACT), sglang_server("xgrammar", COMPACT, *NGRAM)
    options = {"max_new_tokens": 100, "json_schema": json.dumps(SCHEMA), "temperature": 0}
    body = {"text": PROMPTS, "sampling_params": options}
    wanted, found = (server.post_json("/generate", body) for server in (plain, drafting))
    assert [one["text"] for one in found] == [one["text"] for one in wanted]


def test_the_model_is_seen_as_hermes(tiny_model_folder: Path) -> None:
    """Turns are marked by special tokens, calls and thoughts by tokens that are shown."""
    tokenizer = HuggingFaceTokenizer(str(tiny_model_folder))
    assert tokenizer.wire.name == "hermes"
    assert set(tokenizer.special_texts) == {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}
    assert {b"<tool_call>", b"</tool_call>", b"<think>", b"</think>"} <= set(
        tokenizer.vocabulary.tokens
    )
    stops = {tokenizer.vocabulary.tokens[number] for number in tokenizer.vocabulary.stop_token_ids}
    assert stops == {b"<|im_end|>"}


@pytest.mark.parametrize(
    ("options", "prompt"),
    [
        ({}, "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n"),
        (
            {"enable_thinking": False},
            "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
        ),
    ],
)
def test_the_prompt_is_chatml(
    tiny_model_folder: Path, options: dict[str, Any], prompt: str
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_model_folder, local_files_only=True)
    messages = [{"role": "user", "content": "hi"}]
    made = tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, **options
    )
    assert made == prompt


def test_a_model_may_have_more_logits_than_tokens(padded_model_folder: Path) -> None:
    config = json.loads((padded_model_folder / "config.json").read_text())
    tokenizer = HuggingFaceTokenizer(str(padded_model_folder))
    assert (len(tokenizer.vocabulary.tokens), config["vocab_size"]) == (4096, 4096 + 128)


def test_a_start_that_fails_shows_why(server_python: Path, tiny_model_folder: Path) -> None:
    """The words are the server's own, and no process is left."""
    server = SGLangServer(server_python, tiny_model_folder, "no_such_backend")
    with pytest.raises(RuntimeError, match="invalid choice: 'no_such_backend'"):
        server.start()
    assert not server.alive and server.processes() == {}
    assert "invalid choice" in server.log()


def test_nothing_stays_when_a_server_is_stopped(
    server_python: Path, tiny_model_folder: Path
) -> None:
    """Neither processes, zombies included, nor the memory that they shared under names."""
    with SGLangServer(server_python, tiny_model_folder, "none") as server:
        spawned = server.processes()
        shared = {path for process in spawned for path in processes.shared_memory(process)}
        assert len(spawned) >= 4 and shared
    left = [processes.PROC / str(process) for process in spawned]
    assert [path for path in (*left, *shared) if path.exists()] == []


def test_all_ends_with_whoever_holds_the_guard(tmp_path: Path) -> None:
    """Even if that is killed: the guard sees its input close, and kills what it started."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, GUARD, tmp_path],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert holder.stdout is not None
    session = int(holder.stdout.readline())
    _wait_for(lambda: len(processes.of_session(session)) == 3)  # the guard, a shell, its child
    holder.kill()
    holder.communicate()
    _wait_for(lambda: not processes.of_session(session))


#: starts a guard, tells its id, and waits to be killed
_HOLDER = """
import subprocess, sys, time
command = [sys.executable, "-m", *sys.argv[1:], "sh", "-c", "sleep 1000 & wait"]
guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
print(guard.pid, flush=True)
time.sleep(1000)
"""


def _greedy(server: SGLangServer, prompt: str) -> Any:
    return server.generate(prompt, max_new_tokens=LENGTH, ignore_eos=True)


def _descendants(ancestor: int) -> set[int]:
    """All that live below a process, by their parents alone."""
    lists = (processes.PROC / str(ancestor) / "task").glob("*/children")
    children = {int(child) for path in lists for child in path.read_text().split()}
    return children.union(*(_descendants(child) for child in children))


def _wait_for(condition: Any, seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
