"""Samplers: prompts + sampling parameters + a seed -> completions with token counts.

`TransformersSampler` is the one for the CPU. Its draws depend on the seed alone: the global random state is put back
afterwards, since a trainer that samples with it must not notice.
"""

from dataclasses import dataclass
from typing import Protocol

from kernelzero.config import Sampling


@dataclass(frozen=True)
class Completion:
    """text without the end token; tokens: generated ones, the end token included; finish_reason: stop | length."""

    text: str
    tokens: int
    finish_reason: str


class Sampler(Protocol):
    def sample(self, prompts: list, n: int, seed: int) -> list[list[Completion]]:
        """n completions for each prompt (a string, or chat messages), in the order of the prompts."""
        ...


class TransformersSampler:
    """Sampling by transformers' `generate`, in batches of `sampling.batch` sequences."""

    def __init__(self, model, tokenizer, sampling: Sampling):
        self.model, self.tokenizer, self.sampling = model, tokenizer, sampling

    def sample(self, prompts: list, n: int, seed: int) -> list[list[Completion]]:
        import torch

        texts = [self._text(prompt) for prompt in prompts for _ in range(n)]
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # like lengths together: less padding
        flat: list[Completion | None] = [None] * len(texts)
        devices = [self.model.device] if self.model.device.type == "cuda" else []
        was_training = self.model.training
        self.model.eval()
        with torch.random.fork_rng(devices=devices), torch.inference_mode():
            torch.manual_seed(seed)
            for start in range(0, len(order), self.sampling.batch):
                chunk = order[start:start + self.sampling.batch]
                for index, completion in zip(chunk, self._generate([texts[i] for i in chunk]), strict=True):
                    flat[index] = completion
        self.model.train(was_training)
        return [flat[i * n:(i + 1) * n] for i in range(len(prompts))]

    def _text(self, prompt) -> str:
        if isinstance(prompt, str):
            return prompt
        return self.tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)

    def _generate(self, texts: list[str]) -> list[Completion]:
        tokenizer = self.tokenizer
        batch = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False).to(self.model.device)
        rows = self.model.generate(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"], do_sample=True,
            temperature=self.sampling.temperature, top_p=1.0, top_k=0, max_new_tokens=self.sampling.max_new_tokens,
            pad_token_id=tokenizer.pad_token_id, eos_token_id=tokenizer.eos_token_id)
        return [self.completion(ids) for ids in rows[:, batch["input_ids"].shape[1]:].tolist()]

    def completion(self, ids: list[int]) -> Completion:
        end = self.tokenizer.eos_token_id
        stopped = end in ids
        kept = ids[:ids.index(end)] if stopped else ids
        return Completion(self.tokenizer.decode(kept, skip_special_tokens=True), len(kept) + stopped, "stop" if stopped else "length")
