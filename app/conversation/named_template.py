"""A chat template that writes names of control tokens (see control).

Its constants are changed once: each spelling of a control token becomes its name. Some templates
assemble tokens, such as ``'<|' + message.role + '|>'``; short conversations show which ones. The
punctuation of these tokens gets names, too, and in a prompt an assembled token counts only with the
names of all of its punctuation.

A template that computes with the spellings in its constants would write another prompt then. If the
short conversations show that, its constants stay as they are, and control tokens in client text are
broken instead, as for the formats.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .control import ControlText, DeepArguments, random_digits
from .image_marks import ImageMarks
from .image_profile import image_part, text_part
from .profile import CALL_IDS, TOOL, Messages, TemplateError, TemplateProfile, Variables, loop_of
from .template import ChatTemplate

Tools = Sequence[Mapping[str, Any]] | None
_Probe = tuple[Messages, Tools, Variables]


class NamedTemplate:
    """See the module. Called like a ChatTemplate, with text as clients sent it, and with marks of
    images.
    """

    def __init__(
        self,
        template: ChatTemplate,
        control: ControlText,
        profile: TemplateProfile,
        marks: ImageMarks,
    ) -> None:
        self._template = template
        self._control = control
        self._marks = marks
        self._image_part = profile.image_part
        self._pieces: dict[str, str] = {}
        self._assembled: dict[str, str] = {}
        self._named = template
        self._breaks = not self._rewrite(_probes(profile))

    def __call__(self, messages: Messages, tools: Tools, variables: Variables) -> str:
        """Return the prompt with names.

        Raises:
            TemplateError: see profile.Render.
        """
        messages = self._marks.with_parts(messages, self._image_part)
        if self._breaks:
            return self._broken(messages, tools, variables)
        return self._with_assembled(self._named(messages, tools, variables))

    @property
    def is_steady(self) -> bool:
        """See ChatTemplate."""
        return self._template.is_steady

    def spelled(self, text: str) -> str:
        """Return a text of the template with spellings instead of names."""
        return self._control.spelled(self._with_assembled(text))

    def _rewrite(self, probes: Sequence[_Probe]) -> bool:
        """Name the constants. Returns whether the template still writes the same prompts."""
        try:
            self._named = self._template.rewritten(self._constant)
            shown = [_rendered(self._named, *probe) or "" for probe in probes]
            if assembled := set(self._control.spellings_in("".join(shown))):
                self._name_pieces(assembled)
                self._named = self._template.rewritten(self._constant)
        except ValueError:
            # no template that Jinja can read
            return False
        originals = [_rendered(self._template, *probe) for probe in probes]
        prompts = (_rendered(self._named, *probe) for probe in probes)
        return originals == [prompt and self.spelled(prompt) for prompt in prompts]

    def _constant(self, text: str) -> str:
        named = self._control.named(text)
        return "".join(self._pieces.get(letter, letter) for letter in named)

    def _name_pieces(self, texts: set[str]) -> None:
        """Name the punctuation of these tokens; without any, a token is only text."""
        letters = {
            each for text in texts for each in text if not (each.isalnum() or each.isspace())
        }
        secret = random_digits()
        self._pieces = {each: f"{secret}{n:06d}" for n, each in enumerate(sorted(letters))}
        for text in sorted(texts, key=len, reverse=True):
            pieces = "".join(self._pieces.get(letter, letter) for letter in text)
            if pieces != text:
                self._assembled[pieces] = self._control.named(text)

    def _with_assembled(self, prompt: str) -> str:
        """Return a prompt with names for assembled tokens, and without those of punctuation."""
        for pieces, name in self._assembled.items():
            prompt = prompt.replace(pieces, name)
        for letter, name in self._pieces.items():
            prompt = prompt.replace(name, letter)
        return prompt

    def _broken(self, messages: Messages, tools: Tools, variables: Variables) -> str:
        control = self._control
        if tools:
            functions = (tool["function"].items() for tool in tools)
            broken = [{name: control.broken(each) for name, each in items} for items in functions]
            tools = [{**tool, "function": each} for tool, each in zip(tools, broken, strict=True)]
        try:
            said = [control.broken_message(each) for each in messages]
        except (DeepArguments, RecursionError):
            raise TemplateError from None
        return control.adopted(self._template(said, tools, control.broken(variables)))


def _rendered(
    template: ChatTemplate, messages: Messages, tools: Tools, variables: Variables
) -> str | None:
    try:
        return template(messages, tools, variables)
    except TemplateError:
        return None


def _probes(profile: TemplateProfile) -> list[_Probe]:
    """Return conversations with harmless words that show the control tokens of a template."""
    system, two = {"role": "system", "content": "wordsystem"}, {"role": "user", "content": "two"}
    answer = {"role": "assistant", "content": "wordanswer"}
    thought = (profile.reasoning or "reasoning_content", "wordthought")
    ids = CALL_IDS[profile.ids][: 2 if profile.parallel_calls else 1]
    loop = loop_of(ids, profile.arguments, "", thought)
    user = loop[0]
    conversations: list[tuple[Messages, Tools]] = [
        ([user], None if profile.no_tools == "none" else []),
        ([system, user, answer, two], None if profile.no_tools == "none" else []),
        ([system, user], [TOOL]),
        (loop, [TOOL]),
        ([system, *loop, answer, two], [TOOL]),
    ]
    if profile.images != "no":
        content = [*text_part("word"), image_part(profile.image_part)]
        conversations.append(([{**user, "content": content}], conversations[0][1]))
        if profile.images == "results":
            conversations.append(([*loop[:-1], {**loop[-1], "content": content}], [TOOL]))
    choices: list[Variables] = [{}, {"enable_thinking": False}, {"enable_thinking": True}]
    return [(said, tools, each) for said, tools in conversations for each in choices]
