"""The format of a model, detected by evidence."""

from pathlib import Path

import pytest

from adapters.formats import OutputSpec
from app.conversation.detection import Signs, detect
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, saved, tokenizer_of
from tests.app.conversation.peer_parsers import JSON, PEERS, Peer, row, written
from tests.app.small_tokenizer import folder

#: by chat template: the format and the basis of the evidence. "trl-" and "axolotl-" are those that
#: `make data` takes from these packages: trl's as their makers ship them, axolotl's with the calls
#: of their makers. The others are llama.cpp's; "changed": its text is known not to be the maker's
EXPECTED = {
    "Apertus-8B-Instruct": ("apertus", "call"),
    "Apriel-1.6-15b-Thinker-fixed": ("apriel", "call"),
    "Bielik-11B-v3.0-Instruct": ("hermes", "call"),
    "ByteDance-Seed-OSS": ("seed_oss", "call"),
    "Cohere2MoE": ("command_a", "call"),
    "CohereForAI-c4ai-command-r-plus-tool_use": ("command_r", "call"),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": ("command_r7b", "call"),  # changed
    "GLM-4.6": ("glm_45", "call"),
    "GLM-4.7-Flash": ("glm_47", "call"),
    "GigaChat3-10B-A1.8B": ("gigachat_3", "call"),
    "GigaChat3.1-10B-A1.8B": ("gigachat_31", "call"),
    "HuggingFaceTB-SmolLM3-3B": ("hermes", "marks"),
    "Kimi-K2-Instruct": ("kimi_k2", "call"),  # changed
    "Kimi-K2-Thinking": ("kimi_k2", "call"),  # changed
    "Kimi-K3": ("kimi_k3", "call"),
    "LFM2-8B-A1B": ("lfm2", "marks"),
    "LFM2.5-8B-A1B": ("lfm2", "call"),
    "LFM2.5-Instruct": ("lfm2", "marks"),
    "MiMo-VL": ("hermes", "call"),
    "MiniMax-M1": ("minimax_m1", "call"),
    "MiniMax-M2": ("minimax_m2", "call"),
    "MiniMax-M3": ("minimax_m3", "call"),
    "Mistral-Small-3.2-24B-Instruct-2506": ("mistral_v11", "call"),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": ("qwen_coder", "call"),
    "NVIDIA-Nemotron-Nano-v2": ("nemotron_v2", "call"),
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": ("hermes", "call"),
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": ("hermes", "call"),
    "Qwen-QwQ-32B": ("hermes", "call"),
    "Qwen-Qwen2.5-7B-Instruct": ("hermes", "call"),
    "Qwen-Qwen3-0.6B": ("hermes", "call"),
    "Qwen3-Coder": ("qwen_coder", "call"),
    "Qwen3.5-4B": ("qwen_coder", "call"),
    "Reka-Edge": ("derived", "derived"),
    "Spark2.5": ("glm_47", "call"),
    "StepFun3.5-Flash": ("derived", "derived"),
    "axolotl-command_a_tool_use": ("command_r7b", "call"),
    "axolotl-exaone4": ("derived", "derived"),
    "axolotl-jamba": ("derived", "derived"),
    "axolotl-llama4": ("derived", "derived"),
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": ("deepseek_v3", "marks"),
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": ("deepseek_v3", "call"),
    "deepseek-ai-DeepSeek-V3.1": ("deepseek_v31", "call"),  # changed
    "deepseek-ai-DeepSeek-V3.2": ("deepseek_v32", "call"),  # changed
    "deepseek-ai-DeepSeek-V4": ("deepseek_v4", "call"),  # changed
    "deepseek-ai-DeepSeek-V4-Flash-0731": ("deepseek_v4", "call"),  # changed
    "fireworks-ai-llama-3-firefunction-v2": ("firefunction_v2", "call"),
    "google-gemma-2-2b-it": ("plain", "none"),
    "google-gemma-4-31B-it": ("gemma_4", "call"),
    "google-gemma-4-31B-it-interleaved": ("gemma_4", "call"),
    "ibm-granite-granite-3.3-2B-Instruct": ("granite_3", "marks"),
    "ibm-granite-granite-4.0": ("hermes", "call"),
    "ibm-granite-granite-4.1": ("hermes", "call"),
    "inclusionai-ling-3.0-flash": ("derived", "derived"),
    "llama-cpp-deepseek-r1": ("deepseek_v3", "marks"),  # changed
    "llama-cpp-rwkv-world": ("plain", "none"),
    "meetkai-functionary-medium-v3.1": ("llama3_function", "call"),
    "meetkai-functionary-medium-v3.2": ("functionary_v32", "call"),
    "meta-llama-Llama-3.1-8B-Instruct": ("llama3_json", "call"),
    "meta-llama-Llama-3.2-3B-Instruct": ("llama3_json", "call"),
    "meta-llama-Llama-3.3-70B-Instruct": ("llama3_json", "call"),
    "microsoft-Phi-3.5-mini-instruct": ("plain", "none"),
    "mistralai-Ministral-3-14B-Reasoning-2512": ("mistral_v13", "call"),
    "mistralai-Mistral-Nemo-Instruct-2407": ("mistral_v3", "call"),
    "moonshotai-Kimi-K2": ("kimi_k2", "call"),
    "muse-glimmer": ("muse", "call"),
    "openai-gpt-oss-120b": ("harmony", "call"),
    "openbmb-MiniCPM5-1B": ("minicpm_5", "call"),
    "poolside-Laguna-S-2.1": ("glm_47", "call"),
    "poolside-Laguna-XS-2.1": ("glm_45", "call"),
    "poolside-Laguna-XS.2": ("glm_45", "call"),
    "tencent-Hy3": ("hunyuan", "call"),
    "trl-deepseekv3": ("deepseek_v3", "call"),
    "trl-diffusion_gemma": ("gemma_4", "call"),
    "trl-gemma4_v5": ("gemma_4", "call"),
    "trl-glm4moe": ("glm_45", "call"),
    "trl-lfm2_2_5_v2": ("lfm2", "call"),
    "trl-lfm2_2_5_vl": ("lfm2", "call"),
    "trl-lfm2_v2": ("lfm2", "call"),
    "trl-nemotron_3_5_lightning": ("qwen_coder", "call"),
    "trl-nemotron_3_ultra": ("qwen_coder", "call"),
    "trl-qwen3": ("hermes", "call"),
    "trl-qwen3_6": ("qwen_coder", "call"),
    "trl-qwen3_8": ("qwen_coder", "call"),
    "trl-qwen3_instruct_2507": ("hermes", "call"),
    "trl-qwen3_vl": ("hermes", "call"),
    "unsloth-Apriel-1.5": ("apriel", "call"),
    "unsloth-mistral-Devstral-Small-2507": ("mistral_v13", "call"),
    "upstage-Solar-Open-100B": ("solar", "call"),
}
#: by format: chat templates of models that `make data` does not fetch
WRITTEN = {
    "internlm": (
        "{% if tools %}<|im_start|>system name=<|plugin|>\n{{ tools | tojson }}<|im_end|>\n"
        "{% endif %}{% for m in messages %}<|im_start|>"
        "{{ 'environment name=<|plugin|>' if m.role == 'tool' else m.role }}\n{{ m.content or '' }}"
        "{% for c in m.tool_calls or [] %}<|action_start|><|plugin|>\n"
        '{"name": "{{ c.function.name }}", "parameters": {{ c.function.arguments | tojson }}}'
        "<|action_end|>{% endfor %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    ),
    "olmo_3": (
        "{% for m in messages %}<|im_start|>{{ 'environment' if m.role == 'tool' else m.role }}\n"
        "{{ m.content or '' }}{% if loop.first and tools %}<functions>{{ tools | tojson }}"
        "</functions>{% endif %}{% if m.tool_calls %}<function_calls>{% for c in m.tool_calls %}"
        "{{ '\n' if not loop.first }}{{ c.function.name }}("
        "{% for key, value in c.function.arguments.items() %}{{ ', ' if not loop.first }}"
        "{{ key }}={{ value | tojson }}{% endfor %}){% endfor %}</function_calls>{% endif %}"
        "<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    ),
    # with the errors of its makers: a mark of past calls, and the role of results
    "step_3": (
        "{% if tools %}<｜tool_calls_begin｜>\n<｜tool_call_begin｜>\nfunction<｜tool_sep｜>"
        "{{ tools | tojson }}{% endif %}{% for m in messages %}"
        "{% if m.role == 'tool_response' or m.role == 'tools' %}<｜tool_outputs_begin｜>\n"
        "<｜tool_output_begin｜>\n{{ m.content }}<｜tool_output_end｜><｜tool_outputs_end｜>\n"
        "{% else %}{{ '<|BOT|>' + m.role + '\n' }}{{ m.content or '' }}"
        "{% if m.tool_calls %}<｜tool_calls_begin｜>\n{% for c in m.tool_calls %}"
        "<｜tool_call_begin>｜>\n{{ c.type }}<｜tool_sep｜>"
        "{{- '<steptml:invoke name=\"' + c.function.name + '\">' }}"
        "{% for key, value in c.function.arguments.items() %}"
        "{{- '<steptml:parameter name=\"' + key + '\">' + value | string }}</steptml:parameter>"
        "{% endfor %}</steptml:invoke><｜tool_call_end｜>\n{% endfor %}<｜tool_calls_end｜>"
        "{% endif %}"
        "<|EOT|>{% endif %}{% endfor %}<|BOT|>assistant\n<think>\n"
    ),
    "beam": (
        "{{ tools | tojson if tools }}{% for m in messages %}{% if m.role != 'assistant' %}"
        "<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% elif m.content %}"
        "<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|end|>{% endif %}"
        "{% for c in m.tool_calls or [] %}<|start|>assistant to={{ c.function.name }}"
        "<|channel|>analysis <|constrain|>xml<|message|>"
        "{% for key, value in c.function.arguments | dictsort %}"
        "{{ '<rfl:parameter name=\"' ~ key ~ '\">\n' }}"
        "{{ value if value is string else value | tojson }}{{ '\n</rfl:parameter>' }}{% endfor %}"
        "{{ '<|call|>' if loop.last else '<|end|>' }}{% endfor %}{% endfor %}<|start|>assistant"
    ),
}


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_every_template_is_in_the_table() -> None:
    assert EXPECTED.keys() == {*TEMPLATES}


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_format_of_a_real_model(name: str) -> None:
    evidence = tokenizer_of(name).evidence
    assert (evidence.format, evidence.basis) == EXPECTED[name]
    assert bool(evidence.shown) == (evidence.basis not in ("none", "setting"))


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_that_shows_tools_has_a_known_syntax(name: str) -> None:
    tokenizer = tokenizer_of(name)
    assert tokenizer.profile is not None
    assert not tokenizer.profile.tools or tokenizer.evidence.basis in ("call", "marks", "derived")


def document() -> list[str]:
    """Return the rows of the table of parsers in the documentation, and the line of dashes."""
    text = (Path(__file__).parents[3] / "docs" / "formats.md").read_text("utf-8")
    _, _, section = text.partition("\n## Names of parsers in SGLang and vLLM\n")
    lines = section.partition("\n## ")[0].splitlines()
    return [line for line in lines if line.startswith("|")][1:]


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.vllm or peer.sglang)
def test_the_document_says_how_models_of_a_parser_are_served(peer: Peer) -> None:
    assert row(peer) in document()


def test_the_document_has_each_parser_once() -> None:
    assert len(document()) == 1 + len(PEERS)
    for attribute in ("sglang", "vllm"):
        listed = [name for peer in PEERS for name in getattr(peer, attribute).split()]
        assert len(listed) == len({*listed})


def test_the_example_of_derivation_in_the_document(tmp_path: Path) -> None:
    source = written(
        "<call>",
        "\n",
        JSON,
        "</call>",
        before="<|calls|>",
        between="\n",
        behind="<|/calls|>",
        turn=("<|{role}|>", "<|end|>"),
    )
    family = HuggingFaceTokenizer(saved(source, str(tmp_path))).evidence.family
    assert family is not None and family.section is not None
    assert (family.section.begin, family.section.end) == ("<|calls|>", "<|/calls|>")
    assert (family.begin, family.end, family.separator) == ("<call>{name}\n", "</call>", "\n")
    assert (family.section.trigger, family.stop_texts) == ("<|calls|>", ("<|end|>",))
    assert family.arguments.style == "json"


@pytest.mark.parametrize("name", WRITTEN)
def test_the_format_of_a_template_by_hand(name: str, tmp_path: Path) -> None:
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, WRITTEN[name]))
    assert (tokenizer.evidence.format, tokenizer.evidence.basis) == (name, "call")
    assert tokenizer.profile is not None
    assert tokenizer.profile.call_syntax == "format"


def test_a_format_by_hand_wins_over_one_of_a_template_with_one_call(tmp_path: Path) -> None:
    """REGRESSION: none that is made of a template has messages, so it wrote calls otherwise."""
    source = WRITTEN["beam"].replace("m.tool_calls or []", "(m.tool_calls or [])[:1]")
    evidence = HuggingFaceTokenizer(folder(tmp_path, source)).evidence
    assert (evidence.format, evidence.basis) == ("beam", "call")


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "thinking"])
def test_past_answers_get_a_thought_where_the_template_refuses_them(
    key: str, tmp_path: Path
) -> None:
    """REGRESSION: Beam's template did, so no call was detected and no history was taken."""
    source = WRITTEN["beam"].replace(
        "{% elif m.content %}",
        f"{{% elif not m.{key} %}}{{{{ raise_exception('no thought') }}}}{{% else %}}"
        f"<|start|>assistant<|channel|>analysis<|message|>{{{{ m.{key} }}}}<|end|>{{% endif %}}"
        "{% if m.role == 'assistant' and m.content %}",
    )
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, source))
    assert (tokenizer.evidence.format, tokenizer.evidence.basis) == ("beam", "call")
    user, answer = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}
    messages = [user, answer, user, {**answer, "reasoning_content": "A greeting."}, user]
    prompt = tokenizer.decode(tokenizer.render(messages, (), OutputSpec()).prompt)
    begin, final = "<|start|>assistant<|channel|>", "final<|message|>Hello.<|end|>"
    assert prompt.count(f"{begin}analysis<|message|>(left out)<|end|>{begin}{final}") == 1
    assert prompt.count(f"{begin}analysis<|message|>A greeting.<|end|>{begin}{final}") == 1


def test_prompts_correct_the_errors_of_a_chat_template(tmp_path: Path) -> None:
    """The prompt shows the syntax that the template teaches, and that the grammar has."""
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, WRITTEN["step_3"]))
    call = {"name": "f", "arguments": '{"city": "Oslo"}'}
    messages = [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "sun"},
    ]
    rendered = tokenizer.render(messages, (), OutputSpec())
    prompt = tokenizer.decode(rendered.prompt)
    assert prompt.endswith(
        "<|BOT|>assistant\n<｜tool_calls_begin｜>\n<｜tool_call_begin｜>\nfunction<｜tool_sep｜>"
        '<steptml:invoke name="f"><steptml:parameter name="city">Oslo</steptml:parameter>'
        "</steptml:invoke><｜tool_call_end｜>\n<｜tool_calls_end｜><|EOT|><｜tool_outputs_begin｜>\n"
        "<｜tool_output_begin｜>\nsun<｜tool_output_end｜><｜tool_outputs_end｜>\n"
        "<|BOT|>assistant\n<think>"
    )
    assert rendered.thought == "open"


def test_only_the_errors_of_the_makers_template_are_corrected(tmp_path: Path) -> None:
    """REGRESSION: the name of a role was replaced in the texts of other templates, too."""
    source = WRITTEN["step_3"].replace("m.role == 'tools'", "m.role == 'tool'")
    source = source.replace("<｜tool_output_begin｜>", "<tool_response>")
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, source))
    assert tokenizer.evidence.format == "step_3"
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "tool", "tool_call_id": "c", "content": "sun"},
    ]
    prompt = tokenizer.decode(tokenizer.render(messages, (), OutputSpec()).prompt)
    assert "<tool_response>\nsun<｜tool_output_end｜>" in prompt


@pytest.mark.parametrize(
    ("source", "special_texts", "format_name", "basis"),
    [
        ("", (), "plain", "none"),
        ("... <tool_call> ...", (), "hermes", "marks"),
        ("<tool_call> <function= <parameter=", (), "qwen_coder", "marks"),
        ("<functions> </functions> <function_calls>", (), "olmo_3", "marks"),
        ("", ("[TOOL_CALLS]", "[ARGS]"), "mistral_v13", "marks"),
        ("", ("<|tool_call_start|>", "<|tool_call_end|>", "<|im_end|>"), "lfm2", "marks"),
        ("", ("<|action_start|>", "<|plugin|>", "<|im_end|>"), "internlm", "marks"),
        ("", ("<|start|>", "<|channel|>", "<|message|>", "<|call|>"), "harmony", "marks"),
        (
            "<rfl:parameter",
            ("<|start|>", "<|channel|>", "<|message|>", "<|call|>"),
            "beam",
            "marks",
        ),
        ("", ("<|message_model|>", "<|content_invoke_tool_json|>"), "inkling", "marks"),
        ("<｜tool_call_begin｜> <steptml:invoke name=", (), "step_3", "marks"),
    ],
)
def test_without_rendered_calls_marks_decide(
    source: str, special_texts: tuple[str, ...], format_name: str, basis: str
) -> None:
    evidence = detect(Signs(source=source, special_texts=special_texts))
    assert (evidence.format, evidence.basis) == (format_name, basis)
