"""The JSON form of structural tags; the implementation documents it."""

from .tag_formats cimport Format
from .tag_vocabulary cimport TagVocabulary

cdef Format parse_structural_tag(document, TagVocabulary vocabulary, limits)
