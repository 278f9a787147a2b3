"""Muse Glimmer: messages to the user, to the model itself and to tools, and elements for arguments.

     to=self<|message|>Which city?<|eom|><|start|>assistant to=f<|message|><atem:function_calls>\n
    <atem:invoke name="f">\n<atem:parameter name="city">Oslo</atem:parameter>\n</atem:invoke>\n
    </atem:function_calls><|eom|><|start|>assistant to=user<|message|>Rain.<|eot|>

The prompt ends with the first ``<|start|>assistant``. Checked against the chat template of
meta-models/Muse-Glimmer-30B (in trl 1.16.0).
"""

from ..addressed.addressed_family import AddressedFamily
from ..tags import Elements

MUSE = AddressedFamily(
    name="muse",
    text=" to=user<|message|>",
    thought=" to=self<|message|>",
    reserved=("user", "self"),
    start="<|start|>assistant",
    end="<|eom|>",
    mark="<|eom|>",
    begin=' to={name}<|message|><atem:function_calls>\n<atem:invoke name="{name}">\n',
    close="</atem:invoke>\n</atem:function_calls>",
    arguments=Elements("atem_xml", after="\n"),
    stop_texts=("<|eot|>",),
    marks=("<atem:function_calls>", "<|eom|>"),
)
