"""The model families: one module of data for each vendor or syntax."""

from ..harmony.format import HARMONY
from ..wire_format import Format
from .beam import BEAM
from .cohere import COMMAND_A, COMMAND_R, COMMAND_R7B
from .deepseek import DEEPSEEK_V3, DEEPSEEK_V4, DEEPSEEK_V31, DEEPSEEK_V32, DEEPSEEK_V41
from .functionary import FUNCTIONARY_V32
from .gemma import FUNCTIONGEMMA, GEMMA_4
from .gigachat import GIGACHAT_3, GIGACHAT_31
from .glm import GLM_45, GLM_47, HUNYUAN
from .hermes import HERMES
from .inkling import INKLING
from .internlm import INTERNLM
from .json_lists import APERTUS, APRIEL, FIREFUNCTION_V2, GRANITE_3, NEMOTRON_V2, PHI_4_MINI
from .kimi import KIMI_K2, KIMI_K3
from .llama3 import LLAMA3_FUNCTION, LLAMA3_JSON
from .minicpm import MINICPM_5
from .minimax import MINIMAX_M1, MINIMAX_M2, MINIMAX_M3
from .mistral import MISTRAL_V3, MISTRAL_V11, MISTRAL_V13
from .muse import MUSE
from .plain import PLAIN, UNKNOWN
from .pythonic import LFM2, LLAMA4_PYTHONIC, OLMO_3
from .qwen import QWEN_CODER, SEED_OSS
from .solar import SOLAR
from .stepfun import STEP_3

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
    "olmo_3": OLMO_3,
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
    "step_3": STEP_3,
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
    "inkling": INKLING,
    "beam": BEAM,
    "harmony": HARMONY,
}
