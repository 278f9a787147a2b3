"""Workers with different LoRA adapters, which they load, unload and lose while requests run."""
