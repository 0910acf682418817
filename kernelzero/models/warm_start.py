"""The warm start: SFT of a base model on the generator's corpus, so that it knows both tasks and the answer format.

For the tiny base it also makes the tokenizer and the random initial weights. The Coder's answers hold planted mistakes at
a stated rate (settings `warm_start.mistakes`), so that both rewards have something to say. So expect gains on `tiny` to be, for the
most part, planted formulas unlearned.
"""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from kernelzero import corpus
from kernelzero.config import Config
from kernelzero.kernels import coder_prompt
from kernelzero.models import checkpoints
from kernelzero.modules import proposer_prompt

# Standard deviation of the initial weights. At width 128 and 1,200 tokens 0.06 gave pass@1 .40 where transformers' 0.02 gave .25 after
# the same 500 steps; at 700 tokens there was no gain (one seed, docs/results.md).
INIT = 0.06


@dataclass(frozen=True)
class Pair:
    prompt: str
    completion: str


def pairs(config: Config) -> list[Pair]:
    """The SFT samples: API set -> module for the Proposer's share of the triples, module -> kernel for the rest."""
    settings = config.warm_start
    triples = corpus.generate(settings.samples, settings.seed, mistakes=settings.mistakes)
    cut = round(len(triples) * settings.proposer_share)
    style = config.base.style
    return [Pair(proposer_prompt(t.apis, style), t.module) for t in triples[:cut]] + [
        Pair(coder_prompt(t.module, config.backend, style), t.kernel) for t in triples[cut:]]


def cache_key(config: Config, samples: list[Pair]) -> str:
    """Content hash of all that the result depends on: the samples, the settings, and this code."""
    from kernelzero.models import tokenizer

    total = hashlib.sha256(config.warm_start.model_dump_json().encode() + config.base.model_dump_json().encode())
    for pair in samples:
        total.update(json.dumps([pair.prompt, pair.completion]).encode())
    for code in (__file__, tokenizer.__file__):
        total.update(Path(code).read_bytes())
    return total.hexdigest()[:24]


def tiny_model(config: Config, samples: list[Pair]):
    """(model, tokenizer): a Qwen2-architecture model with random weights, and a tokenizer trained on the samples."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    from kernelzero.models.tokenizer import train_tokenizer

    settings = config.warm_start
    tokenizer = train_tokenizer([p.prompt + p.completion for p in samples], settings.vocabulary)
    torch.manual_seed(settings.seed)
    model = Qwen2ForCausalLM(Qwen2Config(
        vocab_size=len(tokenizer), hidden_size=settings.hidden, intermediate_size=settings.intermediate,
        num_hidden_layers=settings.layers, num_attention_heads=settings.heads, num_key_value_heads=settings.heads,
        max_position_embeddings=1024, tie_word_embeddings=True, initializer_range=INIT, bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id))
    return model, tokenizer


def warm_start(config: Config, folder: Path, samples: list[Pair], on_step=None) -> str:
    """Train and save the base model into `folder`; returns its digest. `on_step(step, steps, loss)` is called as it goes."""
    from datasets import Dataset
    from transformers import TrainerCallback, set_seed
    from trl import SFTConfig, SFTTrainer

    settings = config.warm_start
    set_seed(settings.seed)
    if config.base.model == "tiny":
        model, tokenizer = tiny_model(config, samples)
    else:
        model, tokenizer = checkpoints.load(config.base.model, config.base.style, config.base.dtype, config.base.device)

    class Progress(TrainerCallback):
        def on_log(self, args, state, control, logs=None, **kwargs):
            if on_step and logs and "loss" in logs:
                on_step(state.global_step, state.max_steps, float(logs["loss"]))

    scratch = folder.with_name(folder.name + ".trainer")
    trainer = SFTTrainer(
        model=model, processing_class=tokenizer, callbacks=[Progress()],
        train_dataset=Dataset.from_list([{"prompt": p.prompt, "completion": p.completion} for p in samples]),
        args=SFTConfig(
            output_dir=str(scratch), max_steps=settings.steps, per_device_train_batch_size=settings.batch,
            learning_rate=settings.learning_rate, lr_scheduler_type="cosine", warmup_steps=20, weight_decay=0.01,
            adam_beta2=0.95, bf16=config.base.dtype == "bfloat16", use_cpu=config.base.device == "cpu",
            gradient_checkpointing=False, seed=settings.seed, save_strategy="no", logging_steps=10, report_to=[],
            disable_tqdm=True, max_length=1024, completion_only_loss=True, dataloader_pin_memory=False))
    trainer.train()
    shutil.rmtree(scratch, ignore_errors=True)
    return checkpoints.save(trainer.model, tokenizer, folder, config.base.style)
