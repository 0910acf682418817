"""The sampler: its draws follow from the seed alone, and leave the trainer's random state as it was."""

import pytest
import torch

from kernelzero.config import Sampling
from kernelzero.models import checkpoints
from kernelzero.models.sampler import TransformersSampler

PROMPTS = ["# apis: torch.relu\n", "# apis: torch.exp, torch.relu and some more text\n", "import torch\n"]


@pytest.fixture(scope="module")
def sampler(small_model):
    model, tokenizer = checkpoints.load(small_model)
    return TransformersSampler(model.train(), tokenizer, Sampling(max_new_tokens=8, batch=4))


def test_same_seed_same_completions(sampler):
    first, again, other = (sampler.sample(PROMPTS, 3, seed) for seed in (1, 1, 2))
    assert first == again != other
    assert [len(group) for group in first] == [3, 3, 3]


def test_the_global_random_state_and_the_mode_stay(sampler):
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    sampler.sample(PROMPTS, 2, 5)
    assert torch.equal(torch.rand(3), expected) and sampler.model.training


def test_tokens_and_finish_reason(sampler):
    end = sampler.tokenizer.eos_token_id
    ids = sampler.tokenizer("import torch\n")["input_ids"]
    stopped = sampler.completion([*ids, end, end])
    assert (stopped.text, stopped.tokens, stopped.finish_reason) == ("import torch\n", len(ids) + 1, "stop")
    cut = sampler.completion(ids)
    assert (cut.text, cut.tokens, cut.finish_reason) == ("import torch\n", len(ids), "length")
    assert all(c.tokens == 8 for group in sampler.sample(PROMPTS, 2, 3) for c in group if c.finish_reason == "length")
