"""Readiness of a whole gateway whose worker does not fit it."""

from pathlib import Path
from typing import Any

import pytest

from app.conversation.tokenizer import load_tokenizer
from app.version import version
from engine import SPEC_VERSION
from tests.app.gateway import OPERATOR
from tests.app.pool.gateways import gateway_of
from tests.campaigns.workers.fake import PLUGIN

#: (what the worker says of itself, the reason that operators read)
UNFIT = [
    (
        {"internal_states": [{PLUGIN: {"spec_version": SPEC_VERSION, "vocabulary": "other"}}]},
        "the plug-in's vocabulary must be ",
    ),
    (
        {"internal_states": [{PLUGIN: {"spec_version": SPEC_VERSION + 1}}]},
        f"reads version {SPEC_VERSION + 1} of grammar specs, this gateway (switchyard {version()}) "
        f"writes version {SPEC_VERSION}: upgrade this gateway",
    ),
    ({"internal_states": [{}]}, "its plug-in reports no status"),
    ({"grammar_backend": "xgrammar"}, "must run the grammar backend 'switchyard', got 'xgrammar'"),
]


@pytest.mark.parametrize(("info", "reason"), UNFIT)
def test_a_worker_that_does_not_fit_is_not_ready_and_operators_read_why(
    folder: Path, info: dict[str, Any], reason: str
):
    with gateway_of(folder, 4096, info=info, admin_keys=OPERATOR) as (gateway, _):
        answer = gateway.get("/health/ready")
        assert (answer.status_code, answer.json()) == (503, {"status": "unready"})
        (worker,) = gateway.health()["workers"]
        assert (worker["ready"], worker["state"]) == (False, "unready")
        assert reason in worker["reason"]


#: what a worker says of its cache namespaces, and whether it fits a gateway that separates them
NAMESPACES = [({"namespace": "key"}, True), ({"namespace": "shared"}, False), ({}, False)]


@pytest.mark.parametrize(("said", "fits"), NAMESPACES)
def test_a_worker_must_separate_caches_like_its_gateway(
    folder: Path, said: dict[str, str], fits: bool
):
    """An older plug-in has no such field. The reason names the worker's setting."""
    fingerprint = load_tokenizer(str(folder), "auto").vocabulary.fingerprint
    status = {"spec_version": SPEC_VERSION, "vocabulary": fingerprint, **said}
    settings = {"api_keys": "one", "admin_keys": OPERATOR, "cache_namespace": "key"}
    info = {"internal_states": [{PLUGIN: status}]}
    with gateway_of(folder, 4096, info=info, **settings) as (gateway, _):
        (worker,) = gateway.health()["workers"]
        assert worker["ready"] is fits
        assert fits or "SWITCHYARD_CACHE_NAMESPACE=key" in worker["reason"]
