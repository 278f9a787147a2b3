"""A gateway before two real servers, of which one fills the KV cache and the other one decodes.

Transfer     NIXL with UCX over TCP: keys, values and first tokens do go from process to process.
Faults       the kernel's: all processes of a server are stopped (it hangs), or killed.
Not here     several servers of a side, faults that a real server cannot be made to show
             (tests/campaigns/disaggregation).
"""

from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import openai
import pytest

from tests.app.cli.command import switchyard
from tests.real_input.asking import client_of, complete
from tests.real_input.served import metric, served_gateway
from tests.redis_server import free_port

from .asked import PROMPTS, SCHEMA
from .environment import is_before
from .faults import kill, stopped, wait_for
from .server import SGLangServer
from .servers import IDLE, Servers

OPERATOR = "an operator's key"
NIXL = ("--disaggregation-transfer-backend", "nixl")
#: the usual backup of a decode server is in memory that CUDA pins
UNPINNED = ("--disaggregation-decode-retraction-backup", "cpu_tensor")
ENVIRONMENT = {
    "UCX_TLS": "tcp,self,sm",
    # it waits for an event of CUDA
    "SGLANG_DISAGG_PREFILL_EARLY_SEND_CACHED_PREFIX": "0",
    "SGLANG_DISAGGREGATION_HEARTBEAT_INTERVAL": "1",
}
if is_before("0.5.20"):
    # its prefill servers abort nothing that waits for a decode server; by default, for five minutes
    ENVIRONMENT["SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT"] = "30"
    ENVIRONMENT["SGLANG_DISAGGREGATION_WAITING_TIMEOUT"] = "30"
FAULTS = ("switchyard_parse_divergence_total", "switchyard_internal_errors_total")
TOOL = {"type": "function", "function": {"name": "save", "parameters": SCHEMA}}
FORMAT = {"type": "json_schema", "json_schema": {"name": "form", "schema": SCHEMA}}
#: longer than what a test does meanwhile
LONG = {"max_completion_tokens": 1000, "stream": True, "extra_body": {"ignore_eos": True}}
REQUESTS: dict[str, dict[str, Any]] = {
    "text": {"max_tokens": 40},
    "a tool call": {"tools": [TOOL], "tool_choice": "required", "max_tokens": 400},
    "a schema": {"response_format": FORMAT, "max_tokens": 400},
    "one token": {"max_tokens": 1},
}


class Running(NamedTuple):
    """``whole`` runs both halves of its generations."""

    prefill: SGLangServer
    decode: SGLangServer
    whole: SGLangServer


@pytest.fixture(scope="module")
def servers(
    server_python: Path, tiny_model_folder: Path, sglang_server: Servers
) -> Iterator[Running]:
    """Start all at once, which takes less than one after the other."""
    port = ("--disaggregation-bootstrap-port", str(free_port()))
    options = (
        ("--disaggregation-mode", "prefill", *NIXL, *port),
        ("--disaggregation-mode", "decode", *NIXL, *UNPINNED),
    )
    halves = [
        SGLangServer(
            server_python, tiny_model_folder, "switchyard", IDLE, *own, environment=ENVIRONMENT
        )
        for own in options
    ]
    try:
        with ThreadPoolExecutor(len(halves)) as threads:
            started = threads.map(SGLangServer.start, halves)
            whole = sglang_server("switchyard", "--random-seed", "1")
            list(started)
        yield Running(*halves, whole)
    finally:
        for server in halves:
            server.stop()


def settings(server: SGLangServer, **more: str) -> dict[str, str]:
    return {
        "WORKERS": server.base_url,
        "MODEL": str(server.model),
        "MODEL_NAME": "tiny",
        "REASONING": "off",
        "ADMIN_KEYS": OPERATOR,
        "WORKER_FIRST_TOKEN_SECONDS": "20",
        "WORKER_HEALTH_SECONDS": "1",
        **more,
    }


@pytest.fixture(scope="module")
def gateway(servers: Running) -> Iterator[str]:
    with served_gateway(settings(servers.decode, PREFILL_WORKERS=servers.prefill.base_url)) as url:
        yield url


@pytest.fixture(scope="module")
def gateway_of_one(servers: Running) -> Iterator[str]:
    with served_gateway(settings(servers.whole)) as url:
        yield url


def ready(url: str) -> Any:
    key = {"Authorization": f"Bearer {OPERATOR}"}
    return httpx.get(f"{url}/health/ready", headers=key, timeout=60).json()


def is_idle(server: SGLangServer) -> bool:
    """Whether a server has no request in any queue, by its own account."""
    (load,) = server.get_json("/v1/loads")["loads"]
    queues = [load["num_running_reqs"], load["num_waiting_reqs"]]
    queues += [count for name, count in load["disaggregation"].items() if name.endswith("_reqs")]
    return not any(queues)


def asked(**more: Any) -> dict[str, Any]:
    message = {"role": "user", "content": PROMPTS[0]}
    return {"model": "tiny", "messages": [message], "temperature": 0.0, **more}


@asynccontextmanager
async def begun(url: str) -> AsyncIterator[AsyncIterator[Any]]:
    """A long answer whose first token has come."""
    async with client_of(url) as client:
        stream = await client.chat.completions.create(**asked(**LONG))
        await anext(
            chunk async for chunk in stream if chunk.choices and chunk.choices[0].delta.content
        )
        yield stream


def test_readiness_names_both_halves(gateway: str, servers: Running) -> None:
    decode, prefill = ready(gateway)["workers"]
    assert (decode["half"], prefill["half"]) == ("decode", "prefill")
    assert prefill["bootstrap"].startswith("127.0.0.1:")


def test_doctor_asks_both_halves(servers: Running) -> None:
    own = settings(servers.decode, PREFILL_WORKERS=servers.prefill.base_url, PORT=str(free_port()))
    done = switchyard("doctor", **own)
    assert "as the decode half with sglang" in done.stdout, done.stdout
    assert "as the prefill half with sglang" in done.stdout, done.stdout


def test_a_server_of_another_half_is_not_ready(servers: Running) -> None:
    own = settings(servers.prefill, PREFILL_WORKERS=servers.decode.base_url)
    with pytest.raises(RuntimeError, match="did not start"), served_gateway(own, patience=10):
        pass


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", REQUESTS)
async def test_answers_are_those_of_one_server(
    gateway: str, gateway_of_one: str, name: str, stream: bool
) -> None:
    """The grammar's first token is chosen by one server, and all others by the other one."""
    answers = []
    for url in (gateway, gateway_of_one):
        async with client_of(url) as client:
            for prompt in PROMPTS:
                request = REQUESTS[name] | {"messages": [{"role": "user", "content": prompt}]}
                answer = await complete(client, stream=stream, **asked(**request))
                calls = [(call.name, call.arguments) for call in answer.calls]
                answers.append((calls, answer.content, answer.finish, answer.completion_tokens))
    assert answers[: len(PROMPTS)] == answers[len(PROMPTS) :]
    assert not any(metric(gateway, fault) for fault in FAULTS)


async def test_log_probabilities_are_those_of_one_server(gateway: str, gateway_of_one: str) -> None:
    found = []
    for url in (gateway, gateway_of_one):
        async with client_of(url) as client:
            answer = await client.chat.completions.create(
                **asked(max_completion_tokens=8, logprobs=True, top_logprobs=3)
            )
        tokens = answer.choices[0].logprobs.content
        found.append([(token.token, token.logprob) for token in tokens])
    assert [token for token, _ in found[0]] == [token for token, _ in found[1]]
    assert [n for _, n in found[0]] == pytest.approx([n for _, n in found[1]], abs=1e-4)


async def test_an_answer_that_its_client_leaves_ends_at_both(
    gateway: str, servers: Running
) -> None:
    async with begun(gateway) as stream:
        await stream.close()
    await wait_for(lambda: is_idle(servers.decode) and is_idle(servers.prefill))


async def test_a_request_that_its_client_leaves_ends_at_both(
    gateway: str, servers: Running
) -> None:
    """The prefill server waits for a decode server that hangs."""
    with stopped(servers.decode):
        async with client_of(gateway) as client:
            with pytest.raises(openai.APITimeoutError):
                await client.chat.completions.create(**asked(), timeout=3.0)
        await wait_for(lambda: is_idle(servers.prefill))
    await wait_for(lambda: is_idle(servers.decode) and ready(gateway)["status"] == "ok")


async def test_a_killed_prefill_server_ends_only_what_has_not_begun(
    gateway: str, servers: Running
) -> None:
    """It can be replaced at its address."""
    async with begun(gateway) as stream:
        kill(servers.prefill)
        async with client_of(gateway) as client:
            with pytest.raises(openai.InternalServerError):
                await client.chat.completions.create(**asked())
        finish = [chunk.choices[0].finish_reason async for chunk in stream if chunk.choices]
    assert finish[-1] == "length"
    await wait_for(lambda: is_idle(servers.decode))
    servers.prefill.stop()
    servers.prefill.start()
    await wait_for(lambda: ready(gateway)["status"] == "ok")
    async with client_of(gateway) as client:
        answer = await client.chat.completions.create(**asked(max_completion_tokens=5))
    assert answer.choices[0].finish_reason == "length"


async def test_a_killed_decode_server_frees_the_prefill_server(
    gateway: str, servers: Running
) -> None:
    async with begun(gateway) as stream:
        kill(servers.decode)
        with pytest.raises(openai.APIError, match="worker"):
            async for _ in stream:
                pass
        async with client_of(gateway) as client:
            with pytest.raises(openai.InternalServerError):
                await client.chat.completions.create(**asked())
    await wait_for(lambda: is_idle(servers.prefill))
