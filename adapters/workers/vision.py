"""Images for the transformers worker: a model's processor, which makes tokens and pixels of them.

A prompt has one placeholder for each image. The processor replaces it by a text, with as many
tokens as the model makes of the image: often by the same token many times, in some families with
marks or line feeds around it.

Invariants       all other ids stay as they are, unless the text of an image begins or ends with
                 plain text, such as line feeds. Then these are encoded together with the plain text
                 beside them, as the processor does. The text of a control token stays text.
Threads          one at a time.
Not here         checks of files (the app's), the model (transformers).
"""

import re
from base64 import b64decode
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoConfig, AutoProcessor
from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

from .base import Image, PromptImage, WorkerError

#: the side of an image that tries out a processor
SIDE = 64
#: inputs that say which tokens are those of images
KINDS = ("token_type_ids", "mm_token_type_ids")
#: inputs of the text alone
OF_TEXT = ("input_ids", "attention_mask")


class Seen(NamedTuple):
    """The ids of a prompt with the tokens of its images, and the model's other inputs."""

    ids: list[int]
    inputs: Mapping[str, Any]


def shows_images(folder: Path) -> bool:
    """Return whether transformers knows the folder's model as one that reads images and text."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    is_known = config.model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
    return is_known and getattr(config, "vision_config", None) is not None


class Vision:
    """The processor of the model in ``folder``.

    ``placeholder``: the id of the token that stands for an image in prompts.

    Raises:
        Exception: it cannot be loaded, or is not of the kind that this class knows.
    """

    def __init__(self, folder: Path) -> None:
        import PIL.Image

        load: Any = AutoProcessor.from_pretrained
        self.processor: Any = load(folder, local_files_only=True)
        self._tokenizer: Any = self.processor.tokenizer
        self._placeholder: str = self.processor.image_token
        added = self._tokenizer.get_added_vocab()
        self._added = frozenset(added.values())
        self.placeholder: int = added[self._placeholder]
        texts = sorted(map(re.escape, added), key=len, reverse=True)
        self._marks = re.compile("(" + "|".join(texts) + ")")
        self._process([PIL.Image.new("RGB", (SIDE, SIDE))])

    def read(self, prompt: list[int], images: Sequence[PromptImage]) -> Seen:
        """Decode the images and put their tokens into the prompt.

        Raises:
            WorkerError: 400, an image cannot be decoded or processed; placeholders and images do
                not match.
        """
        count = prompt.count(self.placeholder)
        if count != len(images):
            message = f"a prompt with {count} placeholders needs as many images, got {len(images)}"
            raise WorkerError(400, message)
        pictures = [_picture(number, each.image) for number, each in enumerate(images, 1)]
        try:
            texts, inputs = self._process(pictures)
        except (ValueError, RuntimeError) as error:
            raise WorkerError(400, f"the worker cannot read the images: {error}") from error
        ids = self._expanded(prompt, texts)
        kinds = torch.tensor(self.processor.create_mm_token_type_ids([ids]))
        return Seen(ids, {name: kinds if name in KINDS else each for name, each in inputs.items()})

    def _process(self, pictures: list[Any]) -> tuple[list[str], dict[str, Any]]:
        """Return the text of each picture, and the model's inputs without ids.

        Raises:
            ValueError: the processor refuses a picture, or does not return the texts.
        """
        made = self.processor(
            images=pictures,
            text=[self._placeholder * len(pictures)],
            return_tensors="pt",
            return_text_replacement_offsets=True,
        )
        (places,) = made.pop("text_replacement_offsets", [()])
        texts = [place["replacement"] for place in places]
        if len(texts) != len(pictures) or not all(map(self._marks.search, texts)):
            raise ValueError(f"{type(self.processor).__name__} does not tell the tokens of images")
        inputs = {name: value for name, value in made.items() if name not in OF_TEXT}
        return texts, inputs

    def _expanded(self, prompt: list[int], texts: Sequence[str]) -> list[int]:
        """Return the prompt with the tokens of the images' texts.

        Plain text is a run without added tokens; one beside an image's own plain text is encoded
        anew.
        """
        ids: list[int] = []
        plain: list[int] = []
        behind = ""  # plain text at the end of the last image's text
        left = iter(texts)
        for token in prompt:
            if token not in self._added:
                plain.append(token)
            elif token != self.placeholder:
                ids += [*self._run(behind, plain, ""), token]
                plain, behind = [], ""
            else:
                before, *marks, after = self._marks.split(next(left))
                ids += self._run(behind, plain, before)
                ids += self._tokenizer.encode("".join(marks), add_special_tokens=False)
                plain, behind = [], after
        return ids + self._run(behind, plain, "")

    def _run(self, before: str, plain: list[int], after: str) -> list[int]:
        """Return the ids of a run of plain text, with text that was put around it."""
        if not before and not after:
            return plain
        text = before + self._tokenizer.decode(plain, clean_up_tokenization_spaces=False) + after
        ids: list[int] = self._tokenizer.encode(
            text, add_special_tokens=False, split_special_tokens=True
        )
        return ids


def _picture(number: int, image: Image) -> Any:
    """Return the image as RGB, of several frames the first. Raises WorkerError."""
    import PIL.Image

    try:
        with PIL.Image.open(BytesIO(b64decode(image.data))) as picture:
            return picture.convert("RGB")
    except (OSError, SyntaxError, ValueError, PIL.Image.DecompressionBombError) as error:
        message = f"the worker cannot read image {number} of the prompt: {error}"
        raise WorkerError(400, message) from error
