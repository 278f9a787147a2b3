"""Tokenizers of Hugging Face, as ``transformers`` loads them."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from .control import encoded


def pretrained(source: str) -> Any:
    """Load a tokenizer. Raises ValueError with the reason."""
    if source.startswith(("/", ".", "~")) and not Path(source).is_dir():
        raise ValueError(f"no such folder: {source}")
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(source, trust_remote_code=False)
        if not getattr(tokenizer, "chat_template", None):
            tokenizer.chat_template = _template_of_processor(source)
        return tokenizer
    except Exception as error:
        # the library passes on its parsers' exceptions; their first line names the reason
        reason = str(error).strip().partition("\n")[0]
        raise ValueError(f"cannot load a tokenizer from {source}: {reason}") from error


def _template_of_processor(source: str) -> str | None:
    """Return the chat template that older vision models have in a file of their processor."""
    file = Path(source).expanduser() / "chat_template.json"
    if not file.is_file():
        return None
    template = json.loads(file.read_text("utf-8"))["chat_template"]
    return template if isinstance(template, str) else None


def encoder(tokenizer: Any, backend: Any) -> Callable[[str, bool], list[int]]:
    """Return the function that encodes a text, in which the texts of special tokens become these
    tokens, with or without those that the tokenizer adds.

    The backend is called directly: ``transformers`` spends 0.15 ms around it.
    """
    if backend is None:
        return lambda text, add: list(tokenizer.encode(text, add_special_tokens=add))
    # a tokenizer's file may ask for them
    backend.no_truncation()
    backend.no_padding()
    return partial(encoded, backend)


def stop_ids(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """Return the ids that end an answer: the tokenizer's own, and those of ``texts``."""
    known: Mapping[str, int] = tokenizer.get_added_vocab()
    ids = {known[text] for text in texts if text in known}
    if tokenizer.eos_token_id is not None:
        ids.add(tokenizer.eos_token_id)
    return sorted(ids)


def end_texts(tokenizer: Any, source: str) -> list[str]:
    """Return the texts of the tokens that end an answer: the tokenizer's own, and those in the
    generation config of a model's folder.
    """
    ids = {tokenizer.eos_token_id}
    file = Path(source).expanduser() / "generation_config.json"
    try:
        given = json.loads(file.read_text("utf-8"))["eos_token_id"] if file.is_file() else None
        ids.update(given if isinstance(given, list) else [given])
        texts = tokenizer.convert_ids_to_tokens([each for each in ids if type(each) is int])
    except (ValueError, KeyError, TypeError, OSError, OverflowError):
        return [tokenizer.eos_token] if tokenizer.eos_token else []
    return [text for text in texts if text]
