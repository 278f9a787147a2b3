"""A tiny model, made once for each module that asks for it; only those that need torch do."""

from pathlib import Path

import pytest

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
