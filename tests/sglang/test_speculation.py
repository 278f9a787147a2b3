"""Draft models in the real server: the same greedy answers under a grammar, in fewer steps.

A turn runs one of the algorithms; without TURN, all of them run. MTP (SGLang's NEXTN) runs the code
of EAGLE with layers of the model itself as the draft model.
"""

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.turns import one_of

from .asked import PROMPTS, SCHEMA, THINKING
from .environment import ROOT
from .server import SGLangServer
from .servers import Servers

#: a chain of drafts, and a tree
CHAIN = {
    "--speculative-num-steps": "3",
    "--speculative-eagle-topk": "1",
    "--speculative-num-draft-tokens": "4",
}
TREE = {
    "--speculative-num-steps": "3",
    "--speculative-eagle-topk": "2",
    "--speculative-num-draft-tokens": "6",
}
#: torch.compile needs triton, which has a stand-in here
EAGER = {"TORCHDYNAMO_DISABLE": "1"}
NO_OVERLAP = "--disable-overlap-schedule"

#: name -> (algorithm, kind of the draft model, how drafts are made, further options)
ALGORITHMS: dict[str, tuple[str, str | None, dict[str, str], Sequence[str]]] = {
    "eagle": ("EAGLE", "eagle", TREE, ()),
    "eagle3": ("EAGLE3", "eagle3", TREE, ()),
    "eagle-chain": ("EAGLE", "eagle", CHAIN, (NO_OVERLAP,)),
    "standalone": ("STANDALONE", None, TREE, (NO_OVERLAP,)),
    "standalone-chain": ("STANDALONE", None, CHAIN, ()),
}
#: what the model would write anyway: a grammar that allows everything, and one that leaves its
#: strings free
FREE = {"structural_tag": json.dumps({"format": {"type": "any_text"}})}
GRAMMARS = [
    {"json_schema": json.dumps(SCHEMA)},
    {"json_schema": json.dumps({"type": "array", "items": {"type": "string"}, "minItems": 2})},
    {"regex": "(abc|abd|xyz){30}"},
    FREE,
]
TOKENS = 100


@pytest.fixture(scope="module")
def draft_model(
    server_python: Path, padded_model_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str | None], Path]:
    """Return the folder of a kind of draft model; None: the model itself."""
    made: dict[str, Path] = {}

    def folder(kind: str | None) -> Path:
        if kind is None:
            return padded_model_folder
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp(kind)
            arguments = [str(padded_model_folder), kind, str(made[kind])]
            command = [str(server_python), "-m", "tests.sglang.draft_models", *arguments]
            subprocess.run(command, cwd=ROOT, check=True)
        return made[kind]

    return folder


@pytest.fixture(scope="module", params=one_of(sorted(ALGORITHMS)))
def arguments(request: pytest.FixtureRequest, draft_model: Callable[..., Path]) -> list[str]:
    algorithm, kind, shape, more = ALGORITHMS[request.param]
    chosen = {
        "--speculative-algorithm": algorithm,
        "--speculative-draft-model-path": str(draft_model(kind)),
        **shape,
    }
    return [each for pair in chosen.items() for each in pair] + list(more)


@pytest.fixture
def drafting(
    sglang_server: Servers, padded_model_folder: Path, arguments: list[str]
) -> SGLangServer:
    return sglang_server("switchyard", *THINKING, *arguments, model=padded_model_folder, **EAGER)


@pytest.fixture
def worker(sglang_server: Servers, padded_model_folder: Path) -> SGLangServer:
    """The same without drafts."""
    return sglang_server("switchyard", *THINKING, model=padded_model_folder)


def answers(server: SGLangServer, options: dict[str, Any]) -> list[Any]:
    return [server.generate(prompt, max_new_tokens=TOKENS, **options) for prompt in PROMPTS]


def test_drafts_change_no_answer(worker: SGLangServer, drafting: SGLangServer) -> None:
    accepted = 0
    for options in GRAMMARS:
        for wanted, found in zip(answers(worker, options), answers(drafting, options), strict=True):
            assert found["output_ids"] == wanted["output_ids"], options
            accepted += found["meta_info"]["spec_num_correct_drafts"]
    assert accepted > 50
    (state,) = drafting.get_json("/server_info")["internal_states"]
    counted = state["switchyard"]["counters"]
    assert counted["trees"] > 50
    wrong = {name: counted[name] for name in ("errors", "mask_failures", "refused_tokens")}
    assert not any(wrong.values()), wrong


def test_a_grammar_costs_no_accepted_draft(drafting: SGLangServer) -> None:
    """The same answers take no more passes of the model with a grammar than without."""
    for free, bound in zip(answers(drafting, {}), answers(drafting, FREE), strict=True):
        assert bound["output_ids"] == free["output_ids"]
        passes = [each["meta_info"]["spec_verify_ct"] for each in (bound, free)]
        assert passes[0] <= passes[1]
