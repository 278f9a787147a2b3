from typing import Any

from ..limits import Limits
from .tag_formats import Format
from .tag_vocabulary import TagVocabulary

def parse_structural_tag(document: Any, vocabulary: TagVocabulary, limits: Limits) -> Format:
    """The format of a document in either spelling.

    Raises:
        SpecError, UnsupportedSchema or LimitExceeded with the place in the document.
    """
