"""Model families: the grammar of their answers, and prompts for tokenizers without a template."""
