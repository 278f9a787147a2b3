"""DeepSeek: calls in a section, as JSON (V3, R1, V3.1) or as DSML elements (V3.2, V4).

V3, R1  <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{...}\n```
        <｜tool▁call▁end｜><｜tool▁calls▁end｜>
V3.1    <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{...}<｜tool▁call▁end｜>
        <｜tool▁calls▁end｜>
V3.2    <｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n
        <｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n
        </｜DSML｜invoke>\n</｜DSML｜function_calls>
V4      the same with tool_calls in place of function_calls
V4.1    <｜DSML｜ calls>\n<｜DSML｜ invoke name="f">\n..., with a space before every name

Checked against the chat templates of DeepSeek-R1 (in trl 1.16.0) and, at c7fe4623, DeepSeek-V3.1.
The makers of V3.2 and later ship programs in place of templates; V3.2 and V4 are checked against
llama.cpp's templates (llama-cpp-python 0.3.36), V4.1 against the parsers of SGLang 0.5.23 and
vLLM 0.33.
"""

from ..spelling import word_name
from ..tags import Elements, Section, TagFamily

_STOPS = ("<｜end▁of▁sentence｜>",)
_SECTION = Section(
    begin="<｜tool▁calls▁begin｜>",
    end="<｜tool▁calls▁end｜>",
    trigger="<｜tool▁calls▁begin｜>",
)

DEEPSEEK_V3 = TagFamily(
    name="deepseek_v3",
    section=_SECTION,
    begin="<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n",
    end="\n```<｜tool▁call▁end｜>",
    separator="\n",
    spell=word_name,
    stop_texts=_STOPS,
    marks=("<｜tool▁call▁begin｜>", "```json"),
)

DEEPSEEK_V31 = TagFamily(
    name="deepseek_v31",
    section=_SECTION,
    begin="<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>",
    end="<｜tool▁call▁end｜>",
    separator="",
    spell=word_name,
    stop_texts=_STOPS,
    marks=("<｜tool▁call▁begin｜>",),
)


def _dsml(name: str, section: str, invoke: str, style: str) -> TagFamily:
    begin = f"<｜DSML｜{section}>"
    return TagFamily(
        name=name,
        section=Section(begin=f"{begin}\n", end=f"</｜DSML｜{section}>", trigger="<｜DSML｜"),
        begin=f'<｜DSML｜{invoke} name="{{name}}">\n',
        end=f"</｜DSML｜{invoke}>\n",
        separator="",
        arguments=Elements(style, after="\n"),
        spell=word_name,
        stop_texts=_STOPS,
        marks=(begin,),
    )


DEEPSEEK_V32 = _dsml("deepseek_v32", "function_calls", "invoke", "deepseek_xml")
DEEPSEEK_V4 = _dsml("deepseek_v4", "tool_calls", "invoke", "deepseek_xml")
DEEPSEEK_V41 = _dsml("deepseek_v41", " calls", " invoke", "deepseek_v4_1_xml")
