"""Wire texts of families whose messages have recipients, except Harmony."""

from .compose import Thinking, Wire
from .raw_values import RawValues

ADDRESSED = (
    Wire(
        formats=("functionary_v32",),
        f='f\n{"city": "Oslo"}',
        g='g\n{"n": 2}',
        ff="ff\n{}",
        mark=">>>f\n",
        separator=">>>",
        text=("all\n", ""),
        beside=("all\n", ">>>"),
        call_is_text=True,
        named_only=True,
    ),
    Wire(
        formats=("muse",),
        f=' to=f<|message|><atem:function_calls>\n<atem:invoke name="f">\n<atem:parameter name="city">Oslo</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
        g=' to=g<|message|><atem:function_calls>\n<atem:invoke name="g">\n<atem:parameter name="n">2</atem:parameter>\n</atem:invoke>\n</atem:function_calls>',
        ff=' to=ff<|message|><atem:function_calls>\n<atem:invoke name="ff">\n</atem:invoke>\n</atem:function_calls>',
        city='<atem:parameter name="city">Oslo</atem:parameter>\n',
        country='<atem:parameter name="city">Oslo</atem:parameter>\n<atem:parameter name="country">NO</atem:parameter>\n',
        n='<atem:parameter name="n">2</atem:parameter>\n',
        wrong_n='<atem:parameter name="n">two</atem:parameter>\n',
        mark="<|eom|>",
        separator="<|eom|><|start|>assistant",
        text=(" to=user<|message|>", ""),
        beside=(" to=user<|message|>", "<|eom|><|start|>assistant"),
        thinking=Thinking(
            begin=" to=self<|message|>",
            end="<|eom|><|start|>assistant",
            inner="",
            outer="",
            newlines=(0, 0),
            is_own=True,
            repeats=True,
        ),
    ),
)
MUSE_VALUES = RawValues(
    format="muse",
    call=(
        ' to=put<|message|><atem:function_calls>\n<atem:invoke name="put">\n',
        "</atem:invoke>\n</atem:function_calls>",
    ),
    argument='<atem:parameter name="KEY">VALUE</atem:parameter>\n',
    end="</atem:parameter>",
    almost="</parameter>",
    wrong=(
        ('<atem:parameter name="text">Oslo\n', "no end of an argument"),
        ("<atem:parameter name=text>Oslo</atem:parameter>\n", "a key without quotes"),
        ('<parameter name="text">Oslo</parameter>\n', "marks without their prefix"),
    ),
)  # fmt: skip
