"""LoRA adapters, salts and priorities with pairs of workers: both halves need and get the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from adapters.workers import Half
from app.conversation.tokenizer import load_tokenizer
from tests.app.access.entries import bearer, entry
from tests.app.gateway import OPERATOR, OPTIONS, Gateway
from tests.campaigns.adapters.campaign import OPERATORS, answer_of
from tests.campaigns.adapters.fake import AdapterHalf
from tests.campaigns.disaggregation.halves import Rooms
from tests.campaigns.workers.campaign import body_of
from tests.campaigns.workers.fake import Loop
from tests.sglang.tiny_model import make_tokenizer

HALVES: tuple[Half, ...] = ("decode", "prefill")


class Pair:
    """A gateway, and a worker of each half."""

    def __init__(self, gateway: Gateway, workers: list[AdapterHalf]) -> None:
        self.gateway, self.workers = gateway, workers

    def ask(self, model: str, key: str = "one") -> httpx.Response:
        body = body_of(7, streams=False) | {"model": model}
        return self.gateway.post(body, headers=bearer(key))

    def operate(self, what: str, **asked: Any) -> Any:
        path = f"{self.gateway.url}/admin/adapters{what}"
        if not asked:
            return httpx.get(path, headers=OPERATORS, **OPTIONS).json()
        return httpx.post(path, json=asked, headers=OPERATORS, **OPTIONS).json()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """The prefill worker lacks two adapters, ``tax`` and ``med``; a setting names the first."""
    keys = tmp_path / "keys"
    keys.write_text(entry("one", priority="high") + "\n" + entry("two") + "\n")
    make_tokenizer(1024).save_pretrained(tmp_path)
    vocabulary = load_tokenizer(str(tmp_path), "auto").vocabulary
    loop, rooms = Loop(), Rooms()
    workers = [AdapterHalf(vocabulary, rooms, half) for half in HALVES]
    workers[0].adapters = {"law": "/law", "tax": "/tax", "med": "/med"}
    workers[1].adapters = {"law": "/law"}
    try:
        for worker in workers:
            worker.info["enable_priority_scheduling"] = True
            loop.run(worker.listen())
        settings = {
            "workers": workers[0].url,
            "prefill_workers": workers[1].url,
            "tokenizer": str(tmp_path),
            "model_name": "fake",
            "reasoning": "off",
            "adapters": "x=tax",
            "keys_file": keys,
            "kv_cache": "key",
            "admin_keys": OPERATOR,
            "worker_health_seconds": 0.5,
        }
        with Gateway(**settings) as gateway:
            yield Pair(gateway, workers)
    finally:
        loop.close()


def test_both_halves_get_the_adapter_the_salt_and_the_priority(pair: Pair) -> None:
    for key in ("one", "two"):
        answer = pair.ask("fake:law", key).json()
        assert answer["choices"][0]["message"]["content"] == answer_of(7, "law")
    names = ("lora_path", "cache_salt", "priority", "bootstrap_room")
    decode, prefill = (
        [tuple(body[name] for name in names) for body in worker.bodies] for worker in pair.workers
    )
    assert decode == prefill
    assert [(lora, priority) for lora, _, priority, _ in decode] == [("law", 1), ("law", 0)]
    assert len({salt for _, salt, _, _ in decode}) == len({room for *_, room in decode}) == 2


def test_an_adapter_that_one_side_lacks_is_shown_and_not_served(pair: Pair) -> None:
    """REGRESSION: the list hid it, and the metric counted the side that has it."""

    def available() -> float:
        return pair.gateway.metric("switchyard_adapter_workers", model="fake", what="tax")

    states = {each["name"]: each for each in pair.operate("")["data"]}
    assert {name: len(states[name]["workers"]) for name in states} == {"law": 2, "med": 1, "tax": 1}
    assert available() == 0
    answer = pair.ask("fake:tax")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "adapter_unavailable")
    loaded = pair.operate("/load", name="tax", path="/tax")
    assert [each["done"] for each in loaded["data"]] == [False, True], "one has it already"
    assert available() == 1
    answer = pair.ask("fake:tax")
    assert answer.json()["choices"][0]["message"]["content"] == answer_of(7, "tax")
