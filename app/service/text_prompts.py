"""Prompts without a chat template as tokens."""

from collections.abc import Sequence
from typing import NamedTuple

from adapters.workers import PromptImage

from ..conversation import Tokenizer
from ..errors import bad_request
from ..generation import Prompt


class PromptTokens(NamedTuple):
    """The token ids of a prompt, and its images. ``echo``: the text with which answers begin."""

    ids: list[int]
    echo: str = ""
    images: tuple[PromptImage, ...] = ()


def read_prompts(
    prompts: Sequence[Prompt], tokenizer: Tokenizer, limit: int | None
) -> list[PromptTokens]:
    """Return the tokens of each prompt. ``limit``: tokens of the model's context; None: no bound.

    Raises:
        ApiError: 400; a prompt is empty, too long, or has an unknown id.
    """
    return [_read(prompt, tokenizer, limit) for prompt in prompts]


def _read(prompt: Prompt, tokenizer: Tokenizer, limit: int | None) -> PromptTokens:
    source, param = prompt.source, prompt.param
    if isinstance(source, str):
        ids = tokenizer.encode(source, add_special_tokens=prompt.adds_special)
    else:
        ids = list(source)
        _check_ids(ids, tokenizer.vocabulary.size, param)
    if not ids:
        raise bad_request(
            f"Invalid '{param}': expected at least one token, got none.", param, "invalid_value"
        )
    if limit is not None and len(ids) >= limit:
        raise bad_request(
            f"This model's maximum context length is {limit} tokens. However, your prompt "
            f"has {len(ids)} tokens. Please reduce the length of the prompt.",
            param,
            "context_length_exceeded",
        )
    if not prompt.is_echoed:
        return PromptTokens(ids)
    return PromptTokens(ids, (source if isinstance(source, str) else "") or tokenizer.decode(ids))


def _check_ids(ids: Sequence[int], size: int, param: str) -> None:
    beyond = next((at for at, number in enumerate(ids) if number >= size), None)
    if beyond is not None:
        raise bad_request(
            f"Invalid '{param}[{beyond}]': expected token ids below {size}, got {ids[beyond]}.",
            f"{param}[{beyond}]",
            "invalid_value",
        )
