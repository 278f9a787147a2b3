"""The real server constrains with our engine: every kind of grammar, and whatever callers send."""

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from engine import SPEC_VERSION, Vocabulary

from .asked import PROMPTS, SCHEMA, THINKING
from .conftest import PADDING
from .environment import version
from .server import SGLangServer
from .servers import Servers

NGRAM = [
    *("--speculative-algorithm", "NGRAM"),
    *("--speculative-num-draft-tokens", "4"),
    *("--speculative-ngram-capacity", "10000"),
]
LONG = 300


@pytest.fixture
def worker(sglang_server: Servers, padded_model_folder: Path) -> SGLangServer:
    """Our engine in a server whose model has more logits than tokens."""
    return sglang_server("switchyard", *THINKING, model=padded_model_folder)


@pytest.fixture
def drafting(sglang_server: Servers, padded_model_folder: Path) -> SGLangServer:
    """The same, with speculative decoding."""
    return sglang_server("switchyard", *THINKING, *NGRAM, model=padded_model_folder)


@pytest.fixture(scope="module")
def vocabulary(padded_model_folder: Path) -> Vocabulary:
    """The gateway's: without the model's padding."""
    from transformers import AutoTokenizer

    return Vocabulary.from_huggingface(
        AutoTokenizer.from_pretrained(padded_model_folder, local_files_only=True)
    )


def counters(server: SGLangServer) -> dict[str, int]:
    (state,) = server.get_json("/server_info")["internal_states"]
    counted: dict[str, int] = state["switchyard"]["counters"]
    return counted


def sampled(server: SGLangServer, prompt: str, **options: Any) -> Any:
    return server.generate(prompt, **{"max_new_tokens": LONG, "temperature": 1, **options})


# -- what it says of itself ------------------------------------------------------------------------
def test_the_server_says_which_engine_and_vocabulary_it_has(
    worker: SGLangServer, vocabulary: Vocabulary
) -> None:
    info = worker.get_json("/server_info")
    assert info["grammar_backend"] == "switchyard"
    (state,) = info["internal_states"]
    said = state["switchyard"]
    assert said["vocabulary"] == vocabulary.fingerprint
    assert said["vocabulary_size"] == vocabulary.size + PADDING
    assert (said["backend"], said["spec_version"]) == ("switchyard", SPEC_VERSION)
    assert (said["sglang"], said["sglang_tested"], said["warnings"]) == (version(), True, [])


# -- every kind of grammar -------------------------------------------------------------------------
def check_json(answer: Any) -> None:
    if answer["meta_info"]["finish_reason"]["type"] == "stop":
        jsonschema.validate(json.loads(answer["text"]), SCHEMA)
    else:
        assert answer["meta_info"]["finish_reason"]["type"] == "length"


def many(ask: Callable[[str], Any], number: int) -> list[Any]:
    """Answers to so many prompts, eight at once."""
    prompts = [f"{PROMPTS[n % 4]}{n}" for n in range(number)]
    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, prompts))


def test_json(worker: SGLangServer) -> None:
    answers = many(lambda prompt: sampled(worker, prompt, json_schema=json.dumps(SCHEMA)), 48)
    for answer in answers:
        check_json(answer)
    ends = [answer["meta_info"]["finish_reason"]["type"] for answer in answers]
    assert ends.count("stop") >= 40


@pytest.mark.parametrize(
    ("options", "whole"),
    [
        ({"regex": "(yes|no|maybe)"}, {"yes", "no", "maybe"}),
        ({"ebnf": 'root ::= "a" ("b" | "c")'}, {"ab", "ac"}),
        ({"structural_tag": '{"format":{"type":"const_string","value":"exactly"}}'}, {"exactly"}),
    ],
)
def test_the_other_kinds(worker: SGLangServer, options: dict[str, Any], whole: set[str]) -> None:
    answers = many(lambda prompt: sampled(worker, prompt, **options), 8)
    assert {answer["text"] for answer in answers} <= whole
    assert {answer["meta_info"]["finish_reason"]["type"] for answer in answers} == {"stop"}


def test_tags_of_sglangs_older_form(worker: SGLangServer) -> None:
    """structures and triggers, as SGLang's own endpoint writes them, are taken; what they allow is
    asked in tests/sglang_plugin.
    """
    tag = {
        "type": "structural_tag",
        "structures": [{"begin": "<f>", "schema": {"const": 1}, "end": "</f>"}],
        "triggers": ["<f"],
    }
    body = {
        "model": "any",
        "messages": [{"role": "user", "content": "x"}],
        "response_format": tag,
        "max_tokens": 40,
    }
    answer = worker.post_json("/v1/chat/completions", body)
    assert answer["choices"][0]["finish_reason"] in ("stop", "length")


def test_thinking_comes_first_where_the_request_says_so(
    worker: SGLangServer, vocabulary: Vocabulary
) -> None:
    body = {
        "text": PROMPTS[0],
        "require_reasoning": True,
        "sampling_params": {
            "json_schema": json.dumps(SCHEMA),
            "max_new_tokens": LONG,
            "temperature": 1,
            "custom_params": {"thinking_budget": 7},
            "skip_special_tokens": False,
        },
    }
    for answer in many(lambda prompt: worker.post_json("/generate", body | {"text": prompt}), 16):
        _, end, text = answer["text"].partition("</think>")
        spelled = [vocabulary.tokens[number] for number in answer["output_ids"]]
        # the budget, and the end, which may be written byte by byte
        assert end and b"</think>" in b"".join(spelled[: 7 + len("</think>")])
        if answer["meta_info"]["finish_reason"]["type"] == "stop":
            jsonschema.validate(json.loads(text.removesuffix("<|im_end|>")), SCHEMA)


def test_a_request_without_a_grammar_is_left_alone(worker: SGLangServer) -> None:
    """Beside one with a grammar, in one batch."""
    with ThreadPoolExecutor(8) as pool:
        free = [pool.submit(worker.generate, p, max_new_tokens=40) for p in PROMPTS]
        bound = [pool.submit(sampled, worker, p, json_schema=json.dumps(SCHEMA)) for p in PROMPTS]
        alone = [future.result()["output_ids"] for future in free]
        for future in bound:
            check_json(future.result())
    assert alone == [worker.generate(p, max_new_tokens=40)["output_ids"] for p in PROMPTS]


# -- what callers send -----------------------------------------------------------------------------
# (sampling parameters, words of the answer)
HOSTILE = [
    ({"json_schema": '{"type":"nothing"}'}, "/type"),
    ({"json_schema": '{"$ref":"#"}'}, "leads back"),
    ({"json_schema": "{"}, "JSON"),
    ({"json_schema": '{"type":"string","pattern":"(("}'}, "pattern"),
    ({"json_schema": '{"a":"\x00"}'}, "JSON"),
    ({"json_schema": "[" * 50_000}, "JSON"),
    ({"regex": "("}, "regex"),
    ({"regex": "a" * 30_000}, "pattern_chars"),
    ({"ebnf": " "}, "root"),
    ({"structural_tag": "[]"}, "structural"),
    ({"structural_tag": '{"format":{"type":"no"}}'}, "/format"),
    ({"json_schema": json.dumps({"enum": ["x" * 1000] * 33_000})}, "spec_bytes"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "words"), HOSTILE, ids=[words for _, words in HOSTILE])
def test_what_does_not_compile_is_a_400_that_says_why(
    worker: SGLangServer, options: dict[str, str], words: str
) -> None:
    body = {"text": "x", "sampling_params": {"max_new_tokens": 5, **options}}
    for _ in range(2):
        answer = httpx.post(f"{worker.base_url}/generate", json=body, timeout=120)
        assert answer.status_code == 400
        message = answer.json()["error"]["message"]
        assert words in message and len(message) < 1000, message
    check_json(sampled(worker, "x", json_schema=json.dumps(SCHEMA)))


def test_many_wait_for_one_grammar_and_it_is_compiled_once(worker: SGLangServer) -> None:
    members = {f"k{n}": {"enum": [n]} for n in range(200)}
    schema = json.dumps({"properties": members, "maxProperties": 2, "type": "object"})
    before = counters(worker)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda p: sampled(worker, p, json_schema=schema), PROMPTS * 2))
    after = counters(worker)
    assert after["compiles"] - before["compiles"] == 1
    shared = after["shared_compiles"] - before["shared_compiles"]
    assert shared + after["hits"] - before["hits"] == 7
    for answer in answers:
        if answer["meta_info"]["finish_reason"]["type"] == "stop":
            jsonschema.validate(json.loads(answer["text"]), json.loads(schema))


def streamed(server: SGLangServer, rid: str, leave: Callable[[int], bool]) -> list[Any]:
    """The events of one answer, up to where ``leave`` says so by their number."""
    body = {
        "text": "x",
        "rid": rid,
        "stream": True,
        "sampling_params": {"max_new_tokens": 3500, "temperature": 1, "regex": "[a-z ]{20000}"},
    }
    events: list[Any] = []
    with httpx.stream("POST", f"{server.base_url}/generate", json=body, timeout=120) as response:
        for line in response.iter_lines():
            if line.startswith("data: {"):
                events.append(json.loads(line[6:]))
                if leave(len(events)):
                    break
    return events


def test_aborts_and_disconnects_end_their_own_request_only(worker: SGLangServer) -> None:
    rids = [f"{number:032x}" for number in range(6)]
    done = threading.Event()

    def abort() -> None:
        while not done.is_set():
            for rid in rids[:3]:
                httpx.post(f"{worker.base_url}/abort_request", json={"rid": rid}, timeout=60)
            time.sleep(0.05)

    aborter = threading.Thread(target=abort)
    with ThreadPoolExecutor(8) as pool:
        aborted = [pool.submit(streamed, worker, rid, lambda n: False) for rid in rids[:3]]
        left = [pool.submit(streamed, worker, rid, lambda n: n == 5) for rid in rids[3:]]
        time.sleep(0.5)
        aborter.start()
        finished = [
            pool.submit(sampled, worker, p, json_schema=json.dumps(SCHEMA)) for p in PROMPTS
        ]
        for future in finished:
            check_json(future.result())
        ends = [future.result()[-1]["meta_info"]["finish_reason"] for future in aborted]
        assert [end["type"] for end in ends] == ["abort"] * 3
        assert [len(future.result()) for future in left] == [5] * 3
        done.set()
    aborter.join()


def test_a_flushed_cache_is_only_slower(worker: SGLangServer) -> None:
    check_json(sampled(worker, "x", json_schema=json.dumps(SCHEMA)))
    # the server first waits for requests that still run: those of clients that have left
    flush = f"{worker.base_url}/flush_cache?timeout=50"
    httpx.post(flush, timeout=60).raise_for_status()
    check_json(sampled(worker, "x", json_schema=json.dumps(SCHEMA)))


# -- drafts ----------------------------------------------------------------------------------------
CALL = [
    {"type": "const_string", "value": "<call>"},
    {"type": "json_schema", "json_schema": {"enum": [{"city": "Oslo", "unit": "C"}]}},
    {"type": "const_string", "value": "</call>"},
]
DRAFTED = [
    {"json_schema": json.dumps(SCHEMA)},
    {"regex": "(abc|abd|xyz){30}"},
    {"structural_tag": json.dumps({"format": {"type": "sequence", "elements": CALL}})},
]


def test_drafts_change_nothing_and_are_taken(worker: SGLangServer, drafting: SGLangServer) -> None:
    """NGRAM speculation under a grammar: the same greedy output, in fewer steps."""
    accepted = 0
    for options in DRAFTED:
        for prompt in PROMPTS * 2:
            wanted = worker.generate(prompt, max_new_tokens=120, **options)
            found = drafting.generate(prompt, max_new_tokens=120, **options)
            assert found["text"] == wanted["text"] and found["output_ids"] == wanted["output_ids"]
            accepted += found["meta_info"]["spec_num_correct_drafts"]
    assert accepted > 100
    counted = counters(drafting)
    assert counted["trees"] > 50 and counted["rollbacks"] == 0


def test_forced_text_is_drafted_the_first_time(drafting: SGLangServer) -> None:
    """Nothing like it was written before: only the grammar can know. The model likes these tokens,
    so it writes the text as the tokenizer does.
    """
    answer = drafting.generate("x", max_new_tokens=120, regex="(}:){20}")
    assert answer["text"] == "}:" * 20
    assert answer["meta_info"]["spec_num_correct_drafts"] >= 20


@pytest.mark.parametrize(
    "limits", [{"max_new_tokens": 1}, {"max_new_tokens": 7}, {"stop": [":", "never"]}]
)
def test_answers_end_within_forced_drafts_as_without(
    worker: SGLangServer, drafting: SGLangServer, limits: dict[str, Any]
) -> None:
    """Of several requests at once, text, count of tokens and reason of the end are the same."""

    def ends(server: SGLangServer) -> list[tuple[str, int, Any]]:
        options = {"max_new_tokens": 120, "regex": "(}:){20}", **limits}
        answers = many(lambda prompt: server.generate(prompt, **options), 8)
        about = [(answer["text"], answer["meta_info"]) for answer in answers]
        return [(text, told["completion_tokens"], told["finish_reason"]) for text, told in about]

    assert ends(drafting) == ends(worker)


def test_batches_of_drafts_are_valid(drafting: SGLangServer) -> None:
    schema = json.dumps(SCHEMA)
    for answer in many(lambda p: sampled(drafting, p, temperature=0, json_schema=schema), 24):
        check_json(answer)


# -- at the end of all that ------------------------------------------------------------------------
def test_nothing_went_wrong_inside(worker: SGLangServer, drafting: SGLangServer) -> None:
    """No error of ours, and no token that the mask allowed and the grammar refused."""
    for server in (worker, drafting):
        counted = counters(server)
        wrong = {name: counted[name] for name in ("errors", "mask_failures", "refused_tokens")}
        assert not any(wrong.values()), wrong
