"""The prompt that a chat template writes, checked: it shows all instructions, or there is an error.

A template that refuses a conversation gives a reason (``raise_exception``), which the error quotes.
If a template fails, its exception does not help a client, so the error names the message that the
template cannot show.

Many templates write a system message of their own where a conversation has none, as the model was
trained. Further instructions follow it and do not replace it. It is kept for each client, unless
the template reads the clock or draws at random: three prompts take 0.1 ms, a look-up 0.002 ms.
"""

import marshal
import re
import sys
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

from ..concurrency import RecentValues
from ..errors import ApiError, FieldPath, bad_field
from .control import random_digits
from .fitting import INSTRUCTING, Message, fitted
from .image_marks import ImageMarks
from .kept_tools import KnownTools
from .named_template import NamedTemplate
from .profile import AsText, Messages, TemplateError, TemplateProfile, Variables, squeezed

#: bytes of the templates' own messages, with the tools and variables on which they depend
MAX_BYTES = 1 << 20
#: of an entry, beside its text, the tools and the variables
ENTRY_BYTES = 500


class PromptText(NamedTuple):
    """A prompt with names of control tokens, and the numbers of its images in their order."""

    text: str
    images: list[int]


class TemplatePrompt:
    """The prompts of one request. ``instructions``, ``choice``: see ``fitted``. ``tools``: see
    KeptTools; None: the template shows none.

    ``kept``: the templates' own messages. ``client``: for whom they are; None: they are not kept.
    """

    def __init__(
        self,
        template: NamedTemplate,
        profile: TemplateProfile,
        as_text: AsText,
        marks: ImageMarks,
        *,
        tools: KnownTools | None,
        instructions: str,
        choice: str,
        variables: Variables,
        kept: RecentValues[str],
        client: str | None = None,
    ) -> None:
        self._template = template
        self._profile = profile
        self._as_text = as_text
        self._marks = marks
        self._instructions = instructions
        self._choice = choice
        self._variables = variables
        self._kept = kept
        self._client = client
        self._tools: list[dict[str, Any]] | None = None
        #: tells the tools from others; None: nothing is kept
        self._tools_key: bytes | None = b""
        if tools is not None:
            self._tools, self._tools_key = tools
        elif profile.no_tools == "empty":
            self._tools = []

    def text(self, messages: Messages) -> PromptText:
        """Return the prompt of messages with marks of images.

        Raises:
            ApiError: 400 that names what the template cannot show.
        """
        said = self._fitted(messages)
        try:
            text = self._rendered(said)
        except TemplateError as error:
            # some templates take a user's message for a result if it begins like one
            said = self._fitted(messages, is_opened=True)
            try:
                text = self._rendered(said)
            except TemplateError:
                raise self._refusal(messages, str(error)) from None
        self._check_instructions(said, text)
        return PromptText(text, self._marks.numbers(message["content"] for message in said))

    def _fitted(self, messages: Messages, *, is_opened: bool = False) -> list[Message]:
        return fitted(
            messages,
            self._profile,
            instructions=self._instructions_for(messages),
            choice=self._choice,
            has_tools=bool(self._tools),
            is_opened=is_opened,
            as_text=self._as_text,
            marks=None if self._profile.images == "no" else self._marks,
        )

    def _instructions_for(self, messages: Messages) -> str:
        """Return the further instructions, behind the template's own where the client has none."""
        roles = [message["role"] for message in messages]
        early = roles[: roles.index("user")] if "user" in roles else roles
        if not self._instructions or any(role in INSTRUCTING for role in early):
            return self._instructions
        return "\n\n".join(filter(None, [self._own_instructions, self._instructions]))

    @cached_property
    def _own_instructions(self) -> str:
        """The system message that the template writes where a conversation has none, or ""."""
        key = self._identity()
        text = None if key is None else self._kept.get(key)
        if text is None:
            text = self._shown_instructions()
            if key is not None:
                size = len(key[1]) + len(key[2]) + sys.getsizeof(text) + ENTRY_BYTES
                self._kept.keep(key, text, size)
        return text

    def _identity(self) -> tuple[str, bytes, bytes] | None:
        """Return all that the template's own message depends on, and the client, since clients
        share no entries; None: it is not kept.
        """
        client, tools = self._client, self._tools_key
        if client is None or tools is None or not self._template.is_steady:
            return None
        # a version without references, which equal values may have in other places
        return client, tools, marshal.dumps(dict(self._variables), 2)

    def _shown_instructions(self) -> str:
        """Return the template's own message.

        It may depend on tools, variables and the date, so two short prompts of this request show
        it, and a third one proves it.
        """
        word, user = random_digits(), {"role": "user", "content": random_digits()}
        try:
            prompt = self._rendered([user])
            instructed = self._rendered([{"role": "system", "content": word}, user])
            before, _, behind = instructed.partition(word)
            own, end = (text.partition(user["content"])[0] for text in (prompt, behind))
            text = _without_end(own.removeprefix(before), end) if own.startswith(before) else ""
            again = self._rendered([{"role": "system", "content": text}, user])
        except TemplateError:
            return ""
        return text if squeezed(again) == squeezed(prompt) else ""

    def _rendered(self, said: Messages) -> str:
        return self._template(said, self._tools, self._variables)

    def _check_instructions(self, said: Messages, text: str) -> None:
        """Some templates show a system message only if the last message is a user's."""
        at = 0
        for number, message in enumerate(said):
            if message["role"] in INSTRUCTING:
                words = message["content"].strip()
                # mostly they keep their order
                found = text.find(words, at)
                found = text.find(words) if found < 0 else found
                at = max(found, 0)
                if found < 0 and not self._shows(said, number):
                    raise _refused("drops the system message in this conversation", ("messages",))

    def _shows(self, said: Messages, number: int) -> bool:
        """Whether the template shows a changed text of a message: then it has removed switches such
        as ``/no_think``, but shows the rest.
        """
        probe = "wordsystem"
        changed = [*said]
        changed[number] = {**said[number], "content": probe}
        try:
            return probe in self._rendered(changed)
        except TemplateError:
            return False

    # -- refusals ----------------------------------------------------------------------------------
    def _refusal(self, messages: Messages, reason: str) -> ApiError:
        """Return the error of a prompt that was not written. ``reason``: the template's, or ""."""
        field = "messages" if self._takes_tools() else "tools"
        if reason:
            reason = self._template.spelled(reason).removesuffix(".")
            return _refused("refuses these {at}: {reason}", (field,), reason=reason)
        at = self._culprit(messages) if field == "messages" else None
        return _refused("cannot show {at}", (field,) if at is None else (field, at))

    def _takes_tools(self) -> bool:
        """Whether the template shows these tools beside a question, if there are any."""
        try:
            self._rendered([{"role": "user", "content": "worduser"}])
        except TemplateError:
            return not self._tools
        return True

    def _culprit(self, messages: Messages) -> int | None:
        """Return a message without whose texts the template works; None: it never does.

        Halves the interval: 11 prompts for 2,048 messages.
        """
        harmless = [_harmless(message) for message in messages]
        if not self._works(harmless):
            return None
        fails, works = 0, len(messages)
        while works - fails > 1:
            middle = (fails + works) // 2
            if self._works([*harmless[:middle], *messages[middle:]]):
                works = middle
            else:
                fails = middle
        return works - 1

    def _works(self, messages: Messages) -> bool:
        try:
            self._rendered(self._fitted(messages))
        except (TemplateError, ApiError):
            return False
        return True


def _without_end(text: str, end: str) -> str:
    """Return a text without this end, which may have other white space; "" if it has another."""
    found = re.search(r"\s*".join(map(re.escape, squeezed(end))) + r"\s*\Z", text)
    return "" if found is None else text[: found.start()]


def _harmless(message: Mapping[str, Any]) -> Message:
    """Return a message of the same form with other texts."""
    texts = ("content", "reasoning_content", "name")
    made = {name: "x" if value and name in texts else value for name, value in message.items()}
    if calls := message.get("tool_calls"):
        function = {"name": "x", "arguments": "{}"}
        made["tool_calls"] = [{**call, "function": function} for call in calls]
    return made


def _refused(what: str, at: FieldPath, **values: str) -> ApiError:
    return bad_field(f"The model's chat template {what}.", at, "refused_by_template", **values)
