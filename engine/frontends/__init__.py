"""Front ends: JSON Schema, regular expressions, choices, structural tags and
grammars as text (EBNF, Lark), each emitting IR.
"""
