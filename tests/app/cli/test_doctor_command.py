"""``switchyard doctor``: each fault of a setup is a finding with its place and an advice."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from tests.app.access.tokens import jwks
from tests.app.gateway import Gateway
from tests.app.small_tokenizer import INVENTED, TEMPLATE, VISION_TEMPLATE, folder
from tests.campaigns.adapters.fake import AdapterHalf, AdapterWorker
from tests.campaigns.disaggregation.halves import FakeHalf, Rooms
from tests.campaigns.ranks.fake import RankedWorker
from tests.campaigns.workers.fake import IMAGE_TOKENS, FakeWorker, Loop
from tests.redis_server import RedisServer, free_port

from .command import switchyard

pytestmark = pytest.mark.program


def findings(**settings: object) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """Return the exit status and the findings by place."""
    done = switchyard("doctor", "--json", **{"port": free_port(), **settings})
    assert "Traceback" not in done.stderr + done.stdout
    found: dict[str, list[dict[str, str]]] = {}
    for each in json.loads(done.stdout):
        found.setdefault(each["place"], []).append(each)
    return done.returncode, found


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    return folder(tmp_path_factory.mktemp("tokenizer"), TEMPLATE)


@contextmanager
def answering(body: bytes) -> Iterator[str]:
    """A server that answers everything with this body."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_default_setup_has_no_error():
    status, found = findings()
    assert status == 0
    levels = [each["level"] for each in found["model noise"]]
    assert levels == ["ok", "ok", "warning"]
    assert "random tokens" in found["model noise"][-1]["text"]
    assert found["worker noise"][0]["text"].startswith("a tool call of ")


@pytest.mark.parametrize(
    ("settings", "place", "text"),
    [
        ({"prt": 1}, "settings", "SWITCHYARD_PRT: no such setting"),
        ({"tokenizer": "/nowhere"}, "model noise", "SWITCHYARD_TOKENIZER: no such folder"),
        ({"keys_file": "/nowhere"}, "model noise", "SWITCHYARD_KEYS_FILE: /nowhere"),
        (
            {"jwks_file": "/nowhere", "jwt_issuer": "i", "jwt_audience": "a"},
            "SWITCHYARD_JWKS_FILE",
            "/nowhere cannot be read",
        ),
        (
            {"redis_url": "redis://127.0.0.1:1"},
            "SWITCHYARD_REDIS_URL",
            "Redis is not used without SWITCHYARD_CACHE_KEY",
        ),
        (
            {"redis_url": "redis://127.0.0.1:1", "cache_trust": "network"},
            "SWITCHYARD_REDIS_URL",
            "no answer: ",
        ),
    ],
)
def test_a_mistake_is_an_error_at_its_place(settings: dict[str, Any], place: str, text: str):
    status, found = findings(**settings)
    assert status == 1
    errors = [each["text"] for each in found[place] if each["level"] == "error"]
    assert any(each.startswith(text) for each in errors), found


def test_an_open_gateway_is_a_warning():
    status, found = findings(host="0.0.0.0", allow_anonymous="true")
    assert (status, found["settings"][0]["level"]) == (0, "warning")


def test_the_keys_of_tokens_are_counted(tmp_path: Path):
    file = tmp_path / "jwks.json"
    file.write_text(jwks("rsa", "p256"))
    status, found = findings(jwks_file=file, jwt_issuer="https://id", jwt_audience="switchyard")
    (finding,) = found["SWITCHYARD_JWKS_FILE"]
    assert (status, finding["level"]) == (0, "ok")
    assert finding["text"] == "2 keys for tokens of https://id for switchyard"


def test_redis_is_described(redis_server: RedisServer):
    status, found = findings(redis_url=redis_server.url, cache_trust="network")
    (finding,) = found["SWITCHYARD_REDIS_URL"]
    assert (status, finding["level"]) == (0, "ok")


def test_a_redis_that_is_smaller_than_the_stored_responses_is_a_warning(redis_server: RedisServer):
    with Redis.from_url(redis_server.url) as redis:
        redis.config_set("maxmemory", 100 << 20)
        status, found = findings(redis_url=redis_server.url, cache_trust="network")
        redis.config_set("maxmemory", 0)
    first = found["SWITCHYARD_REDIS_URL"][0]
    assert (status, first["level"]) == (0, "warning")
    assert "maxmemory is 104,857,600 bytes" in first["text"]


def test_a_running_gateway_is_told_from_another_program():
    with Gateway() as gateway, answering(b"hello") as other:
        for url, level in [(gateway.url, "ok"), (other, "error")]:
            port = int(url.rpartition(":")[2])
            _, found = findings(port=port)
            assert found[f"127.0.0.1:{port}"][0]["level"] == level


@pytest.mark.parametrize(
    ("syntax", "level", "text"),
    [
        ("teach", "warning", "prompts teach 'plain'"),
        ("refuse", "error", "requests with tools are refused"),
    ],
)
def test_an_unknown_syntax_of_calls_is_named(tmp_path: Path, syntax: str, level: str, text: str):
    source = folder(tmp_path, INVENTED)
    _, found = findings(workers="noise", tokenizer=source, model_name="m", unknown_syntax=syntax)
    (finding,) = [each for each in found["model m"] if "unknown syntax" in each["text"]]
    assert finding["level"] == level
    assert text in finding["text"]
    assert "[[call" in finding["text"]


def test_a_made_format_is_named(tmp_path: Path):
    source = folder(tmp_path, TEMPLATE.replace("tool_call>", "use>"))
    _, found = findings(workers="noise", tokenizer=source, model_name="m")
    (finding,) = [each for each in found["model m"] if "was made of" in each["text"]]
    assert finding["level"] == "warning"
    assert "<use>" in finding["text"] and finding["text"].endswith("its chat template")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"<html>", "JSONDecodeError"),
        (b"[]", "no JSON object"),
        (b"{}", "must run the grammar backend 'switchyard'"),
        (b'{"grammar_backend": "switchyard"}', "its plug-in reports no status"),
    ],
)
def test_a_server_that_is_no_worker_is_an_error(tokenizer: str, body: bytes, text: str):
    with answering(body) as url:
        status, found = findings(workers=url, tokenizer=tokenizer, model_name="m")
        (finding,) = found[f"worker sglang {url.removeprefix('http://')}"]
    assert status == 1
    assert text in finding["text"]
    assert finding["advice"]


def test_a_worker_with_another_vocabulary_is_an_error(tokenizer: str):
    from app.conversation.tokenizer import load_tokenizer

    worker, loop = FakeWorker(load_tokenizer(tokenizer, "auto").vocabulary), Loop()
    try:
        (state,) = worker.info["internal_states"]
        state["switchyard"]["vocabulary"] = "another"
        loop.run(worker.listen())
        status, found = findings(workers=worker.url, tokenizer=tokenizer, model_name="m")
    finally:
        loop.run(worker.refuse())
        loop.close()
    (finding,) = found[f"worker sglang {worker.url.removeprefix('http://')}"]
    assert (status, "vocabulary" in finding["text"]) == (1, True)
    assert finding["advice"].startswith("give the gateway the tokenizer of the model")


UNTESTED = "SGLang 9.9.9 was not tested with this plug-in"


@pytest.mark.parametrize(
    ("status", "level", "text"),
    [
        ({"sglang_tested": True}, "ok", "and its plug-in 0.1.0 were tested together"),
        ({"sglang_tested": False, "warnings": [UNTESTED]}, "warning", UNTESTED),
    ],
    ids=["tested", "untested"],
)
def test_the_versions_of_a_worker_are_told(
    tokenizer: str, status: dict[str, Any], level: str, text: str
):
    from app.conversation.tokenizer import load_tokenizer

    worker, loop = FakeWorker(load_tokenizer(tokenizer, "auto").vocabulary), Loop()
    try:
        (state,) = worker.info["internal_states"]
        state["switchyard"] |= {"version": "0.1.0", **status}
        loop.run(worker.listen())
        _, found = findings(workers=worker.url, tokenizer=tokenizer, model_name="m")
    finally:
        loop.run(worker.refuse())
        loop.close()
    versions, *others = found[f"worker sglang {worker.url.removeprefix('http://')}"]
    assert (versions["level"], text in versions["text"], len(others)) == (level, True, 1)


@pytest.mark.parametrize(
    ("template", "sees_images", "level", "text"),
    [
        (VISION_TEMPLATE, True, "ok", f"sees images: {IMAGE_TOKENS} tokens for 64 x 64 pixels"),
        (VISION_TEMPLATE, False, "warning", "the chat template shows images, but"),
        (TEMPLATE, True, "warning", "the worker's model sees images, but"),
    ],
    ids=["both", "template", "worker"],
)
def test_a_worker_is_shown_an_image(
    tmp_path: Path, template: str, sees_images: bool, level: str, text: str
):
    from app.conversation.tokenizer import load_tokenizer

    source = folder(tmp_path, template)
    worker, loop = FakeWorker(load_tokenizer(source, "auto").vocabulary), Loop()
    worker.sees_images = sees_images
    try:
        loop.run(worker.listen())
        _, found = findings(workers=worker.url, tokenizer=source, model_name="m")
    finally:
        loop.run(worker.refuse())
        loop.close()
    *_, finding = found[f"worker sglang {worker.url.removeprefix('http://')}"]
    assert finding["level"] == level, found
    assert finding["text"].startswith(text)


@contextmanager
def ranked(tokenizer: str, ranks: int) -> Iterator[RankedWorker]:
    from app.conversation.tokenizer import load_tokenizer

    worker, loop = RankedWorker(load_tokenizer(tokenizer, "auto").vocabulary, ranks), Loop()
    try:
        loop.run(worker.listen())
        yield worker
    finally:
        loop.run(worker.refuse())
        loop.close()


def texts(worker: RankedWorker, tokenizer: str, **settings: object) -> list[tuple[str, str]]:
    """Return level and text of the findings about a worker."""
    _, found = findings(workers=worker.url, tokenizer=tokenizer, model_name="m", **settings)
    place = f"worker sglang {worker.url.removeprefix('http://')}"
    return [(each["level"], each["text"]) for each in found[place]]


def test_each_rank_of_a_worker_is_asked(tokenizer: str):
    with ranked(tokenizer, 3) as worker:
        assert ("ok", "3 data-parallel ranks, each answers") in texts(worker, tokenizer)
        worker.bad = {2: "fails"}
        level, text = texts(worker, tokenizer)[-1]
        assert level == "error" and text.startswith("1 of 3 asked ranks fail (2); rank 2: ")
        worker.bad = {}
        worker.restart(2, said=3)  # REGRESSION: it answered by another rank, so all seemed well
        level, text = texts(worker, tokenizer)[-1]
        assert level == "error" and text.startswith("1 of 3 asked ranks fail (2); rank 2: the")
        worker.restart(70)
        text = "70 data-parallel ranks, each of the first 64 answers"
        assert ("ok", text) in texts(worker, tokenizer)
        worker.restart(1)
        assert not any("ranks" in text for _, text in texts(worker, tokenizer))


@pytest.mark.parametrize(
    ("kv_cache", "keeps", "leaks", "expected"),
    [
        ("shared", True, True, None),
        ("key", True, False, ("ok", "salts separate the KV caches of keys (2 cached tokens with")),
        ("key", False, False, ("ok", "it reports no cached tokens, not even for the same salt")),
        (
            "key",
            True,
            True,
            ("error", "a prompt with another salt found 2 cached tokens: salts do not"),
        ),
    ],
)
def test_a_worker_is_asked_whether_salts_separate(
    tokenizer: str, kv_cache: str, keeps: bool, leaks: bool, expected: tuple[str, str] | None
):
    with ranked(tokenizer, 2) as worker:
        worker.keeps, worker.leaks = keeps, leaks
        found = texts(worker, tokenizer, kv_cache=kv_cache, api_keys="one")
    salts = [(level, text) for level, text in found if "salt" in text]
    if expected is None:
        assert salts == []
    else:
        ((level, text),) = salts
        assert level == expected[0] and text.startswith(expected[1])


@pytest.mark.parametrize(
    ("priority", "knows", "expected"),
    [
        ("high", True, ("ok", "its queue follows the priorities of keys")),
        (
            "low",
            False,
            ("warning", "keys have priorities, but the worker's own queue ignores them"),
        ),
        ("normal", False, None),
    ],
)
def test_priorities_of_keys_are_compared_with_the_worker(
    tokenizer: str, tmp_path: Path, priority: str, knows: bool, expected: tuple[str, str] | None
):
    keys = tmp_path / "keys.jsonl"
    switchyard("keys", "create", "a", "--file", keys, "--priority", priority)
    with ranked(tokenizer, 1) as worker:
        worker.info["enable_priority_scheduling"] = knows
        found = texts(worker, tokenizer, keys_file=keys)
    assert [each for each in found if "priorities" in each[1]] == [expected] * bool(expected)


@pytest.mark.parametrize("setup", ["right", "swapped", "no prefill server"])
def test_each_worker_of_a_pair_answers_with_one_of_the_other_side(tokenizer: str, setup: str):
    """The answers of fakes are no calls; tests/sglang asks real servers."""
    from app.conversation.tokenizer import load_tokenizer

    vocabulary, rooms = load_tokenizer(tokenizer, "auto").vocabulary, Rooms()
    decode = [FakeHalf(vocabulary, rooms, "decode") for _ in range(2)]
    prefill, loop = FakeHalf(vocabulary, rooms, "prefill"), Loop()
    everyone = [*decode, prefill]
    try:
        for worker in everyone:
            loop.run(worker.listen())
        if setup == "no prefill server":
            loop.run(prefill.refuse())
        sides = ",".join(worker.url for worker in decode), prefill.url
        workers, fillers = reversed(sides) if setup == "swapped" else sides
        _, found = findings(
            workers=workers, prefill_workers=fillers, tokenizer=tokenizer, model_name="m"
        )
    finally:
        for worker in everyone:
            loop.run(worker.refuse())
        loop.close()
    places = [f"worker sglang {worker.url.removeprefix('http://')}" for worker in everyone]
    if setup == "no prefill server":  # REGRESSION: decode servers had the blame
        shown = [(each["level"], each["text"]) for place in places[:2] for each in found[place]]
        assert shown == [("warning", "it was not asked: no prefill server is ready")] * 2
        assert found[places[2]][0]["level"] == "error"
    elif setup == "swapped":
        texts = [found[place][0] for place in places]
        assert all("must run with --disaggregation-mode" in each["text"] for each in texts)
        assert all(each["advice"].startswith("name prefill servers in") for each in texts)
    else:
        assert all(place in found for place in places)
        assert all(worker.answers for worker in everyone)


def test_each_adapter_is_asked_once_and_one_that_no_worker_has_is_named(tokenizer: str):
    from app.conversation.tokenizer import load_tokenizer

    many = [f"a{number}" for number in range(60)]
    worker = AdapterWorker(load_tokenizer(tokenizer, "auto").vocabulary, *many, "z", "alias")
    worker.refused.add("a3")
    loop = Loop()
    try:
        loop.run(worker.listen())
        settings = {"workers": worker.url, "tokenizer": tokenizer, "model_name": "m"}
        status, found = findings(**settings, adapters="x=gone,y=z", model_aliases="m:alias")
    finally:
        loop.run(worker.refuse())
        loop.close()
    levels = {place: each[0]["level"] for place, each in found.items() if "adapter" in place}
    assert levels.pop("adapter m:gone") == levels.pop("adapter m:a3") == "error"
    assert levels.pop("adapter alias of model m") == "warning"
    assert set(levels.values()) == {"ok"}
    assert "adapter m:z" in levels, "those of settings come first"
    asked = [name for name in worker.asked if name is not None]
    assert len(asked) == len(set(asked)) == 50
    assert found["model m"][-1]["text"] == "11 more adapters were not asked"
    assert status == 1


def test_an_adapter_that_one_side_of_a_pair_lacks_is_named(tokenizer: str):
    """REGRESSION: that no worker had it, or nothing at all."""
    from app.conversation.tokenizer import load_tokenizer

    vocabulary, rooms, loop = load_tokenizer(tokenizer, "auto").vocabulary, Rooms(), Loop()
    decode, prefill = (AdapterHalf(vocabulary, rooms, half) for half in ("decode", "prefill"))
    decode.adapters = {"law": "/law", "tax": "/tax"}
    prefill.adapters = {"law": "/law", "med": "/med"}
    try:
        for worker in (decode, prefill):
            loop.run(worker.listen())
        _, found = findings(
            workers=decode.url,
            prefill_workers=prefill.url,
            tokenizer=tokenizer,
            model_name="m",
            adapters="x=tax,y=law,z=gone",
        )
    finally:
        for worker in (decode, prefill):
            loop.run(worker.refuse())
        loop.close()
    said = {place: [(each["level"], each["text"]) for each in found[place]] for place in found}
    named = "a setting names it, and no "
    assert said["adapter m:tax"] == [("error", f"{named}prefill server has it")]
    neither = f"{named}decode server and no prefill server has it"
    assert said["adapter m:gone"] == [("error", neither)]
    assert said["adapter m:med"] == [("warning", "it is not served: no decode server has it")]
    assert [level for level, _ in said["adapter m:law"]] == ["ok"]


def test_the_lines_are_for_people():
    done = switchyard("doctor", port=free_port())
    assert done.stdout.splitlines()[0] == "ok      settings: every setting is valid"
    assert done.stdout.rstrip().endswith("errors: 0, warnings: 1")
    assert "\033" not in done.stdout
