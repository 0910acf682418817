"""A GRPO stage on a small model as a script, so that a test can kill it or spread it over processes.

usage: grpo_job.py MODEL FOLDER STEPS KILL_AFTER(0: never) LOG
Each step's completions and rewards, and at the end the hash of all parameters, go to LOG as JSON lines.
"""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import torch
from accelerate.utils import gather_object

from kernelzero.config import Base, Grpo, Sampling
from kernelzero.models import checkpoints
from kernelzero.rewards import Rollout, score_groups
from kernelzero.training.grpo import Clock, train

SETTINGS = dict(prompts=2, group=4, micro_batch=4, learning_rate=1e-3)


def main(model_folder: str, folder: str, steps: int, kill_after: int, log: str) -> None:
    torch.set_num_threads(1)
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    settings = Grpo(steps=steps, **{**SETTINGS, "micro_batch": 4 // world})
    model, tokenizer = checkpoints.load(model_folder)

    def note(value: dict) -> None:
        if rank == 0:
            with Path(log).open("a") as stream:
                stream.write(json.dumps(value) + "\n")

    def reward(completions, completion_ids, trainer_state, group_index, **_):
        # correct: an even number of tokens; speed: by the first token. Any rule does, if it is the same everywhere.
        own = [{"group": g, "correct": len(ids) % 2 == 0, "speed": 1.0 + ids[0] % 5, "text": text}
               for g, ids, text in zip(group_index, completion_ids, completions, strict=True)]
        rows = gather_object(own)
        rewards, advantages, groups = score_groups([Rollout(r["group"], r["correct"], r["speed"]) for r in rows], group_size=4,
                                                   kind="ca_grpo", tau=0.5, lam=0.5, floor=1.01, cap=4.0)
        note({"step": trainer_state.global_step + 1, "rows": rows, "rewards": rewards, "advantages": advantages,
              "open": [g.gate_open for g in groups]})
        return rewards[rank * len(own):(rank + 1) * len(own)]

    def on_step(step: int, logs: dict) -> None:
        note({"logged": step, "reward": logs["reward"]})

    def on_resume(step: int) -> None:
        note({"resumed": step})

    if kill_after:

        from kernelzero.training import grpo
        sealed = grpo.seal

        def seal_then_die(checkpoint: Path) -> None:
            sealed(checkpoint)
            if checkpoint.name == f"checkpoint-{kill_after}":
                (checkpoint.parent / f"checkpoint-{kill_after + 1}").mkdir()  # a torn one beside it
                os.kill(os.getpid(), signal.SIGKILL)
        grpo.seal = seal_then_die
    rows = [{"prompt": f"# apis: torch.relu {i}\n", "group_index": i} for i in range(steps * settings.prompts)]
    trained = train(model, tokenizer, rows, reward, settings, Sampling(max_new_tokens=12), Base(), Path(folder), 5, Clock(), on_resume, on_step)
    total = hashlib.sha256()
    for _, parameter in sorted(trained.named_parameters()):
        total.update(parameter.detach().numpy().tobytes())
    note({"weights": total.hexdigest()})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])
