"""A model of a few thousand parameters with a tokenizer of ours, so that TRL trains for real in a second."""

import pytest


@pytest.fixture(scope="session")
def small_model(tmp_path_factory):
    """Folder of a saved model with random weights."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from kernelzero.models import checkpoints
    from kernelzero.models.tokenizer import train_tokenizer

    tokenizer = train_tokenizer(["# apis: torch.relu\nimport torch\nclass ModelNew(nn.Module):\n    x = x + 1\n"] * 4, 300)
    torch.manual_seed(0)
    model = Qwen2ForCausalLM(Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=128, tie_word_embeddings=True, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id))
    folder = tmp_path_factory.mktemp("small") / "model"
    checkpoints.save(model, tokenizer, folder, "compact")
    return folder
