"""The model families: one module of data for each vendor or syntax."""
