"""Front ends: JSON Schema, regular expressions, choices and structural tags, each emitting IR."""
