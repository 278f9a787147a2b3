"""Histories with all that recorded requests of agents have in them, and more: one for each API."""

from typing import Any

History = list[dict[str, Any]]

_WEATHER = {
    "name": "weather",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
_READ = {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/a"}}
_RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "text"}


def _text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


#: a turn of Claude Code, and what other clients of the Messages API send
MESSAGES: History = [
    {"role": "user", "content": [_text("remember"), _text("go")]},
    {"role": "system", "content": [{**_text("rules"), "cache_control": {"type": "ephemeral"}}]},
    {"role": "assistant", "content": [_text("I read."), _READ, {**_READ, "id": "toolu_2"}]},
    {
        "role": "user",
        "content": [
            _RESULT,
            {
                **_RESULT,
                "tool_use_id": "toolu_2",
                "is_error": True,
                "content": [
                    _text("no"),
                    {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo="}},
                ],
            },
            _text("And?"),
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "so", "signature": "c2lnbmF0dXJl"},
            {"type": "redacted_thinking", "data": "c2lnbmF0dXJl"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            {**_text("Well."), "citations": None},
        ],
    },
    {"role": "system", "content": "Only now.", "clear_at": "next_user_message"},
    {
        "role": "system",
        "content": [
            {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": _WEATHER}},
            {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "Read"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
            {"type": "document", "source": {"type": "text", "data": "words"}, "title": "Words"},
            {
                "type": "search_result",
                "source": "https://example.com",
                "title": "A page",
                "content": [_text("found")],
            },
        ],
    },
    {"role": "assistant", "content": [_text("I see.")]},
    {"role": "user", "content": [_text("And now?")]},
]


def _input(text: str) -> list[dict[str, Any]]:
    return [{"type": "input_text", "text": text}]


_FOREIGN = "gAAAAABforeign"
#: a turn of the Codex CLI with its tools, an MCP server, an image, and a compacted beginning
RESPONSES: History = [
    {"type": "compaction", "id": "cmp_1", "encrypted_content": _FOREIGN},
    {"type": "message", "role": "developer", "content": _input("rules")},
    {"type": "message", "role": "user", "content": _input("go")},
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": _FOREIGN},
    {
        "type": "reasoning",
        "id": "rs_2",
        "summary": [{"type": "summary_text", "text": "in short"}],
        "content": [{"type": "reasoning_text", "text": "so"}],
        "encrypted_content": None,
    },
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "Well.", "annotations": []}],
    },
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "get_weather",
        "namespace": "mcp__weather",
        "arguments": '{"city": "Oslo"}',
    },
    {"type": "function_call", "call_id": "call_2", "name": "view_image", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "rain"},
    {
        "type": "function_call_output",
        "call_id": "call_2",
        "output": [{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}],
    },
    {"type": "custom_tool_call", "call_id": "call_3", "name": "apply_patch", "input": "*** Begin"},
    {"type": "custom_tool_call_output", "call_id": "call_3", "output": _input("Done!")},
    {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "call_4",
        "status": "completed",
        "action": {"type": "exec", "command": ["ls"], "env": {}},
    },
    {"type": "local_shell_call_output", "id": "call_4", "output": "a\nb"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}},
    {"type": "function_call_output", "name": "goal", "namespace": "agent", "output": "a goal"},
    {
        "type": "tool_search_output",
        "call_id": "call_5",
        "tools": [{"type": "function", "name": "more", "parameters": {"type": "object"}}],
    },
    {"role": "assistant", "content": "An answer."},
    {"role": "user", "content": "And now?"},
]

_CALL = {"type": "function", "function": {"name": "read_file", "arguments": '{"path": "/a"}'}}
#: turns of agents that use chat completions
CHAT: History = [
    {"role": "system", "content": [_text("rules"), _text("more")]},
    {"role": "user", "content": "go"},
    {
        "role": "assistant",
        "content": None,
        "reasoning_content": "so",
        "tool_calls": [{"id": "call_1", **_CALL}, {"id": "call_2", "index": 1, **_CALL}],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": [_text("text")]},
    {
        "role": "tool",
        "tool_call_id": "call_2",
        "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}],
    },
    {
        "role": "assistant",
        "content": [_text("Well."), {"type": "refusal", "refusal": "No."}],
        "reasoning_details": [{"type": "reasoning.text", "text": "then"}],
    },
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call_3", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_3", "content": ""},
    {"role": "user", "content": [_text("And"), _text(" now?")]},
]
