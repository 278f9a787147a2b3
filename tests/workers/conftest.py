"""A tiny model, made once for each module that asks for it; only those that need torch do. And the
event loops of the tests of connections.
"""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
import uvloop

from engine import Compiler, Vocabulary


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from .tiny_model import make_model

    path: Path = tmp_path_factory.mktemp("model")
    make_model(path)
    return path


@pytest.fixture(scope="module")
def compiler(directory: Path) -> Compiler:
    from transformers import AutoTokenizer

    from .tiny_model import PADDED

    tokenizer = AutoTokenizer.from_pretrained(directory, local_files_only=True)
    assert len(tokenizer) < PADDED
    return Compiler(Vocabulary.from_huggingface(tokenizer))


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine in the loop of production, and in Python's own one."""

    def run(work: Coroutine[Any, Any, Any]) -> Any:
        factory = uvloop.new_event_loop if request.param == "uvloop" else asyncio.new_event_loop
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(asyncio.wait_for(work, 120))

    return run
