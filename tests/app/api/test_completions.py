"""POST /v1/completions: prompts as they are, the legacy shape, and the constraints of chat."""

import json
import math
import re
from typing import Any

import httpx
import jsonschema
import openai
import pytest
from openai.types import Completion, CompletionUsage

from adapters.workers import noise_vocabulary
from app.protocol.completion_request import MAX_PROMPTS
from app.settings import MAX_JSON_VALUES
from tests.app.examples import ALARM, json_schema
from tests.app.gateway import OPTIONS, Gateway, gateway_fixture
from tests.app.messages import events

NOISE = noise_vocabulary.load()
PATH = "/v1/completions"
#: "def", as text and as ids
TEXT, IDS = "def é", list(NOISE.encode("def é"))

gateway = gateway_fixture(strict_profile="openai", max_completion_tokens=10_000)


def post(gateway: Gateway, **fields: Any) -> httpx.Response:
    asked = {"model": "noise", "prompt": TEXT, "seed": 3, **fields}
    return httpx.post(gateway.url + PATH, json=asked, **OPTIONS)


def texts(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [choice["text"] for choice in answer.json()["choices"]]


#: prompts, and the texts of each
PROMPTS: dict[str, tuple[Any, list[str]]] = {
    "a text": (TEXT, [TEXT]),
    "texts": ([TEXT, "x"], [TEXT, "x"]),
    "ids": (IDS, [TEXT]),
    "lists of ids": ([IDS, [120]], [TEXT, "x"]),
    "a part of a character": (IDS[:-1], ["def \ufffd"]),
    "a control token": ("<|im_start|>user", ["<|im_start|>user"]),
}


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("name", PROMPTS)
def test_prompts_in_all_forms(gateway: Gateway, name: str, n: int) -> None:
    """Choices follow their prompts in order; each prompt counts once; echo puts it in front."""
    prompt, shown = PROMPTS[name]
    plain, echoed = (
        post(gateway, prompt=prompt, n=n, echo=echo, ignore_eos=True) for echo in (False, True)
    )
    answer = plain.json()
    assert [choice["index"] for choice in answer["choices"]] == list(range(n * len(shown)))
    assert texts(echoed) == [shown[number // n] + text for number, text in enumerate(texts(plain))]
    # the same seeds for each prompt
    assert texts(plain) == texts(plain)[:n] * len(shown)
    assert len(set(texts(plain))) == n
    prompts = sum(len(list(NOISE.encode(text))) for text in shown)
    usage = CompletionUsage.model_validate(answer["usage"])
    assert usage.prompt_tokens == (prompts if name != "a part of a character" else len(IDS) - 1)
    assert usage.completion_tokens == 16 * n * len(shown)


@pytest.mark.parametrize("name", PROMPTS)
def test_a_stream_adds_up_to_the_whole_answer(gateway: Gateway, name: str) -> None:
    client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="x", max_retries=0)
    prompt, _ = PROMPTS[name]
    asked: dict[str, Any] = {
        "model": "noise", "prompt": prompt, "n": 2, "echo": True, "seed": 4, "max_tokens": 60
    }  # fmt: skip
    whole = client.completions.create(**asked)
    assert (whole.object, whole.id[:5]) == ("text_completion", "cmpl-")
    found: dict[int, list[str | None]] = {}
    usage = None
    for chunk in client.completions.create(
        **asked, stream=True, stream_options={"include_usage": True}
    ):
        assert (chunk.object, chunk.model) == ("text_completion", "noise")
        usage = chunk.usage or usage
        for choice in chunk.choices:
            state = found.setdefault(choice.index, ["", None])
            assert state[1] is None
            found[choice.index] = [(state[0] or "") + choice.text, choice.finish_reason]
    assert usage == whole.usage
    assert [found[choice.index] for choice in whole.choices] == [
        [choice.text, choice.finish_reason] for choice in whole.choices
    ]


@pytest.mark.parametrize("top", [0, 1, 5])
def test_log_probabilities_in_the_legacy_shape(gateway: Gateway, top: int) -> None:
    """The token itself is always among them; offsets are characters; a stream has the same."""
    client = openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="x", max_retries=0)
    asked: dict[str, Any] = {
        "model": "noise", "prompt": TEXT, "seed": 11, "max_tokens": 200, "logprobs": top
    }  # fmt: skip
    whole: Completion = client.completions.create(**asked)
    (choice,) = whole.choices
    assert choice.logprobs is not None
    found: dict[str, list[Any]] = {}
    for chunk in client.completions.create(**asked, stream=True):
        if chunk.choices[0].text:
            assert chunk.choices[0].logprobs is not None
            for name, values in chunk.choices[0].logprobs.to_dict().items():
                found.setdefault(name, []).extend(values)  # type: ignore[arg-type]
    assert found == choice.logprobs.to_dict()
    tokens, offsets = found["tokens"], found["text_offset"]
    assert len({len(values) for values in found.values()}) == 1
    for token, logprob, tops, at in zip(
        tokens, found["token_logprobs"], found["top_logprobs"], offsets, strict=True
    ):
        assert tops[token] == logprob
        assert max(1, top) - 1 <= len(tops) <= top + 1
        assert sum(map(math.exp, tops.values())) <= 1 + 1e-9
        if "\ufffd" not in token:
            assert choice.text[at:].startswith(token)


def test_a_stop_string_ends_the_text(gateway: Gateway) -> None:
    (whole,) = texts(post(gateway, max_tokens=300, ignore_eos=True))
    stop = whole[40:42]
    answer = post(gateway, max_tokens=300, ignore_eos=True, stop=[stop], echo=True)
    assert texts(answer) == [TEXT + whole[: whole.index(stop)]]
    assert answer.json()["choices"][0]["finish_reason"] == "stop"


def streamed(answer: httpx.Response, choices: int) -> list[str]:
    """Return the texts that the chunks add up to."""
    made = [""] * choices
    for chunk in events(answer.text):
        for choice in chunk["choices"]:
            made[choice["index"]] += choice["text"]
    return made


FORMATS: dict[str, dict[str, Any]] = {
    "json_schema": json_schema(ALARM),
    "json_object": {"type": "json_object"},
    "schema": {"type": "json_object", "schema": ALARM},
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_response_format_constrains_the_text(gateway: Gateway, name: str) -> None:
    """The prompt stays as it is, without the word JSON too."""
    answer = post(gateway, response_format=FORMATS[name], max_tokens=5000).json()
    (choice,) = answer["choices"]
    assert answer["usage"]["prompt_tokens"] == len(IDS)
    if choice["finish_reason"] == "stop":
        value = json.loads(choice["text"])
        jsonschema.validate(value, ALARM if name != "json_object" else {"type": "object"})
    assert choice["finish_reason"] == "stop" or name == "json_object"


TAG = {"type": "structural_tag", "format": {"type": "const_string", "value": "hey"}}
#: constraints of other servers, and a pattern of the text
CONSTRAINTS: list[tuple[dict[str, Any], str]] = [
    ({"guided_regex": "[a-c]{3}"}, "[a-c]{3}"),
    ({"regex": "x{2}é"}, "xxé"),
    ({"guided_choice": ["Oslo", "Rome"]}, "Oslo|Rome"),
    ({"guided_grammar": 'root ::= "a" | "b"'}, "[ab]"),
    ({"ebnf": 'root ::= "a" | "b"'}, "[ab]"),
    ({"guided_json": {"enum": ["a", 3]}}, '"a"|3'),
    ({"json_schema": '{"enum": ["a", 3]}'}, '"a"|3'),
    ({"structured_outputs": {"structural_tag": TAG}}, "hey"),
    ({"response_format": TAG}, "hey"),
    ({"regex": "[ab]{3}b", "stop": ["b"]}, "a{0,3}"),
]


@pytest.mark.parametrize(("fields", "pattern"), CONSTRAINTS)
@pytest.mark.parametrize("stream", [False, True])
def test_constraints_of_other_servers_hold_for_texts(
    gateway: Gateway, fields: dict[str, Any], pattern: str, stream: bool
) -> None:
    answer = post(gateway, **fields, prompt=["a", "b"], max_tokens=200, stream=stream)
    made = texts(answer) if not stream else streamed(answer, 2)
    assert len(made) == 2 and all(re.fullmatch(pattern, text) for text in made)


def test_a_text_has_one_constraint(gateway: Gateway) -> None:
    error = post(gateway, regex="a", guided_choice=["a"]).json()["error"]
    assert (error["param"], error["code"]) == ("regex", "invalid_value")
    long = json.dumps({"enum": list(range(MAX_JSON_VALUES))})
    error = post(gateway, json_schema=long).json()["error"]
    assert (error["param"], error["code"]) == ("json_schema", "too_many_values")


def test_marks_of_calls_and_reasoning_are_no_tokens_of_a_text(gateway: Gateway) -> None:
    """Free text has no control token, and no part of it is held back or lost."""
    for seed in range(20):
        answer = post(gateway, seed=seed, max_tokens=100, ignore_eos=True, logprobs=0).json()
        (choice,) = answer["choices"]
        assert "".join(choice["logprobs"]["tokens"]).count("<|") == 0
        assert len(choice["logprobs"]["tokens"]) == 100 == answer["usage"]["completion_tokens"]


OFF: dict[str, dict[str, Any]] = {
    "null": dict.fromkeys(
        ["suffix", "echo", "best_of", "logprobs", "max_tokens", "n", "stop", "stream", "user",
         "stream_options", "temperature", "top_p", "logit_bias", "response_format"]
    ),
    "values": {"suffix": "", "echo": False, "best_of": 1, "n": 1, "stop": [], "user": "me",
               "stream": False, "logit_bias": {}, "response_format": {"type": "text"},
               "max_tokens": 16},
}  # fmt: skip


@pytest.mark.parametrize("name", OFF)
def test_values_that_are_off_change_nothing(gateway: Gateway, name: str) -> None:
    assert texts(post(gateway, **OFF[name])) == texts(post(gateway))


BAD: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "suffix": ({"suffix": "x"}, "suffix", "unsupported_parameter"),
    "best_of": ({"best_of": 2}, "best_of", "unsupported_parameter"),
    "best_of below n": ({"best_of": 1, "n": 2}, "best_of", "unsupported_parameter"),
    "echo beside logprobs": ({"echo": True, "logprobs": 0}, "echo", "unsupported_parameter"),
    "a bias": ({"logit_bias": {"1": 1}}, "logit_bias", "unsupported_parameter"),
    "a chat": ({"messages": []}, "messages", "unknown_parameter"),
    "logprobs": ({"logprobs": 6}, "logprobs", "integer_above_max_value"),
    "true logprobs": ({"logprobs": True}, "logprobs", "invalid_type"),
    "too many logprobs": ({"logprobs": 5, "n": 8, "max_tokens": 9999}, "logprobs", "invalid_value"),
    "n": ({"n": 9}, "n", "integer_above_max_value"),
    "too many choices": ({"prompt": ["x"] * MAX_PROMPTS, "n": 2}, "n", "integer_above_max_value"),
    "too many prompts": ({"prompt": ["x"] * 129}, "prompt", "array_above_max_length"),
    "no prompts": ({"prompt": []}, "prompt", "empty_array"),
    "an empty prompt": ({"prompt": ""}, "prompt", "invalid_value"),
    "a missing prompt": ({"prompt": None}, "prompt", "invalid_value"),
    "an empty one of several": ({"prompt": ["x", ""]}, "prompt[1]", "invalid_value"),
    "no ids of several": ({"prompt": [[1], []]}, "prompt[1]", "invalid_value"),
    "an object": ({"prompt": {}}, "prompt", "invalid_type"),
    "mixed": ({"prompt": ["x", 1]}, "prompt[1]", "invalid_type"),
    "mixed ids": ({"prompt": [1, "x"]}, "prompt[1]", "invalid_type"),
    "mixed lists": ({"prompt": [[1], 1]}, "prompt[1]", "invalid_type"),
    "a negative id": ({"prompt": [1, -1]}, "prompt[1]", "integer_below_min_value"),
    "an unknown id": ({"prompt": [1, 512]}, "prompt[1]", "invalid_value"),
    "an unknown id of several": ({"prompt": [[1], [2, 512]]}, "prompt[1][1]", "invalid_value"),
    "max_tokens": ({"max_tokens": 10_001}, "max_tokens", "invalid_value"),
    "no tokens": ({"max_tokens": 0}, "max_tokens", "integer_below_min_value"),
    "stream options": ({"stream_options": {"include_usage": True}}, "stream_options", None),
    "a wrong schema": (
        {"response_format": json_schema({"type": 3})},
        "response_format",
        "invalid_json_schema",
    ),
    "min_tokens beside a schema": (
        {"response_format": json_schema(ALARM), "min_tokens": 3},
        "min_tokens",
        "unsupported_parameter",
    ),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", BAD)
def test_mistakes_have_their_place(gateway: Gateway, name: str, stream: bool) -> None:
    fields, param, code = BAD[name]
    if stream and name in ("stream options", "too many logprobs"):
        fields = {**fields, "n": 9, "stream_options": None}
        param, code = "n", "integer_above_max_value"
    answer = post(gateway, **fields, stream=stream)
    error = answer.json()["error"]
    assert (answer.status_code, error["param"], error["code"]) == (400, param, code), error


def test_another_model_is_not_found(gateway: Gateway) -> None:
    answer = post(gateway, model="other")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")


def test_completions_need_a_key() -> None:
    with Gateway(api_keys="k") as guarded:
        assert post(guarded).status_code == 401


def test_each_prompt_counts_once_in_metrics(gateway: Gateway) -> None:
    def counted() -> tuple[float, ...]:
        kinds = ("prompt", "completion")
        return tuple(gateway.metric("switchyard_tokens_total", kind=kind) for kind in kinds)

    before = counted()
    used = post(gateway, prompt=[TEXT, "x"], n=3, ignore_eos=True).json()["usage"]
    added = tuple(now - then for now, then in zip(counted(), before, strict=True))
    assert added == (used["prompt_tokens"], used["completion_tokens"]) == (len(IDS) + 1, 96)
