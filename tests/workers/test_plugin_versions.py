"""A gateway and a plug-in of different versions refuse each other by name."""

import json
from typing import Any

import httpx
import pytest

from adapters.workers import SGLangWorker, WorkerError
from adapters.workers.plugin_versions import mismatch, refused_specs
from engine import SPEC_VERSION, Compiler, SpecError
from tests.engine.frontends.random_schemas import byte_vocabulary
from tests.workers.helpers import collect, run
from tests.workers.sglang_fakes import TOKENS, MockClient, ask

NEEDS = {"spec_version": 4, "vocabulary": "v"}
FITS = {"version": "1.2.0", "spec_version": 4, "vocabulary": "v"}

#: (what, the plug-in's status, parts of the message)
STATUSES: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("fits", FITS, ()),
    ("another release with the same specs", FITS | {"version": "9"}, ()),
    (
        "old plug-in",
        FITS | {"version": "1.1.0", "spec_version": 3},
        (
            "(switchyard 1.1.0) reads version 3",
            "2.0.0) writes version 4",
            "install switchyard 2.0.0",
        ),
    ),
    (
        "new plug-in",
        FITS | {"version": "3.0.0", "spec_version": 5},
        ("(switchyard 3.0.0) reads version 5", "writes version 4", "upgrade this gateway"),
    ),
    (
        "a plug-in before versions",
        {"vocabulary": "v"},
        ("(switchyard unknown) reads version None", "install switchyard 2.0.0 in the server"),
    ),
    (
        "another tokenizer",
        FITS | {"vocabulary": "w"},
        ("vocabulary must be 'v', got 'w'", "the same tokenizer", "(2.0.0)"),
    ),
    ("hostile", FITS | {"spec_version": "\n" * 9999}, ("reads version '\\n",)),
    ("hostile number", FITS | {"spec_version": True}, ("reads version True",)),
]


@pytest.mark.parametrize(
    ("said", "parts"), [row[1:] for row in STATUSES], ids=[row[0] for row in STATUSES]
)
def test_a_mismatch_names_both_versions_and_the_side_to_upgrade(
    said: dict[str, Any], parts: tuple[str, ...]
):
    message = mismatch(said, NEEDS, "2.0.0")
    assert (message is None) is (parts == ())
    assert all(part in (message or "") for part in parts), message
    assert len(message or "") < 1000


def message_of(version: int) -> str:
    """Return the refusal of this engine for a spec that a gateway of ``version`` wrote."""
    node = {"type": "json_schema", "json_schema": True, "switchyard": {"version": version}}
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": [node]}}
    with pytest.raises(SpecError) as error:
        Compiler(byte_vocabulary()).compile_structural_tag(tag)
    return str(error.value)


@pytest.mark.parametrize("ours", [SPEC_VERSION - 1, SPEC_VERSION + 1])
def test_a_plug_in_of_another_version_refuses_a_spec_and_the_worker_is_blamed(ours: int):
    """An old and a new gateway meet this engine in a worker that was just replaced: its refusal is
    no 400 for the client, so that the pool tries another worker.
    """
    message = f"Failed to compile structural_tag grammar: {message_of(ours)}"

    async def answer(request: httpx.Request) -> httpx.Response:
        reason = {"type": "abort", "message": message, "status_code": 400}
        meta = {"finish_reason": reason, "prompt_tokens": 1, "completion_tokens": 1}
        event = json.dumps({"text": "", "output_ids": [1], "meta_info": meta})
        return httpx.Response(200, content=f"data: {event}\n\ndata: [DONE]\n\n".encode())

    worker = SGLangWorker(
        "http://worker",
        tokens=TOKENS,
        client=MockClient(answer),
        plugin={"spec_version": ours},
        release="2.0.0",
    )
    with pytest.raises(WorkerError) as error:
        run(collect(worker, ask()))
    assert (error.value.status, error.value.reason) == (502, "status")
    assert f"reads version {SPEC_VERSION} of grammar specs" in error.value.message
    assert f"(switchyard 2.0.0) writes version {ours}" in error.value.message


@pytest.mark.parametrize(
    "error",
    [
        WorkerError(400, "at /format/json_schema: no such keyword"),
        WorkerError(400, "at /format/switchyard/version: version must be 4"),
        WorkerError(503, "at /format/switchyard/version: version must be 3", reason="unavailable"),
    ],
)
def test_other_errors_of_a_worker_stay_as_they_are(error: WorkerError):
    assert refused_specs(error, NEEDS, "2.0.0") is None
