"""The SGLang client against what a real server sent."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from adapters.workers import Bootstrap, Half, SamplingOptions, SGLangWorker, WorkerError
from adapters.workers.sglang_health import judged
from adapters.workers.sglang_wire import request_id

from ..pulling import pulled
from .helpers import check_invariants, collect, ids_of, run
from .sglang_fakes import (
    PROMPT,
    RECORDED,
    TOKENS,
    Body,
    MockClient,
    Server,
    ask,
    event,
    recorded,
    streamed,
    text_of,
)


@pytest.mark.parametrize("size", [1, 50, 1_000_000])
@pytest.mark.parametrize(
    ("name", "stop", "finish", "ending"),
    [
        ("free", (), "length", b"<<"),
        ("tag", (), "stop", b"</tool><|im_end|>"),
        ("incremental_tag", (), "stop", b"</tool><|im_end|>"),
        ("stop", ("ing ", "self"), "stop", b"con exist"),
        ("incremental_stop", ("ing ", "self"), "stop", b" non buffer"),
    ],
)
def test_recorded_streams(
    name: str, stop: tuple[str, ...], finish: str, ending: bytes, size: int
) -> None:
    """Ids are handed on once each, in pieces of any size, and stop strings are cut off."""
    server = recorded(name, size)
    chunks = run(collect(server.worker(), ask(stop=stop)))
    check_invariants(chunks)
    assert chunks[-1].finish_reason == finish
    assert chunks[-1].prompt_tokens == 3
    assert text_of(chunks).endswith(ending)
    assert server.sent("/abort_request") == []


def test_a_stop_string_found_here_first_aborts_the_server() -> None:
    """The server's own check looks at a window of decoded tokens; the client's at every byte."""
    server = recorded("free")
    chunks = run(collect(server.worker(), ask(stop=("option",))))
    check_invariants(chunks)
    assert (chunks[-1].finish_reason, chunks[-1].stop_text) == ("stop", "option")
    assert text_of(chunks).endswith(b"relative")
    assert server.sent("/abort_request") == [{"rid": server.sent("/generate")[0]["rid"]}]


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("refused_grammar", 400, "Failed to compile structural_tag grammar"),
        (
            "prompt_too_long",
            400,
            "the prompt has 5,000 tokens; the model's context of 4,096",
        ),
    ],
)
def test_refusals_show_nothing(name: str, status: int, words: str) -> None:
    """A refused grammar comes with a junk token, which must not get out; and no retry can help."""
    with pytest.raises(WorkerError, match=words) as caught:
        run(collect(recorded(name).worker(), ask()))
    assert (caught.value.status, caught.value.reason) == (status, "refused")


def test_an_abort_from_outside_is_an_error() -> None:
    """A recorded /abort_request while decoding: what was handed on stands, then comes an error."""
    shown: list[Any] = []

    async def read() -> None:
        async for chunk in pulled(recorded("aborted").worker(), ask()):
            shown.append(chunk)

    with pytest.raises(WorkerError, match="Aborted") as caught:
        run(read())
    assert (caught.value.status, caught.value.reason) == (502, "aborted")
    assert all(chunk.finish_reason is None for chunk in shown)
    assert len(ids_of(shown)) == 22


def test_line_separators_inside_text_do_not_tear_events() -> None:
    end = {"type": "length", "length": 2}
    server = streamed(event([5], 1, None, "\u2028\x85"), event([5, 6], 2, end, "\u2028\x85 x"))
    assert ids_of(run(collect(server.worker(), ask()))) == [5, 6]


def test_the_request() -> None:
    """Everything of a Generation is in the body, under SGLang's names."""
    server = recorded("free")
    worker = server.worker(stop_token_ids=(3,), api_key="secret")
    generation = ask(spec='{"a":1}', temperature=0.5, top_p=0.0, seed=1 << 63, stop=("x",))
    run(collect(worker, generation))
    (body,) = server.sent("/generate")
    assert body.pop("rid").startswith(request_id("r")[:16])
    assert body == {
        "input_ids": PROMPT,
        "stream": True,
        "sampling_params": {
            "max_new_tokens": 60,
            "temperature": 0.5,
            "top_p": 1e-6,
            "no_stop_trim": True,
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
            "structural_tag": '{"a":1}',
            "stop": ["x"],
            "stop_token_ids": [3],
            "sampling_seed": 0,
        },
    }
    assert "secret" not in repr(vars(worker)["description"])


@pytest.mark.parametrize("spec", ["é\u2028\U0001f600", "\ud800", '"\\\0'])
def test_any_text_of_a_spec_is_sent(spec: str) -> None:
    """Also a lone surrogate, which UTF-8 cannot contain."""
    server = recorded("free")
    run(collect(server.worker(), ask(spec=spec)))
    assert server.sent("/generate")[0]["sampling_params"]["structural_tag"] == spec


def test_larger_events_are_asked_for_unless_the_server_makes_them_anyway() -> None:
    intervals = []
    own = [{}, *({"stream_interval": each} for each in (4, 8, "x", True))]
    for interval, info in [(1, {}), *((8, each) for each in own)]:
        server = recorded("free")
        worker = server.worker()
        worker._judge({"grammar_backend": "switchyard", **info})
        run(collect(worker, ask(interval=interval)))
        intervals.append(server.sent("/generate")[0]["sampling_params"].get("stream_interval"))
    assert intervals == [None, 8, 8, None, 8, 8]


#: (options, what they add to SGLang's sampling_params of a request for 60 tokens)
OPTIONS: list[tuple[SamplingOptions, dict[str, Any]]] = [
    (SamplingOptions(), {}),
    (SamplingOptions(top_k=7), {"top_k": 7}),
    (SamplingOptions(min_p=0.25), {"min_p": 0.25}),
    (SamplingOptions(frequency_penalty=-2.0), {"frequency_penalty": -2.0}),
    (SamplingOptions(presence_penalty=1.5), {"presence_penalty": 1.5}),
    (SamplingOptions(repetition_penalty=1.25), {"repetition_penalty": 1.25}),
    (SamplingOptions(logit_bias=((3, -100), (5, 0.5))), {"logit_bias": {"3": -100, "5": 0.5}}),
    (SamplingOptions(min_tokens=60), {"min_new_tokens": 60}),
    (SamplingOptions(min_tokens=61), {"min_new_tokens": 60}),
    (SamplingOptions(ignore_eos=True), {"min_new_tokens": 60}),
]


@pytest.mark.parametrize(("options", "added"), OPTIONS)
def test_sampling_options_are_sent_unless_they_are_off(
    options: SamplingOptions, added: dict[str, Any]
) -> None:
    def params(**changes: Any) -> dict[str, Any]:
        server = recorded("free")
        run(collect(server.worker(), ask(**changes)))
        sent: dict[str, Any] = server.sent("/generate")[0]["sampling_params"]
        return sent

    assert params(sampling=options) == params() | added
    assert set(options.active) <= SGLangWorker.supported_sampling


def test_where_and_with_which_adapter_a_server_answers_is_sent_if_it_is_set() -> None:
    server = recorded("free")
    place = {"rank": 0, "bootstrap": Bootstrap("10.0.0.1", 8998, (1 << 63) - 1)}
    worker = server.worker()
    worker.separates_salts = True
    worker._adapters.known = {"law": "/adapters/law"}
    run(collect(worker, ask(lora="law", cache_salt="team", **place)))
    assert {
        "lora_path": "law",
        "cache_salt": "team",
        "routed_dp_rank": 0,
        "bootstrap_host": "10.0.0.1",
        "bootstrap_port": 8998,
        "bootstrap_room": (1 << 63) - 1,
    }.items() <= server.sent("/generate")[0].items()


def test_request_ids_have_one_length_and_are_never_reused() -> None:
    """The server aborts by prefix, so no name may be the beginning of another."""
    names = {request_id(rid) for rid in ("", "a", "a", "a" * 1000, "é\ud800")}
    assert len(names) == 5
    assert {len(name) for name in names} == {32}


@pytest.mark.parametrize("prompt", [[], [4096], [-1]])
def test_prompts_that_would_end_the_server_are_not_sent(prompt: list[int]) -> None:
    """REGRESSION: a real server dies whole when it is sent an id beyond the model's vocabulary."""
    server = recorded("free")
    with pytest.raises(WorkerError, match="below 4,096") as caught:
        run(collect(server.worker(), ask(prompt=prompt)))
    assert caught.value.status == 400
    assert server.requests == []


def test_leaving_early_aborts_and_closes() -> None:
    async def leave() -> tuple[Server, Body]:
        body = Body((RECORDED / "free.sse").read_bytes())
        server = Server(lambda: httpx.Response(200, stream=body))
        stream = pulled(server.worker(), ask())
        await anext(stream)
        await stream.aclose()
        await asyncio.sleep(0.05)
        return server, body

    server, body = run(leave())
    assert body.closed
    assert server.sent("/abort_request") == [{"rid": server.sent("/generate")[0]["rid"]}]


def test_cancelling_twice_aborts() -> None:
    """REGRESSION: a cancellation while the connection closed left the server generating."""

    class Stuck(Body):
        async def aclose(self) -> None:
            await asyncio.Event().wait()

    async def cancel() -> Server:
        body = Stuck((RECORDED / "free.sse").read_bytes())
        server = Server(lambda: httpx.Response(200, stream=body))
        stream = pulled(server.worker(), ask())
        await anext(stream)
        closing = asyncio.ensure_future(stream.aclose())
        await asyncio.sleep(0.05)
        closing.cancel()
        await asyncio.wait([closing])
        await asyncio.sleep(0.05)
        return server

    assert len(run(cancel()).sent("/abort_request")) == 1


def test_cancelling_aborts_even_if_the_abort_fails() -> None:
    async def cancel() -> list[str]:
        paths: list[str] = []

        async def answer(request: httpx.Request) -> httpx.Response:
            paths.append(request.url.path)
            if request.url.path == "/abort_request":
                raise httpx.ConnectError("down")
            await asyncio.sleep(3600)
            raise AssertionError

        client = MockClient(answer)
        worker = SGLangWorker("http://worker", tokens=TOKENS, client=client)
        task = asyncio.create_task(collect(worker, ask()))
        while not paths:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await worker.aclose()
        return paths

    assert run(cancel()) == ["/generate", "/abort_request"]


def info_server(**paths: httpx.Response) -> SGLangWorker:
    async def answer(request: httpx.Request) -> httpx.Response:
        return paths.get(request.url.path.strip("/"), httpx.Response(404))

    client = MockClient(answer)
    return SGLangWorker("http://worker", tokens=TOKENS, client=client, grammar_backend="xgrammar")


INFO = (RECORDED / "server_info.json").read_text()
#: a server with a draft model
DRAFTING = json.loads(INFO) | {"speculative_algorithm": "EAGLE3"}


@pytest.mark.parametrize(
    ("paths", "ready", "reason"),
    [
        ({"ready": httpx.Response(200), "server_info": httpx.Response(200, text=INFO)}, True, ""),
        (
            {"health": httpx.Response(200), "get_server_info": httpx.Response(200, text=INFO)},
            True,
            "",
        ),
        ({"ready": httpx.Response(503)}, False, "503"),
        ({"ready": httpx.Response(200)}, False, ""),
        (
            {
                "ready": httpx.Response(200),
                "server_info": httpx.Response(200, text=INFO.replace("xgrammar", "llguidance")),
            },
            False,
            "'xgrammar', got 'llguidance'",
        ),
        (
            {
                "ready": httpx.Response(200),
                "server_info": httpx.Response(200, text=INFO.replace("xgrammar", "none")),
            },
            False,
            "without a grammar backend",
        ),
        (
            {
                "ready": httpx.Response(200),
                "server_info": httpx.Response(
                    200, json=DRAFTING | {"speculative_algorithm": "UNO"}
                ),
            },
            False,
            "drafts with UNO, which takes no request with a grammar",
        ),
        (
            {
                "ready": httpx.Response(200),
                "server_info": httpx.Response(200, json=DRAFTING),
            },
            True,
            "",
        ),
    ],
)
def test_health(paths: dict[str, httpx.Response], ready: bool, reason: str) -> None:
    """A server is ready when it says so and runs the grammar backend that is wanted."""
    health = run(info_server(**paths).health())
    assert health.ready is ready
    assert reason in health.reason
    assert not ready or health.details["version"] == "0.5.23"


OURS = json.loads(INFO) | {"grammar_backend": "switchyard"}
SAID = {"backend": "switchyard", "version": "0.1.0", "spec_version": 1, "vocabulary": "v"}


@pytest.mark.parametrize(
    ("states", "ready", "reason"),
    [
        ([{"switchyard": SAID}], True, ""),
        ([{"switchyard": SAID}, {"switchyard": SAID | {"version": "9"}}], True, ""),
        ([{}], False, "its plug-in reports no status"),
        ([], False, "its plug-in reports no status"),
        (None, False, "its plug-in reports no status"),
        ("what", False, "its plug-in reports no status"),
        ([{"switchyard": SAID}, {}], False, "its plug-in reports no status"),
        ([{"switchyard": SAID | {"vocabulary": "w"}}], False, "vocabulary must be 'v', got 'w'"),
        ([{"switchyard": SAID | {"spec_version": 2}}], False, "reads version 2 of grammar specs"),
        ([{"switchyard": {}}], False, "reads version None of grammar specs"),
    ],
)
def test_a_server_with_our_plug_in_says_so_itself(states: Any, ready: bool, reason: str) -> None:
    """A plug-in that failed to load, or that has another vocabulary, is not ready."""
    info = httpx.Response(200, json=OURS | {"internal_states": states})

    async def answer(request: httpx.Request) -> httpx.Response:
        return info if request.url.path == "/server_info" else httpx.Response(200)

    client = MockClient(answer)
    worker = SGLangWorker(
        "http://worker",
        tokens=TOKENS,
        client=client,
        grammar_backend="switchyard",
        plugin={"spec_version": 1, "vocabulary": "v"},
    )
    health = run(worker.health())
    assert health.ready is ready and reason in health.reason
    if ready:
        assert health.details["switchyard"] == {
            "version": health.details["switchyard"]["version"],
            "spec_version": 1,
            "vocabulary": "v",
        }


@pytest.mark.parametrize(
    ("more", "shown", "warnings"),
    [
        ({}, {}, None),
        ({"sglang_tested": True, "warnings": []}, {"sglang_tested": True}, None),
        (
            {"sglang_tested": False, "warnings": ["SGLang 9 was not tested", "\ud800"]},
            {"sglang_tested": False},
            ["SGLang 9 was not tested", "\\ud800"],
        ),
        ({"sglang_tested": float("nan"), "warnings": "all"}, {"sglang_tested": "nan"}, None),
        ({"warnings": [{}] * 1000}, {}, ["{}"] * 10),
    ],
)
def test_what_a_plug_in_warns_of_is_shown(
    more: dict[str, Any], shown: dict[str, Any], warnings: list[str] | None
) -> None:
    info = OURS | {"internal_states": [{"switchyard": SAID | more}]}
    health = judged(info, "switchyard", {"spec_version": 1}, "1", {})
    told = health.details["switchyard"]
    assert health.ready and told == {"version": "0.1.0", "spec_version": 1} | shown
    assert health.details.get("warnings") == warnings


@pytest.mark.parametrize(
    ("half", "mode", "reason"),
    [
        (None, {}, ""),
        (None, {"disaggregation_mode": "null"}, ""),
        (None, {"disaggregation_mode": "prefill"}, "mode null, got 'prefill'"),
        ("prefill", {"disaggregation_mode": "prefill"}, ""),
        ("prefill", {"disaggregation_mode": "decode"}, "mode prefill, got 'decode'"),
        ("decode", {"disaggregation_mode": "decode"}, ""),
        ("decode", {"disaggregation_mode": "prefill"}, "mode decode, got 'prefill'"),
        ("decode", {}, "mode decode, got 'null'"),
        ("decode", {"disaggregation_mode": ["\ud800"]}, r"mode decode, got ['\ud800']"),
    ],
)
def test_a_server_runs_the_half_that_it_is_named_for(
    half: Half | None, mode: dict[str, Any], reason: str
) -> None:
    info = {key: value for key, value in json.loads(INFO).items() if "disaggregation" not in key}
    worker = half_of(info | mode, half)
    health = run(worker.health())
    assert (health.ready, reason in health.reason) == (not reason, True)


@pytest.mark.parametrize(("said", "port"), [(7, 7), (None, 8998), ("7", 8998), (1 << 16, 8998)])
def test_decode_servers_meet_a_prefill_server_at_its_port(said: Any, port: int) -> None:
    info = {"disaggregation_mode": "prefill", "disaggregation_bootstrap_port": said}
    worker = half_of(json.loads(INFO) | info, "prefill")
    assert worker.bootstrap(5) == Bootstrap("worker", 8998, 5)
    health = run(worker.health())
    assert health.details["bootstrap"] == f"worker:{port}"
    assert worker.bootstrap(5) == Bootstrap("worker", port, 5)
    assert half_of({}, "prefill", bootstrap_host="fabric").bootstrap(5).host == "fabric"


def half_of(info: dict[str, Any], half: Half | None, **options: Any) -> SGLangWorker:
    async def answer(request: httpx.Request) -> httpx.Response:
        is_info = request.url.path == "/server_info"
        return httpx.Response(200, content=json.dumps(info) if is_info else "{}")

    client = MockClient(answer)
    return SGLangWorker("http://worker", tokens=TOKENS, client=client, half=half, **options)


def test_max_tokens_is_cut_to_the_context() -> None:
    """The server refuses longer prompts than it has room for; an answer may simply end there."""

    async def work() -> Any:
        sent: list[Any] = []

        async def answer(request: httpx.Request) -> httpx.Response:
            if request.url.path == "/generate":
                sent.append(json.loads(request.content))
                return httpx.Response(200, content=(RECORDED / "free.sse").read_bytes())
            return httpx.Response(200, text=INFO)

        client = MockClient(answer)
        worker = SGLangWorker("http://worker", tokens=TOKENS, client=client)
        await worker.health()
        await collect(worker, ask(max_tokens=100_000))
        return sent[0]["sampling_params"]["max_new_tokens"]

    assert run(work()) == 4090 - len(PROMPT)
