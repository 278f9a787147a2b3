"""Replicas follow a log: what one made the others use, and no request ever calls the log."""

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

import engine
from engine.sharing import artifact_cache
from engine.sharing import mask_codec as artifact
from tests.engine.harness import masks_along
from tests.engine.memory_log import PATIENCE_SECONDS, MemoryLog, OffTheRequestPath, Redis
from tests.vocabularies import small_vocabulary
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("every_mask_shared")

#: rules whose masks are shared
SCHEMA = {
    "type": "object",
    "properties": {
        "mail": {"type": "string", "format": "email", "maxLength": 40},
        "code": {"type": "string", "pattern": "^(?:[a-z0-9]+ ){3,40}[A-Z]{2,9}$"},
    },
    "required": ["mail", "code"],
    "additionalProperties": False,
}
TEXTS = (b'{"mail": "someone0@example.org", "code": "a b c d XY"}', b'{"mail": "x@y.zz"')


def replica(
    redis: Redis, *, load_seconds: float = PATIENCE_SECONDS, **options: Any
) -> engine.Compiler:
    compiler = engine.Compiler(small_vocabulary(), store=MemoryLog(redis), **options)
    compiler.start(load_seconds)
    return compiler


def shared(compiler: engine.Compiler, what: str) -> int:
    return compiler.stats()[f"shared_{what}"]


def test_a_replica_uses_what_another_made_before_it_started() -> None:
    redis = Redis()
    first = replica(redis)
    cold = masks_along(first.compile_json_schema(SCHEMA), TEXTS)
    assert first.close(PATIENCE_SECONDS)
    second = replica(redis)
    until(lambda: shared(second, "masks_loaded") > 0)
    until(lambda: shared(second, "following") == 1)
    assert masks_along(second.compile_json_schema(SCHEMA), TEXTS) == cold
    made = [compiler.stats()["token_mask_made"] for compiler in (first, second)]
    assert made[1] < made[0]
    second.close(PATIENCE_SECONDS)


def test_announced_entries_serve_grammars_that_are_compiled_already() -> None:
    redis = Redis()
    first, second = replica(redis), replica(redis)
    waiting = second.compile_json_schema(SCHEMA)
    until(lambda: shared(second, "following") == 1)
    cold = masks_along(first.compile_json_schema(SCHEMA), TEXTS)
    first.flush()
    until(lambda: shared(second, "masks_loaded") > 0)
    hits = second.stats()["token_mask_hits"]
    assert masks_along(waiting, TEXTS) == cold
    assert second.stats()["token_mask_hits"] > hits
    first.close(PATIENCE_SECONDS)
    second.close(PATIENCE_SECONDS)


def test_no_request_calls_the_log() -> None:
    guarded = OffTheRequestPath(MemoryLog())
    compiler = engine.Compiler(small_vocabulary(), store=guarded)
    compiler.start()
    guarded.serving.add(threading.get_ident())
    compiled = compiler.compile_json_schema(SCHEMA)
    compiled.prepare(64)
    masks_along(compiled, TEXTS)
    assert compiler.compile_json_schema(SCHEMA) is compiled
    compiler.stats()
    until(lambda: shared(compiler, "masks_published") > 0)
    guarded.serving.clear()
    compiler.close(PATIENCE_SECONDS)
    assert guarded.violations == []


class Hanging(MemoryLog):
    """Every call waits until the test ends."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = threading.Event()

    def position(self) -> None:
        self.ends.wait(PATIENCE_SECONDS)
        raise OSError


def test_a_log_that_hangs_costs_no_request() -> None:
    log = Hanging()
    compiler = engine.Compiler(small_vocabulary(), store=log)
    compiler.start()
    plain = engine.Compiler(small_vocabulary())
    found = masks_along(compiler.compile_json_schema(SCHEMA), TEXTS)
    assert found == masks_along(plain.compile_json_schema(SCHEMA), TEXTS)
    assert not compiler.close(0.01)
    log.ends.set()


class Failing(MemoryLog):
    """One method fails until the test says otherwise."""

    def __init__(self, redis: Redis, method: str) -> None:
        super().__init__(redis)
        self.fails = True
        real = getattr(self, method)

        def call(*given: Any) -> Any:
            if self.fails:
                raise ConnectionError("redis://user:secret@host")
            return real(*given)

        setattr(self, method, call)


@pytest.mark.parametrize("method", ["position", "hottest", "read", "follow", "publish", "used"])
def test_the_cache_follows_again_after_a_failure(
    method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(artifact_cache, "LEAST_PAUSE", 0.01)
    monkeypatch.setattr(artifact_cache, "REPORT_SECONDS", 0.0)
    redis = Redis()
    first = replica(redis)
    cold = masks_along(first.compile_json_schema(SCHEMA), TEXTS)
    first.close(PATIENCE_SECONDS)
    log = Failing(redis, method)
    second = engine.Compiler(small_vocabulary(), store=log)
    second.start(PATIENCE_SECONDS)
    masks_along(second.compile_json_schema({"type": "string", "format": "uuid"}), (b'"0',))
    until(lambda: shared(second, "failures") > 0)
    assert masks_along(second.compile_json_schema(SCHEMA), TEXTS) == cold
    log.fails = False
    until(lambda: shared(second, "following") == 1 and shared(second, "masks_loaded") > 0)
    second.close(PATIENCE_SECONDS)
    assert "ConnectionError" in caplog.text
    assert "secret" not in caplog.text


def test_damaged_values_are_refused_and_counted() -> None:
    redis = Redis()
    first = replica(redis)
    cold = masks_along(first.compile_json_schema(SCHEMA), TEXTS)
    first.close(PATIENCE_SECONDS)
    for key, value in redis.kept.items():
        redis.kept[key] = value[: len(value) // 2]
    second = replica(redis)
    until(lambda: shared(second, "masks_refused") > 0)
    assert masks_along(second.compile_json_schema(SCHEMA), TEXTS) == cold
    assert shared(second, "masks_loaded") == 0
    second.close(PATIENCE_SECONDS)


def test_keys_that_are_none_of_ours_are_passed_over() -> None:
    redis = Redis()
    group = artifact.store_group(small_vocabulary().fingerprint)
    names = [b"", b"masks", group + b"/", group + b"/xyz", b"patterns/0/any/zz", b"other/1/2"]
    fingerprint, digest = small_vocabulary().fingerprint.encode(), b"/" + b"0" * 32
    for other in (engine.ARTIFACT_VERSION - 1, engine.ARTIFACT_VERSION + 1):
        names.append(b"masks/%d/%s" % (other, fingerprint) + digest)  # another version
    names.append(artifact.store_group("f" * len(fingerprint)) + digest)  # another tokenizer
    MemoryLog(redis).publish([(name, b"value") for name in names])
    compiler = replica(redis)
    until(lambda: shared(compiler, "following") == 1)
    MemoryLog(redis).publish([(name, b"value") for name in names])
    assert compiler.compile_json_schema(SCHEMA)
    compiler.close(PATIENCE_SECONDS)
    counts = [shared(compiler, f"masks_{what}") for what in ("loaded", "refused", "missing")]
    assert [*counts, shared(compiler, "failures")] == [0, 0, 0, 0]


def test_masks_that_two_replicas_make_apart_are_joined() -> None:
    redis = Redis()
    first, second = (replica(redis, load_seconds=0) for _ in range(2))
    texts = (b'{"mail": "someone0', b'{"mail": "x@y.zz", "code": "a b')
    for compiler, text in zip((first, second), texts, strict=True):
        masks_along(compiler.compile_json_schema(SCHEMA), (text,))
        compiler.flush()
    first.close(PATIENCE_SECONDS)
    second.close(PATIENCE_SECONDS)
    third = replica(redis)
    until(lambda: shared(third, "following") == 1 and shared(third, "masks_loaded") > 0)
    before = third.stats()["token_mask_made"]
    masks_along(third.compile_json_schema(SCHEMA), texts)
    cold = engine.Compiler(small_vocabulary())
    warmed = cold.stats()["token_mask_made"]
    masks_along(cold.compile_json_schema(SCHEMA), texts)
    assert third.stats()["token_mask_made"] - before < cold.stats()["token_mask_made"] - warmed
    third.close(PATIENCE_SECONDS)


def test_what_another_replica_wrote_is_not_announced_again() -> None:
    redis = Redis()
    first, second = (replica(redis, load_seconds=0) for _ in range(2))
    for compiler in (first, second):
        masks_along(compiler.compile_json_schema(SCHEMA), TEXTS)
    first.flush()
    announced = len(redis.announced)
    second.flush()
    assert len(redis.announced) == announced
    first.close(PATIENCE_SECONDS)
    second.close(PATIENCE_SECONDS)


def test_loading_ends_with_half_the_table() -> None:
    redis = Redis()
    first = replica(redis)
    masks_along(first.compile_json_schema(SCHEMA), TEXTS)
    first.close(PATIENCE_SECONDS)
    small = replica(redis, limits=engine.Limits(token_mask_bytes=1))
    until(lambda: shared(small, "following") == 1)
    small.close(PATIENCE_SECONDS)
    assert shared(small, "masks_loaded") == 0


@pytest.mark.parametrize("rate", [0, 1])
def test_announcements_beyond_the_rate_are_skipped(rate: int) -> None:
    redis = Redis()
    second = engine.Compiler(small_vocabulary(), store=MemoryLog(redis))
    second.start(loads_per_second=rate)
    until(lambda: shared(second, "following") == 1)
    first = replica(redis)
    masks_along(first.compile_json_schema(SCHEMA), TEXTS)
    first.flush()
    until(lambda: shared(second, "masks_skipped") > 0)
    assert (shared(second, "masks_loaded") > 0) == (rate > 0)
    first.close(PATIENCE_SECONDS)
    second.close(PATIENCE_SECONDS)


def test_use_is_reported_for_entries_of_the_log_only() -> None:
    redis = Redis()
    first = replica(redis)
    masks_along(first.compile_json_schema(SCHEMA), TEXTS)
    first.close(PATIENCE_SECONDS)
    before = dict(redis.uses)
    second = replica(redis)
    until(lambda: shared(second, "masks_loaded") > 0)
    masks_along(second.compile_json_schema(SCHEMA), TEXTS[1:])
    second.flush()
    used = {key for key, count in redis.uses.items() if count > before.get(key, 0)}
    assert used
    assert used <= before.keys() | redis.kept.keys()
    counts = dict(redis.uses)
    second.flush()
    assert redis.uses == counts
    second.close(PATIENCE_SECONDS)


def test_masks_are_the_same_at_any_moment_of_loading() -> None:
    """Entries loaded while grammars are compiled and walked, in several threads, change no bit."""
    redis = Redis()
    first = replica(redis)
    cold = masks_along(first.compile_json_schema(SCHEMA), TEXTS)
    first.close(PATIENCE_SECONDS)
    entries = list(redis.kept.items())
    second = replica(redis, load_seconds=0)
    until(lambda: shared(second, "following") == 1)
    found: list[Sequence[bytes]] = []

    def serve() -> None:
        for _ in range(10):
            second.clear()
            found.append(masks_along(second.compile_json_schema(SCHEMA), TEXTS))

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for thread in threads:
        thread.start()
    other = MemoryLog(redis)
    for entry in entries:
        other.publish([entry])
        time.sleep(0.002)
    for thread in threads:
        thread.join()
    second.close(PATIENCE_SECONDS)
    assert len(found) == 30
    assert all(masks == cold for masks in found)
