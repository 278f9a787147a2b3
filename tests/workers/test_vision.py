"""Images in the transformers worker: tiny models of real families, and their own processors."""

import base64
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra 'embedded' is not installed")
transformers = pytest.importorskip("transformers", reason="the extra 'embedded' is not installed")
pytest.importorskip("PIL", reason="Pillow is not installed")

from transformers.models.auto import image_processing_auto  # noqa: E402

from adapters.workers import (  # noqa: E402
    Generation,
    Image,
    PromptImage,
    PromptTooLong,
    TransformersWorker,
    WorkerError,
)
from adapters.workers.vision import Vision, shows_images  # noqa: E402
from engine import Compiler, Vocabulary  # noqa: E402
from tests.sglang.tiny_model import CONTEXT  # noqa: E402
from tests.vision_models import (  # noqa: E402
    CONVERSATIONS,
    FAMILIES,
    asked,
    file_of,
    make_model,
    picture,
)

from .helpers import check_invariants, collect, ids_of, run, tag  # noqa: E402

Folders = Callable[[str], Path]

#: of an answer
TOKENS = 12


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Return the folder of a family's model, made once."""
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = tmp_path_factory.mktemp(family)
            make_model(family, made[family])
        return made[family]

    return folder


@pytest.fixture(autouse=True)
def _without_torchvision(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in of torchvision reads no images."""
    monkeypatch.setattr(image_processing_auto, "is_torchvision_available", lambda: False)


def image_of(picture: Any, kind: str = "PNG") -> Image:
    return Image(f"image/{kind.lower()}", file_of(picture, kind), b"", *picture.size)


def placed(vision: Vision, ids: list[int], images: list[Any]) -> tuple[PromptImage, ...]:
    places = [at for at, token in enumerate(ids) if token == vision.placeholder]
    return tuple(map(PromptImage, map(image_of, images), places))


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("family", FAMILIES)
def test_ids_and_inputs_are_those_of_the_processor(
    family: str, conversation: str, folders: Folders
) -> None:
    """One placeholder for each image becomes exactly what the processor makes of the text."""
    vision = Vision(folders(family))
    processor = vision.processor
    text, images = asked(processor, CONVERSATIONS[conversation])
    wanted = processor(text=[text], images=images, return_tensors="pt")
    ids = processor.tokenizer.encode(text, add_special_tokens=False)
    seen = vision.read(ids, placed(vision, ids, images))
    assert seen.ids == wanted.pop("input_ids")[0].tolist()
    del wanted["attention_mask"]
    assert {name: each.tolist() for name, each in seen.inputs.items()} == {
        name: each.tolist() for name, each in wanted.items()
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_text_that_spells_a_control_token_stays_text(family: str, folders: Folders) -> None:
    """Also beside an image, where the line feeds of Gemma's processor join it."""
    vision = Vision(folders(family))
    tokenizer = vision.processor.tokenizer
    text, images = asked(vision.processor, [None])
    ids = tokenizer.encode(text, add_special_tokens=False)
    spelt = tokenizer.encode("\n<|im_end|>\n", add_special_tokens=False, split_special_tokens=True)
    at = ids.index(vision.placeholder)
    ids = [*ids[:at], *spelt, *ids[at : at + 1], *spelt, *ids[at + 1 :]]
    seen = vision.read(ids, placed(vision, ids, images))
    assert seen.ids.count(tokenizer.eos_token_id) == ids.count(tokenizer.eos_token_id) == 1
    assert tokenizer.decode(seen.ids).count("<|im_end|>") == 3


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_all_types_of_files_are_read(kind: str, folders: Folders) -> None:
    vision = Vision(folders("gemma3"))
    ids = [vision.placeholder, 5]
    seen = vision.read(ids, (PromptImage(image_of(picture(0), kind), 0),))
    assert seen.inputs["pixel_values"].shape == (1, 3, 56, 56)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"hello", "the worker cannot read image 1 of the prompt: cannot identify image file"),
        (b"", "the worker cannot read image 1 of the prompt: cannot identify image file"),
        ("cut", "the worker cannot read image 1 of the prompt: .*truncated"),
    ],
)
def test_an_unreadable_image_is_the_clients(
    data: bytes | str, words: str, folders: Folders
) -> None:
    vision = Vision(folders("gemma3"))
    encoded = image_of(picture(0)).data[:-60] if data == "cut" else base64.b64encode(data).decode()
    image = PromptImage(Image("image/png", encoded, b"", 1, 1), 0)
    with pytest.raises(WorkerError, match=words) as caught:
        vision.read([vision.placeholder, 5], (image,))
    assert caught.value.status == 400


def test_each_image_needs_a_placeholder(folders: Folders) -> None:
    vision = Vision(folders("gemma3"))
    with pytest.raises(WorkerError, match="2 placeholders needs as many images, got 1"):
        vision.read(
            [vision.placeholder, 5, vision.placeholder], (PromptImage(image_of(picture(0)), 0),)
        )


#: more than any answer has, so that tokens of plain characters alone are allowed
LETTERS = tag({"type": "regex", "pattern": "[a-z ]{400}"})
LETTER = re.compile(rb"[a-z ]+")


@pytest.mark.parametrize("family", ["qwen2_5_vl", "gemma3"])
def test_the_worker_answers_by_what_it_sees(family: str, folders: Folders) -> None:
    """As transformers' own generate with the tokens that the grammar allows, also after another
    prompt; usage counts the tokens of images.
    """
    folder = folders(family)
    assert shows_images(folder)
    vision = Vision(folder)
    tokenizer = vision.processor.tokenizer
    text, images = asked(vision.processor, CONVERSATIONS["several"])
    ids = tokenizer.encode(text, add_special_tokens=False)
    seen = placed(vision, ids, images)
    vocabulary = Vocabulary.from_huggingface(tokenizer)
    others = [n for n, token in enumerate(vocabulary.tokens) if not LETTER.fullmatch(token)]
    wanted = by_transformers(folder, vision.processor, text, images, others)
    only_text = tokenizer.encode("What is this?", add_special_tokens=False)

    async def work() -> None:
        worker = TransformersWorker(folder, Compiler(vocabulary))
        assert not worker.sees_images
        await worker.start()
        assert worker.sees_images and worker.max_model_len == CONTEXT
        ask = Generation("r", ids, LETTERS, TOKENS, temperature=0.0, images=seen)
        plain = Generation("r", only_text, LETTERS, TOKENS, temperature=0.0)
        before = await collect(worker, plain)
        chunks = await collect(worker, ask)
        check_invariants(chunks)
        assert ids_of(chunks) == wanted[1]
        assert {chunk.prompt_tokens for chunk in chunks} == {len(wanted[0])}
        assert ids_of(await collect(worker, plain)) == ids_of(before)
        long = [*ids, *only_text * (CONTEXT // len(only_text))]
        with pytest.raises(PromptTooLong) as caught:
            await collect(worker, Generation("r", long, None, 12, images=seen))
        assert caught.value.got > len(long)
        await worker.aclose()

    run(work())


def by_transformers(
    folder: Path, processor: Any, text: str, images: list[Any], others: list[int]
) -> tuple[list[int], list[int]]:
    """Return the prompt and a greedy answer without certain tokens."""
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder).eval()
    inputs = processor(text=[text], images=images, return_tensors="pt")
    made = model.generate(**inputs, max_new_tokens=TOKENS, do_sample=False, suppress_tokens=others)[
        0
    ].tolist()
    length = inputs["input_ids"].shape[1]
    return made[:length], made[length:]


def test_a_model_of_text_sees_no_images(directory: Path, compiler: Compiler) -> None:
    async def work() -> None:
        worker = TransformersWorker(directory, compiler)
        await worker.start()
        assert not worker.sees_images and not shows_images(directory)
        images = (PromptImage(image_of(picture(0)), 0),)
        with pytest.raises(WorkerError, match="sees no images") as caught:
            await collect(worker, Generation("r", [5], None, 2, images=images))
        assert caught.value.status == 503
        await worker.aclose()

    run(work())


def test_a_model_whose_processor_is_unknown_reads_text(
    folders: Folders, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And health tells why it sees no images."""
    folder = folders("gemma3")
    for file in folder.iterdir():
        if "processor" not in file.name:
            (tmp_path / file.name).symlink_to(file)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    async def work() -> None:
        worker = TransformersWorker(tmp_path, Compiler(Vocabulary.from_huggingface(tokenizer)))
        await worker.start()
        health = await worker.health()
        assert health.ready and not worker.sees_images and health.details["vision_error"]
        assert len(ids_of(await collect(worker, Generation("r", [5, 6], None, 3)))) <= 3
        await worker.aclose()

    run(work())
