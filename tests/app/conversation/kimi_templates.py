"""Chat templates that write the ids of calls as Kimi K2's do."""

_CALLS = (
    "{%% if tools %%}{{ tools | tojson }}{%% endif %%}{%% for m in messages %%}"
    "<|im_start|>{{ m.role }}\n"
    "{%% if m.role == 'tool' %%}## Return of {{ m.tool_call_id }}\n{%% endif %%}"
    "{{ m.content or '' }}"
    "{%% if m.tool_calls %%}<|tool_calls_section_begin|>{%% for c in m.tool_calls %%}"
    "<|tool_call_begin|>%s<|tool_call_argument_begin|>{{ c.function.arguments | tojson }}"
    "<|tool_call_end|>{%% endfor %%}<|tool_calls_section_end|>{%% endif %%}<|im_end|>\n"
    "{%% endfor %%}<|im_start|>assistant\n"
)
#: templates that print the id of a call, and that number the calls of each answer, or all
OWN = _CALLS % "{{ c['id'] }}"
BY_ANSWER = _CALLS % "{{ 'functions.' + c.function.name + ':' + loop.index0 | string }}"
BY_CONVERSATION = "{% set ns = namespace(n=-1) %}" + _CALLS % (
    "{% set ns.n = ns.n + 1 %}{{ 'functions.' + c.function.name + ':' + ns.n | string }}"
)
