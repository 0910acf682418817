"""Checkpoints: whole or not at all, and one sentence for each way to be broken."""

import json
import shutil

import pytest

from kernelzero.errors import UserError
from kernelzero.models import checkpoints


@pytest.fixture
def copy(small_model, tmp_path):
    return shutil.copytree(small_model, tmp_path / "model")


def test_a_saved_model_loads_with_the_same_token_ids(small_model):
    model, tokenizer = checkpoints.load(small_model)
    assert model.get_input_embeddings().num_embeddings == len(tokenizer)
    assert tokenizer.padding_side == "left" and tokenizer.decode(tokenizer("    x = x + 1\n")["input_ids"]) == "    x = x + 1\n"


def test_saving_again_replaces_the_folder_and_gives_the_same_digest(copy):
    model, tokenizer = checkpoints.load(copy)
    before = checkpoints.saved_digest(copy)
    assert checkpoints.save(model, tokenizer, copy, "compact") == before == checkpoints.digest_folder(copy)
    assert not copy.with_name("model.partial").exists()


@pytest.mark.parametrize("damage, sentence", [
    (lambda m: shutil.rmtree(m), "does not exist"),
    (lambda m: (m / "config.json").unlink(), "holds no config.json"),
    (lambda m: (m / "model.safetensors").write_bytes((m / "model.safetensors").read_bytes()[:5000]), "is damaged"),
    (lambda m: (m / "model.safetensors").unlink(), "is damaged"),
])
def test_a_broken_checkpoint_is_one_sentence(copy, damage, sentence):
    damage(copy)
    with pytest.raises(UserError, match=sentence) as caught:
        checkpoints.load(copy)
    assert "\n" not in str(caught.value)


def test_damage_without_a_digest_is_still_a_sentence(copy):
    (copy / checkpoints.MARK).unlink()
    (copy / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(UserError, match="looks damaged"):
        checkpoints.load(copy)


def test_a_tokenizer_that_reads_otherwise_is_refused(copy):
    mark = json.loads((copy / checkpoints.MARK).read_text())
    mark["probe"][0] += 1
    (copy / checkpoints.MARK).write_text(json.dumps(mark))
    with pytest.raises(UserError, match="requirements.lock"):
        checkpoints.load(copy)


def test_a_hub_id_that_cannot_be_reached_says_to_give_a_folder(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match="give a folder"):
        checkpoints.load("nobody/no-such-model")
