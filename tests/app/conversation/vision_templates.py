"""Chat templates in the forms of well-known vision models, as far as messages go."""

_PARTS = "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
_TEXT = "{% elif p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endif %}"
_CALLS = (
    "{% for c in m.tool_calls or [] %}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n'
    "</tool_call>{% endfor %}"
)
_TOOLS = "{% if tools %}{% for t in tools %}{{ t | tojson }}\n{% endfor %}{% endif %}"

#: parts of any role, results in the turn of a user
QWEN_VL = (
    "<|im_start|>system\nYou are a helpful assistant.\n"
    + _TOOLS
    + "<|im_end|>\n{% for m in messages %}<|im_start|>"
    + "{{ 'user' if m.role == 'tool' else m.role }}\n"
    + "{% if m.role == 'tool' %}<tool_response>\n{% endif %}"
    + _PARTS
    + "{% if p.type == 'image' or 'image_url' in p %}<|vision_start|><|image_pad|><|vision_end|>"
    + _TEXT
    + _CALLS
    + "{% if m.role == 'tool' %}\n</tool_response>{% endif %}<|im_end|>\n{% endfor %}"
    + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
#: alternating roles, the system message before the first text, trimmed texts, no tools
GEMMA_3 = """{{ bos_token }}
{%- set first = messages[0].content + '\\n\\n' if messages[0].role == 'system' else '' -%}
{%- set said = messages[1:] if messages[0].role == 'system' else messages -%}
{%- for m in said -%}
    {%- if (m.role == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception('Roles must alternate.') }}
    {%- endif -%}
    {{ '<start_of_turn>' + ('model' if m.role == 'assistant' else m.role) + '\\n' }}
    {{- first if loop.first else '' }}
    {%- if m.content is string -%}
        {{ m.content | trim }}
    {%- else -%}
        {%- for p in m.content -%}
            {%- if p.type == 'image' -%}
                {{ '<start_of_image>' }}
            {%- elif p.type == 'text' -%}
                {{ p.text | trim }}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<start_of_turn>model\\n' }}{%- endif -%}
"""
#: tools in the first message of the user, which must be a text then
LLAMA_4 = (
    "{{ bos_token }}{% set said = messages %}{% if tools %}"
    "<|header_start|>user<|header_end|>\n\n"
    + _TOOLS
    + "{{ said[0].content | trim }}<|eot|>{% set said = said[1:] %}{% endif %}"
    + "{% for m in said %}<|header_start|>{{ 'ipython' if m.role == 'tool' else m.role }}"
    + "<|header_end|>\n\n{% if m.role == 'tool' %}{{ m.content | tojson }}{% else %}"
    + _PARTS
    + "{% if p.type == 'image' %}<|image|>"
    + _TEXT
    + "{% for c in m.tool_calls or [] %}<|python_start|>"
    + '{"name": "{{ c.function.name }}", "parameters": {{ c.function.arguments | tojson }}}'
    + "<|python_end|>{% endfor %}{% endif %}<|eot|>{% endfor %}"
    + "{% if add_generation_prompt %}<|header_start|>assistant<|header_end|>\n\n{% endif %}"
)
#: parts with the type of chat completions, results as text
PIXTRAL = (
    "{{ bos_token }}"
    "{% if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}"
    "{% for m in messages %}{% if m.role == 'user' %}[INST]"
    + _PARTS
    + "{% if p.type == 'image_url' %}[IMG]{% elif p.type != 'text' %}"
    + "{{ raise_exception('Only text and image_url.') }}"
    + _TEXT
    + "[/INST]{% elif m.role == 'tool' %}[TOOL_RESULTS]{{ m.content | string }}[/TOOL_RESULTS]"
    + "{% elif m.tool_calls %}[TOOL_CALLS]{% for c in m.tool_calls %}"
    + "{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}</s>"
    + "{% elif m.role == 'system' %}[SYSTEM_PROMPT]{{ m.content }}[/SYSTEM_PROMPT]"
    + "{% else %}{{ m.content }}</s>{% endif %}{% endfor %}"
)
#: a placeholder of three tokens, without ends of messages
GLM_4V = (
    "[gMASK]<sop>{% if tools %}<|system|>\n"
    + _TOOLS
    + "{% endif %}{% for m in messages %}"
    + "{{ '<|observation|>' if m.role == 'tool' else '<|' + m.role + '|>' }}\n"
    + _PARTS
    + "{% if p.type == 'image' or 'image' in p %}<|begin_of_image|><|image|><|end_of_image|>"
    + _TEXT
    + _CALLS
    + "{% endfor %}{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)

VISION_TEMPLATES = {
    "Qwen-VL": QWEN_VL,
    "Gemma 3": GEMMA_3,
    "Llama 4": LLAMA_4,
    "Pixtral": PIXTRAL,
    "GLM-4V": GLM_4V,
}
