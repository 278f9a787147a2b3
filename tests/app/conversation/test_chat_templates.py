"""The chat templates of real models: every message is in the prompt, or its place is in a 400."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.formats import SPACED, JsonLayout, OutputSpec, ThinkingMarks, Tool, get_format
from app.common_form import common_chat
from app.conversation.fitting import FILLERS, fitted
from app.conversation.history import plain_messages
from app.conversation.pairing import paired
from app.conversation.profile import (
    Messages,
    TemplateError,
    TemplateProfile,
    profile_of,
    shown_answers,
)
from app.conversation.thinking import thought_apart
from app.conversation.tokenizer import HuggingFaceTokenizer
from app.errors import ApiError
from tests.app.bodies import parse_request
from tests.app.conversation.chat_templates import FETCH, TEMPLATES, tokenizer_of
from tests.app.small_tokenizer import folder

TOOL = Tool("wordtool", {"type": "object", "properties": {"city": {"type": "string"}}}, "described")
WITH_TOOL = OutputSpec((TOOL,))
USER = {"role": "user", "content": "worduser"}


def said(role: str, text: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, **more}


def call(name: str, argument: str) -> dict[str, Any]:
    function = {"name": "wordtool", "arguments": json.dumps({"city": argument})}
    return {"id": f"call_{name}", "type": "function", "function": function}


def result(name: str, text: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"call_{name}", "content": text}


def part(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]


ONE = said("assistant", None, tool_calls=[call("a", "wordfirst")])
TWO = said("assistant", None, tool_calls=[call("a", "wordfirst"), call("b", "wordsecond")])
BOTH = [result("b", "wordresultb"), result("a", "wordresulta")]
CONVERSATIONS: dict[str, list[dict[str, Any]]] = {
    "a question": [USER],
    "parts": [said("user", [*part("wordone"), *part("wordtwo")])],
    "a system message": [said("system", "wordsystem"), USER],
    "a developer's message": [said("developer", "worddeveloper"), USER],
    "two sets of instructions": [said("system", "wordsystem"), said("developer", "worddev"), USER],
    "late instructions": [USER, said("assistant", "wordanswer"), said("system", "wordlate")],
    "two questions": [USER, said("user", "wordagain")],
    "two answers": [USER, said("assistant", "wordone"), said("assistant", "wordtwo"), USER],
    "a greeting first": [said("assistant", "wordgreeting"), USER],
    "an answer without text": [USER, said("assistant", "", reasoning="thought"), USER],
    "an answer whose thought the client dropped": [USER, said("assistant", None), USER],
    "such an answer at the end": [USER, said("assistant", None)],
    "a call": [USER, ONE, result("a", "wordresult")],
    "a result in parts": [USER, ONE, result("a", part("wordresult"))],
    "a call and on": [USER, ONE, result("a", "wordresult"), said("assistant", "wordend"), USER],
    "text beside a call": [USER, {**ONE, "content": "wordbeside"}, result("a", "wordresult")],
    "text beside a call, answered": [
        USER,
        {**ONE, "content": "wordbeside"},
        result("a", "wordresult"),
        said("assistant", "wordend"),
        USER,
    ],
    "thought and text before a call": [
        USER,
        {**ONE, "content": "wordbeside", "reasoning": "thought"},
        result("a", "wordresult"),
    ],
    "thought before a call": [USER, {**ONE, "reasoning": "thought"}, result("a", "wordresult")],
    "two calls": [USER, TWO, *BOTH],
    "two calls and on": [
        said("developer", "worddev"),
        USER,
        TWO,
        *BOTH,
        said("assistant", "wordend"),
        USER,
    ],
    "a question behind a result": [USER, ONE, result("a", "wordresult"), said("user", "wordon")],
    "calls in turn": [USER, ONE, result("a", "wordone"), ONE, result("a", "wordtwo")],
    # what is left of a shortened history
    "instructions only": [said("system", "wordsystem")],
    "an answer only": [said("assistant", "wordanswer")],
    "no message of a user": [said("system", "wordsystem"), said("assistant", "wordanswer")],
    "a call only": [ONE, result("a", "wordresult")],
    "a call of the assistant first": [
        said("system", "wordsystem"),
        said("assistant", "wordanswer"),
        ONE,
        result("a", "wordresult"),
    ],
    "a call first": [TWO, *BOTH, said("assistant", "wordanswer"), USER],
    "a result only": [said("system", "wordsystem"), result("a", "wordresult")],
    "a greeting, then a call": [said("assistant", "wordgreeting"), ONE, result("a", "wordresult")],
    "results as the user's text": [
        said("system", "wordsystem"),
        said("user", "<tool_response>\nwordresult\n</tool_response>"),
    ],
}


def words(messages: Sequence[Any]) -> list[str]:
    """Return the texts of a conversation without thoughts."""
    found = []
    for message in messages:
        content = message.get("content") or ""
        found += [content] if isinstance(content, str) else [each["text"] for each in content]
        for each in message.get("tool_calls") or ():
            found += json.loads(each["function"]["arguments"]).values()
    return found


def plain(messages: Sequence[Any]) -> Messages:
    body = json.dumps({"model": "m", "messages": messages}).encode()
    request = parse_request(body)
    return paired(plain_messages(common_chat(request).messages)).messages


def prompt_of(
    name: str, messages: Sequence[Any], ask: OutputSpec = WITH_TOOL, variables: Any = None
) -> str:
    tokenizer = tokenizer_of(name)
    rendered = tokenizer.render(plain(messages), ask.tools, ask, variables)
    assert isinstance(rendered.prompt, list)
    return b"".join(tokenizer.vocabulary.tokens[n] for n in rendered.prompt).decode()


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_every_message_and_the_tools_are_in_the_prompt(name: str) -> None:
    """REGRESSION: some templates refused histories without a message of a user, or dropped their
    tools, or the call at their beginning.
    """
    for title, messages in CONVERSATIONS.items():
        prompt = prompt_of(name, messages)
        for word in (*words(messages), "described"):
            assert word in prompt, (title, word, prompt)


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_a_user_speaks_first_where_a_template_puts_tools_into_the_first_message() -> None:
    """REGRESSION: such a template showed an answer at the beginning as the user's message."""
    messages = CONVERSATIONS["a greeting first"]
    opened = f"{FILLERS['user']}<|eot_id|><|start_header_id|>assistant<|end_header_id|>"
    with_tool, without = (
        prompt_of("meta-llama-Llama-3.1-8B-Instruct", messages, ask)
        for ask in (WITH_TOOL, OutputSpec())
    )
    assert f"{opened}\n\nwordgreeting<|eot_id|>" in with_tool
    assert opened not in without


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("LFM2-8B-A1B", "<|tool_response_start|>wordresult<|tool_response_end|>"),
        ("LFM2.5-Instruct", "<|im_start|>tool\nwordresult<|im_end|>"),
        ("ibm-granite-granite-3.3-2B-Instruct", "<|start_of_role|>tool<|end_of_role|>wordresult"),
        ("Kimi-K2-Thinking", "## Return of functions.wordtool:0\nwordresult"),
        ("deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "<｜tool▁output▁begin｜>wordresult"),
        ("HuggingFaceTB-SmolLM3-3B", "<tool_response>\nwordresult\n</tool_response>"),
    ],
)
def test_results_keep_their_role_if_calls_are_written_as_text(name: str, shown: str) -> None:
    assert shown in prompt_of(name, CONVERSATIONS["a call"])


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_tools_that_a_template_cannot_show_are_refused_by_name() -> None:
    nested = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
    tool = Tool("wordtool", nested)
    with pytest.raises(ApiError, match="template cannot show tools") as caught:
        prompt_of("CohereForAI-c4ai-command-r-plus-tool_use", [USER], OutputSpec((tool,)))
    assert (caught.value.status, caught.value.param) == (400, "tools")


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_the_model_is_told_of_a_response_format(name: str) -> None:
    schema = {"type": "object", "properties": {"wordproperty": {"type": "integer"}}}
    prompt = prompt_of(name, [USER], OutputSpec(response_schema=schema))
    assert "wordproperty" in prompt and "worduser" in prompt


def _spoken(prompt: str) -> "Counter[str]":
    """Return the words of a prompt."""
    return Counter(re.findall(r"\w+", prompt))


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_what_a_template_says_by_itself_stays_before_further_instructions(name: str) -> None:
    """REGRESSION: a system message about the response format took the place of the template's own,
    in which models read who they are.
    """
    schema = {"type": "object", "properties": {"wordproperty": {"type": "integer"}}}
    # beside any system message, one template does not say how calls are written
    for ask in (OutputSpec(), WITH_TOOL)[: 1 if name == "unsloth-Apriel-1.5" else 2]:
        own = prompt_of(name, [USER], ask).partition("worduser")[0]
        told = prompt_of(name, [USER], replace(ask, response_schema=schema))
        assert not _spoken(own) - _spoken(told)
        assert "wordproperty" in told


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("Qwen-Qwen2.5-7B-Instruct", "You are Qwen, created by Alibaba Cloud."),
        ("Kimi-K2-Instruct", "You are Kimi, an AI assistant created by Moonshot AI."),
        ("Mistral-Small-3.2-24B-Instruct-2506", "You are Mistral Small 3"),
    ],
)
def test_a_client_with_instructions_replaces_those_of_the_template(name: str, own: str) -> None:
    ask = OutputSpec(response_schema={"type": "object"}, instructions="wordverbosity")
    assert prompt_of(name, [USER], ask).count(own) == 1
    assert own not in prompt_of(name, [said("system", "wordsystem"), USER], ask)
    assert own in prompt_of(name, [USER, said("system", "wordlate")], ask)


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("messages", [[USER], [said("system", "wordsystem"), USER]])
def test_further_instructions_have_the_heading_of_the_template(messages: list[Any]) -> None:
    ask = OutputSpec(instructions="wordverbosity", response_schema={"type": "object"})
    prompt = prompt_of("openai-gpt-oss-120b", messages, ask)
    before = "".join(f"{text}\n\n" for text in words(messages[:-1]))
    assert f"# Instructions\n\n{before}wordverbosity\n\n# Response Formats" in prompt
    assert prompt.count("# Instructions") == 1


OTHER = replace(TOOL, name="wordother")
#: (choice, what the end of the conversation says)
CHOICES: dict[str, tuple[dict[str, Any], str]] = {
    "auto": ({}, ""),
    "required": ({"tool_choice": "required"}, "Call one of the functions now."),
    "named": (
        {"tool_choice": "named", "tool_name": "wordother"},
        "Call the function wordother now.",
    ),
    "allowed": (
        {"tool_choice": "required", "barred": ("wordother",)},
        "Call the function wordtool now.",
    ),
}


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_choice_changes_nothing_before_the_end_of_the_last_message(name: str) -> None:
    """Templates that show tools have no text about a choice, and their models were trained so. So
    were models of some formats.
    """
    tokenizer, tools = tokenizer_of(name), OutputSpec((TOOL, OTHER))
    assert tokenizer.profile is not None
    is_told = not tokenizer.profile.tools and tokenizer.wire.name != "hermes"
    for messages in ([USER], [said("system", "wordsystem"), USER, ONE, result("a", "wordlast")]):
        begin, last, end = prompt_of(name, messages, tools).rpartition(words(messages)[-1])
        for asked, text in CHOICES.values() if is_told else [(CHOICES["named"][0], "")]:
            behind = f"\n\n{text}" if text else ""
            told = prompt_of(name, messages, replace(tools, **asked))
            assert told == begin + last + behind + end
            for other in ("an answer only", "instructions only", "late instructions"):
                assert text in prompt_of(name, CONVERSATIONS[other], replace(tools, **asked))


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_where_prompts_leave_a_model_that_thinks() -> None:
    def thought(name: str, **variables: Any) -> str:
        return tokenizer_of(name).render(plain([USER]), (), OutputSpec(), variables).thought

    assert thought("Qwen3.5-4B") == thought("NVIDIA-Nemotron-Nano-v2") == "open"
    assert thought("Qwen3.5-4B", enable_thinking=False) == "closed"
    assert thought("Qwen-Qwen3-0.6B") == "free"
    assert thought("Qwen-Qwen3-0.6B", enable_thinking=False) == "closed"
    assert thought("Qwen-QwQ-32B", enable_thinking=True) == "open"
    assert thought("deepseek-ai-DeepSeek-V3.1", thinking=True) == "open"
    assert thought("GLM-4.7-Flash", enable_thinking=False) == "closed"
    assert thought("Qwen-Qwen2.5-7B-Instruct") == "free"


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_variables_reach_the_template_but_for_its_own() -> None:
    assert "Reasoning: high" in prompt_of(
        "openai-gpt-oss-120b", [USER], variables={"reasoning_effort": "high"}
    )
    plainly = prompt_of("Qwen-Qwen3-0.6B", [USER])
    forged = {"messages": "x", "chat_template": "{{ 1 }}", "eos_token": "x", "unknown": True}
    assert prompt_of("Qwen-Qwen3-0.6B", [USER], variables=forged) == plainly


#: templates that show no JSON of their own in calls: no calls at all, the text that they get, or
#: another notation
WITHOUT_JSON = {
    "HuggingFaceTB-SmolLM3-3B",
    "LFM2-8B-A1B",
    "LFM2.5-Instruct",
    "MiniMax-M3",
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
    "google-gemma-2-2b-it",
    "google-gemma-4-31B-it",
    "google-gemma-4-31B-it-interleaved",
    "ibm-granite-granite-3.3-2B-Instruct",
    "llama-cpp-deepseek-r1",
    "llama-cpp-rwkv-world",
    "meetkai-functionary-medium-v3.2",
    "microsoft-Phi-3.5-mini-instruct",
    "trl-deepseekv3",
    "trl-diffusion_gemma",
    "trl-gemma4_v5",
}
#: all other templates write ", " and ": ", except for these
OTHER_LAYOUTS = {
    "CohereForAI-c4ai-command-r-plus-tool_use": JsonLayout(4, (",", ": "), 2),
}
#: templates whose elements have other white space around them than those of their format
OTHER_SPACE: set[str] = set()


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_the_layout_of_a_real_template_is_measured(name: str) -> None:
    profile = tokenizer_of(name).profile
    assert profile is not None
    expected = None if name in WITHOUT_JSON else OTHER_LAYOUTS.get(name, SPACED)
    assert profile.layout == expected
    if getattr(tokenizer_of(name).wire, "arguments", None) is not None and expected == SPACED:
        assert profile.call_space == ("other" if name in OTHER_SPACE else "format")


# -- what a template can show ----------------------------------------------------------------------


def lines(messages: Messages, tools: Any, variables: Any) -> str:
    """Shows everything."""
    return json.dumps([messages, tools, variables])


def strict(messages: Messages, tools: Any, variables: Any) -> str:
    """Knows users and assistants that take turns, ids of nine characters, one call at a time."""
    shown, turn = [], 0
    for message in messages:
        calls = message.get("tool_calls") or []
        if message["role"] not in ("user", "assistant", "tool") or len(calls) > 1:
            raise TemplateError("unknown role, or two calls")
        if message["role"] != "tool" and not calls:
            if message["role"] != ("user", "assistant")[turn % 2]:
                raise TemplateError("roles must alternate")
            turn += 1
        if any(len(each["id"]) != 9 for each in calls):
            raise TemplateError("ids have nine characters")
        shown.append(calls or message["content"])
    return json.dumps(shown)


def test_a_profile_says_what_a_template_shows() -> None:
    assert profile_of(lines).described() == {}
    assert profile_of(strict).described() == {
        "system": False,
        "systems": False,
        "late_system": False,
        "developer": False,
        "in_a_row": False,
        "user_behind_results": False,
        "userless": False,
        "greetings": "none",
        "tools": False,
        "ids": "nine",
        "parallel_calls": False,
        "text_beside_calls": "before",
        "reasoning": None,
    }


ONE_CALL = TemplateProfile(parallel_calls=False)


@pytest.mark.parametrize(
    ("format", "profile", "several"),
    [
        ("hermes", None, True),
        ("hermes", TemplateProfile(), True),
        ("hermes", ONE_CALL, False),
        ("plain", None, False),
        ("plain", TemplateProfile(), True),
        ("gigachat_3", None, False),
        ("gigachat_3", TemplateProfile(), False),
        ("harmony", None, False),
    ],
)
def test_several_calls_are_shown_by_the_template_or_the_family(
    format: str, profile: TemplateProfile | None, several: bool
) -> None:
    assert shown_answers(get_format(format), profile).several_calls is several


@pytest.mark.parametrize(
    ("format", "written", "syntax"),
    [
        ("plain", "<tool_call>{call}</tool_call>", "format"),
        ("plain", "<tool_call>\n{call}\n</tool_call>", "format"),
        ("plain", "[TOOL_CALLS] [{call}]", "other"),
        ("hermes", "<tool_call>\n{call}\n</tool_call>", "format"),
        ("hermes", "<tool_call>{arguments}</tool_call>", "other"),
        ("llama3_json", '{"name": "wordtool", "parameters": {arguments}}', "format"),
        ("llama3_json", "{call}", "other"),
        ("llama3_function", "<function=wordtool>{arguments}</function>", "format"),
        ("hermes", "", "other"),
        ("harmony", "{call}", "format"),
    ],
)
def test_a_profile_says_whether_calls_stand_there_as_the_format_writes_them(
    format: str, written: str, syntax: str
) -> None:
    """The syntax is unknown for Harmony, and "other" if tools are shown but calls are not."""

    def template(messages: Messages, tools: Any, variables: Any) -> str:
        shown = [json.dumps(tools)]
        for message in messages:
            shown.append(message["content"])
            for each in message.get("tool_calls") or ():
                arguments = json.dumps(each["function"]["arguments"])
                call = f'{{"name": "wordtool", "arguments": {arguments}}}'
                shown.append(written.replace("{call}", call).replace("{arguments}", arguments))
        return "\n".join(shown)

    profile = profile_of(template, get_format(format).as_text)
    assert profile.call_syntax == syntax
    assert ("call_syntax" in profile.described()) is (syntax == "other")


def gathering(messages: Messages, tools: Any, variables: Any) -> str:
    """Shows all system messages at the beginning."""
    return json.dumps([sorted(messages, key=lambda each: each["role"] != "system"), tools])


LATE = said("system", "wordlate")
ANSWER = said("assistant", "wordanswer")
#: (messages, what is shown of them)
LATER: dict[str, tuple[list[Any], list[str]]] = {
    "behind a question": ([USER, LATE, ANSWER], ["worduser\n\nwordlate", "wordanswer"]),
    "behind an answer": (
        [USER, ANSWER, LATE, LATE, said("user", "wordon"), said("user", "wordtoo")],
        ["worduser", "wordanswer", "wordlate\n\nwordlate\n\nwordon", "wordtoo"],
    ),
    "at the end": ([USER, ANSWER, LATE], ["worduser", "wordanswer", "wordlate"]),
    "behind a result, then a question": (
        [USER, ONE, result("a", "wordresult"), LATE, said("user", "wordon")],
        ["worduser", "", "wordresult\n\nwordlate", "wordon"],
    ),
    "between a call and its result": (
        [USER, ONE, LATE, result("a", "wordresult")],
        ["worduser", "", "wordresult\n\nwordlate"],
    ),
    "before the first question": (
        [ANSWER, said("system", "wordearly"), USER, ANSWER, LATE],
        ["wordearly", "wordanswer", "worduser", "wordanswer", "wordlate"],
    ),
}


@pytest.mark.parametrize("name", LATER)
def test_late_instructions_are_text_of_the_users_turn(name: str) -> None:
    """REGRESSION: templates that gather system messages counted as such that show late ones."""
    profile = profile_of(gathering)
    assert profile.described() == {"late_system": False}
    messages, contents = LATER[name]
    shown = fitted(plain(messages), profile)
    assert [each["content"] for each in shown] == contents
    assert [each for each in shown[1:] if each["role"] == "system"] == []


def test_instructions_are_one_text_where_a_template_shows_one() -> None:
    system = [said("system", "wordone"), said("developer", "wordtwo")]
    one = replace(profile_of(gathering), systems=False)
    none = replace(one, system=False)
    for profile, contents in (
        (one, ["wordone\n\nwordtwo", "worduser", "wordanswer", "wordlate"]),
        (none, ["wordone\n\nwordtwo\n\nworduser", "wordanswer", "wordlate"]),
    ):
        shown = fitted(plain([*system, USER, ANSWER, LATE]), profile)
        assert [each["content"] for each in shown] == contents


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_messages_for_a_template_that_shows_everything_stay_as_they_are() -> None:
    for messages in CONVERSATIONS.values():
        given = plain(messages)
        kept = json.dumps(given)
        shown = fitted(given, profile_of(lines))
        assert json.dumps(given) == kept
        assert [each["role"] for each in shown] == [each["role"] for each in given]


def test_ids_stay_apart_and_results_find_their_calls() -> None:
    profile = profile_of(strict)
    messages = plain([USER, TWO, *BOTH, TWO, *BOTH])
    shown = fitted(messages, profile)
    calls = [each for message in shown for each in message.get("tool_calls") or ()]
    ids = [each["id"] for each in calls]
    assert len(set(ids)) == 4 and all(len(each) == 9 and each.isalnum() for each in ids)
    results = [each for each in shown if each["role"] == "tool"]
    assert [each["tool_call_id"] for each in results] == ids
    assert [each["content"] for each in results] == ["wordresulta", "wordresultb"] * 2
    assert fitted(messages, profile) == shown


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{"a": 1}', {"a": 1}),
        ("", {}),
        (r'{"a": "\ud83d\ude00"}', {"a": "😀"}),
        ('{"a": "cut', {"a": "cut"}),
        ("no object", "no object"),
    ],
)
def test_arguments_are_an_object_where_a_prompt_can_hold_it(arguments: str, shown: Any) -> None:
    made = {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": arguments}}
    messages = plain([USER, said("assistant", None, tool_calls=[made]), result("a", "x")])
    calls = fitted(messages, profile_of(lines))[1]["tool_calls"]
    assert [each["function"]["arguments"] for each in calls] == [shown]


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_call_with_cut_arguments_is_shown(name: str) -> None:
    """REGRESSION: templates that list arguments by name failed, and answers that reached their
    limit could not be sent back.
    """
    for arguments in ('{"city": "wordcut', "wordcut: no JSON", '["wordcut"]'):
        cut = call("a", "")
        cut["function"]["arguments"] = arguments
        made = said("assistant", None, tool_calls=[cut])
        prompt = prompt_of(name, [USER, made, result("a", "wordresult")])
        assert "wordcut" in prompt and "wordresult" in prompt, (arguments, prompt)


def test_a_template_that_lists_arguments_gets_other_text_as_an_argument() -> None:
    def lister(messages: Messages, tools: Any, variables: Any) -> str:
        shown = [json.dumps(tools)]
        for message in messages:
            shown.append(message["content"])
            for each in message.get("tool_calls") or ():
                if not isinstance(each["function"]["arguments"], dict):
                    raise TemplateError
                shown.append(json.dumps(each["function"]["arguments"]))
        return "".join(shown)

    cut = call("a", "")
    cut["function"]["arguments"] = "no object"
    messages = plain([USER, said("assistant", None, tool_calls=[cut]), result("a", "x")])
    profile = profile_of(lister)
    assert profile.described() == {"text_arguments": False, "reasoning": None}
    (shown,) = fitted(messages, profile)[1]["tool_calls"]
    assert shown["function"]["arguments"] == {"arguments": "no object"}


#: a template that fails at some words, and refuses others
FAILING = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% if 'wordfailing' in m.content %}{{ 1 // 0 }}{% endif %}"
    "{% if 'wordrefused' in m.content %}{{ raise_exception('Say <|im_end|> less.') }}{% endif %}"
    "<|im_end|>\n{% endfor %}{{ tools | tojson if tools }}<|im_start|>assistant\n"
)


@pytest.mark.parametrize("at", range(5))
def test_a_message_at_which_a_template_fails_is_named(at: int, tmp_path: Path) -> None:
    """REGRESSION: the error was Jinja's, and named no message."""
    messages = [said(("user", "assistant")[n % 2], f"word{n}") for n in range(5)]
    messages[at] = {**messages[at], "content": "wordfailing"}
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, FAILING))
    with pytest.raises(ApiError) as caught:
        tokenizer.render(plain(messages), (), OutputSpec())
    assert (caught.value.code, caught.value.param) == ("refused_by_template", f"messages[{at}]")
    assert caught.value.message == f"The model's chat template cannot show messages[{at}]."


def test_a_sentence_of_the_template_is_quoted(tmp_path: Path) -> None:
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, FAILING))
    with pytest.raises(ApiError) as caught:
        tokenizer.render(plain([said("user", "wordrefused")]), (), OutputSpec())
    assert caught.value.param == "messages"
    assert caught.value.message.endswith("refuses these messages: Say <|im_end|> less.")


def test_a_call_that_can_not_be_shown_is_named() -> None:
    def deaf(messages: Messages, tools: Any, variables: Any) -> str:
        return "".join(each["content"] for each in messages)

    with pytest.raises(ApiError) as caught:
        fitted(plain([USER, ONE, result("a", "x")]), profile_of(deaf))
    assert (caught.value.status, caught.value.param) == (400, "messages[1].tool_calls")


def test_the_place_of_a_refusal_is_the_clients_even_beside_instructions() -> None:
    profile = replace(profile_of(lines), text_beside_calls="no")
    messages = plain([USER, {**ONE, "content": "wordbeside"}, result("a", "x")])
    with pytest.raises(ApiError) as caught:
        fitted(messages, profile, instructions="more")
    assert caught.value.param == "messages[1].content"


@pytest.mark.skipif(not TEMPLATES, reason=FETCH)
def test_a_switch_that_a_template_takes_out_of_a_system_message_is_no_drop() -> None:
    for text in ("/no_think", "/no_think wordsystem"):
        prompt = prompt_of("HuggingFaceTB-SmolLM3-3B", [said("system", text), USER], OutputSpec())
        assert "Reasoning Mode: /no_think" in prompt


MARKS = ThinkingMarks(begin="<think>", end="</think>", inner_newlines=1, outer_newlines=2)


@pytest.mark.parametrize(
    ("content", "thought", "left"),
    [
        ("<think>\nhmm\n</think>\n\nwell", "hmm", "well"),
        (" <think>hmm</think>", "hmm", ""),
        ("well <think>hmm</think>", None, "well <think>hmm</think>"),
        ("<think>hmm", None, "<think>hmm"),
        ("write </think> here", None, "write </think> here"),
        (None, None, None),
    ],
)
def test_a_thought_in_the_content_of_an_answer_is_its_reasoning(
    content: str | None, thought: str | None, left: str | None
) -> None:
    found = thought_apart({"role": "assistant", "content": content}, MARKS)
    assert (found.get("reasoning_content"), found["content"]) == (thought, left)
    user = {"role": "user", "content": content}
    assert thought_apart(user, MARKS) == user
