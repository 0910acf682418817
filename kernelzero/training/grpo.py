"""One GRPO stage by TRL's `GRPOTrainer`: configuration, checkpoints that can be trusted, and the clock.

Nothing of TRL is subclassed. What the arguments below fix is what makes a resumed stage equal an undisturbed one
(prompts ordered by us, one optimizer step a generation, one iteration, a checkpoint a step): with a shuffled data
set, several iterations or a buffer over steps TRL resumes without a word into other samples.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kernelzero.config import Base, Grpo, Sampling
from kernelzero.errors import UserError

DONE = "kernelzero_done.json"


@dataclass
class Clock:
    """Seconds of the stage by kind of work. Sampling by the policy is what passes between a step's begin and its reward."""

    sampling_s: float = 0.0
    verifying_s: float = 0.0
    training_s: float = 0.0
    step_begin: float = field(default=0.0, repr=False)
    reward_end: float = field(default=0.0, repr=False)


def layout(settings: Grpo, processes: int) -> tuple[int, int]:
    """(completions a process holds at once, accumulation steps) so that one optimizer step is one generation."""
    total = settings.prompts * settings.group
    per_device = min(settings.micro_batch, total // processes)
    if total % (per_device * processes):
        raise UserError(f"{settings.prompts} prompts x {settings.group} completions = {total} do not divide over {processes} "
                        f"processes in batches of {per_device}; make micro_batch a divisor of {total // processes}")
    return per_device, total // (per_device * processes)


def grpo_arguments(settings: Grpo, sampling: Sampling, base: Base, folder: Path, seed: int, processes: int) -> dict:
    """Keyword arguments of TRL's GRPOConfig; the reasons for what differs from its defaults are in docs/method.md."""
    per_device, accumulation = layout(settings, processes)
    return dict(
        output_dir=str(folder), seed=seed, max_steps=settings.steps,
        per_device_train_batch_size=per_device, gradient_accumulation_steps=accumulation, num_generations=settings.group,
        num_iterations=1, shuffle_dataset=False, learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup", warmup_steps=settings.warmup_steps, adam_beta2=settings.adam_beta2,
        weight_decay=0.0, beta=settings.beta, loss_type=settings.loss, scale_rewards=settings.scale_rewards,
        epsilon_high=settings.epsilon_high, temperature=sampling.temperature, top_p=1.0, top_k=0,
        max_completion_length=sampling.max_new_tokens, mask_truncated_completions=False,
        bf16=base.device == "cuda", use_cpu=base.device == "cpu", gradient_checkpointing=False,
        save_strategy="steps", save_steps=1, save_total_limit=2, save_only_model=False,
        logging_steps=1, report_to=[], disable_tqdm=True, dataloader_pin_memory=False, remove_unused_columns=False)


def train(model, tokenizer, rows: list[dict], reward: Callable, settings: Grpo, sampling: Sampling, base: Base, folder: Path,
          seed: int, clock: Clock, on_resume: Callable[[int], None], on_step: Callable[[int, dict], None]):
    """Train `model` on `rows` (one a group, `settings.steps * settings.prompts` of them, each with 'prompt').

    `reward` has TRL's signature. `on_resume(step)` is called before a step is repeated, with the last whole step;
    `on_step(step, logs)` after each. Returns the trained model.
    """
    from datasets import Dataset
    from transformers import TrainerCallback
    from trl import GRPOConfig, GRPOTrainer

    if len(rows) != settings.steps * settings.prompts:
        raise ValueError(f"{len(rows)} rows for {settings.steps} steps of {settings.prompts} prompts: TRL would run another number of steps")

    class Keeper(TrainerCallback):
        def on_step_begin(self, args, state, control, **kwargs):
            clock.step_begin = time.perf_counter()

        def on_step_end(self, args, state, control, **kwargs):
            clock.training_s += time.perf_counter() - clock.reward_end

        def on_log(self, args, state, control, logs=None, **kwargs):
            if logs and "reward" in logs and state.is_world_process_zero:
                on_step(state.global_step, logs)

        def on_save(self, args, state, control, **kwargs):
            if state.is_world_process_zero:
                seal(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    processes = int(os.environ.get("WORLD_SIZE", "1"))
    timed = _timed(reward, clock)
    trainer = GRPOTrainer(
        model=model, processing_class=tokenizer, reward_funcs=[timed], train_dataset=Dataset.from_list(rows),
        callbacks=[Keeper()], args=GRPOConfig(**grpo_arguments(settings, sampling, base, folder, seed, processes)))
    last = last_sealed(folder)
    on_resume(int(last.name.split("-")[1]) if last else 0)
    trainer.train(resume_from_checkpoint=str(last) if last else None)
    return trainer.model


def _timed(reward: Callable, clock: Clock) -> Callable:
    def kernelzero_reward(**kwargs):
        clock.sampling_s += time.perf_counter() - clock.step_begin
        result = reward(**kwargs)
        clock.reward_end = time.perf_counter()
        return result
    return kernelzero_reward


def seal(checkpoint: Path) -> None:
    """Mark a trainer checkpoint as whole: sizes and hashes of its files, synced. transformers writes it in place."""
    hashes = {}
    for path in sorted(p for p in checkpoint.rglob("*") if p.is_file() and p.name != DONE):
        with path.open("rb") as stream:
            hashes[str(path.relative_to(checkpoint))] = hashlib.file_digest(stream, "sha256").hexdigest()
            os.fsync(stream.fileno())
    partial = checkpoint / (DONE + ".partial")
    with partial.open("w") as stream:
        json.dump(hashes, stream)
        stream.flush()
        os.fsync(stream.fileno())
    partial.rename(checkpoint / DONE)


def is_whole(checkpoint: Path) -> bool:
    mark = checkpoint / DONE
    if not mark.is_file():
        return False
    for name, known in json.loads(mark.read_text()).items():
        path = checkpoint / name
        if not path.is_file():
            return False
        with path.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != known:
                return False
    return True


def last_sealed(folder: Path) -> Path | None:
    """The newest whole checkpoint in a trainer's folder; torn ones are removed, so that nothing can pick them up."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda p: int(p.name.split("-")[1]), reverse=True)
    for checkpoint in found:
        if is_whole(checkpoint):
            return checkpoint
        shutil.rmtree(checkpoint)
    return None
