"""A real vocabulary as the files of a Hugging Face tokenizer, which SGLang reads.

tiktoken merges the neighbours whose joint token has the lowest rank; Hugging Face's BPE merges by a
list of pairs. So each token gets all pairs that yield it, in the order of its rank, and a word that
is a token is taken whole (``ignore_merges``), as tiktoken takes it.

Invariants   I1 ids are the vocabulary's. I2 files are written only if they encode SAMPLES as the
             vocabulary does.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..vocabularies import Loaded, load

#: added tokens that are still text, as in Qwen3
SHOWN = frozenset(
    f"<{slash}{name}>" for name in ("tool_call", "tool_response", "think") for slash in ("", "/")
)
#: texts that a wrong tokenizer would split differently
SAMPLES = (
    "def reply(question):\n    return [question.strip(), 'x' * 3]\n",
    '{"name": "get_weather", "arguments": {"city": "Zürich", "days": 12345, "tags": []}}',
    "The year 2026, isn't it? WE'LL see...   three blanks\t\ttabs \n\n \n end  ",
    "日本語のテキスト, русский текст, ελληνικά, नमस्ते, 👩‍👩‍👧 and é = e\u0301",
    "https://example.com/a?b=c&d=%20#f 0x1F 3.14159e-10 __init__ CamelCaseWords snake_case",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" * 4 + "\r\n\r\n" + "=" * 77,
    "",
)


def write_tokenizer(folder: Path, vocabulary: str) -> None:
    """Write tokenizer.json and tokenizer_config.json unless they exist.

    Raises:
        RuntimeError: they do not encode like the vocabulary.
    """
    if (folder / "tokenizer_config.json").is_file():
        return
    loaded = load(vocabulary)
    text = json.dumps(describe(loaded), ensure_ascii=False)
    _check(text, loaded)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(text)
    stop = next(name for name, number in loaded.special.items() if number == loaded.stop)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": stop,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 1_000_000,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1))


def describe(loaded: Loaded) -> dict[str, Any]:
    """Return the contents of tokenizer.json."""
    ranks: Mapping[bytes, int] = loaded.encoding._mergeable_ranks
    letters = byte_letters()
    spelled = {token: "".join(letters[byte] for byte in token) for token in ranks}
    merges = [[spelled[left], spelled[right]] for left, right in _merges(ranks)]
    # one text per id; harmony has two texts for one id
    special = {number: text for text, number in reversed(loaded.special.items())}
    by_letters = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    words = {"Regex": loaded.encoding._pat_str}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(number, text) for number, text in sorted(special.items())],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": words, "behavior": "Isolated", "invert": False},
                {**by_letters, "use_regex": False},
            ],
        },
        "post_processor": None,
        "decoder": {**by_letters, "use_regex": False},
        "model": {
            "type": "BPE",
            "ignore_merges": True,
            "vocab": {spelled[token]: number for token, number in ranks.items()},
            "merges": merges,
        },
    }


def byte_letters() -> list[str]:
    """Return GPT-2's letter for each byte; printable bytes stand for themselves."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = iter(range(256, 512))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


def _merges(ranks: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    for token in sorted(ranks, key=ranks.__getitem__):
        for cut in range(1, len(token)):
            if token[:cut] in ranks and token[cut:] in ranks:
                yield token[:cut], token[cut:]


def _added(number: int, text: str) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": number, "content": text, **flags, "special": text not in SHOWN}


def _check(text: str, loaded: Loaded) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(text)
    for sample in SAMPLES:
        found = tokenizer.encode(sample, add_special_tokens=False).ids
        wanted = loaded.encoding.encode(sample, disallowed_special=())
        if found != wanted:
            raise RuntimeError(f"{sample!r} is encoded as {found}, not as {wanted}")
