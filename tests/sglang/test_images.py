"""Real vision models in real servers: what the server makes of ids and images.

One family at each turn (tests/turns.py), since each needs a server of its own; without TURN all.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import openai
import pytest
from transformers import AutoTokenizer

from adapters.formats import OutputSpec
from adapters.workers import (
    Generation,
    Image,
    PromptImage,
    PromptTooLong,
    SGLangWorker,
    WorkerError,
)
from app.conversation.tokenizer import HuggingFaceTokenizer
from engine import Vocabulary
from tests.app.cli.command import switchyard
from tests.real_input.served import served_gateway
from tests.vision_models import CASES, CONVERSATIONS, FAMILIES
from tests.workers.helpers import check_invariants, collect, ids_of, run, tag

from .environment import ROOT
from .platforms import CPU, environment_of
from .server import SGLangServer
from .servers import Servers

#: SGLang serves Gemma 3 without images otherwise; the stand-in of torchvision reads no images;
#: a short context is quickly full
OPTIONS = (
    *("--enable-multimodal", "--image-processor-backend", "pil"),
    *("--context-length", "512"),
)
#: the checkpoint that transformers writes has other names than Google's
OWN_OPTIONS = {"gemma3": ("--load-format", "dummy")}
_NAMES, _TURN = sorted(FAMILIES), os.environ.get("TURN")
DUE = [_NAMES[int(_TURN) % len(_NAMES)]] if _TURN else _NAMES


class Case(NamedTuple):
    """A conversation: ids with one placeholder for each image, and the ids that the family's
    processor makes of its text and images.
    """

    ids: list[int]
    images: tuple[PromptImage, ...]
    wanted: list[int]


class Served(NamedTuple):
    family: str
    server: SGLangServer
    tokenizer: Any
    cases: list[Case]

    def worker(self) -> SGLangWorker:
        tokens = Vocabulary.from_huggingface(self.tokenizer).tokens
        return SGLangWorker(self.server.base_url, tokens=tokens, grammar_backend="switchyard")


@pytest.fixture(scope="session")
def folders(server_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return the folder of a family's model, made once."""
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = tmp_path_factory.mktemp(family)
            command = [str(server_python), "-m", "tests.vision_models", family, str(made[family])]
            environment = environment_of(server_python, CPU)
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
        return made[family]

    return folder


@pytest.fixture(params=DUE)
def served(
    request: pytest.FixtureRequest, sglang_server: Servers, folders: Callable[[str], Path]
) -> Served:
    folder = folders(request.param)
    own = OWN_OPTIONS.get(request.param, ())
    server = sglang_server("switchyard", *OPTIONS, *own, model=folder)
    cases = [case_of(each) for each in json.loads((folder / CASES).read_text())]
    return Served(request.param, server, AutoTokenizer.from_pretrained(folder), cases)


def case_of(written: dict[str, Any]) -> Case:
    files = [Image("image/png", data, b"", 1, 1) for data in written["images"]]
    return Case(written["ids"], tuple(map(PromptImage, files, written["at"])), written["wanted"])


def asked(case: Case, **changes: Any) -> Generation:
    values: dict[str, Any] = {"rid": "r", "spec": None, "max_tokens": 3, "temperature": 0.0}
    return Generation(prompt=case.ids, images=case.images, **values | changes)


def test_the_ids_are_those_of_the_processor(served: Served) -> None:
    """For each conversation of one to three images. Only Gemma's are decoded and encoded again, see
    docs/workers.md.
    """
    for case in served.cases:
        body = {
            "input_ids": case.ids,
            "image_data": [image.data_url for image, _ in case.images],
            "sampling_params": {"max_new_tokens": 1},
            "return_prompt_token_ids": True,
        }
        answer = served.server.post_json("/generate", body)
        assert answer["prompt_token_ids"] == case.wanted
        assert answer["meta_info"]["prompt_tokens"] == len(case.wanted)
    is_encoded_again = "falling back to decode+retokenize" in served.server.log()
    assert is_encoded_again is (served.family == "gemma3")


def test_no_text_of_a_client_becomes_a_token(served: Served) -> None:
    """Some servers decode the ids and encode them again, and all count placeholders in the text."""
    tokenizer = HuggingFaceTokenizer(str(served.server.model))
    special = set(tokenizer.vocabulary.special_token_ids)
    case = next(case for case in served.cases if len(case.images) == 2)

    def tokens(text: str) -> list[int]:
        marks = [tokenizer.mark(number) for number in (0, 1)]
        said = f"word {marks[0]}{text}{marks[1]} word"
        ids = tokenizer.render([{"role": "user", "content": said}], (), OutputSpec()).prompt
        body = {
            "input_ids": ids,
            "image_data": [image.data_url for image, _ in case.images],
            "sampling_params": {"max_new_tokens": 1},
            "return_prompt_token_ids": True,
        }
        got = served.server.post_json("/generate", body)["prompt_token_ids"]
        return [number for number in got if number in special]

    # all of them are longer than the context
    hostile = [text for text in tokenizer.special_texts if "im" in text or "vision" in text]
    assert tokens("".join([*hostile, *(text[:-1] for text in hostile)])) == tokens("a b")


LETTERS = tag({"type": "regex", "pattern": "[a-z]{20}"})


def test_the_worker_sees_images(served: Served) -> None:
    """Usage counts their tokens, the grammar holds, and an answer ends with the context."""

    async def work() -> None:
        worker = served.worker()
        health = await worker.health()
        assert health.ready and worker.sees_images and worker.max_model_len is not None
        for case in served.cases:
            chunks = await collect(worker, asked(case, spec=LETTERS, max_tokens=60))
            check_invariants(chunks)
            text = served.tokenizer.decode(ids_of(chunks), skip_special_tokens=True)
            assert (len(text), text.isalpha(), text.islower()) == (20, True, True)
            assert chunks[-1].prompt_tokens == len(case.wanted)
        case = served.cases[0]
        room = worker.max_model_len - len(case.wanted)
        for limit in (room + 20, 1_000_000):  # within the context by our count, and beyond it
            chunks = await collect(worker, asked(case, max_tokens=limit, spec=ENDLESS))
            assert chunks[-1].finish_reason == "length"
            assert room - 10 < chunks[-1].completion_tokens <= room + 10
        await worker.aclose()

    run(work())


async def test_the_gateway_shows_images(served: Served) -> None:
    """The official client sends the conversations; usage has the processor's number of tokens."""
    settings = {
        "WORKERS": served.server.base_url,
        "MODEL": str(served.server.model),
        "MODEL_NAME": "tiny",
        "FORMAT": "hermes",
    }
    with served_gateway(settings) as url:
        client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
        for case, parts in zip(served.cases, CONVERSATIONS.values(), strict=True):
            images = iter(case.images)
            content = [
                {"type": "image_url", "image_url": {"url": next(images).image.data_url}}
                if part is None
                else {"type": "text", "text": part}
                for part in parts
            ]
            answer = await client.chat.completions.create(
                model="tiny",
                messages=[{"role": "user", "content": content}],  # type: ignore[typeddict-item,misc,list-item]
                max_completion_tokens=2,
            )
            assert answer.usage is not None
            assert answer.usage.prompt_tokens == len(case.wanted)
        await client.close()


#: of more tokens than any context
ENDLESS = tag({"type": "regex", "pattern": "[a-z ]*[0-9]{9000}"})
BROKEN = Image("image/png", "iVBORw0KGgo=", b"", 1, 1)


def test_refusals_are_the_clients(served: Served) -> None:
    """And the server goes on: a client's image must not look like a broken worker."""
    case = served.cases[0]

    async def work() -> None:
        worker = served.worker()
        await worker.health()
        broken = (*case.images[:-1], PromptImage(BROKEN, case.images[-1].at))
        with pytest.raises(WorkerError, match=r"the worker cannot read .*image") as caught:
            await collect(worker, asked(case._replace(images=broken)))
        assert (caught.value.status, caught.value.reason) == (400, "refused")
        assert worker.max_model_len is not None
        text = served.tokenizer.encode("a", add_special_tokens=False)
        filled = [*case.ids, *text * (worker.max_model_len - len(case.ids) - 1)]
        with pytest.raises(PromptTooLong) as long:
            await collect(worker, asked(case._replace(ids=filled)))
        assert long.value.got > len(filled)
        await collect(worker, asked(case))
        await worker.aclose()

    run(work())


def test_doctor_says_what_an_image_costs(served: Served) -> None:
    """A large square has more tokens than a small one, except in Gemma."""
    server = served.server.base_url
    done = switchyard(
        "doctor", "--json", workers=server, tokenizer=served.tokenizer.name_or_path, model_name="m"
    )
    place = f"worker sglang {server.removeprefix('http://')}"
    texts = [each["text"] for each in json.loads(done.stdout) if each["place"] == place]
    costs = re.compile(r"sees images: (\d+) tokens for 64 x 64 pixels, (\d+) for 512 x 512")
    (found,) = filter(None, map(costs.fullmatch, texts))
    small, large = map(int, found.groups())
    assert 1 < small <= large
    assert (small == large) is (served.family == "gemma3")
