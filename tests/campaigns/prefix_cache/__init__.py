"""The campaign of prompts that continue each other, so that workers find them in their caches."""
