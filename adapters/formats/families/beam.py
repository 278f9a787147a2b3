"""Beam: gpt-oss' messages on channels, with elements for arguments, and several calls in an answer.

    <|channel|>analysis<|message|>Which city?<|end|><|start|>assistant to=f<|channel|>analysis
     <|constrain|>xml<|message|><rfl:parameter name="city">\nOslo\n</rfl:parameter><|call|>
    <|channel|>final<|message|>Rain.<|return|>

The prompt ends with the first ``<|start|>assistant``. Its models write arguments sorted by name.
The end of an element is one token with its line feed. Checked against the parsers of SGLang 0.5.23
and vLLM 0.33, which have the response template of reflection/Beam-1.0-501B-A23B, not against the
chat template of the checkpoint.
"""

from engine import Style

from ..addressed.addressed_family import AddressedFamily
from ..tags import Chat, Elements

BEAM = AddressedFamily(
    name="beam",
    text="<|channel|>final<|message|>",
    thought="<|channel|>analysis<|message|>",
    begin=" to={name}<|channel|>analysis <|constrain|>xml<|message|>",
    start="<|start|>assistant",
    end="<|end|>",
    mark="<|end|>",
    arguments=Elements(
        Style('<rfl:parameter name="{key}">\n', "\n</rfl:parameter>", guard="</rfl:parameter>")
    ),
    sorted_levels=1,
    stop_texts=("<|return|>", "<|call|>"),
    # more than those of harmony
    marks=("<|start|>", "<|channel|>", "<|message|>", "<rfl:parameter"),
    chat=Chat(
        begin="<|start|>{role}",
        end="<|end|>",
        roles={role: f"{role}<|message|>" for role in ("system", "user", "tool")},
    ),
)
