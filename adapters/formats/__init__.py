"""Formats: how model families write messages, reasoning and tool calls.

plan = get_format("hermes").plan(OutputSpec(tools=...), special_texts)
plan.spec               the structural tag that constrains the model
plan.spec_json          the same as JSON text, for workers
plan.reader()           turns the engine's events into deltas
plan.locate(pointer)    the location in the request that a node of the spec was made from
"""

from dataclasses import replace

from .custom_tools import INPUT_ARGUMENT, custom_tool
from .dialects import for_own_engine, for_reading_foreign
from .families.cohere import COMMAND_A, COMMAND_R, COMMAND_R7B
from .families.deepseek import DEEPSEEK_V3, DEEPSEEK_V4, DEEPSEEK_V31, DEEPSEEK_V32, DEEPSEEK_V41
from .families.functionary import FUNCTIONARY_V32
from .families.gemma import FUNCTIONGEMMA, GEMMA_4
from .families.gigachat import GIGACHAT_3, GIGACHAT_31
from .families.glm import GLM_45, GLM_47, HUNYUAN
from .families.hermes import HERMES
from .families.internlm import INTERNLM
from .families.json_lists import (
    APERTUS,
    APRIEL,
    FIREFUNCTION_V2,
    GRANITE_3,
    NEMOTRON_V2,
    PHI_4_MINI,
)
from .families.kimi import KIMI_K2, KIMI_K3
from .families.llama3 import LLAMA3_FUNCTION, LLAMA3_JSON
from .families.minicpm import MINICPM_5
from .families.minimax import MINIMAX_M1, MINIMAX_M2, MINIMAX_M3
from .families.mistral import MISTRAL_V3, MISTRAL_V11, MISTRAL_V13
from .families.muse import MUSE
from .families.plain import PLAIN, UNKNOWN
from .families.pythonic import LFM2, LLAMA4_PYTHONIC
from .families.qwen import QWEN_CODER, SEED_OSS
from .families.solar import SOLAR
from .format_plan import FormatPlan
from .harmony.format import HARMONY
from .location import FieldKind, Location, join_pointer
from .offered_tools import BUILTIN_TOOLS_PARAM, tool_param
from .output_spec import (
    NO_PARAMETERS,
    BuiltinTool,
    ChatMessage,
    Effort,
    FormatError,
    InputFormat,
    OutputSpec,
    PastCall,
    ResponseGrammar,
    ThinkingMarks,
    Thought,
    Tool,
)
from .parts import CONTENT, Kind, Origin, Role
from .reading.deltas import ContentDelta, Delta, ReasoningDelta, ToolArguments, ToolInput, ToolStart
from .reading.reader import Reader
from .reading.traced_reader import TracedReader
from .tags import TagFamily
from .wire_format import Format

__all__ = [
    "BUILTIN_TOOLS_PARAM",
    "CONTENT",
    "FORMATS",
    "INPUT_ARGUMENT",
    "NO_PARAMETERS",
    "UNKNOWN",
    "BuiltinTool",
    "ChatMessage",
    "ContentDelta",
    "Delta",
    "Effort",
    "FieldKind",
    "Format",
    "FormatError",
    "FormatPlan",
    "InputFormat",
    "Kind",
    "Location",
    "Origin",
    "OutputSpec",
    "PastCall",
    "Reader",
    "ReasoningDelta",
    "ResponseGrammar",
    "Role",
    "ThinkingMarks",
    "Thought",
    "Tool",
    "ToolArguments",
    "ToolInput",
    "ToolStart",
    "TracedReader",
    "custom_tool",
    "for_own_engine",
    "for_reading_foreign",
    "get_format",
    "join_pointer",
    "tool_param",
    "with_thinking",
]

#: the formats by name; "qwen3" is an alias. Of formats whose calls differ only in white space, the
#: first is preferred
FORMATS: dict[str, Format] = {
    "plain": PLAIN,
    "hermes": HERMES,
    "qwen3": HERMES,
    "qwen_coder": QWEN_CODER,
    "seed_oss": SEED_OSS,
    "llama3_json": LLAMA3_JSON,
    "llama3_function": LLAMA3_FUNCTION,
    "llama4_pythonic": LLAMA4_PYTHONIC,
    "lfm2": LFM2,
    "gemma_4": GEMMA_4,
    "functiongemma": FUNCTIONGEMMA,
    "mistral_v3": MISTRAL_V3,
    "mistral_v11": MISTRAL_V11,
    "mistral_v13": MISTRAL_V13,
    "deepseek_v3": DEEPSEEK_V3,
    "deepseek_v31": DEEPSEEK_V31,
    "deepseek_v32": DEEPSEEK_V32,
    "deepseek_v4": DEEPSEEK_V4,
    "deepseek_v41": DEEPSEEK_V41,
    "kimi_k2": KIMI_K2,
    "kimi_k3": KIMI_K3,
    "glm_45": GLM_45,
    "glm_47": GLM_47,
    "hunyuan": HUNYUAN,
    "minimax_m1": MINIMAX_M1,
    "minimax_m2": MINIMAX_M2,
    "minimax_m3": MINIMAX_M3,
    "phi_4_mini": PHI_4_MINI,
    "granite_3": GRANITE_3,
    "nemotron_v2": NEMOTRON_V2,
    "apriel": APRIEL,
    "apertus": APERTUS,
    "firefunction_v2": FIREFUNCTION_V2,
    "command_r": COMMAND_R,
    "command_r7b": COMMAND_R7B,
    "command_a": COMMAND_A,
    "solar": SOLAR,
    "gigachat_3": GIGACHAT_3,
    "gigachat_31": GIGACHAT_31,
    "internlm": INTERNLM,
    "minicpm_5": MINICPM_5,
    "functionary_v32": FUNCTIONARY_V32,
    "muse": MUSE,
    "harmony": HARMONY,
}


def get_format(name: str) -> Format:
    """Return the format of that name.

    Raises:
        ValueError: no such format; the message lists the known ones.
    """
    try:
        return FORMATS[name]
    except KeyError:
        raise ValueError(f"no format {name!r}; there are {', '.join(FORMATS)}") from None


def with_thinking(wire: Format, marks: ThinkingMarks) -> Format:
    """Return the format for a model that thinks between these marks; Harmony has fixed ones."""
    return replace(wire, thinking=marks) if isinstance(wire, TagFamily) else wire
