"""Wire texts of gpt-oss; more headers are in tests/formats/harmony_cases.py."""

from .compose import Thinking, Wire

HARMONY = Wire(
    formats=("harmony",),
    f='<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"city": "Oslo"}<|call|>',
    g='<|channel|>commentary to=functions.g <|constrain|>json<|message|>{"n": 2}<|call|>',
    ff=" to=functions.ff<|channel|>commentary <|constrain|>json<|message|>{}<|call|>",
    mark="<|channel|>commentary to=functions.f",
    text=("<|channel|>final<|message|>", "<|return|>"),
    beside=("<|channel|>commentary<|message|>", "<|end|><|start|>assistant"),
    is_parallel=False,
    is_tokens=True,
    thinking=Thinking(
        begin="<|channel|>analysis<|message|>",
        end="<|end|><|start|>assistant",
        inner="",
        outer="",
        newlines=(0, 0),
        is_own=True,
        states=("free", "off"),
        repeats=True,
    ),
)
