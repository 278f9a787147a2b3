"""A worker's chunks to answer deltas: sampling options, decoding, stop strings, several choices."""

from .choice_decoder import ChoiceDeltas, ChoiceEnd, ChoiceItem, decode_choice
from .content_logprobs import ContentLogprobs, ContentToken
from .content_stops import ContentStops
from .foreign_parser import ForeignParser, token_node_ids
from .multiplexer import Multiplexer
from .sampling import SamplingParams, check_ending, check_kept_logprobs, sampling_params

__all__ = [
    "ChoiceDeltas",
    "ChoiceEnd",
    "ChoiceItem",
    "ContentLogprobs",
    "ContentStops",
    "ContentToken",
    "ForeignParser",
    "Multiplexer",
    "SamplingParams",
    "check_ending",
    "check_kept_logprobs",
    "decode_choice",
    "sampling_params",
    "token_node_ids",
]
