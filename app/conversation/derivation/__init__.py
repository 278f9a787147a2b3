"""Derivation: the format of a model, made from what its chat template shows.

The template is rendered with calls whose names, keys and values are words that occur nowhere else.
The text around the words is the syntax of calls. Random calls check it: the template writes
them, and the grammar must accept the text and read the same calls.

    answers    the text of an answer with calls, cut out of a prompt; texts: where texts may be cut
    notations  how arguments are written
    calls      the texts around names and arguments, ids, sections
    family     a TagFamily made of all these
    trial      random calls, written by the template and read by the family
"""

from .answers import NotDerived
from .family import Derivation
