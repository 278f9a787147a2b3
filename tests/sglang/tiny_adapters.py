"""Two tiny LoRA adapters of the tiny model (tiny_model.py), in the layout of PEFT.

    python -m tests.sglang.tiny_adapters FOLDER        writes FOLDER/law and FOLDER/tax

Each has matrices of rank 4 for the projections of both layers, random and large enough that greedy
answers differ from those of the model and of the other adapter.

Invariants   equal names give equal files on one version of torch.
Not here     the model. Needs torch: run it in the server's venv.
"""

import json
import sys
from pathlib import Path
from typing import Any

NAMES = ("law", "tax")
RANK = 4
LAYERS, WIDTH, INNER, HEADS, KEYS = 2, 64, 128, 64, 32
#: inputs and outputs of the projections of a layer
SHAPES = {
    "self_attn.q_proj": (WIDTH, HEADS),
    "self_attn.k_proj": (WIDTH, KEYS),
    "self_attn.v_proj": (WIDTH, KEYS),
    "self_attn.o_proj": (HEADS, WIDTH),
    "mlp.gate_proj": (WIDTH, INNER),
    "mlp.up_proj": (WIDTH, INNER),
    "mlp.down_proj": (INNER, WIDTH),
}
#: standard deviation of the numbers: the model's have 0.02
SPREAD = 0.4


def make_adapters(folder: Path) -> None:
    """Write all adapters, each into a folder of its name."""
    for number, name in enumerate(NAMES, 1):
        make_adapter(folder / name, seed=number)


def make_adapter(folder: Path, *, seed: int) -> None:
    """Write one adapter."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    draw = torch.Generator().manual_seed(seed)
    weights: dict[str, Any] = {}
    for layer in range(LAYERS):
        for module, (inputs, outputs) in SHAPES.items():
            place = f"base_model.model.model.layers.{layer}.{module}"
            first, second = torch.empty(RANK, inputs), torch.empty(outputs, RANK)
            weights[f"{place}.lora_A.weight"] = first.normal_(0, SPREAD, generator=draw)
            weights[f"{place}.lora_B.weight"] = second.normal_(0, SPREAD, generator=draw)
    save_file(weights, folder / "adapter_model.safetensors")
    config = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": "tiny",
        "r": RANK,
        "lora_alpha": RANK,
        "lora_dropout": 0.0,
        "bias": "none",
        "target_modules": [module.rpartition(".")[2] for module in SHAPES],
    }
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2))


if __name__ == "__main__":
    make_adapters(Path(sys.argv[1]))
