"""Transcripts of gpt-oss in Harmony, written by hand: what its grammar accepts and rejects.

A transcript begins behind the prompt's ``<|start|>assistant``.
"""

import json
from dataclasses import replace

from adapters.formats import OutputSpec

from .cases import (
    AUTO,
    BARRED,
    FREE,
    JUST_F,
    NAMED,
    NONE,
    OSLO,
    REQUIRED,
    REQUIRED_VALUE,
    VALUE_NONE,
    VALUE_ONLY,
    VALUE_OR_CALL,
    Answer,
    Said,
    Wrong,
    quiet,
)

NEXT = "<|start|>assistant"
THOUGHT = f"<|channel|>analysis<|message|>Need both.<|end|>{NEXT}"
PREAMBLE = f"<|channel|>commentary<|message|>I'll look.<|end|>{NEXT}"
FINAL = "<|channel|>final<|message|>Hi<|return|>"
NAME = '{"name": "x"}'
VALUE = f"<|channel|>final<|message|>{NAME}<|return|>"
#: what smaller models write before a header
STRAY = "<|channel|>commentary to=assistant"
BODY = f"<|message|>{OSLO}<|call|>"
CALL = f"<|channel|>commentary to=functions.f <|constrain|>json{BODY}"

BUILTIN = replace(AUTO, builtin_tools=("browser", "python"))
ONLY_BUILTIN = OutputSpec(builtin_tools=("browser", "python"))
ONLY_PYTHON = OutputSpec(builtin_tools=("python",))
MUST_BUILTIN = replace(ONLY_PYTHON, tool_choice="required")
QUERY = '{"query": "Oslo", "topn": 3}'
CODE = "print('<|', 1 << 2)\n\nx = {}"
SEARCH = f"<|channel|>analysis to=browser.search code<|message|>{QUERY}<|call|>"
#: what clients get
RUN = json.dumps({"code": CODE})
PYTHON = f"<|channel|>analysis to=python code<|message|>{CODE}<|call|>"

#: every header that gpt-oss was seen to write, and their combinations
CALL_HEADERS = (
    "<|channel|>commentary to=functions.f <|constrain|>json",
    "<|channel|>commentary to=functions.f<|constrain|>json",
    "<|channel|>commentary to=functions.f json",
    "<|channel|>commentary to=functions.f",
    "<|channel|>analysis to=functions.f <|constrain|>json",
    "<|channel|>analysis to=functions.f<|constrain|>json",
    "<|channel|>analysis to=functions.f json",
    "<|channel|>analysis to=functions.f",
    " to=functions.f<|channel|>commentary <|constrain|>json",
    " to=functions.f<|channel|>commentary<|constrain|>json",
    " to=functions.f<|channel|>commentary json",
    " to=functions.f<|channel|>commentary",
    " to=functions.f<|channel|>analysis <|constrain|>json",
    " to=functions.f<|channel|>analysis<|constrain|>json",
    " to=functions.f<|channel|>analysis json",
    " to=functions.f<|channel|>analysis",
    "<|channel|>commentary to=functions.f code",
    "<|channel|>commentary to=functions.f <|constrain|>code",
    "<|channel|>analysis to=functions.f<|constrain|>code",
    " to=functions.f<|channel|>commentary code",
    "<|channel|>commentary to=functions.f <|constrain|>JSON",
    " to=functions.f <|channel|>commentary",
    # the library refuses these, or misreads them
    " to=functions.f<|channel|>commentary to=functions.f",
    " to=functions.f<|channel|>commentary to=functions.f <|constrain|>json",
    " to=functions.f<|channel|>analysis to=functions.f code",
    "<|channel|>commentary json to=functions.f",
    "<|channel|>commentary code to=functions.f",
    "<|channel|>commentary <|constrain|>json to=functions.f",
    "<|channel|>analysis<|constrain|>json to=functions.f",
    "<|channel|>commentary to=functions.f<|channel|>commentary",
    "<|channel|>commentary to=functions.f<|channel|>commentary <|constrain|>json",
    "<|channel|>commentary to=assistant<|channel|>commentary to=functions.f json",
)
FINAL_HEADERS = (
    "<|channel|>final",
    "<|channel|>final <|constrain|>json",
    "<|channel|>final<|constrain|>json",
    "<|channel|>final json",
    "<|channel|>final <|constrain|>JSON",
    "<|channel|>final <|constrain|>response",
    "<|channel|>final<|constrain|>response",
    "<|channel|>final response",
    # the library misreads it
    "<|channel|>commentary to=assistant<|channel|>final",
)
BROWSER_HEADERS = (
    "<|channel|>analysis to=browser.search code",
    "<|channel|>analysis to=browser.search",
    "<|channel|>analysis to=browser.search json",
    "<|channel|>analysis to=browser.search <|constrain|>json",
    "<|channel|>analysis to=browser.search<|constrain|>code",
    "<|channel|>commentary to=browser.search code",
    " to=browser.search<|channel|>analysis code",
    " to=browser.search<|channel|>commentary",
    " to=browser.search<|channel|>analysis to=browser.search code",
    "<|channel|>analysis code to=browser.search",
)
PYTHON_HEADERS = (
    "<|channel|>analysis to=python code",
    "<|channel|>analysis to=python",
    "<|channel|>analysis to=python <|constrain|>code",
    "<|channel|>commentary to=python code",
    " to=python<|channel|>analysis code",
    " to=python<|channel|>commentary",
    "<|channel|>analysis code to=python",
)

_ACCEPTED: list[tuple[OutputSpec, str, Said]] = [
    *((AUTO, header + BODY, Said("", "", JUST_F)) for header in CALL_HEADERS),
    *((REQUIRED, THOUGHT + h + BODY, Said("", "Need both.", JUST_F)) for h in CALL_HEADERS),
    *((FREE, f"{h}<|message|>Hi <b><|return|>", Said("Hi <b>")) for h in FINAL_HEADERS),
    *((VALUE_ONLY, f"{h}<|message|>{NAME}<|return|>", Said(NAME)) for h in FINAL_HEADERS),
    *((VALUE_OR_CALL, f"{h}<|message|>{NAME}<|return|>", Said(NAME)) for h in FINAL_HEADERS),
    *(
        (BUILTIN, f"{h}<|message|>{QUERY}<|call|>", Said("", "", [("browser.search", QUERY)]))
        for h in BROWSER_HEADERS
    ),
    *(
        (BUILTIN, f"{h}<|message|>{CODE}<|call|>", Said("", "", [("python", RUN)]))
        for h in PYTHON_HEADERS
    ),
    # messages before the last one
    (FREE, FINAL, Said("Hi")),
    (FREE, THOUGHT + FINAL, Said("Hi", "Need both.")),
    (FREE, THOUGHT * 3 + FINAL, Said("Hi", "Need both." * 3)),
    (FREE, "<|channel|>final<|message|><|return|>", Said()),
    (AUTO, THOUGHT + FINAL, Said("Hi", "Need both.")),
    (AUTO, PREAMBLE + FINAL, Said("I'll look.Hi")),
    (AUTO, PREAMBLE + CALL, Said("I'll look.", "", JUST_F)),
    (AUTO, THOUGHT + PREAMBLE + CALL, Said("I'll look.", "Need both.", JUST_F)),
    (AUTO, STRAY + THOUGHT + STRAY + PREAMBLE + CALL, Said("I'll look.", "Need both.", JUST_F)),
    (AUTO, PREAMBLE + THOUGHT + CALL, Said("I'll look.", "Need both.", JUST_F)),
    (
        AUTO,
        THOUGHT + PREAMBLE + THOUGHT + PREAMBLE * 2 + CALL,
        Said("I'll look." * 3, "Need both." * 2, JUST_F),
    ),
    (NONE, THOUGHT + FINAL, Said("Hi", "Need both.")),
    (REQUIRED, THOUGHT * 2 + CALL, Said("", "Need both." * 2, JUST_F)),
    (NAMED, CALL_HEADERS[11] + BODY, Said("", "", JUST_F)),
    (NAMED, THOUGHT + CALL, Said("", "Need both.", JUST_F)),
    (quiet(FREE), FINAL, Said("Hi")),
    (quiet(AUTO), PREAMBLE + CALL, Said("I'll look.", "", JUST_F)),
    (quiet(AUTO), CALL_HEADERS[7] + BODY, Said("", "", JUST_F)),
    # a response format beside tools
    (VALUE_OR_CALL, THOUGHT + VALUE, Said(NAME, "Need both.")),
    (VALUE_OR_CALL, THOUGHT * 2 + CALL, Said("", "Need both." * 2, JUST_F)),
    (VALUE_NONE, THOUGHT + VALUE, Said(NAME, "Need both.")),
    (REQUIRED_VALUE, THOUGHT + CALL, Said("", "Need both.", JUST_F)),
    # builtin tools
    (BUILTIN, THOUGHT + SEARCH, Said("", "Need both.", [("browser.search", QUERY)])),
    (BUILTIN, THOUGHT + PREAMBLE + CALL, Said("I'll look.", "Need both.", JUST_F)),
    (BUILTIN, FINAL, Said("Hi")),
    (replace(BUILTIN, tool_choice="required"), PYTHON, Said("", "", [("python", RUN)])),
    (quiet(ONLY_BUILTIN), PYTHON, Said("", "", [("python", RUN)])),
    (
        ONLY_BUILTIN,
        PREAMBLE + "<|channel|>analysis to=browser.open code<|message|>{}<|call|>",
        Said("I'll look.", "", [("browser.open", "{}")]),
    ),
    (
        ONLY_BUILTIN,
        '<|channel|>analysis to=browser.open<|message|>{"id": "https://a.b/c"}<|call|>',
        Said("", "", [("browser.open", '{"id": "https://a.b/c"}')]),
    ),
    (
        ONLY_BUILTIN,
        '<|channel|>analysis to=browser.find<|message|>{"pattern": "x", "cursor": 1}<|call|>',
        Said("", "", [("browser.find", '{"pattern": "x", "cursor": 1}')]),
    ),
    (MUST_BUILTIN, THOUGHT + PYTHON, Said("", "Need both.", [("python", RUN)])),
    (
        replace(ONLY_PYTHON, response_schema=VALUE_ONLY.response_schema),
        PYTHON,
        Said("", "", [("python", RUN)]),
    ),
]

_REJECTED: list[tuple[OutputSpec, str, str]] = [
    (AUTO, "Hi", "text outside messages"),
    (AUTO, "", "nothing at all"),
    (AUTO, THOUGHT, "reasoning without an answer"),
    (AUTO, PREAMBLE, "a preamble without an answer"),
    (AUTO, NEXT + CALL, "a message that begins twice"),
    (AUTO, "<|channel|>final<|message|>Hi<|end|>", "a final message that is not the last"),
    (AUTO, "<|channel|>final<|message|>Hi<|call|>", "a final message that ends as a call"),
    (AUTO, "<|channel|>final<|message|>a<|channel|>b<|return|>", "a special token in text"),
    (AUTO, "<|channel|>final<|message|>Hi", "a message without an end"),
    (AUTO, "<|channel|>final Hi<|return|>", "a message without a body"),
    (AUTO, "<|message|>Hi<|return|>", "a message without a channel"),
    (AUTO, "<|channel|><|message|>Hi<|return|>", "an empty channel"),
    (AUTO, "<|channel|>other<|message|>Hi<|return|>", "an unknown channel"),
    (AUTO, "<|channel|>analysis<|message|>Hm.<|return|>", "reasoning as the answer"),
    (AUTO, "<|channel|>commentary<|message|>Hm.<|return|>", "a preamble as the answer"),
    (AUTO, f"<|channel|>analysis<|message|>Hm.<|end|>{FINAL}", "no start between messages"),
    (AUTO, f"<|channel|>analysis<|message|>Hm.<|end|><|start|>{FINAL}", "a start without a role"),
    (AUTO, f"<|channel|>analysis<|message|>Hm.<|end|><|start|>user{FINAL}", "another role"),
    (AUTO, f"<|channel|>analysis json<|message|>Hm.<|end|>{NEXT}{FINAL}", "reasoning with a type"),
    (AUTO, FINAL + NEXT + FINAL, "two final messages"),
    (AUTO, CALL + NEXT + CALL, "two calls in a turn"),
    (AUTO, CALL + NEXT + FINAL, "an answer behind a call"),
    # headers of calls
    (AUTO, f"<|channel|>final to=functions.f{BODY}", "a call on the final channel"),
    (AUTO, f" to=functions.f{BODY}", "a call without a channel"),
    (AUTO, f" to=functions.f json<|channel|>commentary{BODY}", "a type before the channel"),
    (AUTO, f" to=functions.f<|channel|>commentary to=functions.g{BODY}", "two recipients"),
    (AUTO, f" to=functions.g<|channel|>commentary to=functions.f{BODY}", "two recipients"),
    (AUTO, f"<|channel|>commentary to=functions.f<|channel|>final{BODY}", "a call turned final"),
    (AUTO, f"<|channel|>commentary to=assistant{BODY}", "a call of no tool"),
    (AUTO, f"<|channel|>commentary to=functions.f <|constrain|>I call f{BODY}", "text as a type"),
    (AUTO, f"<|channel|>commentary to=functions.f response{BODY}", "an answer's type in a call"),
    (AUTO, f"<|channel|>commentary  to=functions.f{BODY}", "two spaces"),
    (AUTO, f"<|channel|>commentary to=functions.f  json{BODY}", "two spaces before the type"),
    (AUTO, f"<|channel|>commentary to=functions.fjson{BODY}", "a type without a space"),
    (AUTO, f"<|channel|>commentary to=functions.f yaml{BODY}", "another type"),
    (AUTO, f"<|channel|>commentary to=functions.f codejson{BODY}", "two types"),
    (AUTO, f"<|channel|>commentary to=functions.f <|constrain|>{BODY}", "an empty type"),
    (AUTO, f"<|channel|>commentary to=f{BODY}", "a recipient outside functions"),
    (AUTO, f"<|channel|>commentary to=functions.h{BODY}", "an unknown function"),
    (AUTO, f"<|channel|>commentary to=functions.{BODY}", "no function"),
    (BARRED, CALL.replace(".f ", ".g ").replace(OSLO, "{}"), "a barred function"),
    # bodies of calls
    (AUTO, CALL.replace(OSLO, '{"city": 1}'), "arguments that break the schema"),
    (AUTO, CALL.replace(OSLO, "[1]"), "arguments that are no object"),
    (AUTO, CALL.replace(OSLO, f"{OSLO} x"), "text behind the arguments"),
    (AUTO, CALL.replace(OSLO, ""), "no arguments"),
    (AUTO, CALL.replace("<|call|>", "<|end|>"), "a call that ends as a message"),
    (AUTO, CALL.replace("<|call|>", "<|return|>"), "a call that ends as an answer"),
    # choices
    (FREE, CALL, "a call without tools"),
    (FREE, PREAMBLE + FINAL, "a preamble without tools"),
    (NONE, CALL, "a call where none may be"),
    (NONE, PREAMBLE + FINAL, "a preamble where no call may be"),
    (REQUIRED, FINAL, "a final message where a call must be"),
    (REQUIRED, THOUGHT + FINAL, "a final message behind a thought"),
    (REQUIRED, THOUGHT + PREAMBLE + CALL, "REGRESSION: endless text before a required call"),
    (NAMED, PREAMBLE + CALL, "text before the named call"),
    (NAMED, CALL.replace(".f ", ".g ").replace(OSLO, "{}"), "another tool"),
    (NAMED, FINAL, "no call of the named tool"),
    (quiet(FREE), THOUGHT + FINAL, "reasoning that is off"),
    (quiet(AUTO), THOUGHT + CALL, "reasoning that is off, before a call"),
    # response formats
    (VALUE_ONLY, FINAL, "text where a value must be"),
    (VALUE_ONLY, VALUE.replace('"x"', "1"), "a value that breaks the schema"),
    (VALUE_OR_CALL, FINAL, "text where a value or a call must be"),
    (VALUE_OR_CALL, PREAMBLE + VALUE, "a preamble beside a value"),
    (
        VALUE_OR_CALL,
        PREAMBLE + CALL,
        "REGRESSION: content that is no value, where clients parse all content as one",
    ),
    (VALUE_NONE, CALL, "a call where only a value may be"),
    (REQUIRED_VALUE, VALUE, "a value where a call must be"),
    # builtin tools
    (AUTO, SEARCH, "a builtin tool that is not offered"),
    (ONLY_PYTHON, SEARCH, "another builtin tool"),
    (ONLY_BUILTIN, CALL, "a function beside builtin tools only"),
    (BUILTIN, SEARCH.replace("browser.search", "browser"), "a namespace as a recipient"),
    (BUILTIN, SEARCH.replace("browser.search", "search"), "a tool outside its namespace"),
    (BUILTIN, SEARCH.replace("browser.", "functions.browser."), "a builtin tool as a function"),
    (BUILTIN, SEARCH.replace(QUERY, '{"topn": 3}'), "a search without a query"),
    (BUILTIN, SEARCH.replace(QUERY, "Oslo"), "a search that is no JSON"),
    (BUILTIN, PYTHON.replace(" code", " json"), "source code of the type json"),
    (BUILTIN, "<|channel|>analysis json to=python<|message|>x<|call|>", "the same, before"),
    (BUILTIN, PYTHON.replace("<|call|>", "<|end|>"), "source code that ends as a message"),
    (BUILTIN, PYTHON.replace(CODE, "a<|end|>b"), "a special token in source code"),
    (replace(BUILTIN, tool_choice="none"), PYTHON, "a builtin tool where none may be called"),
    (
        replace(BUILTIN, tool_choice="named", tool_name="f"),
        PYTHON,
        "a builtin tool beside the named function",
    ),
    (MUST_BUILTIN, FINAL, "a final message where a builtin tool must be called"),
]

ACCEPTED = [Answer("harmony", output, text, means) for output, text, means in _ACCEPTED]
REJECTED = [Wrong("harmony", output, text, why) for output, text, why in _REJECTED]
