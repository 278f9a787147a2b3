"""Composition: the settings of the pool reach it."""

import io
from pathlib import Path

import pytest

from adapters import workers
from adapters.workers import Bootstrap, SGLangWorker
from app.composition.workers import make_pool, make_workers, workers_of_adapters
from app.conversation.tokenizer import BuiltinTokenizer
from app.observability.logs import make_logger
from app.observability.metrics import Metrics, ModelMetrics
from app.pool import PairedPool
from app.pool.policies import LeastLoad, PrefixAware
from app.pool.worker_pool import Pool
from app.settings import ModelSettings
from engine import Compiler
from tests.app.pool.fakes import Fake
from tests.waiting import eventually


def pool_of(metrics: Metrics, log: io.StringIO, **settings: object) -> Pool:
    chosen = ModelSettings.model_validate(settings)
    tokenizer = BuiltinTokenizer()
    workers = make_workers(chosen, Compiler(tokenizer.vocabulary), tokenizer)
    return make_pool(
        chosen, tokenizer, workers, ModelMetrics(metrics, "m"), make_logger("info", log)
    )


def series(metrics: Metrics, name: str) -> set[str]:
    return {
        sample.labels["worker"]
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == name
    }


async def test_static_workers_and_those_of_a_dns_name_are_one_pool_without_passwords():
    metrics, log = Metrics(), io.StringIO()
    urls = ["http://user:secret@127.0.0.1:1", "dns+http://user:secret@localhost:2"]
    pool = pool_of(metrics, log, workers=urls, tokenizer="/t", worker_policy="prefix-aware")
    await pool.start()
    names = [member.name for member in pool.members]
    assert names[0] == "sglang 127.0.0.1:1"
    assert {"sglang 127.0.0.1:2", "sglang [::1]:2"} & set(names[1:])
    assert isinstance(pool._policy, PrefixAware)
    await pool.aclose()
    assert "worker added" in log.getvalue()
    assert "secret" not in log.getvalue()


async def test_both_sides_of_a_pair_may_come_from_dns_names():
    metrics, log = Metrics(), io.StringIO()
    pool = pool_of(
        metrics,
        log,
        workers=["http://127.0.0.1:1", "dns+http://localhost:2"],
        prefill_workers=["http://127.0.0.1:3", "dns+http://localhost:4"],
        prefill_bootstrap_hosts=["127.0.0.1=fabric"],
        prefill_max_running=1,
        tokenizer="/t",
    )
    assert isinstance(pool, PairedPool)
    await pool.start()
    ports = [{member.name.rpartition(":")[2] for member in side} for side in pool.sides]
    assert ports == [{"1", "2"}, {"3", "4"}]
    for side, half in zip(pool.sides, ("decode", "prefill"), strict=True):
        for member in side:
            assert isinstance(member.worker, SGLangWorker)
            assert (member.worker._half, pool.half_of(member)) == (half, half)
    where = pool._meet(pool.prefill.members[0].worker, 7)
    assert where == Bootstrap("fabric", 8998, 7)
    assert isinstance(pool._policy, LeastLoad)
    assert isinstance(pool.prefill._policy, PrefixAware)
    pool.prefill.members[0].take()
    assert not pool.prefill._slots.is_free(pool.prefill.members[0])
    pool.prefill.members[0].release()
    await pool.aclose()


async def test_the_defaults_are_least_load_and_no_bound():
    pool = pool_of(Metrics(), io.StringIO())
    assert isinstance(pool._policy, LeastLoad)
    assert all(pool._slots.is_free(member) for member in pool.members)
    bounded = pool_of(Metrics(), io.StringIO(), worker_max_running=1)
    bounded.members[0].take()
    assert not bounded._slots.is_free(bounded.members[0])


def test_an_embedded_model_gets_its_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Without torch: the worker's class is a stand-in."""
    made: list[dict[str, object]] = []
    monkeypatch.setitem(
        vars(workers),
        "TransformersWorker",
        lambda folder, compiler, **options: made.append(options),
    )
    tokenizer = BuiltinTokenizer()
    every = {"embedded_threads": 3, "embedded_device": "cuda:1", "embedded_dtype": "float16"}
    for given in ({}, every):
        chosen = ModelSettings.model_validate({"model": str(tmp_path), **given})
        make_workers(chosen, Compiler(tokenizer.vocabulary), tokenizer)
    assert made == [
        {"threads": 1, "device": "cpu", "dtype": "auto"},
        {"threads": 3, "device": "cuda:1", "dtype": "float16"},
    ]


async def test_a_worker_that_left_leaves_no_series():
    """Pods that come and go would add series for ever."""
    metrics = Metrics()
    pool = pool_of(metrics, io.StringIO(), workers=["http://a:1", "http://b:2"], tokenizer="/t")
    for member in pool.members:
        pool._observer.on_failure(member.name, "connection")
        pool._observer.on_ejection(member.name)
    pool._observer.on_retry(True)
    gone = pool.members[0]
    pool.remove(gone)
    await eventually(lambda: series(metrics, "switchyard_worker_failures_total") == {"sglang b:2"})
    assert series(metrics, "switchyard_worker_ejections_total") == {"sglang b:2"}
    await pool.aclose()


@pytest.mark.parametrize(
    ("prefill", "decode", "found"),
    [(["law"], ["law"], 1), (["law"], [], 0), ([], ["law"], 0), (["law", "law"], ["law"], 1)],
)
async def test_an_adapter_is_at_as_many_pairs_as_the_smaller_side_has(
    prefill: list[str], decode: list[str], found: int
) -> None:
    """REGRESSION: with an adapter on one side alone, which cannot be used, the number was above 0,
    and no alert fired.
    """

    def side(name: str, adapters: list[str]) -> list[Fake]:
        made = [Fake(f"{name}{number}") for number in range(2)]
        for worker, adapter in zip(made, adapters, strict=False):
            worker.adapters = {adapter: ""}
        return made

    pool = PairedPool(
        side("d", decode),
        policy=LeastLoad(),
        prefill=Pool(side("p", prefill), policy=LeastLoad()),
        meet=lambda worker, room: Bootstrap(worker.name, 1, room),
    )
    given = {"adapters": {"legal": "law"}, "workers": ["http://d"], "model": "m"}
    settings = ModelSettings.model_validate(given)
    assert workers_of_adapters(settings, pool) == {"law": found}
    await pool.aclose()
