"""The one name that is imported, for requests to transcribe."""

LanguageAlpha2 = str
