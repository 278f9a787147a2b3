"""A tiny random Llama that a server can load as if it were a Qwen3.

    python -m tests.sglang.tiny_model FOLDER [--vocabulary 4096] [--padding 0]

Two layers of width 64, a byte-level BPE trained on sources of Python's standard library, and the
chat template beside this file (ChatML, calls as JSON in <tool_call>: the format "hermes"). A
random model would write endlessly, so tokens that lead towards an end (ENDING) are more likely.

Representation   a folder as Hugging Face writes it. Learned tokens come first, then the added ones
                 (ADDED), then ``padding`` ids that the model has and the tokenizer does not.
Invariants       I1 equal arguments give equal files on one version of Python and torch. I2 as in
                 Qwen3, marks of turns are special tokens, those of calls and thoughts are not.
Not here         starting the server (server.py). Needs torch: run it in the server's venv.
"""

import argparse
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: added tokens and whether they are special
ADDED = {
    "<|endoftext|>": True,
    "<|im_start|>": True,
    "<|im_end|>": True,
    "<tool_call>": False,
    "</tool_call>": False,
    "<tool_response>": False,
    "</tool_response>": False,
    "<think>": False,
    "</think>": False,
}
END, PAD = "<|im_end|>", "<|endoftext|>"
#: tokens that close something, by their text; each as likely as some hundred others
ENDING = ('"', '",', '"}', "}", "]", ",", ":", "</think>", "</tool_call>", END)
LIKELIER = 10.0
TEMPLATE = Path(__file__).with_name("chat_template.jinja")
CONTEXT = 8192
#: files of the standard library to learn from: enough for 32,000 merges, read in a second
FILES = 150


def make_model(folder: Path, vocabulary: int = 4096, padding: int = 0) -> None:
    """Writes tokenizer and model.

    Args:
        vocabulary: the tokenizer's tokens, ADDED among them; at least 256 more than those.
        padding: further rows of the model's logits, as models pad them to round sizes.

    Raises:
        ValueError: too few tokens for all bytes, or more than the sources give.
    """
    tokenizer = make_tokenizer(vocabulary)
    tokenizer.save_pretrained(folder)
    _random_llama(tokenizer, vocabulary + padding).save_pretrained(folder)


def make_tokenizer(vocabulary: int) -> Any:
    """A PreTrainedTokenizerFast of exactly ``vocabulary`` tokens."""
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerFast

    learned = _trained(vocabulary - len(ADDED))
    learned.add_tokens(
        [AddedToken(text, special=special, normalized=False) for text, special in ADDED.items()]
    )
    if learned.get_vocab_size() != vocabulary:
        raise ValueError(f"{vocabulary} tokens were asked for, {learned.get_vocab_size()} came out")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=learned, eos_token=END, pad_token=PAD)
    tokenizer.chat_template = TEMPLATE.read_text().rstrip("\n")
    return tokenizer


def _trained(size: int) -> Any:
    """A tokenizer of bytes and their merges, without any added token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    library = Path(sysconfig.get_paths()["stdlib"])
    tokenizer.train([str(path) for path in sorted(library.glob("*.py"))[:FILES]], trainer)
    return tokenizer


def _random_llama(tokenizer: Any, width: int) -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=width, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=16, max_position_embeddings=CONTEXT,
        bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config)
    _incline(
        model, [tokenizer.get_vocab()[text] for text in ENDING if text in tokenizer.get_vocab()]
    )
    return model


def _incline(model: Any, tokens: Sequence[int]) -> None:
    """Adds LIKELIER to these tokens' logits, whatever stands before them: all hidden states get one
    direction in common, and only these tokens look at it.
    """
    import torch

    with torch.no_grad():
        inputs, outputs = model.get_input_embeddings().weight, model.get_output_embeddings().weight
        common = 3 * float(inputs.detach().std())
        inputs[:, 0] = common
        # what the last norm makes of it
        seen = common / float(inputs.detach().pow(2).mean().sqrt())
        outputs[:, 0] = 0
        outputs[list(tokens), 0] = LIKELIER / seen


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make a tiny random model.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--padding", type=int, default=0)
    options = parser.parse_args(arguments)
    make_model(options.folder, options.vocabulary, options.padding)


if __name__ == "__main__":
    main()
