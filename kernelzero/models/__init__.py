"""Models: the tiny base and its tokenizer, the warm start, loading and saving with digests, and the sampler.

Torch and transformers are imported in the functions that use them. Imported by `training` and `stages` only.
"""
