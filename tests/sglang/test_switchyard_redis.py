"""A worker loads what a gateway learned, publishes what it learns, and outlives its Redis."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cache import RedisLog, open_store
from engine import Compiler, Matcher, Vocabulary
from tests.engine.harness import new_mask
from tests.redis_server import RedisServer
from tests.waiting import until

from .server import SGLangServer
from .servers import Servers

KEY = "sixteen bytes of secret"


def schema_of(word: str) -> dict[str, Any]:
    """Return a schema with one rule of its own, whose masks are worth sharing."""
    pattern = f"(?:[abc]{{2,9}}-){{3}}{word}"
    return {
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": pattern, "maxLength": 60}},
        "required": ["code"],
        "additionalProperties": False,
    }


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    server = RedisServer()
    server.start()
    yield server
    server.close()


@pytest.fixture
def worker(sglang_server: Servers, padded_model_folder: Path, redis: RedisServer) -> SGLangServer:
    """It starts when a gateway has learned something."""
    learn(padded_model_folder, redis, "popular")
    environment = {"SWITCHYARD_REDIS_URL": redis.url, "SWITCHYARD_CACHE_KEY": KEY}
    return sglang_server("switchyard", model=padded_model_folder, **environment)


@contextmanager
def log_of(redis: RedisServer) -> Iterator[RedisLog]:
    log = open_store(redis_url=redis.url, key=KEY.encode(), ttl_s=1000)
    assert log is not None
    yield log
    log.close()


def learn(folder: Path, redis: RedisServer, word: str) -> None:
    """Act as a gateway: compile, walk a text, and publish the results."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    vocabulary = Vocabulary.from_huggingface(tokenizer)
    with log_of(redis) as log:
        compiler = Compiler(vocabulary, store=log)
        matcher = Matcher(compiler.compile_json_schema(schema_of(word)))
        mask = new_mask(vocabulary)
        for byte in f'{{"code": "abc-ab-bc-{word}"}}'.encode():
            matcher.fill_bitmask(mask)
            assert matcher.accept_bytes(bytes([byte]))
        compiler.flush()


def said(worker: SGLangServer) -> dict[str, Any]:
    (state,) = worker.get_json("/server_info")["internal_states"]
    found: dict[str, Any] = state["switchyard"]
    return found


def count(worker: SGLangServer, name: str) -> int:
    return int(said(worker)["compiler"][name])


def ask(worker: SGLangServer, word: str) -> None:
    options = {"max_new_tokens": 300, "temperature": 1, "json_schema": json.dumps(schema_of(word))}
    answer = worker.generate("x = ", **options)
    if answer["meta_info"]["finish_reason"]["type"] == "stop":
        jsonschema.validate(json.loads(answer["text"]), schema_of(word))


def loads_what_others_learn(worker: SGLangServer, folder: Path, redis: RedisServer) -> None:
    before = count(worker, "shared_masks_loaded")
    learn(folder, redis, f"masks{before}")
    until(lambda: count(worker, "shared_masks_loaded") > before)


def test_a_worker_and_a_gateway_follow_each_other_and_serve_without_redis(
    worker: SGLangServer, padded_model_folder: Path, redis: RedisServer
) -> None:
    until(lambda: count(worker, "shared_masks_loaded") > 0)
    ask(worker, "popular")
    loads_what_others_learn(worker, padded_model_folder, redis)
    with log_of(redis) as gateway:
        gateway.position()
        ask(worker, "its own")
        while not (keys := gateway.follow(1.0)):
            assert worker.alive
        assert None not in gateway.read(keys)
    redis.kill()
    until(lambda: count(worker, "shared_following") == 0)
    ask(worker, "without")
    redis.start()
    until(lambda: count(worker, "shared_following") == 1)
    loads_what_others_learn(worker, padded_model_folder, redis)
    assert worker.alive
    counters = said(worker)["counters"]
    assert counters["errors"] == counters["refused_tokens"] == counters["mask_failures"] == 0
