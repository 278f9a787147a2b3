"""Verbosity: a sentence in the prompt, or a variable of the chat template."""

from typing import Any

import pytest

from app.common_form import common_chat
from app.constraints.requested_output import VERBOSITY, template_variables
from app.conversation.template import ChatTemplate
from app.errors import ApiError
from tests.app.service.scripted import Service, request, script

END = "<|im_end|>"


async def prompt_of(service: Service, **asked: Any) -> str:
    await service.complete(**asked)
    return service.prompt()


USER = {"role": "user", "content": "hi"}
#: (messages, instructions of the prompt; the last one ends with the sentence)
CONVERSATIONS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "no instructions": ([USER], ""),
    "a system message": ([{"role": "system", "content": "Be kind."}, USER], "Be kind.\n\n"),
    "an empty one": ([{"role": "developer", "content": ""}, USER], ""),
}


@pytest.mark.parametrize(("messages", "before"), CONVERSATIONS.values(), ids=CONVERSATIONS.keys())
@pytest.mark.parametrize("verbosity", VERBOSITY)
async def test_the_system_message_ends_with_the_verbosity(
    verbosity: str, messages: list[dict[str, Any]], before: str
):
    """REGRESSION: it was refused, and with it each agent whose model's name begins with gpt-5."""
    service = Service(script(f"Well{END}"))
    prompt = await prompt_of(service, messages=messages, verbosity=verbosity)
    assert f"system\n{before}{VERBOSITY[verbosity]}{END}" in prompt


@pytest.mark.parametrize("verbosity", [None, "medium"])
async def test_medium_changes_nothing(verbosity: str | None):
    service = Service(script(f"Well{END}"))
    plain = await prompt_of(service)
    assert await prompt_of(service, verbosity=verbosity) == plain


def test_another_value_is_refused():
    with pytest.raises(ApiError) as raised:
        request(verbosity="brief")
    assert (raised.value.param, raised.value.code) == ("verbosity", "invalid_value")


async def test_a_template_that_reads_the_variable_gets_it(monkeypatch: pytest.MonkeyPatch):
    service = Service(script(f"Well{END}"))
    monkeypatch.setattr(service.tokenizer, "reads", lambda name: name == "verbosity")
    assert VERBOSITY["low"] not in await prompt_of(service, verbosity="low")
    output: Any = type("Output", (), {"reasoning": "auto", "effort": None, "thinking_tokens": None})
    assert template_variables(common_chat(request(verbosity="low")), output) == {"verbosity": "low"}
    own = common_chat(request(verbosity="low", chat_template_kwargs={"verbosity": "none"}))
    assert template_variables(own, output) == {"verbosity": "none"}


#: (template, whether it reads the variable)
TEMPLATES = {
    "{{ verbosity }}": True,
    "{% if verbosity is defined %}{{ verbosity }}{% endif %}": True,
    "{% set verbosity = 1 %}{{ verbosity }}": False,
    "verbosity {{ messages }}": False,
}


@pytest.mark.parametrize(("source", "reads"), TEMPLATES.items())
def test_only_a_template_that_reads_it_gets_it(source: str, reads: bool):
    tokenizer: Any = type("T", (), {"special_tokens_map": {}, "apply_chat_template": str})
    assert ("verbosity" in ChatTemplate(tokenizer, source).variables) is reads
