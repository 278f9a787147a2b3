"""The whole way: official client, gateway, real server with our engine, and real tool sets."""

import asyncio
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from adapters.workers import SGLangWorker
from tests.real_input.asking import Answer, ask_all, client_of, complete
from tests.real_input.bfcl import Case, data_folder, read_cases
from tests.real_input.judging import Judge
from tests.real_input.served import metric, served_gateway

from .asked import PROMPTS, SCHEMA, THINKING
from .server import SGLangServer
from .servers import Servers

#: tool sets; every third answer is streamed
CASES = 300
TOKENS = 1500
OPERATOR = "an operator's key"
FAULTS = ("switchyard_parse_divergence_total", "switchyard_internal_errors_total")


@pytest.fixture(scope="module")
def worker(sglang_server: Servers, padded_model_folder: Path) -> SGLangServer:
    return sglang_server("switchyard", *THINKING, model=padded_model_folder)


def settings(worker: SGLangServer, **more: str) -> dict[str, str]:
    folder = str(worker.model)
    return {
        "WORKERS": worker.base_url,
        "MODEL": folder,
        "MODEL_NAME": "tiny",
        "ADMIN_KEYS": OPERATOR,
        **more,
    }


@pytest.fixture(scope="module")
def gateway(worker: SGLangServer) -> Iterator[str]:
    with served_gateway(settings(worker)) as url:
        yield url


def test_the_gateway_is_ready_and_says_with_what(gateway: str, worker: SGLangServer) -> None:
    key = {"Authorization": f"Bearer {OPERATOR}"}
    ready = httpx.get(f"{gateway}/health/ready", headers=key).json()
    assert "switchyard" in json.dumps(ready) and "vocabulary" in json.dumps(ready)


async def test_a_server_of_text_gets_no_images(worker: SGLangServer) -> None:
    """It would leave them out without a word."""
    client = SGLangWorker(worker.base_url, tokens=[b"a"] * 4096)
    health = await client.health()
    await client.aclose()
    assert (health.details["sees_images"], client.sees_images) == (False, False)
    body = {"input_ids": [1, 2, 3], "sampling_params": {"max_new_tokens": 1}}
    answer = worker.post_json("/generate", {**body, "image_data": ["no image at all"]})
    assert answer["meta_info"]["prompt_tokens"] == 3


def failures(gateway: str) -> list[str]:
    """Return the gateway's counters, to explain a failed test."""
    lines = httpx.get(f"{gateway}/metrics").text.splitlines()
    return [line for line in lines if line.startswith("switchyard_worker_failures_total{")]


async def test_every_call_of_real_tool_sets_is_valid(gateway: str) -> None:
    folder = data_folder()
    assert folder is not None, "no BFCL data: `make data` fetches them"
    cases = read_cases(folder, CASES, closed=True)[:CASES]
    assert len(cases) == CASES
    judge = Judge()

    async def ask(number: int, case: Case) -> Answer:
        return await complete(
            client,
            stream=number % 3 == 0,
            model="tiny",
            messages=case.messages[:1],
            tools=case.tools,
            tool_choice="required",
            max_tokens=TOKENS,
        )

    async with client_of(gateway) as client:
        answers = await ask_all(cases, ask, at_once=16)
    wrong = {
        case.id: answer.error or judge.calls(answer, case.schemas)
        for case, answer in zip(cases, answers, strict=True)
        if answer.error or judge.calls(answer, case.schemas)
    }
    assert not wrong, failures(gateway)
    cut = sum(answer.finish == "length" for answer in answers)
    thinking = sum(bool(answer.reasoning) for answer in answers)
    assert cut < CASES // 10 and thinking >= 50, f"{cut} cut off, {thinking} with reasoning"
    assert not any(metric(gateway, name) for name in FAULTS)


async def test_a_response_format_is_the_answer(gateway: str) -> None:
    async with client_of(gateway) as client:
        answers = await asyncio.gather(
            *(
                complete(
                    client,
                    stream=number % 2 == 1,
                    model="tiny",
                    messages=[{"role": "user", "content": PROMPTS[number % 4]}],
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": "form", "schema": SCHEMA},
                    },
                    max_tokens=600,
                )
                for number in range(12)
            )
        )
    judge = Judge()
    for answer in answers:
        assert answer.error is None and judge.content(answer, SCHEMA) == []


@pytest.mark.parametrize("arguments", [(), ("--incremental-streaming-output",)])
@pytest.mark.parametrize("temperature", [0.0, 0.7])
async def test_log_probabilities_are_those_of_the_masked_model(
    sglang_server: Servers,
    padded_model_folder: Path,
    arguments: tuple[str, ...],
    temperature: float,
) -> None:
    """Forbidden tokens are absent, so a token without alternatives is alone."""
    worker = sglang_server("switchyard", *THINKING, *arguments, model=padded_model_folder)
    with served_gateway(settings(worker, REASONING="off")) as url:
        async with client_of(url) as client:
            answer = await client.chat.completions.create(
                model="tiny",
                messages=[{"role": "user", "content": PROMPTS[0]}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "form", "schema": SCHEMA},
                },
                max_tokens=600,
                temperature=temperature,
                logprobs=True,
                top_logprobs=20,
                n=2,
            )
    for choice in answer.choices:
        assert choice.logprobs is not None
        tokens = choice.logprobs.content or []
        assert b"".join(bytes(token.bytes or ()) for token in tokens).decode() == (
            choice.message.content
        )
        sums = [sum(math.exp(top.logprob) for top in token.top_logprobs) for token in tokens]
        assert max(sums) <= 1 + 1e-4
        short = [total for total, token in zip(sums, tokens, strict=True)
                 if len(token.top_logprobs) < 20]  # fmt: skip
        assert short and min(short) >= 1 - 1e-4
        for token in tokens:
            listed = {(top.token, tuple(top.bytes or ())): top for top in token.top_logprobs}
            own = listed.get((token.token, tuple(token.bytes or ())), token)
            assert own.logprob == pytest.approx(token.logprob, abs=1e-4)
            if temperature == 0.0:
                assert token.logprob == max(top.logprob for top in listed.values())


async def test_text_completions_take_prompts_as_they_are(gateway: str) -> None:
    """Several prompts at once, with log probabilities; and a constrained one."""
    async with client_of(gateway) as client:
        asked = {"model": "tiny", "max_tokens": 20, "temperature": 0.0}
        answer = await client.completions.create(prompt=PROMPTS[:2], n=2, logprobs=3, **asked)
        for choice in answer.choices:
            assert choice.logprobs is not None and choice.logprobs.text_offset is not None
            tokens = choice.logprobs.tokens or []
            assert len(tokens) <= 20
            assert len(tokens) == len(choice.logprobs.text_offset)
            assert "".join(tokens) == choice.text or "\ufffd" in "".join(tokens)
        texts = [choice.text for choice in answer.choices]
        assert texts[0] == texts[1] != texts[2] == texts[3]
        form = {"type": "json_object", "schema": SCHEMA}
        answer = await client.completions.create(
            prompt=PROMPTS[0], extra_body={"response_format": form}, **{**asked, "max_tokens": 600}
        )
    assert json.loads(answer.choices[0].text).keys() == {"name", "size", "tags"}


def test_headers_say_who_enforced(gateway: str) -> None:
    body = {"model": "tiny", "messages": [{"role": "user", "content": "x"}], "max_tokens": 5}
    for stream in (False, True):
        answer = httpx.post(
            f"{gateway}/v1/chat/completions", json={**body, "stream": stream}, timeout=120
        )
        assert answer.headers["x-switchyard-backend"] == "switchyard"


# -- stock workers ---------------------------------------------------------------------------------
UNIQUE = {
    "type": "object",
    "properties": {"a": {"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": True}},
    "required": ["a"],
    "additionalProperties": False,
}
COMPACT = "--constrained-json-disable-any-whitespace"
#: llguidance lays masks over logits by a function that torch compiles between the first two tokens:
#: on a busy machine that takes longer than a worker may
UNCOMPILED = {"TORCHDYNAMO_DISABLE": "1"}


async def asked_for(url: str, schema: Any, **more: Any) -> tuple[Any, httpx.Headers]:
    async with client_of(url) as client:
        raw = await client.chat.completions.with_raw_response.create(
            model="tiny",
            messages=[{"role": "user", "content": "x"}],
            response_format={
                "type": "json_schema",
                "json_schema": {"name": "form", "schema": schema, **more},
            },
            max_completion_tokens=300,
        )
    return raw.parse(), raw.headers


async def test_a_gateway_takes_no_worker_that_runs_another_engine(
    sglang_server: Servers, worker: SGLangServer
) -> None:
    with (
        pytest.raises(RuntimeError, match="did not start"),
        served_gateway(settings(worker, GRAMMAR_BACKEND="xgrammar"), patience=15),
    ):
        pass


@pytest.mark.xdist_group("test_harness")
async def test_behind_xgrammar_what_passes_is_named(sglang_server: Servers) -> None:
    worker = sglang_server("xgrammar", COMPACT)
    own = settings(worker, GRAMMAR_BACKEND="xgrammar", STRICT_PROFILE="extended")
    with served_gateway(own) as url:
        _, headers = await asked_for(url, UNIQUE)
        assert headers["x-switchyard-backend"] == "xgrammar"
        assert headers["x-switchyard-relaxed"].endswith("/properties/a/uniqueItems")
        with pytest.raises(openai.BadRequestError, match="xgrammar"):
            await asked_for(url, UNIQUE, strict=True)


@pytest.mark.xdist_group("test_harness")
async def test_behind_llguidance_a_whole_answer_is_a_schema(sglang_server: Servers) -> None:
    worker = sglang_server("llguidance", COMPACT, **UNCOMPILED)
    own = settings(worker, GRAMMAR_BACKEND="llguidance", REASONING="off")
    plain = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}
    with served_gateway(own) as url:
        answer, headers = await asked_for(url, {**plain, "additionalProperties": False})
        assert headers["x-switchyard-backend"] == "llguidance"
        assert json.loads(answer.choices[0].message.content) in ({"a": 1}, {"a": 2})
        async with client_of(url) as client:
            with pytest.raises(openai.BadRequestError, match="structural tags"):
                await client.chat.completions.create(
                    model="tiny",
                    messages=[{"role": "user", "content": "x"}],
                    tools=[{"type": "function", "function": {"name": "f", "parameters": plain}}],
                )
