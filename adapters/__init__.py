"""Everything that meets the outside: model families' wire formats, workers, the SGLang plug-in."""
