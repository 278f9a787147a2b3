"""Cohere Command: a JSON list of calls, or text.

    Command R     Action:\n```json\n[\n    {\n        "tool_name": "f",\n        "parameters": {...}
                  \n    }\n]```

Command R is asked for actions in every turn, so "Action:" always opens a list. It calls
``directly-answer`` if it needs no tool; what follows is the answer. The template writes a line feed
behind "Action:", and the model often a space.

Command R7B and A write text between marks:

    <|START_ACTION|>[\n    {"tool_call_id": "0", "tool_name": "f", "parameters": {...}}\n]
    <|END_ACTION|>

    Command R7B   <|START_RESPONSE|>Let me see.<|END_RESPONSE|>
    Command A     <|START_TEXT|>Let me see.<|END_TEXT|>

The written id numbers the calls of a conversation; clients get an id of the gateway.

Checked against the chat templates of CohereForAI/c4ai-command-r-v01 at 760ddb6c203d and
CohereLabs/c4ai-command-r7b-12-2024, axolotl's copy of that of Command A (axolotl 0.21.0) and
llama.cpp's of Cohere2MoE's (llama-cpp-python 0.3.36).
"""

from ..output_spec import ThinkingMarks
from ..tags import CallIds, Section, TagFamily, TextMarks

COMMAND_R = TagFamily(
    name="command_r",
    section=Section(
        begin="Action:\n```json\n[\n    ",
        variants=("Action: ```json\n[\n    ",),
        end="\n]```",
        trigger="Action:",
        no_tool="directly-answer",
    ),
    begin='{\n        "tool_name": "{name}",\n        "parameters": ',
    end="\n    }",
    separator=",\n    ",
    stop_texts=("<|END_OF_TURN_TOKEN|>",),
    marks=("`directly-answer`", '"tool_name": '),
)


def _command(name: str, text: str) -> TagFamily:
    return TagFamily(
        name=name,
        section=Section(
            begin="<|START_ACTION|>[\n    ",
            end="\n]<|END_ACTION|>",
            trigger="<|START_ACTION|>",
        ),
        text=TextMarks(begin=f"<|START_{text}|>", end=f"<|END_{text}|>"),
        begin='{"tool_call_id": "{id}", "tool_name": "{name}", "parameters": ',
        end="}",
        separator=",\n    ",
        ids=CallIds(whole="", numbers="conversation"),
        thinking=ThinkingMarks(begin="<|START_THINKING|>", end="<|END_THINKING|>"),
        stop_texts=("<|END_OF_TURN_TOKEN|>",),
        marks=("<|START_ACTION|>", f"<|START_{text}|>"),
    )


COMMAND_R7B = _command("command_r7b", "RESPONSE")
COMMAND_A = _command("command_a", "TEXT")
