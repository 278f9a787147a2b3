"""In place of a package of mistral_common, which transformers imports with any processor."""
