"""A worker takes from Redis what a gateway learnt, and serves alike when the Redis is gone."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cache import RedisBounds, open_store
from engine import Compiler, Matcher, Vocabulary, artifact
from tests.engine.harness import new_mask
from tests.redis_server import RedisServer

from .server import SGLangServer
from .servers import Servers

KEY = "sixteen bytes of secret"


def schema_of(name: str, **more: Any) -> dict[str, Any]:
    """Has one rule whose masks cost more to make than to fetch, the same in all."""
    mail = {"type": "string", "format": "email", "maxLength": 40}
    return {
        "type": "object",
        "properties": {name: mail, **more},
        "required": [name],
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
    environment = {
        "SWITCHYARD_REDIS_URL": redis.url,
        "SWITCHYARD_CACHE_KEY": KEY,
        # a busy machine fails no test
        "SWITCHYARD_CACHE_READ_SECONDS": "20",
    }
    return sglang_server("switchyard", model=padded_model_folder, **environment)


def learn(folder: Path, url: str) -> None:
    """What a gateway does: compiles, walks a text, and hands over what it learnt."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    vocabulary = Vocabulary.from_huggingface(tokenizer)
    store = open_store(
        memory_bytes=1 << 24,
        redis_url=url,
        key=KEY.encode(),
        ttl_s=1000,
        # a busy machine fails no test
        read_seconds=20,
    )
    compiler = Compiler(vocabulary, store=store)
    matcher = Matcher(compiler.compile_json_schema(schema_of("gateway")))
    mask = new_mask(vocabulary)
    for byte in b'{"gateway": "somebody@example.org"}':
        matcher.fill_bitmask(mask)
        assert matcher.accept_bytes(bytes([byte]))
    compiler.flush()
    store.close()


def said(worker: SGLangServer) -> dict[str, Any]:
    (state,) = worker.get_json("/server_info")["internal_states"]
    found: dict[str, Any] = state["switchyard"]
    return found


def test_a_worker_takes_what_a_gateway_learnt_and_serves_without_it(
    worker: SGLangServer,
    padded_model_folder: Path,
    redis: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # the masks of a small vocabulary are cheap
    monkeypatch.setattr(artifact, "LEAST_GAIN", 0)
    learn(padded_model_folder, redis.url)
    # until then the worker believes what it read of the keys when it started
    time.sleep(RedisBounds().map_seconds)
    before = said(worker)["compiler"]["store_hits"]
    for name in ("first", "second"):
        if name == "second":
            assert said(worker)["compiler"]["store_hits"] > before
            redis.kill()
        schema = schema_of(name, more={"type": "boolean"})
        options = {"max_new_tokens": 300, "temperature": 1, "json_schema": json.dumps(schema)}
        answer = worker.generate("x = ", **options)
        if answer["meta_info"]["finish_reason"]["type"] == "stop":
            jsonschema.validate(json.loads(answer["text"]), schema)
    assert worker.alive
    counters = said(worker)["counters"]
    assert counters["errors"] == counters["refused_tokens"] == counters["mask_failures"] == 0
