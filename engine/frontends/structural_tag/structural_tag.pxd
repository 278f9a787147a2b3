"""The structural tag language: from JSON to checked formats. See tag_language.pyx for what it is."""

from .tag_formats cimport Format, TagVocabulary

cdef Format parse_structural_tag(document, TagVocabulary vocabulary, limits)
