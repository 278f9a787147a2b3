"""Components of several models: shared engines, tokenizers, and closing in spite of failures."""

import io
from pathlib import Path
from typing import Any

import pytest

from app.composition import Components, build
from app.observability.logs import make_logger
from app.observability.metrics import Metrics
from app.settings import SettingError, read_settings
from tests.app.small_tokenizer import TEMPLATE, folder

FILE = """
[[models]]
name = "first"
[[models]]
name = "second"
format = "harmony"
[[models]]
name = "third"
tokenizer = "TOKENIZER"
workers = ["noise"]
[[models]]
name = "fourth"
tokenizer = "TOKENIZER"
workers = ["noise"]
reasoning = "on"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "gateway.toml"
    made.write_text(FILE.replace("TOKENIZER", folder(tmp_path / "tokenizer", TEMPLATE)))
    return made


def components(file: Path, **settings: Any) -> Components:
    chosen = read_settings(config_file=file, **settings)
    return build(chosen, Metrics(), make_logger("error", io.StringIO()))


async def test_models_of_one_vocabulary_share_an_engine_and_all_divide_the_memory(
    file: Path,
) -> None:
    parts = components(file, compiler_memory_bytes=27 << 20)
    try:
        limits = [engine.compiler.limits for engine in parts.engines]
        assert [each.kept_bytes for each in limits] == [8 << 20, 8 << 20]
        first, second, third, fourth = parts.models
        assert first.tokenizer is not second.tokenizer, "their formats differ"
        assert third.tokenizer is fourth.tokenizer
    finally:
        await parts.aclose()


def allowing(file: Path) -> Path:
    """Allow detours for the second model."""
    file.write_text(file.read_text().replace('format = "harmony"', 'detours = "allow"'))
    return file


async def test_models_with_other_detours_have_an_engine_of_their_own(file: Path) -> None:
    parts = components(allowing(file), cache_namespace="key", api_keys="one")
    try:
        assert [engine.compiler.avoid_detours for engine in parts.engines] == [True, False, True]
        fingerprints = [engine.compiler.vocabulary.fingerprint for engine in parts.engines]
        assert fingerprints[0] == fingerprints[1]
        assert not parts.engines[1].namespaces.of("tenant").compiler.avoid_detours
    finally:
        await parts.aclose()


def test_a_tokenizer_that_cannot_be_loaded_aborts_the_build_by_name(file: Path) -> None:
    file.write_text(file.read_text() + '[[models]]\nname = "x"\ntokenizer = "/nope"\n')
    with pytest.raises(SettingError, match=r": models\[4\]\.tokenizer: no such folder: /nope"):
        components(file)


async def test_a_pool_that_fails_to_close_keeps_nothing_open(file: Path) -> None:
    parts = components(file)
    closed: list[str] = []

    async def fail() -> None:
        raise RuntimeError("will not close")

    first, *others = parts.models
    first.pool.aclose = fail  # type: ignore[method-assign]
    for model in others:
        close = model.pool.aclose

        async def note(close: Any = close, name: str = model.name) -> None:
            await close()
            closed.append(name)

        model.pool.aclose = note  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="will not close"):
        await parts.aclose()
    assert closed == ["fourth", "third", "second"]
    with pytest.raises(RuntimeError, match="shutdown"):
        parts.shared.scheduler._pool.submit(print)
