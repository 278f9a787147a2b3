"""A real server whose version is new, or lacks an internal; and options that ask the plug-in."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from adapters.sglang_plugin.versions import TESTED
from adapters.workers.sglang_health import judged

from .asked import PROMPTS, THINKING
from .platforms import SHIMS
from .server import SGLangServer
from .servers import Servers

NEW = "9.9.9"
#: of every process of a server
NEW_VERSION = f"""
from importlib import metadata
version = metadata.version
metadata.version = lambda name: {NEW!r} if name == "sglang" else version(name)
"""
MISSING = """
from adapters.sglang_plugin import internals
piece = internals.Piece("vanished", "does something",
                        (internals.Value("sglang.srt.server_args", "vanished"),))
internals.TABLE = (*internals.TABLE, piece)
"""
STRICT = (*THINKING, "--enable-strict-thinking")
#: in thinking, by SGLang's detector of the model
EXCLUDED = ("<tool_call>", "</tool_call>", "<|im_end|>", "<|endoftext|>")
SPACED, UNKNOWN = "[ ]?", "(|\t)"
ITEMS = json.dumps({"type": "array", "items": {"enum": [1, 2]}, "minItems": 3, "maxItems": 3})


def with_code(folder: Path, code: str) -> dict[str, str]:
    """Variables of a server whose processes run the code first."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(code)
    return {"PYTHONPATH": f"{SHIMS}{os.pathsep}{folder}"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sitecustomize")


@pytest.fixture
def new(sglang_server: Servers, folder: Path) -> SGLangServer:
    """A version that was not tested, with options that SGLang's own backends have."""
    options = (*STRICT, "--constrained-json-whitespace-pattern", SPACED)
    return sglang_server("switchyard", *options, **with_code(folder / "new", NEW_VERSION))


def thinking(server: SGLangServer, prompt: str, **parameters: Any) -> Any:
    given = {"max_new_tokens": 60, "temperature": 1, "skip_special_tokens": False}
    body = {"text": prompt, "require_reasoning": True, "max_thinking_tokens": 9}
    answer = server.post_json("/generate", {**body, "sampling_params": {**given, **parameters}})
    return answer["output_ids"], answer["text"]


@pytest.fixture(scope="module")
def ids(tiny_model_folder: Path) -> Callable[[str], list[int]]:
    tokenizer = AutoTokenizer.from_pretrained(tiny_model_folder, local_files_only=True)

    def encoded(text: str) -> list[int]:
        found: list[int] = tokenizer.encode(text, add_special_tokens=False)
        return found

    return encoded


def test_a_new_version_that_keeps_its_internals_starts_and_says_so(new: SGLangServer) -> None:
    info = new.get_json("/server_info")
    (state,) = info["internal_states"]
    said = state["switchyard"]
    assert (said["sglang"], said["sglang_tested"]) == (NEW, False)
    (warning,) = said["warnings"]
    assert f"SGLang {NEW} was not tested" in warning and TESTED[-1] in warning
    assert f"switchyard: {warning}" in new.log()
    health = judged(info, "switchyard", {}, "1", {})
    assert health.ready and health.details["warnings"] == [warning]


def test_thinking_without_a_grammar_is_bounded_and_has_no_excluded_token(
    new: SGLangServer, ids: Callable[[str], list[int]]
) -> None:
    (end,) = ids("</think>")
    excluded = {number for text in EXCLUDED for number in ids(text)}
    for number in range(12):
        output, _ = thinking(new, f"{PROMPTS[number % 4]}{number}")
        assert end in output[:10], output
        assert not excluded & set(output[: output.index(end)])


def test_thinking_before_a_grammar_is_filtered_alike(new: SGLangServer) -> None:
    for number in range(6):
        _, text = thinking(new, f"{PROMPTS[number % 4]}{number}", json_schema=ITEMS)
        thought, end, answer = text.partition("</think>")
        assert end and not any(each in thought for each in EXCLUDED)
        # and the white space of the answer is the pattern's
        assert answer.removesuffix("<|im_end|>") == json.dumps(json.loads(answer.split("<")[0]))


def test_a_missing_internal_ends_the_start_with_its_name(
    server_python: Path, tiny_model_folder: Path, folder: Path
) -> None:
    code = with_code(folder / "missing", MISSING)
    server = SGLangServer(server_python, tiny_model_folder, "switchyard", environment=code)
    with pytest.raises(RuntimeError, match="cannot run in SGLang") as caught:
        server.start()
    said = str(caught.value)
    assert "sglang.srt.server_args: vanished (no such name)" in said
    assert "with which the plug-in does something" in said and "invalid choice" not in said


def test_a_pattern_that_cannot_be_applied_is_told(
    server_python: Path, tiny_model_folder: Path
) -> None:
    options = ("--constrained-json-whitespace-pattern", UNKNOWN)
    with SGLangServer(server_python, tiny_model_folder, "switchyard", *options) as server:
        (state,) = server.get_json("/server_info")["internal_states"]
        (warning,) = state["switchyard"]["warnings"]
        assert "--constrained-json-whitespace-pattern" in warning and warning in server.log()
