"""Draft models of the tiny model, for a server's speculative decoding.

    python -m tests.sglang.draft_models TARGET eagle|eagle3 FOLDER

They are not trained: a layer of the target itself reads what the algorithm hands on, which is right
now and then, since the tiny model has few favourite tokens. Standalone drafts need no file from
here: any model of the same tokenizer will do.

Representation   a folder with the files that SGLang's models LlamaForCausalLMEagle and
                 LlamaForCausalLMEagle3 load.
Not here         the tiny model (tiny_model). Needs torch: run it in the server's venv.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: the target's layers whose output EAGLE3 reads: the first of two
AUXILIARY = (0,)
KINDS = ("eagle", "eagle3")
_LAYER = "model.layers.1."


def make_draft_model(target: Path, kind: str, folder: Path) -> None:
    """Write config and weights of a draft model."""
    from safetensors.torch import load_file, save_file

    folder.mkdir(parents=True, exist_ok=True)
    config = json.loads((target / "config.json").read_text())
    weights = load_file(target / "model.safetensors")
    make = _eagle if kind == "eagle" else _eagle3
    more, made = make(config["hidden_size"], weights)
    layer = {
        name.removeprefix(_LAYER): weight
        for name, weight in weights.items()
        if name.startswith(_LAYER)
    }
    place = "layers.0" if kind == "eagle" else "midlayer"
    made |= {f"{place}.{name}": weight for name, weight in layer.items()} | {
        f"{place}.{name}": weight for name, weight in made.pop("layer", {}).items()
    }
    save_file(
        {name: weight.contiguous().clone() for name, weight in made.items()},
        folder / "model.safetensors",
    )
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 1, **more}))


def _eagle(size: int, weights: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The mean of the next token's embedding and of the target's state goes into the layer."""
    import torch

    half = torch.eye(size) / 2
    return {"architectures": ["LlamaForCausalLMEagle"]}, {
        "embed_tokens.weight": weights["model.embed_tokens.weight"],
        "fc.weight": torch.cat([half, half], dim=1),
        "fc.bias": torch.zeros(size),
    }


def _eagle3(size: int, weights: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The target's state goes on, and the layer's attention also reads the embedding."""
    import torch

    vocabulary = weights["lm_head.weight"].shape[0]
    attention = {
        f"self_attn.{name}_proj.weight": torch.cat(
            [weights[f"{_LAYER}self_attn.{name}_proj.weight"]] * 2, dim=1
        )
        for name in "qkv"
    }
    config = {
        "architectures": ["LlamaForCausalLMEagle3"],
        "draft_vocab_size": vocabulary,
        "eagle_config": {"eagle_aux_hidden_state_layer_ids": list(AUXILIARY)},
    }
    return config, {
        "fc.weight": torch.eye(size),
        "norm.weight": weights["model.norm.weight"],
        "lm_head.weight": weights["lm_head.weight"],
        "d2t": torch.zeros(vocabulary, dtype=torch.int64),
        "layer": {**attention, "hidden_norm.weight": torch.ones(size)},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make a draft model of the tiny model.")
    parser.add_argument("target", type=Path)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    make_draft_model(options.target, options.kind, options.folder)


if __name__ == "__main__":
    main()
