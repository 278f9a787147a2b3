"""A small tokenizer in a folder, as Hugging Face saves it."""

from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}"
    "{% if 'forbidden' in (m.content or '') %}{{ raise_exception('not this') }}{% endif %}"
    "{% for c in m.tool_calls or [] %}{{ '\n' if not loop.first }}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n'
    "</tool_call>"
    "{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if tools %}{{ tools | map(attribute='function.name') | join(',') }}{% endif %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
#: shows calls in an invented syntax, from which no format can be made: it repeats names
INVENTED = TEMPLATE.replace("<tool_call>", "[[call {{ c.function.name }}").replace(
    "</tool_call>", "]]"
)
#: shows images as Qwen-VL does
VISION_TEMPLATE = TEMPLATE.replace(
    "\n{{ m.content or '' }}",
    "\n{% if m.content is not string %}{% for part in m.content or [] %}"
    "{% if part.type == 'image' %}"
    "<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ part.text }}{% endif %}{% endfor %}{% else %}{{ m.content }}{% endif %}",
)
SPECIAL = ["<|im_start|>", "<|im_end|>", "<|endoftext|>"]
VISION_SPECIAL = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>"]


def folder(path: Path, template: str | None) -> str:
    """A byte-level BPE of a few hundred tokens, saved as Hugging Face does."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["the light is on and the alarm is set"], trainer)
    special = [*SPECIAL, *(text for text in VISION_SPECIAL if text in (template or ""))]
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in special])
    wrapped = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>")
    wrapped.chat_template = template
    wrapped.save_pretrained(path)
    return str(path)
