"""Create data/noise_vocabulary.json: byte-pair merges over Python's standard library.

    python -m adapters.workers.tools.make_noise_vocabulary [SIZE]         needs ``tokenizers``

Half the text is source code, half is JSON: a call of each function of the library that has
parameters, as a chat model would write it. The result depends on the version of Python; the shipped
file was created once, with Python 3.11.
"""

import ast
import json
import random
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: texts of the control tokens of every format that the gateway knows
SPECIAL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>",
    "<tool_call>", "</tool_call>", "<think>", "</think>",
    "<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>",
    "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
    "<|python_tag|>", "<|eot_id|>", "<|eom_id|>",
]  # fmt: skip
#: those that end an answer; <|eom_id|> ends the one that holds a built-in tool's call
STOP = ["<|im_end|>", "<|return|>", "<|call|>", "<|eot_id|>", "<|eom_id|>"]
#: words, numbers of at most three digits (as today's tokenizers cut them), and what lies between
PIECES = r"[A-Za-z_]+|[0-9]{1,3}|[^A-Za-z0-9_]+"
TARGET = Path(__file__).parent.parent / "data" / "noise_vocabulary.json"


def sources() -> list[str]:
    library = Path(sysconfig.get_paths()["stdlib"])
    files = [*sorted(library.glob("*.py"))[:150], *sorted((library / "json").glob("*.py"))]
    return [file.read_text(errors="replace") for file in files]


def functions(source: str) -> Iterator[tuple[str, list[str]]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            names = [a.arg for a in node.args.args if a.arg not in ("self", "cls")]
            if names:
                yield node.name, names


def value(name: str, rng: random.Random) -> Any:
    """Return a typical value: text, a number, a boolean, or a short list of texts."""
    kind = rng.randrange(8)
    if kind < 4:
        return rng.choice([name, f"{name}_{rng.randrange(100)}", f"the {name}", name.title()])
    if kind < 6:
        return rng.choice([rng.randrange(10), rng.randrange(2000), round(rng.uniform(-90, 90), 2)])
    if kind == 6:
        return rng.choice([True, False, None])
    return [f"{name} {n}" for n in range(rng.randrange(4))]


def json_samples(texts: list[str]) -> list[str]:
    """Return a call of every function, with spaces or without."""
    rng = random.Random(0)
    samples = []
    for name, parameters in (found for text in texts for found in functions(text)):
        call = {"name": name, "arguments": {p: value(p, rng) for p in parameters}}
        samples.append(json.dumps(call, separators=rng.choice([(", ", ": "), (",", ":")])))
    return samples


def shares(texts: list[str], size: int) -> list[str]:
    """Return ``size`` characters of ``texts``, which are repeated if they are too short."""
    taken, total = [], 0
    while total < size:
        for text in texts:
            taken.append(text[: size - total])
            total += len(taken[-1])
            if total >= size:
                break
    return taken


def train(texts: list[str], pieces: int) -> list[str]:
    """Return the first ``pieces`` merges, as text whose characters are bytes."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = sorted(byte_level.alphabet())
    split = pre_tokenizers.Split(Regex(PIECES), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    trainer = trainers.BpeTrainer(
        vocab_size=256 + pieces, initial_alphabet=alphabet, max_token_length=16, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in kept]
    back = {chr(byte): chr(byte) for byte in kept}
    back |= {chr(256 + n): chr(byte) for n, byte in enumerate(moved)}
    ranked = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    return ["".join(back[c] for c in text) for text, _ in ranked if len(text) > 1]


def main(size: int) -> None:
    code = sources()
    samples = json_samples(code)
    half = min(sum(map(len, code)), 2_000_000)
    pieces = train(shares(code, half) + shares(samples, half), size - 256 - len(SPECIAL))
    data = {"pieces": pieces, "special": SPECIAL, "stop": STOP}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in data.items()]
    TARGET.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{TARGET.name}: {256 + len(pieces) + len(SPECIAL)} tokens")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 512)
