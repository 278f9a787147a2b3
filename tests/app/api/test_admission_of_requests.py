"""Keys, limits and the queue as clients meet them: a real gateway, and the official client."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from redis import Redis

from adapters.workers import Chunk, Generation, NoiseWorker
from app.access import keys as keys_module
from app.access.key_entry import digest_of
from app.admission import redis_limiter
from tests.app.access.entries import bearer, entry
from tests.app.admission.frozen_buckets import frozen
from tests.app.cli.command import switchyard
from tests.app.examples import body
from tests.app.gateway import OPTIONS, PATIENCE, Gateway, gateway_fixture
from tests.redis_server import RedisServer

pytestmark = pytest.mark.program

#: the seed of answers that last until a test lets them go
HELD = 4242


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(keys_module, "POLL_SECONDS", 0.02)
    return tmp_path / "keys.jsonl"


@pytest.fixture
def let_go(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Answers with the seed HELD begin when the event is set."""
    event, generate = threading.Event(), NoiseWorker.generate

    async def held(self: NoiseWorker, generation: Generation) -> AsyncGenerator[Chunk, None]:
        while generation.seed == HELD and not event.is_set():
            await asyncio.sleep(0.002)
        async for chunk in generate(self, generation):
            yield chunk

    monkeypatch.setattr(NoiseWorker, "generate", held)
    yield event
    event.set()


def official(gateway: Gateway, key: str, retries: int = 0) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{gateway.url}/v1", api_key=key, max_retries=retries)


def ask(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(**body(**more))


def error_of(answer: httpx.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return answer.status_code, error["code"]


def running(gateway: Gateway) -> tuple[float, float]:
    return tuple(
        gateway.metric("switchyard_admission", what=what) for what in ("running", "waiting")
    )  # type: ignore[return-value]


# -- keys ------------------------------------------------------------------------------------------


def replace(path: Path, text: str) -> None:
    """Replace the file as a whole."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.replace(path)


def test_keys_of_a_file_come_and_go_without_a_restart(path: Path) -> None:
    path.write_text(entry("one"))
    with Gateway(keys_file=path, api_keys="given") as gateway:
        for key in ("one", "given"):
            assert gateway.post(body(), headers=bearer(key)).status_code == 200
        assert error_of(gateway.post(body(), headers=bearer("two"))) == (401, "invalid_api_key")
        replace(path, entry("two"))
        gateway.eventually(lambda: gateway.post(body(), headers=bearer("two")).status_code == 200)
        assert error_of(gateway.post(body(), headers=bearer("one"))) == (401, "invalid_api_key")
        replace(path, f"{entry('three')}\n{{")
        failed = f"{path}, line 2: Invalid JSON"
        gateway.eventually(
            lambda: any(line.get("reason", "").startswith(failed) for line in gateway.lines())
        )
        assert gateway.post(body(), headers=bearer("two")).status_code == 200
        assert gateway.metric("switchyard_api_keys", what="unreadable_sources") == 1
        path.unlink()
        gateway.eventually(lambda: "No such file" in gateway.log.getvalue())
        assert gateway.post(body(), headers=bearer("two")).status_code == 200


def test_keys_of_redis_come_and_go_without_a_restart(path: Path, redis_server: RedisServer) -> None:
    """The commands change them; a Redis that is gone leaves them valid."""
    settings = {"redis_url": redis_server.url, "cache_key": "k" * 16, "keys_redis": True}
    with Gateway(**settings) as gateway:
        key = switchyard("keys", "create", "team", "--max-running", 3, **settings).stdout.strip()
        gateway.eventually(lambda: gateway.post(body(), headers=bearer(key)).status_code == 200)
        assert "team" in switchyard("keys", "list", **settings).stdout
        redis_server.pause()
        assert gateway.post(body(), headers=bearer(key)).status_code == 200
        redis_server.resume()
        with Redis.from_url(redis_server.url) as redis:
            redis.set("switchyard:{keys}:version", "x")
        gateway.eventually(lambda: gateway.metric("switchyard_api_keys", what="bad_version") == 1)
        assert switchyard("keys", "revoke", "team", **settings).returncode == 0
        gateway.eventually(lambda: gateway.post(body(), headers=bearer(key)).status_code == 401)
        assert gateway.metric("switchyard_api_keys", what="bad_version") == 0
        said = [line for line in gateway.lines() if line["event"] == "bad values among the keys"]
        assert len(said) == 1


def test_an_expired_key_is_401_and_the_message_says_so(path: Path) -> None:
    path.write_text(entry("old", expires="2020-01-01T00:00:00Z"))
    with Gateway(keys_file=path) as gateway, pytest.raises(openai.AuthenticationError) as caught:
        ask(official(gateway, "old"))
    assert caught.value.code == "invalid_api_key"
    assert "has expired" in caught.value.message


def test_a_key_uses_only_the_models_of_its_scope(path: Path) -> None:
    path.write_text(f"{entry('in', models=['noise', 'x'])}\n{entry('out', models=['other'])}")
    with Gateway(keys_file=path) as gateway:
        inside, outside = official(gateway, "in"), official(gateway, "out")
        assert [model.id for model in inside.models.list()] == ["noise"]
        assert [model.id for model in outside.models.list()] == []
        assert ask(inside).choices
        for refused in (lambda: ask(outside), lambda: outside.models.retrieve("noise")):
            with pytest.raises(openai.NotFoundError) as caught:
                refused()
            assert caught.value.code == "model_not_found"
        with pytest.raises(openai.NotFoundError):
            ask(inside, model="x")
        with pytest.raises(openai.NotFoundError):
            outside.completions.create(model="noise", prompt="a")
        for key, status in [("in", 200), ("out", 404)]:
            for sent in ({"prompt": "a"}, {"prompt": "a", "model": "noise"}):
                url = f"{gateway.url}/tokenize"
                answer = httpx.post(url, json=sent, headers=bearer(key), **OPTIONS)
                assert answer.status_code == status


def test_the_log_names_keys_and_holds_none(path: Path) -> None:
    path.write_text(entry("sk-secret", "team-a"))
    with Gateway(keys_file=path) as gateway:
        gateway.post(body(), headers=bearer("sk-secret"))
        gateway.post(body(), headers=bearer("sk-other-secret"))
        requests = [line for line in gateway.lines() if line["event"] == "request"]
        assert [line.get("key") for line in requests] == ["team-a", None]
        assert "secret" not in gateway.log.getvalue()
        assert digest_of("sk-secret").hex()[:8] not in gateway.log.getvalue()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 1: Invalid JSON"),
        (entry("admin"), "line 1: the key is also in SWITCHYARD_ADMIN_KEYS"),
        (entry("given"), "line 1: the key is also in SWITCHYARD_API_KEYS"),
        (None, "cannot be read: No such file"),
    ],
)
def test_an_unusable_file_aborts_startup(path: Path, line: str | None, message: str) -> None:
    if line is not None:
        path.write_text(line)
    done = switchyard("serve", port=0, keys_file=path, admin_keys="admin", api_keys="given")
    assert done.returncode == 2
    assert f"SWITCHYARD_KEYS_FILE: {path}" in done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr + done.stdout


# -- limits ----------------------------------------------------------------------------------------


def test_every_answer_of_a_limited_key_has_the_headers(path: Path) -> None:
    path.write_text(
        f"{entry('k', requests_per_minute=3, tokens_per_minute=10**6)}\n{entry('free')}"
    )
    with Gateway(keys_file=path) as gateway:
        answers = [
            gateway.post(body(), headers=bearer("k")),
            gateway.post(body(stream=True), headers=bearer("k")),
            gateway.post(b"{", headers=bearer("k")),
            gateway.post(b"{", headers=bearer("k")),
        ]
        assert [answer.status_code for answer in answers] == [200, 200, 400, 429]
        heads = [answer.headers for answer in answers]
        assert [head["x-ratelimit-limit-requests"] for head in heads] == ["3"] * 4
        assert [head["x-ratelimit-remaining-requests"] for head in heads] == ["2", "1", "0", "0"]
        assert [head["x-ratelimit-limit-tokens"] for head in heads] == ["1000000"] * 4
        assert all(head["x-ratelimit-reset-requests"].endswith("s") for head in heads)
        assert error_of(answers[3]) == (429, "rate_limit_exceeded")
        assert 0 < int(heads[3]["retry-after-ms"]) <= 20_000
        free = gateway.post(body(), headers=bearer("free")).headers
        assert not any(name.startswith("x-ratelimit") for name in free)


def test_tokens_of_answers_count_in_redis_for_all_gateways(
    path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One gateway answers, streamed or not; the other one knows what is left."""
    monkeypatch.setattr(redis_limiter, "SCRIPT", frozen(redis_limiter.SCRIPT))
    monkeypatch.setattr(redis_limiter, "SECONDS", PATIENCE)
    path.write_text(entry("k", tokens_per_minute=10_000))
    settings = {"keys_file": path, "redis_url": redis_server.url, "cache_key": "k" * 16}

    def left(gateway: Gateway) -> int:
        answer = gateway.post(b"", headers=bearer("k"))  # takes no token
        return int(answer.headers["x-ratelimit-remaining-tokens"])

    with Gateway(**settings) as first, Gateway(**settings) as second:
        client = official(first, "k")
        used = ask(client).usage.total_tokens
        first.eventually(lambda: left(second) == 10_000 - used)
        *_, last = ask(client, stream=True, stream_options={"include_usage": True})
        used += last.usage.total_tokens
        first.eventually(lambda: left(second) == 10_000 - used)
        several = client.completions.create(model="noise", prompt=["a b c", "d", "e f"], n=2)
        used += several.usage.total_tokens
        first.eventually(lambda: left(second) == 10_000 - used)
        assert second.metric("switchyard_limits", what="failures") == 0


def test_the_official_client_retries_a_limit_until_it_is_served(path: Path) -> None:
    """A limit of one request a second, and three in a row: the third waits as Retry-After says."""
    path.write_text(entry("k", requests_per_minute=60))
    with Gateway(keys_file=path) as gateway:
        with httpx.Client() as plain:
            for _ in range(60):
                plain.post(f"{gateway.url}/v1/chat/completions", content=b"{", headers=bearer("k"))
        client = official(gateway, "k", retries=5)
        raw = client.chat.completions.with_raw_response.create(**body())
        assert raw.parse().choices
        assert raw.retries_taken >= 1
        assert (
            gateway.metric("switchyard_admission_refused_total", reason="requests_per_minute")
            == raw.retries_taken
        )


def test_the_official_client_retries_an_overload_until_it_is_served(
    let_go: threading.Event,
) -> None:
    with Gateway(max_running=1, max_queued=0) as gateway, gateway.raw_request(body(seed=HELD)):
        gateway.eventually(lambda: running(gateway) == (1, 0))
        with pytest.raises(openai.InternalServerError) as caught:
            ask(official(gateway, "any"))
        assert (caught.value.status_code, caught.value.code) == (503, "overloaded")
        assert caught.value.response.headers["Retry-After"] == "1"
        refused = gateway.metric("switchyard_admission_refused_total", reason="queue_full")
        answers: list[Any] = []
        client = official(gateway, "any", retries=20)
        thread = threading.Thread(target=lambda: answers.append(ask(client)))
        thread.start()
        gateway.eventually(
            lambda: (
                gateway.metric("switchyard_admission_refused_total", reason="queue_full") > refused
            )
        )
        let_go.set()
        thread.join(PATIENCE)
        assert answers[0].choices


def test_a_key_has_no_more_answers_at_once_than_its_limit(
    path: Path, let_go: threading.Event
) -> None:
    path.write_text(f"{entry('k', max_running=1)}\n{entry('other')}")
    with (
        Gateway(keys_file=path, queue_seconds=0.05) as gateway,
        gateway.raw_request(body(seed=HELD), bearer("k")),
    ):
        gateway.eventually(lambda: running(gateway) == (1, 0))
        for streams in (False, True):
            answer = gateway.post(body(stream=streams), headers=bearer("k"))
            assert error_of(answer) == (429, "rate_limit_exceeded")
        assert error_of(gateway.post(body(n=2), headers=bearer("k"))) == (
            400,
            "integer_above_max_value",
        )
        assert gateway.post(body(n=2), headers=bearer("other")).status_code == 200


#: paths that use no worker
COUNTS: dict[str, dict[str, Any]] = {
    "/v1/messages/count_tokens": {"messages": [{"role": "user", "content": "Hello"}]},
    "/v1/responses/input_tokens": {"input": "Hello"},
    "/v1/responses/compact": {"input": "Hello"},
    "/tokenize": {"prompt": "Hello"},
}


def test_counts_take_nothing_of_limits_but_need_a_key_of_the_model(path: Path) -> None:
    limited = entry("k", requests_per_minute=1, tokens_per_minute=1, max_running=1)
    path.write_text(f"{limited}\n{entry('out', models=['other'])}")
    with Gateway(keys_file=path) as gateway:
        gateway.post(body(), headers=bearer("k"))
        assert gateway.post(body(), headers=bearer("k")).status_code == 429
        for where, asked in COUNTS.items():
            for key, status in (("k", 200), ("out", 404), ("unknown", 401)):
                answer = gateway.post({"model": "noise", **asked}, path=where, headers=bearer(key))
                assert answer.status_code == status, answer.text
                assert not any(name.startswith("x-ratelimit") for name in answer.headers)
        assert gateway.post(body(), headers=bearer("k")).status_code == 429


# -- the queue -------------------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [False, True])
def test_a_request_whose_turn_does_not_come_is_refused_with_a_status(
    let_go: threading.Event, streams: bool
) -> None:
    """Even if a stream would have sent comments meanwhile."""
    settings = {"max_running": 1, "queue_seconds": 0.2, "stream_comment_seconds": 0.02}
    with Gateway(**settings) as gateway, gateway.raw_request(body(seed=HELD)):
        gateway.eventually(lambda: running(gateway) == (1, 0))
        answer = gateway.post(body(stream=streams))
        assert error_of(answer) == (503, "overloaded")
        reason = {"reason": "queue_timeout"}
        assert gateway.metric("switchyard_admission_refused_total", **reason) == 1


def test_a_waiting_client_that_leaves_frees_its_place(let_go: threading.Event) -> None:
    with Gateway(max_running=1, max_queued=1) as gateway, gateway.raw_request(body(seed=HELD)):
        gateway.eventually(lambda: running(gateway) == (1, 0))
        with gateway.raw_request(body()):
            gateway.eventually(lambda: running(gateway) == (1, 1))
        gateway.eventually(lambda: running(gateway) == (1, 0))
        with gateway.raw_request(body()) as waiting:
            gateway.eventually(lambda: running(gateway) == (1, 1))
            let_go.set()
            assert waiting.recv(12) == b"HTTP/1.1 200"
        gateway.eventually(lambda: running(gateway) == (0, 0))


def test_a_flooding_key_does_not_delay_another_one(path: Path, let_go: threading.Event) -> None:
    """The flood fills the queue; the other key's request takes a place and is served next."""
    path.write_text(f"{entry('flood')}\n{entry('other')}")
    served: list[str] = []

    def post(gateway: Gateway, key: str) -> None:
        if gateway.post(body(), headers=bearer(key)).status_code == 200:
            served.append(key)

    def flood_fills(gateway: Gateway, count: int) -> None:
        gateway.eventually(lambda: running(gateway) == (1, count))

    def given_way(gateway: Gateway) -> float:
        return gateway.metric("switchyard_admission_refused_total", reason="queue_full")

    with (
        Gateway(keys_file=path, max_running=1, max_queued=4) as gateway,
        gateway.raw_request(body(seed=HELD), bearer("flood")),
    ):
        flood_fills(gateway, 0)
        threads = []
        for count in range(1, 5):
            threads.append(threading.Thread(target=post, args=(gateway, "flood")))
            threads[-1].start()
            flood_fills(gateway, count)
        threads.append(threading.Thread(target=post, args=(gateway, "other")))
        threads[-1].start()
        gateway.eventually(lambda: given_way(gateway) == 1)
        let_go.set()
        for thread in threads:
            thread.join(PATIENCE)
        logged = [line["key"] for line in gateway.lines() if line.get("status") == 200]
    assert sorted(served) == ["flood"] * 3 + ["other"]
    assert logged.index("name-of-other") <= 2  # behind the held one, and one that was its turn


ENDINGS = [
    ("answer", body()),
    ("stream", body(stream=True)),
    ("refused by the service", body(model="other")),
    ("invalid", body(response_format={"type": "json_schema"})),
    ("no JSON", b"{"),
]


@pytest.mark.parametrize(("name", "content"), ENDINGS, ids=[name for name, _ in ENDINGS])
def test_every_end_of_a_request_frees_its_streams(shared: Gateway, name: str, content: Any) -> None:
    for _ in range(5):
        assert error_or_ok(shared.post(content))
    shared.eventually(lambda: running(shared) == (0, 0))


@pytest.mark.parametrize("streams", [False, True])
def test_a_client_that_leaves_a_running_answer_frees_its_streams(
    let_go: threading.Event, streams: bool
) -> None:
    settings = {"max_running": 3, "stream_comment_seconds": 0.02}
    with Gateway(**settings) as gateway:
        with gateway.raw_request(body(seed=HELD, n=3, stream=streams)) as connection:
            gateway.eventually(lambda: running(gateway) == (3, 0))
            if streams:
                assert connection.recv(12) == b"HTTP/1.1 200"
        gateway.eventually(lambda: running(gateway) == (0, 0))


shared = gateway_fixture(max_running=1, max_queued=0)


def error_or_ok(answer: httpx.Response) -> bool:
    return answer.status_code == 200 or error_of(answer)[0] in (400, 404)


def test_an_unread_body_of_a_refused_request_does_not_break_the_connection(path: Path) -> None:
    """The refusal comes before the body, and the next request of the connection is served."""
    path.write_text(f"{entry('k', requests_per_minute=1)}\n{entry('free')}")
    content = json.dumps(body()).encode()

    def head(key: str) -> bytes:
        return (
            "POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json"
            f"\r\nauthorization: Bearer {key}\r\ncontent-length: {len(content)}\r\n\r\n"
        ).encode()

    with Gateway(keys_file=path) as gateway:
        gateway.post(b"{", headers=bearer("k"))
        address = httpx.URL(gateway.url)
        with socket.create_connection((address.host, address.port or 80), PATIENCE) as made:
            made.sendall(head("k"))
            assert made.recv(12) == b"HTTP/1.1 429"
            made.sendall(content + head("free") + content)
            received = b""
            while b"HTTP/1.1 200" not in received:
                more = made.recv(65536)
                assert more, "the connection was closed"
                received += more
