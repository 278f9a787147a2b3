"""Headers of gpt-oss in the wild: what OpenAI's parser (openai-harmony) reads, and what the grammar
accepts.

The library refuses some headers that these models write, and misreads others: vLLM, which uses it,
answers 500, or calls a tool of another name. The grammar accepts them where they can mean one thing
only. Where it does not, a model cannot write them: it is held to the other headers.
"""

from functools import cache
from typing import NamedTuple

import pytest
from openai_harmony import HarmonyError

from adapters.formats import for_own_engine, get_format
from engine import Compiled

from .cases import AUTO, OSLO, SPECIALS
from .harmony_library import encoding, is_readable, library_pieces
from .harness import compiler, encode, is_accepted

#: what the library says: it reads a call of f, it fails, or it reads something else
READS, FAILS, MISREADS = "reads", "fails", "misreads"
CHANNEL, TO, JSON = "<|channel|>commentary", " to=functions.f", " <|constrain|>json"


class Header(NamedTuple):
    text: str
    library: str
    is_accepted: bool = True


HEADERS = [
    Header(f"{CHANNEL}{TO}{JSON}", READS),
    Header(f"{CHANNEL}{TO}", READS),
    Header(f"{CHANNEL}{TO} json", READS),
    Header(f"{CHANNEL}{TO} code", READS),
    Header(f"{CHANNEL}{TO} <|constrain|>code", READS),
    Header(f"{CHANNEL}{TO}<|constrain|>code", READS),
    Header(f"{CHANNEL}{TO} <|constrain|>JSON", READS),
    Header(f"<|channel|>analysis{TO} code", READS),
    Header(f"{TO}{CHANNEL}{JSON}", READS),
    Header(f"{TO}{CHANNEL} code", READS),
    Header(f"{TO} {CHANNEL}{JSON}", READS),
    # the library fails, and the meaning is clear
    Header(f"{TO}{CHANNEL}{TO}", FAILS),
    Header(f"{TO}{CHANNEL}{TO}{JSON}", FAILS),
    Header(f"{CHANNEL} json{TO}", FAILS),
    Header(f"{CHANNEL} code{TO}", FAILS),
    Header(f"{CHANNEL}{JSON}{TO}", FAILS),
    Header(f"{CHANNEL}<|constrain|>json{TO}", FAILS),
    Header(f"{CHANNEL} json{TO}{JSON}", FAILS),
    # it takes marks for a part of the recipient
    Header(f"{CHANNEL}{TO}{CHANNEL}", MISREADS),
    Header(f"{CHANNEL}{TO}{CHANNEL}{JSON}", MISREADS),
    Header(f"{CHANNEL} to=assistant{CHANNEL}{TO}", FAILS),
    # no header of a call, although the library may read one
    Header(f"{TO}{CHANNEL} to=functions.g", FAILS, is_accepted=False),
    Header(f"{TO} json{CHANNEL} json", FAILS, is_accepted=False),
    Header(f"{CHANNEL}{TO} json json", FAILS, is_accepted=False),
    Header(f"{CHANNEL}{TO} <|constrain|> json", FAILS, is_accepted=False),
    Header(f"{CHANNEL} to= functions.f", MISREADS, is_accepted=False),
    Header(f"<|channel|> commentary{TO}", FAILS, is_accepted=False),
    # no model was seen to write these
    Header(f"{TO} json{CHANNEL}", READS, is_accepted=False),
    Header(f"{TO}{JSON}{CHANNEL}", READS, is_accepted=False),
    Header(f"{TO}{CHANNEL} code{TO}", FAILS, is_accepted=False),
    # the prompt names the recipients and demands a channel, and a final message is the answer
    Header(f"{CHANNEL} to=f", MISREADS, is_accepted=False),
    Header(TO, READS, is_accepted=False),
    Header(f"<|channel|>final{TO}", READS, is_accepted=False),
    # any word is a type to the library: models put thoughts there
    Header(f"{CHANNEL}{TO} <|constrain|>response", READS, is_accepted=False),
    Header(f"{CHANNEL}{TO}<|constrain|>functions.f", READS, is_accepted=False),
    Header(f"{CHANNEL}{TO} <|constrain|>", READS, is_accepted=False),
    Header(f"{CHANNEL}  to=functions.f", READS, is_accepted=False),
    Header(f"{CHANNEL}\nto=functions.f", READS, is_accepted=False),
]


@cache
def grammar() -> Compiled:
    plan = for_own_engine(get_format("harmony").plan(AUTO, SPECIALS["harmony"]))
    return compiler("harmony").compile_structural_tag(plan.spec_json)


def outcome(header: str) -> str:
    ids = encoding().encode(f"{header}<|message|>{OSLO}<|call|>", allowed_special="all")
    try:
        pieces = library_pieces(ids)
    except HarmonyError:
        return FAILS
    except AssertionError:
        # a call on another channel, or on none
        return READS
    is_call = [(piece.kind, piece.recipient) for piece in pieces] == [("call", "functions.f")]
    return READS if is_call and pieces[0].text == OSLO else MISREADS


@pytest.mark.parametrize("header", HEADERS, ids=[each.text for each in HEADERS])
def test_what_the_library_reads_and_the_grammar_accepts(header: Header) -> None:
    """REGRESSION: the grammar lacked headers that models write, such as two equal recipients."""
    text = f"{header.text}<|message|>{OSLO}<|call|>"
    assert outcome(header.text) == header.library
    assert is_accepted(grammar(), encode("harmony", text)) is header.is_accepted


def test_the_library_reads_the_headers_that_walks_leave_to_it() -> None:
    accepted = [header for header in HEADERS if header.is_accepted]
    assert all(is_readable(each.text) is (each.library == READS) for each in accepted)
