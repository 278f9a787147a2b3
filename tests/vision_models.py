"""Tiny random vision models of real families, with their real processors.

    python -m tests.vision_models FAMILY FOLDER

A family's configuration with two layers of width 64, its processor, and a tokenizer that was
learned on the spot and has the family's own tokens of images. The chat templates are ChatML with
the placeholder of the family.

Representation   a folder as Hugging Face writes it, as a program with a file of conversations.
Not here         starting a server. Needs torch: run it in the environment of tests.sglang, with its
                 stand-in of torchvision.
"""

import base64
import functools
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.sglang.tiny_model import CONTEXT, END, PAD, make_tokenizer

#: tokens of the tokenizer, without those of images
VOCABULARY = 1024
WIDTH = 64
#: of images: in pixels, and as a processor of Qwen's kind counts them
SIDE = 56
SIZE = {"shortest_edge": SIDE * SIDE, "longest_edge": 16 * SIDE * SIDE}
LAYERS = {"hidden_size": WIDTH, "intermediate_size": 2 * WIDTH, "num_hidden_layers": 2}
#: a vision tower of Qwen's kind
TOWER = {
    "depth": 2,
    "hidden_size": WIDTH,
    "intermediate_size": 2 * WIDTH,
    "num_heads": 4,
    "out_hidden_size": WIDTH,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}"
    "{% for part in message.content %}{% if part.type == 'image' %}IMAGE{% else %}"
    "{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


class Parts(NamedTuple):
    """The classes of a family by their names in transformers, and the arguments of its own."""

    config: Any
    model: Any
    processor: Any


@functools.cache
def _learned() -> str:
    """Return a tokenizer as JSON; learning takes a second."""
    text: str = make_tokenizer(VOCABULARY).backend_tokenizer.to_str()
    return text


def tokenizer_of(*tokens: str, **named: str) -> Any:
    """Return a tokenizer with further special tokens; ``named`` are its attributes, too."""
    from tokenizers import AddedToken, Tokenizer
    from transformers import PreTrainedTokenizerFast

    learned = Tokenizer.from_str(_learned())
    learned.add_tokens(
        [
            AddedToken(text, special=True, normalized=False)
            for text in (*tokens, *named.values())
            if learned.token_to_id(text) is None
        ]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=learned,
        eos_token=END,
        pad_token=PAD,
        extra_special_tokens=named,
        model_max_length=CONTEXT,
    )


def text_config(tokenizer: Any, **own: Any) -> dict[str, Any]:
    return {
        **LAYERS,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": WIDTH // 4,
        "max_position_embeddings": CONTEXT,
        "tie_word_embeddings": False,
        "vocab_size": len(tokenizer),
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        **own,
    }


def rope(**own: Any) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 3, 3], **own}


def qwen2_5_vl() -> Parts:
    import transformers
    from transformers.models.qwen2_vl import image_processing_pil_qwen2_vl as images

    tokenizer = tokenizer_of("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    ids = tokenizer.get_vocab()
    config = transformers.Qwen2_5_VLConfig(
        text_config=text_config(tokenizer, rope_parameters=rope()),
        vision_config={
            **TOWER,
            "patch_size": 14,
            "window_size": 112,
            "fullatt_block_indexes": [1],
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    processor = transformers.Qwen2_5_VLProcessor(
        image_processor=images.Qwen2VLImageProcessorPil(patch_size=14, merge_size=2, size=SIZE),
        tokenizer=tokenizer,
        video_processor=transformers.Qwen2VLVideoProcessor(),
        chat_template=TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return Parts(config, transformers.Qwen2_5_VLForConditionalGeneration, processor)


def qwen3_vl() -> Parts:
    import transformers
    from transformers.models.qwen2_vl import image_processing_pil_qwen2_vl as images

    tokenizer = tokenizer_of("<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>")
    ids = tokenizer.get_vocab()
    config = transformers.Qwen3VLConfig(
        text_config=text_config(tokenizer, rope_parameters=rope(mrope_interleaved=True)),
        vision_config={
            **TOWER,
            "patch_size": 16,
            "deepstack_visual_indexes": [1],
            "num_position_embeddings": 64,
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
    )
    processor = transformers.Qwen3VLProcessor(
        image_processor=images.Qwen2VLImageProcessorPil(patch_size=16, merge_size=2, size=SIZE),
        tokenizer=tokenizer,
        video_processor=transformers.Qwen3VLVideoProcessor(),
        chat_template=TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
    )
    return Parts(config, transformers.Qwen3VLForConditionalGeneration, processor)


def glm4v() -> Parts:
    import transformers
    from transformers.models.glm4v import image_processing_pil_glm4v as images

    marks = ("begin_of_image", "end_of_image", "image", "begin_of_video", "end_of_video", "video")
    tokenizer = tokenizer_of(*(f"<|{mark}|>" for mark in marks))
    ids = tokenizer.get_vocab()
    config = transformers.Glm4vConfig(
        text_config=text_config(tokenizer, rope_parameters=rope(partial_rotary_factor=1.0)),
        vision_config={**TOWER, "patch_size": 14, "image_size": 2 * SIDE},
        image_token_id=ids["<|image|>"],
        video_token_id=ids["<|video|>"],
        image_start_token_id=ids["<|begin_of_image|>"],
        image_end_token_id=ids["<|end_of_image|>"],
        video_start_token_id=ids["<|begin_of_video|>"],
        video_end_token_id=ids["<|end_of_video|>"],
    )
    size = {name: 2 * pixels for name, pixels in SIZE.items()}  # of two equal frames
    processor = transformers.Glm4vProcessor(
        image_processor=images.Glm4vImageProcessorPil(patch_size=14, merge_size=2, size=size),
        tokenizer=tokenizer,
        video_processor=transformers.Glm4vVideoProcessor(),
        chat_template=TEMPLATE.replace("IMAGE", "<|begin_of_image|><|image|><|end_of_image|>"),
    )
    return Parts(config, transformers.Glm4vForConditionalGeneration, processor)


def gemma3() -> Parts:
    """Its processor puts line feeds around an image, and another token than the placeholder."""
    import transformers
    from transformers.models.gemma3 import image_processing_pil_gemma3 as images

    tokenizer = tokenizer_of(
        boi_token="<start_of_image>",
        eoi_token="<end_of_image>",
        image_token="<image_soft_token>",
        bos_token=PAD,
    )
    tokens = (SIDE // 28) ** 2
    config = transformers.Gemma3Config(
        text_config=text_config(tokenizer, sliding_window=512, query_pre_attn_scalar=16),
        vision_config={
            **LAYERS,
            "num_attention_heads": 4,
            "image_size": SIDE,
            "patch_size": 14,
        },
        mm_tokens_per_image=tokens,
        boi_token_index=tokenizer.boi_token_id,
        eoi_token_index=tokenizer.eoi_token_id,
        image_token_index=tokenizer.image_token_id,
    )
    processor = transformers.Gemma3Processor(
        image_processor=images.Gemma3ImageProcessorPil(size={"height": SIDE, "width": SIDE}),
        tokenizer=tokenizer,
        image_seq_length=tokens,
        chat_template=TEMPLATE.replace("IMAGE", "<start_of_image>"),
    )
    return Parts(config, transformers.Gemma3ForConditionalGeneration, processor)


FAMILIES: dict[str, Callable[[], Parts]] = {
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": qwen3_vl,
    "glm4v": glm4v,
    "gemma3": gemma3,
}


def make_model(family: str, folder: Path) -> None:
    """Write a model, its processor and tokenizer."""
    write(FAMILIES[family](), folder)


def write(parts: Parts, folder: Path) -> None:
    import torch

    torch.manual_seed(0)
    parts.model(parts.config).save_pretrained(folder)
    parts.processor.save_pretrained(folder)


# -- conversations ---------------------------------------------------------------------------------

SIZES = ((56, 56), (140, 60), (40, 160))
#: parts of a user's message: text, or None for an image
CONVERSATIONS: dict[str, list[str | None]] = {
    "one": ["What is this?\n", None],
    "several": ["Compare\n\n", None, None, "\n and ", None, " please."],
    "first": [None, "\n\n\nWhat is this?"],
    "spaces": ["a  ", None, "  b", None, "\n"],
    "no text": [None],
}
#: the file of conversations in a model's folder
CASES = "cases.json"


def asked(processor: Any, parts: list[str | None]) -> tuple[str, list[Any]]:
    """Return the text of a conversation by the chat template, and its pictures."""
    content = [
        {"type": "image"} if part is None else {"type": "text", "text": part} for part in parts
    ]
    text = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True, tokenize=False
    )
    return text, [picture(number) for number in range(parts.count(None))]


def picture(number: int) -> Any:
    import PIL.Image

    return PIL.Image.new("RGB", SIZES[number % len(SIZES)], (40 * number, 90, 200))


def file_of(picture: Any, kind: str = "PNG") -> str:
    """Return a file in Base64."""
    data = io.BytesIO()
    picture.save(data, kind)
    return base64.b64encode(data.getvalue()).decode()


def case_of(processor: Any, parts: list[str | None]) -> dict[str, Any]:
    """Return the ids of a conversation with one placeholder for each image, and without."""
    text, images = asked(processor, parts)
    ids = processor.tokenizer.encode(text, add_special_tokens=False)
    # Gemma's template writes a token that its processor replaces by those of the image
    written = getattr(processor, "boi_token", processor.image_token)
    placeholder = processor.tokenizer.convert_tokens_to_ids(written)
    return {
        "ids": ids,
        "at": [at for at, token in enumerate(ids) if token == placeholder],
        "images": list(map(file_of, images)),
        "wanted": processor(text=[text], images=images)["input_ids"][0],
    }


def main(family: str, folder: Path) -> None:
    parts = FAMILIES[family]()
    write(parts, folder)
    cases = [case_of(parts.processor, each) for each in CONVERSATIONS.values()]
    (folder / CASES).write_text(json.dumps(cases))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
