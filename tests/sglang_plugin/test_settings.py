"""All settings of a worker's environment are read, and invalid ones refused by name."""

from pathlib import Path

import pytest

from adapters.sglang_plugin.settings import BadSetting, Settings, load


def test_nothing_set_is_the_default() -> None:
    assert load({}) == Settings()
    assert load({"SWITCHYARD_REDIS_URL": "", "SWITCHYARD_CACHE_KEY": ""}) == Settings()


def test_everything_can_be_set() -> None:
    found = load(
        {
            "SWITCHYARD_REDIS_URL": "redis://r/0",
            "SWITCHYARD_CACHE_KEY": "k" * 16,
            "SWITCHYARD_CACHE_TRUST": "network",
            "SWITCHYARD_CACHE_TTL_SECONDS": "60",
            "SWITCHYARD_CACHE_PREFETCH_SECONDS": "2.5",
            "SWITCHYARD_CACHE_NAMESPACE": "key",
            "SWITCHYARD_CACHE_NAMESPACES": "4",
            "SWITCHYARD_COMPILER_MEMORY_BYTES": "4096",
            "SWITCHYARD_SGLANG_COMPILE_THREADS": "3",
            "SWITCHYARD_SGLANG_PREFILL_US_PER_TOKEN": "1.5",
            "SWITCHYARD_SGLANG_PREFILL_MOST_MS": "0",
            "SWITCHYARD_SGLANG_MASKS_AHEAD": "1",
            "SWITCHYARD_SGLANG_DETOURS": "allow",
        }
    )
    assert found == Settings(
        redis_url="redis://r/0",
        cache_key=b"k" * 16,
        cache_trust="network",
        cache_ttl_seconds=60,
        cache_prefetch_seconds=2.5,
        cache_namespace="key",
        cache_namespaces=4,
        compiler_memory_bytes=4096,
        compile_threads=3,
        prefill_us_per_token=1.5,
        prefill_most_ms=0,
        masks_ahead=True,
        detours="allow",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SWITCHYARD_CACHE_TRUST", "everybody"),
        ("SWITCHYARD_CACHE_KEY", "short"),
        ("SWITCHYARD_CACHE_NAMESPACE", "tenant"),
        ("SWITCHYARD_CACHE_NAMESPACES", "0"),
        ("SWITCHYARD_CACHE_TTL_SECONDS", "many"),
        ("SWITCHYARD_CACHE_TTL_SECONDS", "0"),
        ("SWITCHYARD_SGLANG_COMPILE_THREADS", "0"),
        ("SWITCHYARD_SGLANG_COMPILE_THREADS", "²"),
        ("SWITCHYARD_SGLANG_PREFILL_MOST_MS", "nan"),
        ("SWITCHYARD_SGLANG_MASKS_AHEAD", "yes"),
        ("SWITCHYARD_SGLANG_DETOURS", "no"),
        ("SWITCHYARD_SGLANG_PREFILL_MOST_MS", "inf"),
        ("SWITCHYARD_SGLANG_PREFILL_US_PER_TOKEN", "fast"),
        ("SWITCHYARD_CACHE_KEY_FILE", "/nowhere/at/all"),
        ("SWITCHYARD_REDIS_URL", "redis+sentinel://host"),
        ("SWITCHYARD_SGLANG_MASK_AHEAD", "1"),
        ("SWITCHYARD_CACHE_KEYFILE", "/run/key"),
    ],
)
def test_what_means_nothing_is_refused_by_name(name: str, value: str) -> None:
    with pytest.raises(BadSetting, match=name):
        load({name: value})


def test_the_key_may_lie_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("k" * 16 + "\n")
    variables = {"SWITCHYARD_CACHE_KEY_FILE": str(file)}
    assert load(variables).cache_key == b"k" * 16
    assert load({**variables, "SWITCHYARD_CACHE_KEY": "k" * 16}).cache_key == b"k" * 16
    with pytest.raises(BadSetting, match=r"SWITCHYARD_CACHE_KEY_FILE.*differ"):
        load({**variables, "SWITCHYARD_CACHE_KEY": "x" * 16})
