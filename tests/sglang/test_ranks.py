"""A real server with two data-parallel ranks: which one answers, what they share, who goes first.

    --dp-size 2      two schedulers with a KV cache each, behind one port

Attention by ranks (``--enable-dp-attention``) needs more than SGLang's backends for a CPU have.
"""

import asyncio
import json
import re
from collections.abc import Iterator

import httpx
import pytest

from adapters.workers import Chunk, Generation, SamplingOptions, SGLangWorker, WorkerError
from tests.app.cli.command import switchyard
from tests.real_input.asking import ask_all, client_of, complete
from tests.real_input.judging import Judge
from tests.real_input.served import served_gateway

from .asked import PROMPTS, SCHEMA
from .environment import is_before
from .server import SGLangServer
from .servers import Servers

OPERATOR = "an operator's key"
KEYS = ("one", "two")
#: generations of a rank at a time, and those that wait for one
RUNNING, WAITING = 2, 4
#: tokens of a generation that is ended from outside; with its prompt, they fit into the context
ENDLESS = 3500
OPTIONS = (
    *("--dp-size", "2", "--enable-priority-scheduling"),
    *("--max-running-requests", str(RUNNING), "--max-queued-requests", str(WAITING)),
    # a higher priority takes the place of a running generation; by default, 10 must be between
    *("--priority-scheduling-preemption-threshold", "0"),
)
#: on a CPU, a server needs the processors of each rank
PLACES = {"SGLANG_CPU_OMP_THREADS_BIND": "0|0"}
CONVERSATIONS, TURNS = 6, 4
#: older versions share keys and values between salts
KEEPS_SALTS = not is_before("0.5.21")


@pytest.fixture(scope="module")
def server(sglang_server: Servers) -> Iterator[SGLangServer]:
    """Stopped after these tests: its controller takes a whole processor, also while it waits."""
    started = sglang_server("switchyard", *OPTIONS, **PLACES)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def gateway(server: SGLangServer) -> Iterator[str]:
    settings = {
        "WORKERS": server.base_url,
        "MODEL": str(server.model),
        "MODEL_NAME": "tiny",
        "ADMIN_KEYS": OPERATOR,
        "API_KEYS": ",".join(KEYS),
        "KV_CACHE": "key" if KEEPS_SALTS else "shared",
        "WORKER_POLICY": "prefix-aware",
    }
    with served_gateway(settings) as url:
        yield url


async def worker_of(server: SGLangServer) -> SGLangWorker:
    worker = SGLangWorker(server.base_url, tokens=[b"a"] * 4096, separates_caches=KEEPS_SALTS)
    health = await worker.health()
    assert health.ready and health.ranks == 2 and health.details["priorities"] is True, health
    return worker


def ask(number: int, tokens: int = 2, **options: object) -> Generation:
    """Return a generation of exactly so many tokens."""
    return Generation(
        rid=f"r{number:04}",
        prompt=[1000 + number, *range(100, 400)],
        spec=None,
        max_tokens=tokens,
        temperature=0.0,
        sampling=SamplingOptions(ignore_eos=True),
        **options,  # type: ignore[arg-type]
    )


async def answer(worker: SGLangWorker, generation: Generation) -> list[Chunk]:
    chunks: list[Chunk] = []

    def receive(chunk: Chunk) -> bool:
        chunks.append(chunk)
        return True

    await worker.run(generation, receive).wait()
    return chunks


async def cached(worker: SGLangWorker, generation: Generation) -> int:
    return (await answer(worker, generation))[-1].cached_tokens


async def test_each_rank_has_a_cache_of_its_own(server: SGLangServer) -> None:
    worker = await worker_of(server)
    found = [await cached(worker, ask(1, rank=rank)) for rank in (0, 1, 0, 1)]
    await worker.aclose()
    assert found == [0, 0, 300, 300]


async def test_a_rank_that_the_server_does_not_have_is_its_own_choice(server: SGLangServer) -> None:
    worker = await worker_of(server)
    chunks = await answer(worker, ask(2, rank=7))
    await worker.aclose()
    assert chunks[-1].finish_reason == "length"


@pytest.mark.skipif(not KEEPS_SALTS, reason="this version does not keep salts apart")
async def test_prompts_with_different_salts_share_nothing(server: SGLangServer) -> None:
    worker = await worker_of(server)
    salts = ("a", "b", None, "a", "b", None)
    found = [await cached(worker, ask(3, rank=0, cache_salt=salt)) for salt in salts]
    await worker.aclose()
    assert found == [0, 0, 0, 300, 300, 300]


async def begun(worker: SGLangWorker, number: int, tokens: int) -> "asyncio.Task[None]":
    """Return a generation of the first rank that runs, and that none takes the place of."""
    has_begun = asyncio.Event()

    def receive(chunk: Chunk) -> bool:
        has_begun.set()
        return True

    run = worker.run(ask(number, tokens, rank=0, priority=1), receive)
    task = asyncio.create_task(run.wait())
    await asyncio.wait(
        {task, waiting := asyncio.create_task(has_begun.wait())}, return_when="FIRST_COMPLETED"
    )
    assert waiting.done(), task
    return task


async def waiting_for(server: SGLangServer, count: int) -> None:
    """Wait until so many requests are in a queue."""
    async with httpx.AsyncClient(base_url=server.base_url, timeout=60) as client:
        for _ in range(600):
            loads = (await client.get("/v1/loads")).json()["loads"]
            if sum(load["num_waiting_reqs"] for load in loads) >= count:
                return
            await asyncio.sleep(0.05)
    raise AssertionError("the requests do not wait")


async def test_a_full_queue_follows_the_priorities(server: SGLangServer) -> None:
    """High ones first although they came last; the last low one makes room for another."""
    worker = await worker_of(server)
    order: list[str] = []

    async def wait_for(name: str, number: int, priority: int) -> str:
        def receive(chunk: Chunk) -> bool:
            if name not in order:
                order.append(name)
            return True

        try:
            await worker.run(ask(number, 2, rank=0, priority=priority), receive).wait()
        except WorkerError as error:
            return error.reason
        return "answered"

    busy = [await begun(worker, 10 + number, ENDLESS) for number in range(RUNNING)]
    tasks = []
    for number, (name, priority) in enumerate(
        [("low 1", -1), ("low 2", -1), ("low 3", -1), ("normal", 0), ("high", 1)]
    ):
        tasks.append(asyncio.create_task(wait_for(name, 20 + number, priority)))
        await waiting_for(server, min(number + 1, WAITING))
    for task in busy:
        task.cancel()
    ends = await asyncio.gather(*tasks)
    await asyncio.gather(*busy, return_exceptions=True)
    await worker.aclose()
    assert ends == ["answered", "answered", "full", "answered", "answered"]
    assert order == ["high", "normal", "low 1", "low 2"]


WORDS = r"([a-z]{3} ){50}"


async def test_a_generation_whose_place_was_taken_goes_on_under_its_grammar(
    server: SGLangServer,
) -> None:
    """Its stream only pauses: the server computes its prompt and its tokens so far again."""
    worker = await worker_of(server)

    async def low(client: httpx.AsyncClient, number: int) -> tuple[str, list[int], int]:
        prompt = [2000 + number, *range(100, 400)]
        limits = {"temperature": 0, "max_new_tokens": 400, "regex": WORDS}
        body = {"input_ids": prompt, "sampling_params": limits, "routed_dp_rank": 0, "priority": -1}
        found = (await client.post("/generate", json=body)).json()
        return found["text"], found["output_ids"], found["meta_info"]["num_retractions"]

    async with httpx.AsyncClient(base_url=server.base_url, timeout=120) as client:
        alone = [await low(client, number) for number in range(RUNNING)]
        both = asyncio.gather(*(low(client, number) for number in range(RUNNING)))
        for number in range(30, 100):
            await answer(worker, ask(number, 2, rank=0, priority=1))
            if both.done():
                break
        disturbed = await both
    await worker.aclose()
    assert sum(retractions for *_, retractions in disturbed) > 0, "nothing was preempted"
    assert sum(retractions for *_, retractions in alone) == 0
    assert all(re.fullmatch(WORDS, text) for text, *_ in disturbed)
    assert [ids for _, ids, _ in disturbed] == [ids for _, ids, _ in alone]


async def test_grammars_hold_on_both_ranks(server: SGLangServer, gateway: str) -> None:
    async def one(number: int, prompt: str) -> object:
        return await complete(
            client,
            stream=number % 2 == 1,
            model="tiny",
            messages=[{"role": "user", "content": f"{prompt} {number}"}],
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "form", "schema": SCHEMA},
            },
            max_tokens=600,
        )

    before = compiled(server)
    async with client_of(gateway).with_options(api_key=KEYS[0]) as client:
        answers = await ask_all([PROMPTS[n % 4] for n in range(12)], one, at_once=4)
    judge = Judge()
    assert [each.error for each in answers] == [None] * 12
    assert [judge.content(each, SCHEMA) for each in answers] == [[]] * 12
    # a rank without further steps would keep its number
    assert not {*compiled(server)} & {*before}


def compiled(server: SGLangServer) -> list[int]:
    """Return the steps with a grammar of each rank, in the order of their replies."""
    states = server.get_json("/server_info")["internal_states"]
    return [state["switchyard"]["counters"]["fills"] for state in states]


async def test_a_conversation_stays_on_its_rank_and_keys_share_no_cache_if_separated(
    gateway: str,
) -> None:
    """By the server's own count of cached tokens."""

    async def turn(key: str, messages: list[dict[str, str]]) -> tuple[int, int, str]:
        async with httpx.AsyncClient(base_url=gateway, timeout=120) as client:
            response = await client.post(
                "/v1/chat/completions",
                headers={"Authorization": f"Bearer {key}"},
                json={"model": "tiny", "messages": messages, "max_tokens": 8},
            )
        body = response.json()
        assert response.status_code == 200, body
        usage = body["usage"]
        found = usage["prompt_tokens_details"]["cached_tokens"]
        return usage["prompt_tokens"], found, body["choices"][0]["message"]["content"] or "-"

    def opening(number: int) -> list[dict[str, str]]:
        words = " ".join(f"{number} word {each}" for each in range(30))
        return [{"role": "user", "content": words}]

    for number in range(CONVERSATIONS):
        messages, before = opening(number), 0
        for _ in range(TURNS):
            length, found, text = await turn(KEYS[0], messages)
            assert found >= before - 16, (number, length, found, before)
            messages += [{"role": "assistant", "content": text}]
            messages += [{"role": "user", "content": "go on"}]
            before = length
        _, found, _ = await turn(KEYS[1], opening(number))
        assert (found < 16) is KEEPS_SALTS, (number, found)
    async with httpx.AsyncClient(base_url=gateway, timeout=60) as client:
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        (worker,) = (await client.get("/admin/workers", headers=headers)).json()["data"]
    assert [rank["rank"] for rank in worker["ranks"]] == [0, 1]


def test_doctor_asks_each_rank_and_two_salts(server: SGLangServer) -> None:
    done = switchyard(
        "doctor",
        "--json",
        workers=server.base_url,
        model=server.model,
        api_keys="one",
        kv_cache="key",
    )
    found = [each["text"] for each in json.loads(done.stdout) if each["place"].startswith("worker")]
    expected = ["SGLang keeps the KV caches of salts apart since 0.5.21"]
    if KEEPS_SALTS:
        expected = ["2 data-parallel ranks, each answers", "salts separate the KV caches of keys"]
    assert all(any(each in text for text in found) for each in expected), found
