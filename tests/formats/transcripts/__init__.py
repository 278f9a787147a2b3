"""Transcripts of every family, written by hand: what its grammar accepts, and what it rejects.

compose         the wire texts of a family, and its transcripts for every choice and thought
raw_values      the same for arguments that are raw text
nested_cases    arguments that are nested elements
*_cases         the wire texts of one group of families

``TRANSCRIPTS`` holds all of them.
"""

from .addressed_cases import ADDRESSED, BEAM_VALUES, MUSE_VALUES
from .compose import CHOICES as COMPOSED
from .compose import THINKING, Transcript, transcripts_of
from .element_cases import ELEMENTS, RAW_VALUES
from .harmony_wire_cases import HARMONY
from .json_list_cases import LISTS
from .json_tag_cases import TAGS
from .literal_cases import LITERALS
from .nested_cases import NESTED_CHOICES, nested_values
from .raw_values import RAW_CHOICES, raw_values_of
from .token_mark_cases import TOKEN_MARKS

__all__ = ["CHOICES", "THINKING", "TOKENS_ONLY", "TRANSCRIPTS", "Transcript"]

WIRES = (*TAGS, *LISTS, *TOKEN_MARKS, *ELEMENTS, *LITERALS, *ADDRESSED, HARMONY)
#: the requirements of all transcripts, by name
CHOICES = {**COMPOSED, **RAW_CHOICES, **NESTED_CHOICES}
#: formats whose marks must be special tokens
TOKENS_ONLY = {name for wire in WIRES if wire.is_tokens for name in wire.formats}
_ALL = [
    *(transcript for wire in WIRES for transcript in transcripts_of(wire)),
    *(
        transcript
        for wire in (*RAW_VALUES, MUSE_VALUES, BEAM_VALUES)
        for transcript in raw_values_of(wire)
    ),
    *nested_values(),
]
#: each text once for the same requirements
TRANSCRIPTS: list[Transcript] = [
    *{
        (each.format, each.choice, each.thinking, each.marks, each.text, each.means is None): each
        for each in _ALL
        # its list of calls has no marks, so most wrong calls are text there
        if each.format != "llama4_pythonic" or each.choice not in ("auto", "auto, one", "barred")
    }.values()
]
