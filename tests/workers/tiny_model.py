"""A tiny random model in Hugging Face's format, made on the spot. Needs torch and transformers."""

import sysconfig
from pathlib import Path

import torch
import transformers

PADDED = 640  # the model's width; the tokenizer has fewer tokens
CONTEXT = 512


def make_model(directory: Path) -> None:
    """A random Llama of 100,000 parameters and a byte-level BPE trained on some of Python's
    source.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=["<|end|>", "<|pad|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library = Path(sysconfig.get_paths()["stdlib"])
    tokenizer.train([str(library / "json" / "decoder.py"), str(library / "ast.py")], trainer)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", pad_token="<|pad|>"
    )
    fast.save_pretrained(directory)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=PADDED, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, max_position_embeddings=CONTEXT,
        bos_token_id=None, eos_token_id=fast.eos_token_id, pad_token_id=fast.pad_token_id,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(directory)
