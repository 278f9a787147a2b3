"""The white space of calls, as chat templates show it."""

import json
from typing import Any

import pytest

from adapters.formats import COMPACT, SPACED, JsonLayout, JsonRules, get_format
from app.conversation.call_layout import FLAT, NESTED, layout_in, same_space
from app.conversation.profile import Messages, TemplateProfile, profile_of, shown_answers


@pytest.mark.parametrize(
    "layout",
    [SPACED, COMPACT, JsonLayout(2, (",", ": ")), JsonLayout("\t", (",", ": "), 3)],
    ids=repr,
)
def test_each_layout_is_told_from_the_others(layout: JsonLayout) -> None:
    shown = layout.written(NESTED)
    assert layout_in(f"<f>{shown}</f>", NESTED) == layout
    # the values of elements; apostrophes as in Python
    inside = layout._replace(depth=0)
    value = inside.written(NESTED["wordouter"])
    assert layout_in(f"<a>{value}</a>", NESTED) == inside
    assert layout_in(value.replace('"', "'"), NESTED) == inside


@pytest.mark.parametrize("text", ["", "wordouter wordinner", '{"wordouter"  : 1}'])
def test_other_texts_show_no_layout(text: str) -> None:
    assert layout_in(text, NESTED) is None


def test_white_space_of_elements_is_compared() -> None:
    """Other white space before the call is a matter of the format."""
    call = "\n<f>\n<wordone>1</wordone>\n<wordtwo>2</wordtwo>\n</f>\n"
    assert same_space(call, call.strip() + "<end>", FLAT)
    assert same_space(call, call.lstrip("\n<f>") + "<end>", FLAT)
    assert not same_space(call, call.replace("\n<wordtwo>", "<wordtwo>"), FLAT)
    assert not same_space(call, call.replace("</wordtwo>\n", "</wordtwo>"), FLAT)


def template(arguments: Any) -> Any:
    """Return a template that writes a call's arguments with this function."""

    def render(messages: Messages, tools: Any, variables: Any) -> str:
        shown = []
        for message in messages:
            shown.append(message["content"])
            for call in message.get("tool_calls") or ():
                shown.append(f"<tool_call>{arguments(call['function']['arguments'])}</tool_call>")
        return json.dumps(tools) + "\n".join(shown)

    return render


def test_a_profile_has_the_layout() -> None:
    compact = profile_of(template(lambda each: json.dumps(each, separators=(",", ":"))))
    assert compact.layout == COMPACT
    assert compact.described()["layout"] == {
        "indent": None,
        "separators": (",", ":"),
        "depth": 0,
    }
    assert "layout" not in profile_of(template(json.dumps)).described()
    as_text = profile_of(template(lambda each: each if isinstance(each, str) else "{}"))
    assert as_text.layout is None and as_text.described()["layout"] is None


@pytest.mark.parametrize(
    ("profile", "rules"),
    [
        (None, JsonRules(layout=SPACED, element_space=True)),
        (TemplateProfile(), JsonRules(layout=SPACED, element_space=True)),
        (TemplateProfile(layout=None), JsonRules(layout=SPACED, element_space=True)),
        (TemplateProfile(layout=COMPACT), JsonRules(layout=COMPACT, element_space=True)),
        (TemplateProfile(call_space="other"), JsonRules(layout=SPACED)),
    ],
)
def test_what_no_template_shows_is_as_json_dumps_writes_it(
    profile: TemplateProfile | None, rules: JsonRules
) -> None:
    assert shown_answers(get_format("hermes"), profile).json_rules == rules


def test_elements_of_another_template_keep_flexible_white_space() -> None:
    """REGRESSION: a template without line feeds behind elements would have been forced to them."""
    glm = get_format("glm_45")

    def written(arguments: Any) -> str:
        if isinstance(arguments, str):
            return arguments
        pairs = arguments.items()
        elements = (
            f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>" for key, value in pairs
        )
        return "wordtool\n" + "".join(elements)

    assert profile_of(template(written), glm.as_text).call_space == "other"
    assert profile_of(template(written)).call_space == "format"


@pytest.mark.parametrize(("between", "space"), [("", "format"), ("\n", "other")])
def test_families_whose_messages_have_headers_are_compared_too(between: str, space: str) -> None:
    beam = get_format("beam")

    def written(arguments: Any) -> str:
        if isinstance(arguments, str):
            return arguments
        elements = (
            f'<rfl:parameter name="{key}">\n{value}\n</rfl:parameter>'
            for key, value in arguments.items()
        )
        head = " to=wordtool<|channel|>analysis <|constrain|>xml<|message|>"
        return head + between.join(elements) + "<|call|>"

    assert profile_of(template(written), beam.as_text, beam.past_calls).call_space == space
